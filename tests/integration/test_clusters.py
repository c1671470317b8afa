"""Software of the ecosystem in jobs: Ray, Dask and MPICH over three hosts, a notebook; there with the job and gone with it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.integration.cells import PYTHON, ROOT, TEST_PREFIX, DemoCell, TestbedCell, eventually, run
from tests.integration.debian import need
from tests.integration.test_tight_integration import RING

SLOTS = ("-pe", "mpi", "6", "-alloc", "$round_robin", "6", "-masterq", "all.q@t1")

PAGE = (ROOT / "docs/api.md").read_text()
(RECIPE,) = re.findall(r"^```sh jupyter\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
EXAMPLES = dict(re.findall(r"^```python (ray|dask)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL))
ENDING = "sys.exit(7)\n"
SECRET = 'print("token", os.environ["RAY_AUTH_MODE"], oct(os.stat(os.environ["RAY_AUTH_TOKEN_PATH"]).st_mode & 0o777))\n'
#: of the squares below 30,000
TOTAL = 8_999_550_005_000

#: what a user's own Python has, which `make clusters` and `make packages` say
LIBRARIES = os.environ.get("GRIDENGINE_TEST_LIBRARIES", "")


def python_with(libraries: str) -> Path:
    """A user's own Python with these libraries, which all hosts see; made once. AssertionError with the output of pip."""
    need("cc")
    place = TEST_PREFIX / "user-python"
    made_with = place / "made-with"
    if made_with.exists() and made_with.read_text() == libraries:
        return place / "bin" / "python"
    for command in ([PYTHON, "-m", "venv", "--clear", str(place)], [f"{place}/bin/pip", "install", "-q", *libraries.split()]):
        done = run(command, timeout=600)
        assert done.returncode == 0, done.stderr
    made_with.write_text(libraries)
    return place / "bin" / "python"


@pytest.fixture
def work(testbed_cell: TestbedCell) -> Iterator[Path]:
    """A directory that all hosts see and all users may write to."""
    with TemporaryDirectory(dir="/var/tmp", prefix="ge-cluster-") as name:
        directory = Path(name)
        directory.chmod(0o1777)
        yield directory


def left(cell: TestbedCell) -> list[str]:
    """Processes of alice on the hosts of the cell."""
    return [line for host in cell.hosts for line in cell.on(host, "ps", "-u", "alice", "-o", "args=").stdout.splitlines()]


def made(cell: TestbedCell, work: Path, kind: str, script: str, *options: str) -> list[str]:
    """The output of a cluster's script, which must end with status 7 and leave nothing behind."""
    path = work / "script.py"
    path.write_text(script)
    command = ("gridengine", kind, *options, "--wait", *SLOTS, "-o", f"{work}/out", "-e", f"{work}/err", str(path), "a", "b c")
    done = cell.as_user("alice", "t1", *command, timeout=600)
    output, errors = ((work / name).read_text() if (work / name).exists() else "" for name in ("out", "err"))
    assert done.returncode == 7, done.stdout + done.stderr + output + errors
    hosts = re.findall(rf"^{kind} cluster: (.*)$", errors, re.MULTILINE)
    assert [sorted(each.split(", ")) for each in hosts] == [["t1 2", "t2 2", "t3 2"]], "in the order of their load"
    eventually("nothing of it is left", lambda: left(cell) == [])
    return output.splitlines()


@pytest.mark.statement("TI-1", "TI-2", "PE-13")
def test_ray_computes_on_three_hosts(testbed_cell: TestbedCell, work: Path) -> None:
    output = made(testbed_cell, work, "ray", EXAMPLES["ray"] + SECRET + ENDING)
    assert output == ["hosts t1 t2 t3", f"sum {TOTAL} a b c", "token token 0o600"]
    look = ("sh", "-c", "ls -d /tmp/r*")
    eventually("no file is left", lambda: all(testbed_cell.on(host, *look).returncode for host in testbed_cell.hosts))


@pytest.mark.apart
@pytest.mark.statement("TI-1", "TI-2", "PE-13")
def test_dask_computes_on_three_hosts(testbed_cell: TestbedCell, work: Path) -> None:
    python = python_with(LIBRARIES)
    refused = testbed_cell.as_user("alice", "t1", "gridengine", "dask", *SLOTS, "/bin/sh")
    assert refused.returncode == 1 and "cannot import distributed: install it there" in refused.stderr
    output = made(testbed_cell, work, "dask", f"{EXAMPLES['dask']}    {ENDING}", "--python", str(python))
    assert output == ["hosts t1 t1 t2 t2 t3 t3", f"sum {TOTAL} a b c"]


@pytest.mark.apart
@pytest.mark.statement("TI-1", "PE-13")
def test_mpich_runs_on_three_hosts(testbed_cell: TestbedCell, work: Path) -> None:
    programs = python_with(LIBRARIES).parent  # Debian 12's MPICH may wait for ever in MPI_Finalize (docs/api.md)
    (work / "ring.c").write_text(RING)
    done = run([f"{programs}/mpicc", str(work / "ring.c"), "-o", str(work / "ring")])
    assert done.returncode == 0, done.stderr
    streams = ("-o", f"{work}/out", "-j", "y", "-sync", "y", "-b", "y")
    done = testbed_cell.as_user("alice", "t1", "qsub", *SLOTS, *streams, f"{programs}/mpiexec", f"{work}/ring")
    output = (work / "out").read_text().splitlines()
    assert done.returncode == 0, (done.stderr, output)
    assert sorted(line.split()[-1] for line in output if line.startswith("hello")) == ["t1", "t1", "t2", "t2", "t3", "t3"]
    assert "ring 6" in output
    eventually("nothing of it is left", lambda: left(testbed_cell) == [])


@pytest.mark.apart
def test_a_notebook_is_for_who_has_its_token(testbed_cell: TestbedCell, work: Path) -> None:
    assert RECIPE.count("~/venv/") == 1
    (work / "notebook.sh").write_text(RECIPE.replace("~/venv", str(python_with(LIBRARIES).parents[1])))
    options = ("-terse", "-q", "all.q@t2", "-wd", str(work))
    done = testbed_cell.as_user("alice", "t1", "qsub", *options, f"{work}/notebook.sh")
    assert done.returncode == 0, done.stderr
    log = work / "notebook.log"
    eventually("it has an address", lambda: log.exists() and "/?token=" in log.read_text())
    found = re.search(r"(http://127\.0\.0\.1:\d+)/\?token=([0-9a-f]+)", log.read_text())
    assert found is not None
    code = "import sys, urllib.request as r; print(r.urlopen(sys.argv[1]).status)"
    without, status = (
        testbed_cell.on("t2", "python3", "-c", code, f"{found[1]}/api/status{query}") for query in ("", f"?token={found[2]}")
    )
    assert "403" in without.stderr and status.stdout == "200\n", (without, status)
    assert testbed_cell.as_user("alice", "t1", "qdel", done.stdout.strip()).returncode == 0
    eventually("nothing of it is left", lambda: left(testbed_cell) == [])


def test_an_impossible_cluster_is_refused_with_the_reason(demo_cell: DemoCell) -> None:
    for arguments, reason in (
        (("ray", "/bin/sh"), "-pe NAME SLOTS is needed"),
        (("ray", *SLOTS), "a Python script is expected"),
        (("ray", *SLOTS, "none.py"), "no such file"),
        (("ray", "-nosuch", "x.py"), "-nosuch"),
        (("ray", "--python", "/bin/true", *SLOTS, "/bin/sh"), "/bin/true cannot import ray"),
        (("ray", "--python", "/nosuch/python", *SLOTS, "/bin/sh"), "/nosuch/python is no program that you may run"),
        (("ray", "-pe", "nosuch", "2", "/bin/sh"), "nosuch"),
    ):
        done = demo_cell.command("gridengine", *arguments)
        assert done.returncode == 1 and reason in done.stderr and "Traceback" not in done.stderr, done.stderr
