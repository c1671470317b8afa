"""The library, built as by `make drmaa`, and a runner of programs with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integration.cells import DemoCell, run
from tests.integration.debian import need
from tests.integration.drmaa.programs import FLAGS, SOURCE, Programs


@pytest.fixture(scope="session")
def library(demo_cell: DemoCell) -> Path:
    """The directory of the library, with the link by which the linker finds it; every user may read it."""
    need("cc")
    directory = demo_cell.place / "drmaa"
    directory.mkdir(mode=0o755)
    done = run(["make", "--silent", "-C", str(SOURCE), f"BUILD={directory}", f"CFLAGS={FLAGS} -Werror"])
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return directory


@pytest.fixture(scope="session")
def programs(demo_cell: DemoCell, library: Path) -> Programs:
    return Programs(demo_cell, library)
