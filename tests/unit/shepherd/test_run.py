"""What a shepherd does where no real processes are needed to see it; the rest is in tests/integration/shepherd."""

from __future__ import annotations

import signal

import pytest

from shepherd import process_tree
from shepherd.run import TaskRun


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
