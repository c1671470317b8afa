"""What a shepherd does where no real processes are needed to see it; the rest is in tests/integration/shepherd."""

from __future__ import annotations

import signal

import pytest

from shepherd import process_tree
from shepherd.run import TaskRun, pause_s


@pytest.mark.statement("EX-7")
def test_waiting_for_killed_processes_goes_by_time_and_not_by_how_many_end(monkeypatch: pytest.MonkeyPatch) -> None:
    left = list(range(100, 150))
    task = object.__new__(TaskRun)
    monkeypatch.setattr(TaskRun, "_reap", lambda _: bool(left))
    monkeypatch.setattr(process_tree, "children", lambda _: left)
    monkeypatch.setattr(process_tree, "kill_tree", lambda *_: None)
    monkeypatch.setattr(signal, "sigtimedwait", lambda *_: left.pop())
    task._end_all(())
    assert left == []


@pytest.mark.statement("RL-2")
@pytest.mark.parametrize(("deadline", "expected"), [(90.0, 0.0), (105.0, 5.0), (1e30, 3600.0), (float("inf"), 3600.0)])
def test_no_sleep_is_longer_than_the_kernel_takes(deadline: float, expected: float) -> None:
    assert pause_s(deadline, 100.0) == expected
