"""qexplain -priority, -when and -duration: their requests, outputs and faults."""

from __future__ import annotations

import pytest

from clients.render.forecasts import calibration_lines
from clients.slurm.squeue import squeue
from tests.harness import Cell
from tests.unit.clients.shell import Shell
from tests.unit.clients.test_json_schemas import data_of


@pytest.fixture
def full(shell: Shell, cell: Cell) -> Shell:
    """All twelve slots are taken by tasks of one job with a limit; one job waits behind another."""
    cell.submit(name="first", tasks="1-12", hard=["h_rt=100"])
    cell.cycle()
    cell.submit(name="high")
    cell.submit(name="low", priority=-100)
    cell.cycle()
    return shell


@pytest.mark.statement("PR-1")
def test_the_priority_is_printed_term_by_term_with_the_jobs_before_it(full: Shell) -> None:
    outcome = full("qexplain -priority low")
    assert outcome.lines[0] == 'job 3 ("low") of alice: place 2 of 2 pending jobs, priority 0.50617'
    assert [line.split() for line in outcome.lines[1:2]] == [
        "priority 0.45117 x weight 1 = 0.45117 (-100 + 1024) / 2048".split()
    ]
    assert "  before it: 1, the nearest first" in outcome.lines
    assert '       job 2 ("high") of alice, 0.55500: priority +0.04883' in outcome.lines
    assert "  qalter -p 1 3 (by an operator) would put it at place 1" in outcome.lines


def test_a_start_is_printed_as_a_time_with_what_it_rests_on(full: Shell) -> None:
    outcome = full("qexplain -when low")
    assert outcome.lines[0] == 'job 3 ("low") of alice is expected to start at 2027-01-15T08:01:40'
    assert outcome.lines[2] == "  if no job ends before its limit: 2027-01-15 08:01:40"
    many = full("qexplain -when '*'").lines
    assert many == [
        'job 1 ("first") of alice: it is not pending',
        'job 2 ("high") of alice is expected to start at 2027-01-15T08:01:40',
        'job 3 ("low") of alice is expected to start at 2027-01-15T08:01:40',
    ]


def test_qstat_has_a_line_below_each_pending_job_and_is_unchanged_without_the_option(full: Shell) -> None:
    shown, plain = full("qstat -when").lines, full("qstat").lines
    expected = "       Expected start:   01/15/2027 08:01:40"
    assert [line for line in shown if line != expected] == plain
    assert [shown[at + 1] for at, line in enumerate(shown) if " qw " in line] == [expected] * 2
    rows = data_of("qstat", full, "qstat -when -json")["jobs"]
    assert [row.get("latest_start_s") for row in rows if row["phase"] == "pending"] == [1_800_000_100] * 2
    assert "expected_start_s" not in data_of("qstat", full, "qstat -json")["jobs"][-1]
    assert full("qstat -when -xml").out.count("<latest_start_time>2027-01-15T08:01:40</latest_start_time>") == 2


def test_squeue_lists_the_pending_jobs_by_their_expected_start(full: Shell, capsys: pytest.CaptureFixture[str]) -> None:
    squeue(["--start"])
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines[0] == ["JOBID", "PARTITION", "NAME", "USER", "ST", "START_TIME", "NODES", "NODELIST(REASON)"]
    assert [(line[0], line[5]) for line in lines[1:]] == [("2", "2027-01-15T08:01:40"), ("3", "2027-01-15T08:01:40")]


def test_run_times_are_learned_from_the_ended_tasks(full: Shell, cell: Cell) -> None:
    assert full("qexplain -duration first").lines == [
        'job 1 ("first") of alice: nothing is learned from 0 ended tasks',
        "  its limit (h_rt) is 0:01:40",
    ]
    cell.now += 60
    for task in range(1, 7):
        cell.end(1, task)
    lines = full("qexplain -duration low").lines
    assert lines[0].startswith('job 3 ("low") of alice is likely to run for ')
    assert lines[1:] == ["  learned from 6 tasks of alice", "  it has no limit (h_rt)"]


def test_the_figures_of_forecasts_are_a_line_for_each_class() -> None:
    done = {"count": 8, "within": 0.875, "early": 0.125, "late": 0.0, "width": 300.0, "wait": 3600.0, "waiting": 1}
    none = {"count": 0, "waiting": 0}
    lines = [*calibration_lines([{"up_to": 600.0, **done}, {"up_to": 3600.0, **none}, {"up_to": None, **none}])]
    assert [line.split() for line in lines[1:]] == [
        "up to 0:10:00 8 87.5% 12.5% 0.0% 0:05:00 1:00:00 1".split(),
        "up to 1:00:00 0 - - - - - 0".split(),
        "over 1:00:00 0 - - - - - 0".split(),
    ]
    (line,) = calibration_lines([{"up_to": 600.0, **none}])
    assert line == "no range has been compared with a start yet: the cell learns ranges from the starts of its jobs"


@pytest.mark.parametrize("option", ["-priority", "-when", "-duration"])
def test_a_job_that_does_not_exist_and_a_malformed_list(full: Shell, option: str) -> None:
    outcome = full(f"qexplain {option} 99")
    assert (outcome.status, outcome.out) == (1, "")
    assert outcome.err.startswith('job "99" does not exist')
    outcome = full(f"qexplain {option} 9x")
    assert (outcome.status, outcome.err) == (1, 'denied: "9x" is not a job list\n')


def test_two_questions_exclude_each_other(full: Shell) -> None:
    outcome = full("qexplain -when -priority 3")
    assert outcome.status == 1
    assert "-priority and -when exclude each other" in outcome.err


def test_json_of_each_question(full: Shell) -> None:
    (job,) = data_of("qexplain-when", full, "qexplain -when -json 3")["jobs"]
    assert (job["job_id"], job["earliest_s"], job["later_than_s"]) == (3, 1_800_000_100, None)
    (job,) = data_of("qexplain-priority", full, "qexplain -priority -json 3")["jobs"]
    assert (job["place"], job["before"][0]["job_id"]) == (2, 2)
    (job,) = data_of("qexplain-duration", full, "qexplain -duration -json 1")["jobs"]
    assert (job["limit_s"], job["estimate"]) == (100, None)
