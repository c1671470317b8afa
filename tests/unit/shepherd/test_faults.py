"""The party at fault for a step that failed, for every kind of error of a step (EX-3, EX-4)."""

from __future__ import annotations

import errno

import pytest

from shepherd.faults import BY_CODE, HOST, JOB, fault_of
from shepherd.outcome import Ended, Outcome


@pytest.mark.statement("EX-3", "EX-4", "QI-10")
@pytest.mark.parametrize(
    ("error", "within_limits", "outside"),
    [
        (OSError(errno.E2BIG, "an environment of 200 KB"), JOB, JOB),
        (OSError(errno.ENAMETOOLONG, "a path of 5,000 letters"), JOB, JOB),
        (OSError(errno.EDQUOT, "the owner's quota"), JOB, JOB),
        (ValueError("embedded null byte"), JOB, JOB),
        (UnicodeEncodeError("utf-8", "", 0, 1, "a lone surrogate"), JOB, JOB),
        (OverflowError("a limit beyond what the kernel takes"), JOB, JOB),
        (MemoryError(), JOB, HOST),
        (OSError(errno.EAGAIN, "no more processes"), JOB, HOST),
        (OSError(errno.ENOMEM, "no memory"), JOB, HOST),
        (OSError(errno.EMFILE, "no more descriptors"), JOB, HOST),
        (OSError(errno.ENFILE, "no more files"), JOB, HOST),
        (OSError(errno.ENOSPC, "no space"), JOB, HOST),
        (OSError(errno.ENOENT, "no shell"), BY_CODE, BY_CODE),
        (OSError(errno.EACCES, "no right"), BY_CODE, BY_CODE),
        (RuntimeError("a bug"), BY_CODE, BY_CODE),
    ],
    ids=repr,
)
def test_by_the_error(error: BaseException, within_limits: str, outside: str) -> None:
    assert (fault_of(error, limited=True), fault_of(error)) == (within_limits, outside)


@pytest.mark.statement("EX-3")
@pytest.mark.parametrize("name", ["prolog", "pe_start", "pe_stop", "epilog"])
@pytest.mark.parametrize(
    ("ended", "as_owner", "fault"),
    [
        (Ended(1), True, BY_CODE),
        (Ended(128), True, BY_CODE),
        (Ended(255), True, BY_CODE),
        (Ended(137, 9), True, JOB),
        (Ended(137), True, JOB),
        (Ended(137, 9), False, BY_CODE),
        (Ended(127, 0, 27, "too large", JOB), False, JOB),
    ],
)
def test_of_a_method(name: str, ended: Ended, as_owner: bool, fault: str) -> None:
    outcome = Outcome(False, False)
    outcome.method_ended(name, ended, as_owner)
    assert (outcome.failed != 0, outcome.fault, outcome.method) == (True, fault, name)


@pytest.mark.statement("EX-4")
def test_the_last_failure_has_the_cause() -> None:
    outcome = Outcome(False, False)
    outcome.job_ended(Ended(137, 9), "deleted")
    outcome.method_ended("pe_stop", Ended(127, 0, 12, "no room", JOB))
    assert (outcome.failed, outcome.fault) == (12, JOB)
    outcome.method_ended("epilog", Ended(1))
    assert (outcome.failed, outcome.fault) == (15, BY_CODE)
