"""Reasons of failures, with time, user, process and host, and without."""

from __future__ import annotations

import pytest

from gridengine.usage.failed import plain_reason, readable_reason, reason_on_host, stamped

AT = 1795784323.0
STAMPED = stamped("no: [1:2]: way", AT, 1000, 42)


@pytest.mark.statement("ST-18")
def test_a_stamp_has_the_form_of_8_1_9() -> None:
    assert STAMPED[2] == STAMPED[5] == "/"
    assert STAMPED[19:] == " [1000:42]: no: [1:2]: way"


@pytest.mark.parametrize("reason", ["", "no: way", "12/2: x", "12/34/5678 ab: x", "12/34/5678 12:34:56 at: x", "[1:2]: x"])
def test_a_reason_without_a_stamp_stays(reason: str) -> None:
    assert (plain_reason(reason), readable_reason(reason)) == (reason, reason)


@pytest.mark.parametrize("reason", [STAMPED, "no: [1:2]: way"])
def test_each_reason_gets_a_time_and_a_host_once(reason: str) -> None:
    placed = reason_on_host(reason, "h1", AT)
    assert placed.startswith(STAMPED[:19])
    assert plain_reason(placed) == "no: [1:2]: way (on host h1)"
    assert readable_reason(placed) == f"no: [1:2]: way (on host h1), at {STAMPED[:19]}"
    assert placed.count(STAMPED[:19]) == 1
