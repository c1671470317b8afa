"""`failed` codes from the ends of the steps (EX-2, EX-3, EX-4)."""

from __future__ import annotations

import pytest

from shepherd.outcome import Ended, Outcome


@pytest.mark.statement("EX-2", "EX-3")
@pytest.mark.parametrize(
    ("name", "status", "forbidden", "failed"),
    [
        ("prolog", 0, False, 0),
        ("prolog", 1, False, 8),
        ("prolog", 99, False, 25),
        ("prolog", 100, False, 30),
        ("prolog", 99, True, 8),
        ("prolog", 100, True, 8),
        ("prolog", 137, False, 8),
        ("pe_start", 1, False, 10),
        ("pe_stop", 2, False, 13),
        ("epilog", 3, False, 15),
        ("epilog", 99, False, 25),
        ("epilog", 100, False, 30),
    ],
)
def test_methods(name: str, status: int, forbidden: bool, failed: int) -> None:
    outcome = Outcome(forbidden, forbidden)
    outcome.method_ended(name, Ended(status))
    assert outcome.failed == failed
    assert (name in outcome.unsuccessful) == bool(failed)
    assert outcome.exit_status == 0


@pytest.mark.statement("EX-2", "EX-4")
@pytest.mark.parametrize(
    ("ended", "forbidden", "failed"),
    [
        (Ended(0), False, 0),
        (Ended(1), False, 0),
        (Ended(99), False, 25),
        (Ended(99), True, 0),
        (Ended(100), False, 30),
        (Ended(100), True, 0),
        (Ended(137, 9), False, 100),
        (Ended(137), False, 0),
    ],
)
def test_job(ended: Ended, forbidden: bool, failed: int) -> None:
    outcome = Outcome(forbidden, forbidden)
    outcome.job_ended(ended, "")
    assert (outcome.failed, outcome.exit_status, outcome.signal) == (failed, ended.exit_status, ended.signal)


@pytest.mark.statement("RL-2", "AC-2")
@pytest.mark.parametrize("ended", [Ended(137, 9), Ended(0), Ended(99)])
def test_job_that_exceeded_a_hard_limit(ended: Ended) -> None:
    outcome = Outcome(False, False)
    outcome.job_ended(ended, "limit h_rt of 3 s exceeded", limit_enforced=True)
    assert (outcome.failed, outcome.exit_status, outcome.reason) == (37, ended.exit_status, "limit h_rt of 3 s exceeded")


@pytest.mark.statement("CK-4", "RL-2")
def test_a_job_that_migrates_goes_on_elsewhere_although_it_exceeded_a_limit_meanwhile() -> None:
    outcome = Outcome(False, False)
    outcome.job_ended(Ended(137, 9), "limit h_rt of 3 s exceeded", migrating=True, limit_enforced=True)
    assert (outcome.failed, outcome.runs_again) == (24, True)


@pytest.mark.statement("EX-4")
def test_job_that_never_started_has_no_exit_status() -> None:
    outcome = Outcome(False, False)
    outcome.job_ended(Ended(127, 0, 27, "no shell"), "")
    assert (outcome.failed, outcome.exit_status, outcome.reason) == (27, 0, "no shell")


@pytest.mark.statement("EX-3")
def test_last_failure_decides_and_the_exit_status_stays() -> None:
    outcome = Outcome(False, False)
    outcome.job_ended(Ended(137, 9), "limit h_rt")
    assert outcome.reason == "limit h_rt"
    outcome.method_ended("epilog", Ended(1))
    assert (outcome.failed, outcome.exit_status, outcome.signal) == (15, 137, 9)


@pytest.mark.statement("EX-3", "EX-4")
def test_a_missing_interpreter_is_reported_with_its_step() -> None:
    outcome = Outcome(False, False)
    outcome.job_ended(Ended(3), "")
    assert outcome.method == ""
    outcome.method_ended("epilog", Ended(127, 0, 27, "no epilog"))
    assert (outcome.failed, outcome.method) == (27, "epilog")


@pytest.mark.statement("EX-2", "EX-3")
@pytest.mark.parametrize("method", ["pe_stop", "epilog"])
@pytest.mark.parametrize("bad", [Ended(1), Ended(99), Ended(127, 0, 14, "no epilog")])
@pytest.mark.parametrize(
    ("name", "ended", "failed"),
    [
        ("prolog", Ended(1), 8),
        ("prolog", Ended(127, 0, 27, "no prolog"), 27),
        ("pe_start", Ended(1), 10),
        ("job", Ended(127, 0, 27, "no shell"), 27),
        ("job", Ended(99), 25),
        ("job", Ended(100), 30),
    ],
)
def test_a_failure_after_a_job_that_runs_later_is_named_and_changes_nothing(
    name: str, ended: Ended, failed: int, bad: Ended, method: str
) -> None:
    outcome = Outcome(False, False)
    if name == "job":
        outcome.job_ended(ended, "")
    else:
        outcome.method_ended(name, ended)
    before = outcome.failed, outcome.method, outcome.fault, outcome.exit_status
    reason = outcome.reason
    outcome.method_ended(method, bad)
    assert (outcome.failed, outcome.method, outcome.fault, outcome.exit_status) == before
    assert outcome.failed == failed
    assert outcome.reason.startswith(f"{reason}; ")
    assert len(outcome.reason) > len(reason) + 2


def test_killed_methods() -> None:
    before = Outcome(False, False)
    before.killed("prolog", "deleted")
    assert (before.failed, before.exit_status, before.signal, before.reason) == (100, 137, 9, "deleted")
    after = Outcome(False, False)
    after.job_ended(Ended(3), "")
    after.killed("epilog", "killed")
    assert (after.failed, after.exit_status) == (100, 3)
