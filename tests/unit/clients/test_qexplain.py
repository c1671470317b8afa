"""qexplain and qresub: their requests and outputs; the causes of pending jobs, and the remedies."""

from __future__ import annotations

import pytest

from tests.harness import Cell
from tests.unit.clients.shell import Outcome, Shell


def explain(shell: Shell, job: int) -> list[str]:
    outcome = shell(f"qexplain {job}")
    assert outcome.status == 0, outcome
    return [line.strip() for line in outcome.lines]


@pytest.mark.statement("ST-18")
def test_holds_dependencies_and_times_are_all_named(shell: Shell, cell: Cell) -> None:
    first = cell.submit(holds="u")
    job = cell.submit(holds="u", hold_jid=[str(first)], start_after=cell.now + 60, name="x")
    lines = explain(shell, job)
    assert lines[0] == f'job {job} ("x") is pending, because'
    assert lines[1:] == [
        f"1. it has a user hold (qrls -h u {job} takes it off)",
        "2. it waits for other jobs",
        f"job {first} must end",
        "3. its start time (-a) is not reached",
    ]


@pytest.mark.statement("ST-18")
def test_a_job_that_fits_nowhere_and_the_value_that_would_do(shell: Shell, cell: Cell) -> None:
    job = cell.submit(hard=["arch=nosuch", "h_rt=100"])
    lines = explain(shell, job)
    assert lines[1] == "1. no place in the cluster can ever run it as it is requested"
    assert "and 1 more" not in lines
    assert lines[-3:] == [
        "it could run with",
        "arch=lx-amd64 instead of arch=nosuch (-l)",
        f"qalter -l h_rt=100,arch=lx-amd64 {job}",
    ]
    options = lines[-1].removeprefix("qalter ")
    assert shell(f"qalter {options}").status == 0
    cell.cycle()
    assert cell.placed(job), "what is advised works"


def test_two_requests_that_must_change_together(shell: Shell, cell: Cell) -> None:
    job = cell.submit(hard=["arch=nosuch", "num_proc=99", "h_rt=100"])
    lines = explain(shell, job)
    assert "arch=lx-amd64 instead of arch=nosuch (-l)" in lines
    assert "num_proc=4 instead of num_proc=99 (-l)" in lines
    assert not any("without h_rt" in line for line in lines)


@pytest.mark.statement("ST-18")
def test_a_full_cluster_and_the_expected_start(shell: Shell, cell: Cell) -> None:
    for index in range(12):
        cell.submit(hard=[f"h_rt={100 + index}"])
    job = cell.submit()
    cell.cycle()
    lines = explain(shell, job)
    assert lines[1] == "1. requested resources are in use"
    assert lines[-1].startswith("expected start: Fri Jan 15 08:01:40 2027 at the latest")


def test_without_limits_nothing_is_promised(shell: Shell, cell: Cell) -> None:
    cell.submit(tasks="1-12")
    job = cell.submit()
    cell.cycle()
    assert not any("expected" in line for line in explain(shell, job))


def test_closed_queues_come_before_full_ones(shell: Shell, cell: Cell) -> None:
    cell.submit(tasks="1-4", hard_queues=["all.q@h1"])
    cell.cycle()
    cell.admin("change_states", action="disable", what="queue", targets=["all.q@h2", "all.q@h3"])
    lines = explain(shell, cell.submit())
    causes = [line for line in lines if line[:1].isdigit()]
    assert causes == ["1. suitable queues are unavailable", "2. requested resources are in use"]


def test_a_parallel_job_that_is_too_large(shell: Shell, cell: Cell) -> None:
    cell.add("parallel_environment", "mpi", allocation_rule="$fill_up", slots="100")
    cell.configure("cluster_queue", "all.q", pe_list="mpi")
    job = cell.submit(pe="mpi", pe_range="20")
    lines = explain(shell, job)
    assert lines[-2:] == ["12 slots instead of 20 (-pe)", f"qalter -pe mpi 12 {job}"]


def test_limits_of_arrays(shell: Shell, cell: Cell) -> None:
    job = cell.submit(tasks="1-5", task_concurrency=2)
    cell.cycle()
    assert explain(shell, job)[1:] == [
        "1. not all array tasks may be started: 2 are running already",
        "task 1 runs on all.q@h1 (1 slot) since 2027-01-15 08:00:00",
        "task 2 runs on all.q@h2 (1 slot) since 2027-01-15 08:00:00",
    ]


def test_jobs_that_run_or_do_not_exist(shell: Shell, cell: Cell) -> None:
    job = cell.submit(name="x")
    assert explain(shell, job)[0].endswith("it waits for the next scheduling cycle")
    cell.cycle()
    assert explain(shell, job) == [
        f'job {job} ("x") is not pending',
        "it runs on all.q@h1 (1 slot) since 2027-01-15 08:00:00",
    ]
    outcome = shell("qexplain 99 nosuch*")
    assert (outcome.status, outcome.err) == (1, 'job "99" does not exist\njob "nosuch*" does not exist\n')
    assert shell("qexplain").status == 1


def test_json(shell: Shell, cell: Cell) -> None:
    import json

    job = cell.submit(holds="u")
    data = json.loads(shell(f"qexplain -json {job}").out)
    text = f"it has a user hold (qrls -h u {job} takes it off)"
    nothing = {"reasons": [], "count": 0, "holders": [], "holder_count": 0}
    assert data["jobs"][0]["causes"] == [{"kind": "hold", "text": text, **nothing}]
    assert data["jobs"][0]["tasks"] == []


@pytest.mark.statement("SO-45")
def test_qresub(shell: Shell, cell: Cell) -> None:
    cell.submit(name="x", holds="u")
    assert shell("qresub 1").out == 'Your job 2 ("x") has been submitted\n'
    assert shell("qresub -h u 1,2").out.count("has been submitted") == 2
    assert [bool(cell.state.jobs[job].holds) for job in (2, 3, 4)] == [False, True, True]
    outcome: Outcome = shell("qresub 99")
    assert (outcome.status, outcome.err) == (4, 'job "99" does not exist\n')
    assert shell("qresub").status == 1


@pytest.mark.statement("ST-18")
def test_load_values_may_come_to_be_enough(shell: Shell, cell: Cell) -> None:
    lines = explain(shell, cell.submit(hard=["mem_free=99G"]))
    assert lines[1] == "1. no host reports the requested resources now"
    assert "mem_free=7.812G instead of mem_free=99G (-l)" in lines
    assert "it could start now with" in lines


@pytest.mark.statement("ST-18", "CA-2")
def test_the_expected_start_behind_a_calendar(shell: Shell, cell: Cell) -> None:
    cell.add("calendar", "night", week="mon-sun=6-9=off")
    cell.configure("cluster_queue", "all.q", calendar="night")
    lines = explain(shell, cell.submit())
    assert lines[1] == "1. suitable queues are closed by their calendars"
    assert lines[-1].startswith("expected start: Fri Jan 15 09:00:00 2027")


def test_the_smallest_change_that_helps_is_named(shell: Shell, cell: Cell) -> None:
    job = cell.submit(holds="u")
    shell.as_root(f"qhold -h o {job}")
    assert explain(shell, job)[1:] == [
        f"1. it has a user hold (qrls -h u {job} takes it off)",
        "2. it has an operator hold, which an operator can take off",
    ]
    shell.user = "bob"
    assert explain(shell, job)[1] == "1. it has a user hold, which its owner can take off"
    assert f"qrls -h o {job} takes it off" in shell.as_root(f"qexplain {job}").out


@pytest.mark.statement("ST-18")
@pytest.mark.parametrize(
    ("failed", "reason", "remedy", "sentence"),
    [
        (26, "can't open output file \"/no/x\": No such file", "qalter -o PATH 1, then qmod -cj 1", ""),
        (26, "can't open error file \"/no/x\": No such file", "qalter -e PATH 1, then qmod -cj 1", ""),
        (26, "can't open input file \"/no/x\": No such file", "qalter -i PATH 1, then qmod -cj 1", ""),
        (28, "can't chdir to /no: No such file", "qalter -wd DIRECTORY 1, then qmod -cj 1", ""),
        (1, 'user "x" is unknown on this host', "once that is corrected: qmod -cj 1", ""),
        (30, "job ended with exit status 100", "once that is corrected: qmod -cj 1", "11/27/2026 12:58:43"),
    ],
)
def test_where_and_when_it_failed_and_what_changes_that(
    shell: Shell, cell: Cell, failed: int, reason: str, remedy: str, sentence: str
) -> None:
    """qstat -j has the form of 8.1.9, with user and process, and qexplain words."""
    job = cell.submit()
    cell.cycle()
    stamp = f"{sentence} [1001:4711]: " if sentence else ""
    cell.end(job, failed=failed, reason=f"{stamp}{reason}")
    when = sentence or "01/15/2027 08:00:00"
    assert f"error reason          1:      {stamp or f'{when}: '}{reason} (on host h1)" in shell(f"qstat -j {job}").lines
    assert explain(shell, job)[:3] == [
        f'job {job} ("sleep") is in error state, because',
        f"1. it could not be started ({remedy})",
        f"{reason} (on host h1), at {when}",
    ]
    shell.user = "bob"
    assert explain(shell, job)[1] == "1. it could not be started"
