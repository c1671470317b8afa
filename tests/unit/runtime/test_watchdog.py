"""How often systemd is told that a daemon serves."""

from __future__ import annotations

import os

import pytest

from daemons.runtime.watchdog import interval_s


@pytest.mark.parametrize(
    ("environment", "seconds"),
    [
        ({}, 0.0),
        ({"WATCHDOG_USEC": "60000000"}, 15.0),
        ({"WATCHDOG_USEC": "60000000", "WATCHDOG_PID": str(os.getpid())}, 15.0),
        ({"WATCHDOG_USEC": "60000000", "WATCHDOG_PID": "1"}, 0.0),
        ({"WATCHDOG_USEC": "soon"}, 0.0),
        ({"WATCHDOG_USEC": "-5"}, 0.0),
    ],
)
def test_four_beats_in_the_time_that_systemd_waits(environment: dict[str, str], seconds: float) -> None:
    assert interval_s(environment) == seconds
