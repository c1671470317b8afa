"""qrsh -inherit: a slot whose task has just ended may be in use for a moment more."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

from clients import gdi, inherit

REFUSED = gdi.Answer(1, [["error", "in use"]], {"in_use": 1})


@pytest.fixture
def slept(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[float]]:
    """A clock that advances only during sleeps; the duration of each sleep."""
    naps: list[float] = []
    monkeypatch.setattr(time, "monotonic", lambda: sum(naps))
    monkeypatch.setattr(time, "sleep", naps.append)
    yield naps


def asked(monkeypatch: pytest.MonkeyPatch, *answers: gdi.Answer) -> gdi.Answer:
    """The last answer, where the qmaster gives these answers in sequence."""
    given = iter(answers)
    monkeypatch.setattr(gdi, "change", lambda name, body: next(given))
    return inherit._start_task({"job_id": 1})


@pytest.mark.statement("TI-1")
def test_a_slot_that_is_in_use_is_waited_for(monkeypatch: pytest.MonkeyPatch, slept: list[float]) -> None:
    begun = gdi.Answer(0, [], {"task": [1, 1, 1, 2], "host": "h1"})
    assert asked(monkeypatch, REFUSED, REFUSED, begun) == begun
    assert sum(slept) < 1


@pytest.mark.parametrize("data", [None, {"in_use": 1}])
def test_other_faults_are_not_waited_for_and_the_wait_ends(
    monkeypatch: pytest.MonkeyPatch, slept: list[float], data: Any
) -> None:
    refused = gdi.Answer(1, [["error", "the job does not run"]], data)
    assert asked(monkeypatch, *[refused] * 100) == refused
    assert sum(slept) < 10 and bool(slept) == bool(data)
