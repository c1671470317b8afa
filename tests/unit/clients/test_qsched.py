"""qsched: the reservations of waiting jobs, in its three forms."""

from __future__ import annotations

import re

import pytest

from tests.harness import Cell
from tests.unit.clients.shell import Shell

TABLE = """\
job-ID  user   start                end                  slots  h_vmem
------  -----  -------------------  -------------------  -----  ------
"""
BIG = "2.1     alice  01/15/2027 09:00:00  01/15/2027 09:10:00      8      1G\n"
SMALL = "3.3     bob    01/15/2027 09:00:00  01/15/2027 09:01:00      1       0\n"
NONE = TABLE.replace("user ", "user").replace("  -----", "  ----", 1)
DETAILS = """\
Job 2.1
    user      = alice
    start     = Fri Jan 15 09:00:00 2027
    end       = Fri Jan 15 09:10:00 2027
    slots     = 8
    h_vmem    = 1G
    pe        = mpi (slots = 8)
    queue     = all.q@h2 (slots = 4) all.q@h3 (slots = 4)
    resources = h2 (h_vmem = 4G) h3 (h_vmem = 4G)

"""


@pytest.fixture
def planned(shell: Shell, cell: Cell) -> Shell:
    """Job 1 of an hour fills all hosts; alice's job 2, of two hosts, and the first task of bob's 3 have places kept for them."""
    cell.configure("scheduler", "", max_reservation="10", params="DURATION_OFFSET=0")
    complexes = shell.as_root("qconf -sc").out
    (shell.cwd / "complexes").write_text(re.sub(r"(?m)^(h_vmem .* YES +)NO ", r"\1YES ", complexes))
    assert shell.as_root("qconf -Mc complexes").status == 0
    for host in ("h1", "h2", "h3"):
        assert shell.as_root(f"qconf -rattr exechost complex_values h_vmem=8G {host}").status == 0
    shell("qsub -pe mpi 12 -l h_rt=3600 -b y sleep 1")
    cell.cycle()
    shell("qsub -R y -pe mpi 8 -l h_rt=600,h_vmem=1G -b y -q all.q@h2,all.q@h3 sleep 1")
    shell.user = "bob"
    shell("qsub -R y -t 3-3 -l h_rt=60 -b y -q all.q@h1 sleep 1")
    shell.user = "alice"
    cell.cycle()
    return shell


@pytest.mark.statement("UT-1", "SC-7")
@pytest.mark.parametrize(
    ("options", "text"),
    [
        ("-a", TABLE + BIG + SMALL),
        ("-u '*' -s j", TABLE + BIG + SMALL),
        ("", TABLE + BIG),
        ("--user=bob", NONE + SMALL.replace("bob ", "bob")),
        ("-j 3,2.1,2.9,77", TABLE + SMALL + BIG),
        ("-f", DETAILS),
        ("-u nobody", NONE),
    ],
)
def test_starts_and_ends(planned: Shell, options: str, text: str) -> None:
    outcome = planned(f"qsched {options}")
    assert (outcome.status, outcome.err, outcome.out) == (0, "", text)


@pytest.mark.statement("UT-1")
def test_instances_with_free_resources_and_the_tasks_that_wait_for_them(planned: Shell, cell: Cell) -> None:
    assert planned("qsched -q").out == ""
    cell.end(1)
    assert planned("qsched -q").lines == [
        "all.q@h1: h_vmem=8.000G slots=4 3.3",
        "all.q@h2: h_vmem=8.000G slots=4 2.1",
        "all.q@h3: h_vmem=8.000G slots=4 2.1",
    ]
    assert planned.as_root("qconf -rattr exechost complex_values h_vmem=512M h3").status == 0
    assert [line.split()[0] for line in planned("qsched -q").lines] == ["all.q@h1:", "all.q@h2:"]
    assert planned("qdel 2").status == 0
    assert planned("qsched -a").out == NONE + SMALL.replace("bob ", "bob"), "at once, not after the next run"
    cell.cycle()
    assert planned("qsched -a").out == NONE, "what has begun waits no more"


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ("-s x", '"x" is no order'),
        ("-j 1,a", '"a" is no number of a job'),
        ("alice", 'option argument "alice"'),
        ("--x=1", '"--x"'),
    ],
)
def test_wrong_arguments_are_refused(shell: Shell, arguments: str, text: str) -> None:
    outcome = shell(f"qsched {arguments}")
    assert outcome.status == 1 and outcome.out == "" and text in outcome.err and shell.asked == []
