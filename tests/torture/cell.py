"""The cell that is tortured: hosts and an installation of its own, so that other tests run beside it.

Owns where these are. Called by `python -m tests.torture`.
"""

from __future__ import annotations

from tests.integration.cells import TestbedCell
from tests.torture.plan import CELL, EXEC_HOSTS, MASTER


class TorturedCell(TestbedCell):
    """A master `om` and the exec hosts `o1` to `o3`."""

    master = MASTER
    hosts = EXEC_HOSTS

    def __init__(self) -> None:
        super().__init__()
        self.environment |= {"PREFIX": "/opt/gridengine-torture", "CELL": CELL, "MASTER": MASTER, "EXEC": "o"}
