"""A cluster of a user's own made of a parallel job: Ray and Dask over three hosts, there with the job and gone with it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.integration.cells import ROOT, TEST_PREFIX, TestbedCell, eventually, run

SLOTS = ("-pe", "mpi", "6", "-alloc", "$round_robin", "6", "-masterq", "all.q@t1")

EXAMPLES = dict(re.findall(r"^```python (ray|dask)\n(.*?)^```$", (ROOT / "docs/api.md").read_text(), re.MULTILINE | re.DOTALL))
ENDING = "sys.exit(7)\n"
SECRET = 'print("token", os.environ["RAY_AUTH_MODE"], oct(os.stat(os.environ["RAY_AUTH_TOKEN_PATH"]).st_mode & 0o777))\n'
#: of the squares below 30,000
TOTAL = 8_999_550_005_000


@pytest.fixture
def work(testbed_cell: TestbedCell) -> Iterator[Path]:
    """A directory that all hosts see and everybody may use."""
    with TemporaryDirectory(dir="/var/tmp", prefix="ge-cluster-") as name:
        directory = Path(name)
        directory.chmod(0o1777)
        yield directory


def left(cell: TestbedCell) -> list[str]:
    """What alice still has running on the hosts of the cell."""
    return [line for host in cell.hosts for line in cell.on(host, "ps", "-u", "alice", "-o", "args=").stdout.splitlines()]


def made(cell: TestbedCell, work: Path, kind: str, script: str, *options: str) -> list[str]:
    """What the script of a cluster has printed; it must end with status 7, and leave nothing behind."""
    path = work / "script.py"
    path.write_text(script)
    command = ("gridengine", kind, *options, "--wait", *SLOTS, "-o", f"{work}/out", "-e", f"{work}/err", str(path), "a", "b c")
    done = cell.as_user("alice", "t1", *command)
    said, errors = ((work / name).read_text() if (work / name).exists() else "" for name in ("out", "err"))
    assert done.returncode == 7, done.stdout + done.stderr + said + errors
    assert f"{kind} cluster: t1 2, t2 2, t3 2\n" in errors
    eventually("nothing of it is left", lambda: left(cell) == [])
    return said.splitlines()


@pytest.mark.statement("TI-1", "TI-2", "PE-13")
def test_ray_computes_on_three_hosts(testbed_cell: TestbedCell, work: Path) -> None:
    said = made(testbed_cell, work, "ray", EXAMPLES["ray"] + SECRET + ENDING)
    assert said == ["hosts t1 t2 t3", f"sum {TOTAL} a b c", "token token 0o600"]
    assert [host for host in testbed_cell.hosts if testbed_cell.on(host, "sh", "-c", "ls -d /tmp/r*").returncode == 0] == []


@pytest.mark.skipif("GRIDENGINE_TEST_DASK" not in os.environ, reason="make clusters installs Dask for this")
@pytest.mark.statement("TI-1", "TI-2", "PE-13")
def test_dask_computes_on_three_hosts(testbed_cell: TestbedCell, work: Path) -> None:
    place = TEST_PREFIX / "dask"
    versions = os.environ["GRIDENGINE_TEST_DASK"].split()
    for command in (["python3", "-m", "venv", str(place)], [f"{place}/bin/pip", "install", "-q", *versions]):
        done = run(command, timeout=600)
        assert done.returncode == 0, done.stderr
    refused = testbed_cell.as_user("alice", "t1", "gridengine", "dask", *SLOTS, "/bin/sh")
    assert refused.returncode == 1 and "cannot import distributed: install it there" in refused.stderr
    said = made(testbed_cell, work, "dask", f"{EXAMPLES['dask']}    {ENDING}", "--python", f"{place}/bin/python")
    assert said == ["hosts t1 t1 t2 t2 t3 t3", f"sum {TOTAL} a b c"]


def test_a_cluster_that_cannot_be_says_why(testbed_cell: TestbedCell, work: Path) -> None:
    for words, reason in (
        (("ray", "/bin/sh"), "-pe NAME SLOTS is needed"),
        (("ray", *SLOTS), "a Python script is expected"),
        (("ray", *SLOTS, f"{work}/none.py"), "no such file"),
        (("ray", "-nosuch", "x.py"), "-nosuch"),
        (("ray", "--python", "/bin/true", *SLOTS, "/bin/sh"), "/bin/true"),
        (("ray", "-pe", "nosuch", "2", "/bin/sh"), "nosuch"),
    ):
        done = testbed_cell.as_user("alice", "t1", "gridengine", *words)
        assert done.returncode == 1 and reason in done.stderr and "Traceback" not in done.stderr, done.stderr
