"""Reason and cause of a task's failure, from the ends of its steps (EX-2, EX-3, EX-4)."""

from __future__ import annotations

import pytest

from shepherd.faults import BY_CODE, HOST, JOB
from shepherd.outcome import Ended, Outcome


@pytest.fixture
def outcome() -> Outcome:
    return Outcome(forbid_reschedule=False, forbid_apperror=False)


def test_nothing_has_failed_before_the_first_step(outcome: Outcome) -> None:
    assert (outcome.failed, outcome.reason, outcome.method, outcome.fault) == (0, "", "", BY_CODE)
    assert (outcome.exit_status, outcome.signal, outcome.unsuccessful) == (0, 0, set())


@pytest.mark.statement("EX-3")
@pytest.mark.parametrize(
    ("ended", "reason"), [(Ended(7), "prolog ended with exit status 7"), (Ended(137, 9, reason="took too long"), "took too long")]
)
def test_a_method_that_failed_gives_its_exit_status_or_why_it_was_ended(outcome: Outcome, ended: Ended, reason: str) -> None:
    outcome.method_ended("prolog", ended)
    assert outcome.reason == reason


@pytest.mark.statement("EX-3")
@pytest.mark.parametrize(
    ("as_owner", "status", "fault"),
    [
        (True, 137, JOB),
        (True, 129, JOB),
        (True, 192, JOB),
        (True, 128, BY_CODE),
        (True, 193, BY_CODE),
        (True, 1, BY_CODE),
        (False, 137, BY_CODE),
        (False, 1, BY_CODE),
    ],
)
def test_only_a_signal_to_a_method_of_the_owner_is_the_jobs_fault(
    outcome: Outcome, as_owner: bool, status: int, fault: str
) -> None:
    outcome.method_ended("prolog", Ended(status), as_owner)
    assert (outcome.failed, outcome.fault) == (8, fault)


@pytest.mark.statement("EX-3")
def test_a_method_is_not_the_owners_by_default(outcome: Outcome) -> None:
    outcome.method_ended("epilog", Ended(143, 15))
    assert outcome.fault == BY_CODE


@pytest.mark.statement("EX-3", "EX-4")
def test_the_cause_of_a_step_that_never_started_is_kept(outcome: Outcome) -> None:
    outcome.method_ended("prolog", Ended(127, 0, 7, "no such file", HOST))
    assert (outcome.failed, outcome.reason, outcome.fault) == (7, "no such file", HOST)
    outcome.job_ended(Ended(127, 0, 26, "no such directory", JOB), "")
    assert (outcome.failed, outcome.reason, outcome.fault, outcome.method) == (26, "no such directory", JOB, "")


@pytest.mark.statement("CK-4")
@pytest.mark.parametrize(("why", "reason"), [("", "the job migrates"), ("suspended", "suspended")])
def test_a_job_that_migrates_has_a_reason(outcome: Outcome, why: str, reason: str) -> None:
    outcome.job_ended(Ended(0), why, migrating=True)
    assert (outcome.reason, outcome.runs_again) == (reason, True)


@pytest.mark.statement("EX-4")
@pytest.mark.parametrize(("why", "reason"), [("", "job died through signal 15"), ("deleted", "deleted")])
def test_a_job_that_a_signal_ended_names_the_signal_or_why_it_was_sent(outcome: Outcome, why: str, reason: str) -> None:
    outcome.job_ended(Ended(143, 15), why)
    assert (outcome.failed, outcome.reason, outcome.runs_again) == (100, reason, False)


@pytest.mark.statement("EX-2")
def test_a_job_that_requests_a_rerun_gets_it_and_one_with_an_error_of_its_own_does_not(outcome: Outcome) -> None:
    outcome.job_ended(Ended(99), "")
    assert (outcome.runs_again, outcome.reason) == (True, "job ended with exit status 99")
    outcome.job_ended(Ended(100), "")
    assert (outcome.runs_again, outcome.reason) == (False, "job ended with exit status 100")


@pytest.mark.statement("EX-2", "EX-3")
@pytest.mark.parametrize(("status", "failed"), [(99, 8), (100, 30)])
def test_forbidding_one_status_leaves_the_other_its_meaning(status: int, failed: int) -> None:
    outcome = Outcome(forbid_reschedule=True, forbid_apperror=False)
    outcome.method_ended("prolog", Ended(status))
    assert outcome.failed == failed


@pytest.mark.statement("CK-4")
def test_the_outcome_of_the_clean_command_is_ignored(outcome: Outcome) -> None:
    outcome.fail("clean_command", 15, "it failed")
    outcome.killed("clean_command", "deleted")
    assert (outcome.failed, outcome.reason, outcome.exit_status, outcome.unsuccessful) == (0, "", 0, set())


@pytest.mark.parametrize("name", ["prolog", "pe_start"])
def test_a_method_before_the_job_that_is_killed_is_the_jobs_end(outcome: Outcome, name: str) -> None:
    outcome.killed(name, "deleted")
    assert (outcome.exit_status, outcome.signal, outcome.method) == (137, 9, name)
    assert outcome.unsuccessful == {"job", name}


@pytest.mark.parametrize("name", ["pe_stop", "epilog"])
def test_a_method_after_the_job_that_is_killed_leaves_the_jobs_end(outcome: Outcome, name: str) -> None:
    outcome.job_ended(Ended(3), "")
    outcome.killed(name, "deleted")
    assert (outcome.failed, outcome.exit_status, outcome.signal, outcome.unsuccessful) == (100, 3, 0, {name})
