"""A list whose runner dies at any point, again and again: all commands end, and nothing whose end was recorded runs again."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clients.task_runner.capture import NoCapture
from clients.task_runner.local_host import AttemptEnd, LocalHost
from clients.task_runner.progress_report import ProgressReport
from clients.task_runner.runner import Runner
from clients.task_runner.wakeups import Wakeups
from gridengine.task_lists.list_script import ListOptions
from gridengine.task_lists.task_lines import ListedCommand, read_lines
from gridengine.task_lists.task_states import ENDED, fold


class _KilledError(Exception):
    """The runner dies here."""


class _Host(LocalHost):
    """A host whose commands end in an order that a test chooses; the runner dies after some actions."""

    def __init__(self, slots: int, data: st.DataObject, failing: set[int], actions_left: int) -> None:
        self.name = "h"
        self.begun: list[int] = []
        self._slots, self._data, self._failing, self._actions_left = slots, data, failing, actions_left
        self._at_work: dict[int, int] = {}

    def _act(self) -> None:
        self._actions_left -= 1
        if self._actions_left < 0:
            raise _KilledError

    @property
    def has_free(self) -> bool:
        return len(self._at_work) < self._slots

    @property
    def is_busy(self) -> bool:
        return bool(self._at_work)

    @property
    def has_unstarted(self) -> bool:
        return True

    def running(self) -> list[tuple[int, int, float]]:
        return [(number, attempt, 1.0) for number, attempt in self._at_work.items()]

    def begin(self, number: int, attempt: int, command: str) -> None:
        self._act()
        self._at_work[number] = attempt
        self.begun.append(number)

    def ends(self) -> list[AttemptEnd]:
        self._act()
        going_on = self._data.draw(st.sets(st.sampled_from(sorted(self._at_work)))) if self._at_work else set()
        ended = [number for number in self._at_work if number not in going_on]
        capture = NoCapture(-1)
        return [AttemptEnd(each, self._at_work.pop(each), (1.0, 2.0), int(each in self._failing), 0, capture) for each in ended]

    def free(self, end: AttemptEnd) -> None:
        self._act()

    def signal(self, number: int) -> None:
        raise AssertionError("no signal was sent")


class _Clock:
    """The clock of a run, which goes on with each look, so that equal data give equal records."""

    def __init__(self) -> None:
        self._now = 1000.0

    def time(self) -> float:
        return 1000.0

    def monotonic(self) -> float:
        self._now += 0.2
        return self._now


class _NoWakeups(Wakeups):
    def __init__(self) -> None:
        self.ended_by = 0

    def wait(self, limit_s: float) -> list[int]:
        return []


@st.composite
def lists(draw: st.DrawFn) -> str:
    count = draw(st.integers(1, 7))
    rows = []
    for number in range(1, count + 1):
        after = draw(st.lists(st.integers(1, number - 1), unique=True, max_size=2)) if number > 1 else []
        options = [f"name=n{number}", *(["after=" + ",".join(f"n{each}" for each in after)] if after else [])]
        rows.append(f"[{' '.join(options)}] command\n")
    return "".join(rows)


def run_until_killed(directory: str, lines: list[ListedCommand], host: _Host, retries: int) -> int | None:
    """The exit status of a run, None if it was killed."""
    progress = ProgressReport("", "", directory, lambda argv: None)
    with pytest.MonkeyPatch.context() as patch:
        for module in ("runner", "record_files"):
            patch.setattr(f"clients.task_runner.{module}.time", _Clock())
        runner = Runner(directory, ListOptions(output="none", retries=retries), lines, [host], _NoWakeups(), progress)
        try:
            return runner.run()
        except _KilledError:
            return None


@settings(max_examples=60)
@given(text=lists(), slots=st.integers(1, 3), retries=st.integers(0, 1), data=st.data())
def test_a_list_ends_after_any_deaths_of_its_runner(text: str, slots: int, retries: int, data: st.DataObject) -> None:
    lines = read_lines(text, "list")
    failing = data.draw(st.sets(st.integers(1, len(lines)), max_size=2))
    with tempfile.TemporaryDirectory() as directory:
        records = Path(directory, "records")
        status = None
        for actions in [*data.draw(st.lists(st.integers(0, 12), max_size=4)), 10_000]:
            before = fold(records.read_bytes() if records.exists() else b"")
            ended = {number for number, state in before.by_number.items() if state.state in ENDED}
            host = _Host(slots, data, failing, actions)
            status = run_until_killed(directory, lines, host, retries)
            assert not ended & set(host.begun), "nothing that ended runs again"
            if status is None:  # the last write may be torn
                content = records.read_bytes()
                records.write_bytes(content[: len(content) - data.draw(st.integers(0, min(len(content), 60)))])
        states = fold(records.read_bytes())
        bad: set[int] = set()
        for line in lines:
            state = states.of(line.number).state
            expected = "skipped" if bad & set(line.after) else "failed" if line.number in failing else "done"
            assert state == expected, (line.number, text)
            if state != "done":
                bad.add(line.number)
        assert status == (1 if bad else 0)
