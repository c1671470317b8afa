"""Every failed code of sge_status(5): the effect on the job and on the queue instance, and the release of both."""

from __future__ import annotations

import pytest

from gridengine.state.state_codes import instance_state_codes, pending_state_codes
from tests.harness import Cell

OVER, AGAIN, ERROR = "over", "pending again", "Eqw"
FAULT = True

# code -> (job, queue instance in E)
OUTCOMES = {
    0: (OVER, not FAULT),  # no failure
    1: (ERROR, not FAULT),  # failed early in execd
    3: (AGAIN, FAULT),  # before local spool was set up: its disk is full
    4: (AGAIN, FAULT),  # before writing PID
    6: (AGAIN, FAULT),  # setting processor set
    7: (AGAIN, FAULT),  # before prolog
    8: (AGAIN, FAULT),  # in prolog
    9: (AGAIN, FAULT),  # before pestart
    10: (AGAIN, FAULT),  # in pestart
    11: (AGAIN, FAULT),  # before job
    12: (OVER, not FAULT),  # before pestop
    13: (OVER, FAULT),  # in pestop
    14: (OVER, not FAULT),  # before epilog
    15: (OVER, FAULT),  # in epilog
    16: (OVER, not FAULT),  # releasing processor set
    17: (OVER, not FAULT),  # through signal
    18: (AGAIN, not FAULT),  # shepherd returned error
    19: (AGAIN, not FAULT),  # before writing exit_status
    20: (ERROR, not FAULT),  # found unexpected error file
    21: (AGAIN, not FAULT),  # in recognizing job
    25: (AGAIN, not FAULT),  # rescheduling
    26: (ERROR, not FAULT),  # opening output file
    27: (ERROR, not FAULT),  # searching requested shell
    28: (ERROR, not FAULT),  # changing to working directory
    29: (ERROR, not FAULT),  # AFS setup
    30: (ERROR, not FAULT),  # application error returned
    31: (ERROR, not FAULT),  # accessing sgepasswd file
    32: (ERROR, not FAULT),  # entry is missing in password file
    33: (ERROR, not FAULT),  # wrong password
    34: (ERROR, not FAULT),  # communicating with helper service
    35: (ERROR, not FAULT),  # before job in helper service
    36: (AGAIN, FAULT),  # checking configured daemons
    37: (OVER, not FAULT),  # qmaster enforced a limit
    38: (AGAIN, FAULT),  # adding supplementary group
    100: (OVER, not FAULT),  # assumedly after job
}
#: these end the job unless it may run again
NOT_AGAIN = (18, 19, 21)


def fate(cell: Cell, job: int) -> str:
    task = cell.state.task(job, 1)
    if task is None:
        return OVER
    assert task.status == "pending"
    return ERROR if task.error else AGAIN


@pytest.mark.statement("EX-2", "EX-3", "EX-4", "EX-5", "QI-10", "AC-2")
@pytest.mark.parametrize("rerun", [True, False])
def test_each_code_has_its_consequences(cell: Cell, rerun: bool) -> None:
    found = {failed: outcome(cell, failed, rerun) for failed in OUTCOMES}
    assert found == (OUTCOMES if rerun else OUTCOMES | dict.fromkeys(NOT_AGAIN, (OVER, not FAULT)))


def outcome(cell: Cell, failed: int, rerun: bool) -> tuple[str, bool]:
    """The effect of a code on a job and its instance; qmod releases both afterwards."""
    job = cell.submit(rerun=rerun, shells=[("", "/bin/sh")])
    cell.cycle()
    instance = cell.placed(job)[0][0]
    cell.end(job, failed=failed, reason="because")
    assert [record.failed for record in cell.records(job)] == [str(failed)]
    found = (fate(cell, job), "E" in instance_state_codes(cell.state, cell.state.instances[instance]))
    if found[0] == ERROR:
        assert cell.admin("change_states", action="clear", what="job", targets=[str(job)]).status == 0
        assert fate(cell, job) == AGAIN
    if found[1]:
        assert "because" in cell.state.instances[instance].errors[0]
        assert cell.admin("change_states", action="clear", what="queue", targets=[instance]).status == 0
        assert not cell.state.instances[instance].errors
    if found[0] != OVER:
        cell.ask("delete_jobs", targets=[str(job)])
    return found


@pytest.mark.statement("EX-3", "EX-4", "QI-10")
@pytest.mark.parametrize("failed", [7, 8, 9, 10, 11, 27, 38])
@pytest.mark.parametrize(("fault", "fate_of_job"), [("job", ERROR), ("host", AGAIN)])
def test_job_data_and_a_full_disk_put_no_queue_into_error(
    cell: Cell, failed: int, fault: str, fate_of_job: str
) -> None:
    for rerun in (True, False):
        job = cell.submit(rerun=rerun)
        cell.cycle()
        instance = cell.placed(job)[0][0]
        cell.end(job, failed=failed, reason="because", fault=fault, method="prolog" if failed in (7, 8) else "")
        assert (fate(cell, job), cell.state.instances[instance].errors) == (fate_of_job, [])
        cell.ask("delete_jobs", targets=[str(job)])


@pytest.mark.statement("EX-3", "QI-10")
@pytest.mark.parametrize("fault", ["job", "host"])
@pytest.mark.parametrize(
    ("failed", "method"), [(12, "pe_stop"), (13, "pe_stop"), (27, "pe_stop"), (14, "epilog"), (15, "epilog")]
)
def test_a_job_that_has_run_is_over_when_a_method_fails_for_it(cell: Cell, failed: int, method: str, fault: str) -> None:
    job = cell.submit(rerun=True)
    cell.cycle()
    instance = cell.placed(job)[0][0]
    cell.end(job, failed=failed, reason="because", fault=fault, method=method)
    assert (fate(cell, job), cell.state.instances[instance].errors) == (OVER, [])


@pytest.mark.statement("EX-2", "EX-3", "EX-4", "SO-32")
@pytest.mark.parametrize("rerun", [True, False])
@pytest.mark.parametrize(
    ("method", "failed", "expected"),
    [
        ("epilog", 14, (OVER, False)),  # not there, no right to execute it, a command line that cannot be read
        ("epilog", 27, (OVER, True)),  # a directory, an interpreter that is not there
        ("epilog", 15, (OVER, True)),  # ends with a status but 0, 99, 100
        ("epilog", 25, (AGAIN, False)),  # 99
        ("epilog", 30, (ERROR, False)),  # 100
        ("epilog", 26, (OVER, False)),  # no output file: a full disk
        ("epilog", 1, (OVER, False)),  # its user is gone
        ("pe_stop", 12, (OVER, False)),
        ("pe_stop", 27, (OVER, True)),
        ("pe_stop", 13, (OVER, True)),
        ("pe_stop", 25, (AGAIN, False)),
        ("pe_stop", 30, (ERROR, False)),
        ("pe_stop", 26, (OVER, False)),
        ("", 100, (OVER, False)),  # the shepherd died after the job had begun
    ],
)
def test_no_job_that_has_ended_runs_again_for_what_failed_after_it(
    cell: Cell, method: str, failed: int, expected: tuple[str, bool], rerun: bool
) -> None:
    number = cell.submit(rerun=rerun)
    cell.cycle()
    instance = cell.placed(number)[0][0]
    cell.end(number, failed=failed, exit_status=3, method=method, reason="because")
    assert (fate(cell, number), bool(cell.state.instances[instance].errors)) == expected


@pytest.mark.statement("EX-4", "QC-20", "QC-26")
@pytest.mark.parametrize(
    ("job", "queue", "expected"),
    [
        ({"shells": [("", "/no/shell")]}, {}, (ERROR, False)),
        ({"shells": [("h9", "/no/shell")]}, {}, (AGAIN, True)),
        ({"no_shell": True}, {}, (ERROR, False)),
        ({}, {"shell": "/no/shell"}, (AGAIN, True)),
        ({"binary": False, "script": "dHJ1ZQ=="}, {"shell": "/no/shell"}, (AGAIN, True)),
        ({"binary": False, "script": "dHJ1ZQ=="}, {"shell_start_mode": "unix_behavior"}, (ERROR, False)),
        ({"shells": [("", "/bin/sh")]}, {"starter_method": "/no/starter"}, (AGAIN, True)),
    ],
)
def test_a_shell_that_is_not_there_is_the_fault_of_who_named_it(
    cell: Cell, job: dict[str, object], queue: dict[str, str], expected: tuple[str, bool]
) -> None:
    cell.configure("cluster_queue", "all.q", **queue)
    number = cell.submit(**job)
    cell.cycle()
    instance = cell.placed(number)[0][0]
    cell.end(number, failed=27)
    assert (fate(cell, number), bool(cell.state.instances[instance].errors)) == expected


@pytest.mark.statement("EX-3", "QI-10")
@pytest.mark.parametrize(("method", "again"), [("prolog", True), ("epilog", False), ("pe_stop", False)])
def test_a_method_that_cannot_be_executed_is_the_fault_of_its_queue(cell: Cell, method: str, again: bool) -> None:
    number = cell.submit(shells=[("", "/bin/sh")])
    cell.cycle()
    instance = cell.placed(number)[0][0]
    cell.end(number, failed=27, method=method, reason=f"can't execute {method}")
    assert (fate(cell, number), bool(cell.state.instances[instance].errors)) == (AGAIN if again else OVER, True)


@pytest.mark.statement("EX-3", "ST-2")
def test_a_job_that_failed_for_its_queue_is_not_restarted(cell: Cell) -> None:
    job = cell.submit()
    cell.cycle()
    cell.end(job, failed=8)
    assert pending_state_codes(cell.state, cell.state.jobs[job], 1, cell.state.task(job, 1)) == "qw"
    cell.cycle()
    assert cell.starts[-1].restarted == 0


@pytest.mark.statement("DM-2")
def test_an_error_ends_a_job_whose_program_waits_for_it(cell: Cell) -> None:
    job = cell.submit(error_ends=True)
    cell.cycle()
    cell.end(job, failed=26, reason="no such directory")
    assert job not in cell.state.jobs
    assert [record.failed for _, record in cell.master.spool.accounted.records([job])] == ["26"]
