"""Messages of the system are passed on in words, without numbers and marks of the language."""

from __future__ import annotations

import errno
import os

import pytest

from gridengine.errors import InvalidValueError, plain_fault


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "/spool/x"), "/spool/x: No space left on device"),
        (OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), "No space left on device"),
        (OSError("the mailer hangs"), "the mailer hangs"),
        (TimeoutError(), "TimeoutError"),
        (InvalidValueError("no number"), "no number"),
    ],
)
def test_a_fault_of_the_system_has_no_number(error: Exception, text: str) -> None:
    assert plain_fault(error) == text
