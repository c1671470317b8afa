"""qstatus: its tables, sums, orders and words of one letter. The output of 8.1.9 for the same jobs is the reference."""

from __future__ import annotations

import re

import pytest

from tests.harness import Cell
from tests.unit.clients.shell import Shell

RUNNING = """\
Running jobs for user: alice
 job-ID  # name                      start time          running in
-------------------------------------------------------------------
      1  1 hello                     01/01/2030 12:00:00 all.q $
      2  1 arr                       01/01/2030 12:00:00 all.q $
      2  1 arr                       01/01/2030 12:00:00 all.q $
      3  5 sleep                     01/01/2030 12:00:00 all.q $

"""


@pytest.fixture
def dated(busy: Shell, cell: Cell) -> Shell:
    """All jobs run since one moment."""
    for job in cell.state.jobs.values():
        for task in job.tasks.values():
            task.start_time = 1893499200.0
    return busy


@pytest.mark.statement("UT-1")
def test_running_and_pending_jobs_have_a_table_each(dated: Shell) -> None:
    outcome = dated("qstatus")
    assert (outcome.status, outcome.err) == (0, "")
    running, _, waiting = outcome.out.partition("Waiting jobs for user: alice\n")
    assert running == RUNNING.replace("$", " " * 5)
    head, rule, *rows = waiting.splitlines()
    assert head == " job-ID  # name                      submit time        "
    assert rule == "-" * 56
    assert [re.sub(r"\d\d/\d\d/\d{4} [\d:]{8}", "WHEN", row) for row in rows] == [
        "      4  1 held_job_of_long_name     WHEN (hold)",
        *["      5  1 waits                     WHEN (hold)"] * 5,
        "",
    ]


@pytest.mark.statement("UT-1")
def test_owners_hosts_and_tasks(dated: Shell) -> None:
    dated.user = "bob"
    assert dated("qstatus").out == ""
    lines = dated("qstatus -atm").lines
    assert lines[0] == "Running jobs:"
    assert lines[1] == " job-ID  # name                      owner      start time          running in"
    assert lines[2] == "-" * 78
    assert lines[3:7] == [
        "      1  1 hello                     alice      01/01/2030 12:00:00 h1         ",
        "      2  1 arr[1]                    alice      01/01/2030 12:00:00 h2         ",
        "      2  1 arr[5]                    alice      01/01/2030 12:00:00 h2         ",
        "      3  5 sleep                     alice      01/01/2030 12:00:00 h3         ",
    ]
    assert "waits[9]" in dated("qstatus -t alice").out
    assert "bob" not in dated("qstatus -on alice").lines[1] and "owner" in dated("qstatus -no alice").lines[1]


@pytest.mark.statement("UT-1")
def test_sums_of_jobs_and_slots(dated: Shell) -> None:
    assert dated("qstatus -acl").lines == [
        "",
        "                running #jobs/#slots",
        "Owner        serial   parallel    total",
        "---------------------------------------",
        "alice         3/  3     1/  5     4/  8",
        "---------------------------------------",
        "Sum           3/  3     1/  5     4/  8",
        "",
        "",
        "                waiting #jobs/#slots",
        "Owner        serial   parallel    total",
        "---------------------------------------",
        "alice         6/  6     0/  0     6/  6",
        "---------------------------------------",
        "Sum           6/  6     0/  0     6/  6",
        "",
    ]
    assert "Sum" not in dated("qstatus -cl").out


@pytest.mark.statement("UT-1")
@pytest.mark.parametrize(
    ("options", "numbers"),
    [
        ("-s slots,job", ["1", "2", "2", "3"]),
        ("-s name", ["2", "2", "1", "3"]),
        ("-sname", ["2", "2", "1", "3"]),
        ("-ms running", ["1", "2", "2", "3"]),
        ("-s none,name", ["1", "2", "2", "3"]),
        ("-og", ["1", "2", "2", "3"]),
    ],
)
def test_orders(dated: Shell, options: str, numbers: list[str]) -> None:
    outcome = dated(f"qstatus {options}")
    assert outcome.status == 0
    assert [line.split()[0] for line in outcome.lines[3:7]] == numbers


@pytest.mark.statement("UT-1")
def test_times_ago_and_suspended_jobs(dated: Shell, cell: Cell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clients.qstatus.time.time", lambda: 1893499200.0 + 86400 + 3723)
    assert "-1d 01:02:03 all.q" in dated("qstatus -r").lines[3]
    assert dated("qmod -sj 1").status == 0
    assert [line.split()[0] for line in dated("qstatus").lines[3:6]] == ["2", "2", "3"]
    (line,) = (line for line in dated("qstatus -j").lines if "hello" in line)
    assert line.endswith("all.q      (suspended)")


@pytest.mark.statement("UT-1")
@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ("-a alice", '-a selects all users, "alice" a single user'),
        ("alice bob", 'one user is expected, "bob" is a second one'),
        ("-g", "-g sorts by owners"),
        ("-ags job", "-g and -s are two orders"),
        ("-s color", '"color" is no column'),
        ("-z", 'invalid option argument "-z"'),
        ("-az", 'invalid option argument "-z"'),
    ],
)
def test_contradictory_options_are_refused(shell: Shell, arguments: str, text: str) -> None:
    outcome = shell(f"qstatus {arguments}")
    assert outcome.status == 1 and outcome.out == "" and text in outcome.err
    assert "  no user" not in outcome.err and shell.asked == []


@pytest.mark.statement("UT-1")
def test_a_long_name_loses_its_middle_and_a_parallel_job_asks_for_slots(shell: Shell) -> None:
    shell("qsub -b y -h -N a_name_of_twenty_six_chars -pe mpi 3-8 true")
    assert shell("qstatus").lines[3].startswith("      1  3 a_name_of_t...y_six_chars ")
    assert "alice         0/  0     1/  3     1/  3" in shell("qstatus -cl").lines


def test_an_order_by_owners_that_are_not_shown_is_named(dated: Shell) -> None:
    outcome = dated("qstatus -s owner,job")
    assert outcome.status == 0 and outcome.err.count("not sorted by them") == 1
