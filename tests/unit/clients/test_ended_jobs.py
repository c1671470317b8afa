"""Messages about jobs that are gone, below "does not exist"; messages of qexplain about jobs that have a place."""

from __future__ import annotations

import pytest

from tests.harness import Cell
from tests.unit.clients.shell import Shell


@pytest.fixture
def ended(cell: Cell) -> Cell:
    """Job 1 ended with 3, job 2 was killed, job 3 was deleted before it began, job 4 was an array of which one task failed."""
    for fields in ({}, {}, {"holds": "u"}, {"tasks": "1-2"}):
        cell.submit(**fields)
    cell.cycle()
    cell.end(1, exit_status=3)
    cell.end(2, exit_status=137, failed=100)
    cell.ask("delete_jobs", targets=["3"])
    cell.end(4, 1)
    cell.end(4, 2, failed=26, exit_status=0)
    cell.master.flush()
    return cell


AT = "2027-01-15 08:00:00"
HINTS = {
    1: f"hint: job 1 ended at {AT} on h1: exit status 3 (qacct -j 1)",
    2: f"hint: job 2 ended at {AT} on h2: killed by signal KILL (qacct -j 2)",
    3: f"hint: job 3 was deleted before it began, at {AT}: tasks 1, by alice@h1 (qexplain -story 3)",
}


@pytest.mark.statement("SO-46", "ST-18")
@pytest.mark.parametrize("job", HINTS)
def test_the_end_of_a_job_is_a_line_of_its_own_below_that_of_8_1_9(shell: Shell, ended: Cell, job: int) -> None:
    assert job not in ended.state.jobs
    for command, first in (
        ("qdel", f'denied: job "{job}" does not exist'),
        ("qhold", f'denied: job "{job}" does not exist'),
        ("qalter -p 0", f'denied: job "{job}" does not exist'),
        ("qexplain", f'job "{job}" does not exist'),
        ("qstat -j", f"Following jobs do not exist: \n{job}"),
    ):
        outcome = shell(f"{command} {job}")
        assert outcome.status and outcome.out + outcome.err == f"{first}\n{HINTS[job]}\n", command


@pytest.mark.statement("SO-46")
def test_jobs_that_exist_or_never_existed_have_no_hint(shell: Shell, ended: Cell) -> None:
    ended.submit(user="bob", holds="u")
    for line in ("qdel 5", "qdel 99", "qdel 'nosuch*'", "qdel 123456789", "qdel 99.1"):
        assert "hint" not in shell(line).err, line


@pytest.mark.statement("AJ-6")
def test_the_number_of_failed_tasks_of_an_array_is_reported(shell: Shell, cell: Cell) -> None:
    job = cell.submit(tasks="1-3")
    cell.cycle()
    for task, status in ((1, 0), (2, 1), (3, 0)):
        cell.end(job, task, exit_status=status)
    cell.master.flush()
    hint = f"hint: job {job} ended at {AT}: 3 tasks ran, 1 of them did not succeed (qacct -j {job})"
    assert hint in shell(f"qdel {job}.2").err


@pytest.mark.statement("ST-18", "ST-32")
def test_a_deleted_job_that_waits_for_its_host_is_reported(shell: Shell, cell: Cell) -> None:
    job = cell.submit(hard=["h_rt=60"])
    cell.cycle()
    assert "its run time limit ends it at 2027-01-15 08:01:00" in shell(f"qexplain {job}").out
    shell(f"qdel {job}")
    assert "; alice has deleted it: it goes when host h1 reports its end\n" in shell(f"qexplain {job}").out
    cell.master.lose_host("h1")
    text = shell(f"qexplain {job}").out
    assert f"nothing was heard of host h1 since {AT}; qdel -f {job} of an operator does not wait for that host" in text


@pytest.mark.statement("ST-18", "QM-8")
def test_the_reason_for_a_suspension_is_reported(shell: Shell, cell: Cell) -> None:
    job = cell.submit()
    cell.cycle()
    shell(f"qmod -sj {job}")
    assert f"it is suspended (qmod -usj {job} lets it go on) on all.q@h1 (1 slot)" in shell(f"qexplain {job}").out
    shell(f"qmod -usj {job}")
    shell.as_root("qmod -sq all.q")
    assert "it is suspended with its queue on all.q@h1" in shell(f"qexplain {job}").out
