"""The scripts of `$SGE_ROOT/util` that list hosts: idle, busy and dead hosts, and the hosts of a job."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.integration.cells import DemoCell, Done, eventually, run


def called(cell: DemoCell, name: str, *arguments: str) -> Done:
    return run([str(cell.place / "util" / name), *arguments], env=cell.environment, cwd=cell.work)


def output(cell: DemoCell, *arguments: str) -> str:
    done = called(cell, *arguments)
    assert (done.returncode, done.stderr) == (0, ""), done
    return done.stdout


@pytest.fixture
def job(demo_cell: DemoCell) -> Iterator[str]:
    number = demo_cell.must("qsub", "-terse", "-b", "y", "-o", "/dev/null", "-e", "/dev/null", "sleep", "600").strip()
    eventually("it runs", lambda: f"{number} " in demo_cell.must("qhost", "-j"))
    yield number
    demo_cell.must("qdel", number)
    eventually("it is gone", lambda: demo_cell.must("qstat") == "")


@pytest.mark.statement("UT-1")
def test_hosts_by_what_they_do(demo_cell: DemoCell, job: str) -> None:
    host = f"{demo_cell.host}\n"
    # one that has never reported is dead
    demo_cell.must("qconf", "-Ae", _file(demo_cell))
    try:
        assert output(demo_cell, "busy-nodes") == output(demo_cell, "nodes-in-job", job) == host
        assert output(demo_cell, "idle-nodes") == output(demo_cell, "nodes-in-job", "-w", "99999") == ""
        assert output(demo_cell, "dead-nodes", "-w") == "node0\n"
        assert output(demo_cell, "qselect-node-list", "-q", "all.q") == host
    finally:
        demo_cell.must("qconf", "-de", "node0")


def _file(cell: DemoCell) -> str:
    path = cell.work / "node0"
    lines = cell.must("qconf", "-se", "global").replace("global", "node0", 1).splitlines()
    path.write_text("\n".join(line for line in lines if not line.startswith(("load_values", "processors"))))
    return str(path)


@pytest.mark.statement("UT-1")
@pytest.mark.parametrize(
    "arguments", ["idle-nodes node1", "busy-nodes -x", "nodes-in-job", "nodes-in-job 1 2", "nodes-in-job 1;id"]
)
def test_a_wrong_call_shows_the_form(demo_cell: DemoCell, arguments: str) -> None:
    done = called(demo_cell, *arguments.split(" "))
    assert done.returncode == 1 and done.stdout == "" and done.stderr.startswith(f"usage: {arguments.split()[0]} [-w]")


@pytest.mark.statement("UT-1")
def test_an_idle_host(demo_cell: DemoCell) -> None:
    assert output(demo_cell, "idle-nodes", "-w") == f"{demo_cell.host}\n" and output(demo_cell, "busy-nodes") == ""
    without = {**demo_cell.environment, "SGE_CELL": "nosuch"}
    done = run([str(demo_cell.place / "util" / "idle-nodes")], env=without)
    assert done.returncode == 1 and done.stdout == ""
