"""Daily backups are made without a command, in a separate process, and a configured number of them is kept."""

from __future__ import annotations

import asyncio
import os
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from daemons.qmaster.backup.archive import BackupError
from daemons.qmaster.backup.daily import save_daily
from daemons.qmaster.backup.due import is_due
from daemons.qmaster.serve import daily_backup
from daemons.qmaster.serve.daily_backup import DailyBackup
from daemons.runtime.cell import CellError
from tests.unit.backup.conftest import CellOfFiles

NOON = datetime(2027, 3, 4, 12).timestamp()
HOUR = 3600.0


def made(cell: CellOfFiles, when: float) -> Path:
    """A backup of this time."""
    path = cell.files.qmaster_spool_dir / "backups" / f"one-{datetime.fromtimestamp(when):%Y%m%dT%H%M%SZ}.tar.gz"
    path.parent.mkdir(exist_ok=True)
    path.touch()
    os.utime(path, (when, when))
    return path


@pytest.mark.parametrize(
    ("hour", "last", "due"),
    [
        (2, None, True),
        (2, -9 * HOUR, False),  # at 3 o'clock, today
        (2, -10 * HOUR, False),
        (2, -11 * HOUR, True),  # at 1 o'clock
        (13, -22 * HOUR, False),  # at 14 o'clock yesterday
        (13, -24 * HOUR, True),
        (2, HOUR, True),  # by a wrong clock
    ],
)
def test_time_of_a_due_backup(cell: CellOfFiles, hour: int, last: float | None, due: bool) -> None:
    if last is not None:
        made(cell, NOON + last)
    assert is_due(replace(cell.files, backup_hour=hour), NOON) == due
    assert not is_due(replace(cell.files, backup_hour=hour, backup_keep=0), NOON)


def test_the_oldest_backups_are_removed_after_a_new_backup(cell: CellOfFiles) -> None:
    old = [made(cell, NOON - day * 24 * HOUR) for day in (3, 2, 1)]
    other = old[0].with_name("mine.tar.gz")
    other.touch()
    (old[0].parent / "one-20270101T000000Z.tar.gz.part").mkdir()
    output = save_daily(replace(cell.files, backup_keep=2), NOON)
    assert "one-20270304T120000Z.tar.gz: 0 jobs, 1 queue" in output and output.endswith("removed 2 older")
    assert sorted(path.name for path in other.parent.iterdir()) == sorted(
        ["mine.tar.gz", old[2].name, "one-20270304T120000Z.tar.gz"]
    )


def test_a_failed_backup_removes_nothing(cell: CellOfFiles, monkeypatch: pytest.MonkeyPatch) -> None:
    old = [made(cell, NOON - day * 24 * HOUR) for day in (3, 2, 1)]
    (cell.files.common / "restore-plan").write_text("{}")
    with pytest.raises(BackupError, match="a restore of this cell was interrupted"):
        save_daily(replace(cell.files, backup_keep=1), NOON)
    assert all(path.exists() for path in old)


@pytest.mark.parametrize("line", ["backup_hour 24", "backup_hour x", "backup_keep -1", "backup_keep 1001"])
def test_invalid_settings_are_refused(cell: CellOfFiles, line: str) -> None:
    with (cell.files.common / "bootstrap").open("a") as bootstrap:
        bootstrap.write(f"{line}\n")
    with pytest.raises(CellError, match=f'{line.split()[0]} "{line.split()[1]}" is not a number from 0 to'):
        cell.read()


class Child:
    """The program, which runs until it is terminated, or ends immediately."""

    def __init__(self, returncode: int | None) -> None:
        self.returncode, self.ended = returncode, asyncio.Event()

    async def communicate(self) -> tuple[bytes, bytes]:
        if self.returncode is None:
            await self.ended.wait()
        return b"/x: 1 jobs\n", b"gridengine: no room\n"

    def terminate(self) -> None:
        self.returncode = 143
        self.ended.set()

    async def wait(self) -> None:
        await self.ended.wait()


def looks(
    cell: CellOfFiles, monkeypatch: pytest.MonkeyPatch, returncode: int | None, most: int
) -> tuple[list[Child], list[float]]:
    """The started processes and the pauses, until the daemon ends at check number `most`."""
    children: list[Child] = []
    pauses: list[float] = []

    async def start(*command: str, **options: Any) -> Child:
        assert command[-2:] == ("daemons.qmaster.backup", "daily") and options["env"]["SGE_CELL"] == "one"
        children.append(Child(returncode))
        return children[-1]

    original = asyncio.sleep

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)
        await original(0)
        if len(pauses) > most:
            await asyncio.Event().wait()

    async def play() -> None:
        task = asyncio.ensure_future(DailyBackup(cell.files).run())
        for _ in range(100):
            await original(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    monkeypatch.setattr(asyncio, "create_subprocess_exec", start)
    monkeypatch.setattr(daily_backup.asyncio, "sleep", sleep)
    asyncio.run(play())
    return children, pauses


def test_a_due_backup_is_made(cell: CellOfFiles, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    due = iter([False, True, False, False])
    monkeypatch.setattr(daily_backup, "is_due", lambda cell, now: next(due))
    children, pauses = looks(cell, monkeypatch, 0, 4)
    assert (len(children), pauses) == (1, [600.0] * 5)
    assert caplog.messages == ["daily backup /x: 1 jobs"]


def test_a_failed_backup_is_logged_and_tried_again_later(
    cell: CellOfFiles, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(daily_backup, "is_due", lambda cell, now: True)
    children, pauses = looks(cell, monkeypatch, 1, 3)
    assert (len(children), pauses) == (2, [600.0, 3600.0, 600.0, 3600.0])
    assert caplog.messages == ["no daily backup was made: gridengine: no room"] * 2


def test_a_failed_check_is_repeated(
    cell: CellOfFiles, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    due = iter([OSError("no disk"), True, False])

    def is_due(cell: Any, now: float) -> bool:
        if isinstance(answer := next(due), OSError):
            raise answer
        return answer

    monkeypatch.setattr(daily_backup, "is_due", is_due)
    assert len(looks(cell, monkeypatch, 0, 3)[0]) == 1
    assert caplog.messages == ["no daily backup was made"]


def test_the_backup_ends_before_the_daemon(cell: CellOfFiles, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(daily_backup, "is_due", lambda cell, now: True)
    children, _ = looks(cell, monkeypatch, None, 9)
    assert [child.ended.is_set() for child in children] == [True]
