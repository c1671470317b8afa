"""The cell that is tortured: hosts and an installation of its own, so that other tests run beside it.

Owns where these are. Called by `python -m tests.torture`.
"""

from __future__ import annotations

from pathlib import Path

from tests.integration.cells import TEST_PREFIX, TestbedCell
from tests.torture.plan import CELL, EXEC_HOSTS, MASTER

PREFIX = Path("/opt/gridengine-torture")


class TorturedCell(TestbedCell):
    """A master `om` and the exec hosts `o1` to `o3`."""

    master = MASTER
    hosts = EXEC_HOSTS

    def __init__(self) -> None:
        super().__init__()
        self.environment |= {"PREFIX": str(PREFIX), "CELL": CELL, "MASTER": MASTER, "EXEC": "o"}

    def install(self) -> None:
        """As for every cell, with the libraries of the tests' installation: a minute of a processor makes them."""
        (PREFIX / "libraries").mkdir(parents=True, exist_ok=True)
        for made in TEST_PREFIX.glob("libraries/*/complete"):
            link = PREFIX / "libraries" / made.parent.name
            if not link.exists():
                link.unlink(missing_ok=True)
                link.symlink_to(made.parent)
        super().install()
