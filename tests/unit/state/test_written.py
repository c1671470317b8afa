"""`Affected.written`: every job whose record a transaction changes. The spool saves, and the scheduler examines, only these.

The law is asked of each event that a whole play brings about (`tests/past/play.py`: every state that a spool can hold).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from daemons.qmaster import master
from gridengine.state.affected import Affected
from gridengine.state.events import AnyEvent
from gridengine.state.hooks import encode_hook
from gridengine.state.state import State
from tests.past.play import perform

_encode = msgspec.json.Encoder(enc_hook=encode_hook).encode


def _records(state: State) -> dict[int, bytes]:
    return {number: _encode(job) for number, job in state.jobs.items()}


def test_no_record_of_a_job_changes_unnoted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: set[type[Any]] = set()
    apply = master.apply

    def watched(state: State, event: AnyEvent) -> None:
        noted, before = Affected.by(state, event).written, _records(state)
        apply(state, event)
        after = _records(state)
        changed = {number for number in before.keys() | after.keys() if before.get(number) != after.get(number)}
        assert changed <= noted, f"{type(event).__name__} wrote jobs {changed - noted}"
        if changed:
            seen.add(type(event))

    monkeypatch.setattr(master, "apply", watched)
    cell = perform(tmp_path)
    assert cell.admin("clear_usage").status == 0
    assert len(seen) > 20, "the play changes jobs by most events that can"
    assert {kind.__name__ for kind in seen} >= {"TasksReprioritized", "UsageCleared", "TaskEnded", "PendingTasksDeleted"}
