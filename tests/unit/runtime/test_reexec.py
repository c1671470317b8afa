"""A daemon restarts as another release only if its program loads completely."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from daemons.runtime import reexec as renewal
from daemons.runtime.reexec import Renewal
from tests.unit.played_process import PlayedProcess


@pytest.fixture
def executed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[list[str]]:
    """Command lines that the process would have become."""
    commands: list[list[str]] = []
    monkeypatch.setattr(renewal, "STARTED", tmp_path / "bin" / "sge_shadowd")
    monkeypatch.setattr(renewal.sys, "argv", ["x", "--fresh", "--host-name", "h1", "--foreground"])
    monkeypatch.setattr(renewal.os, "execv", lambda program, command: commands.append([program, *command[1:]]))
    return commands


def tried(monkeypatch: pytest.MonkeyPatch, status: int, errors: bytes = b"") -> tuple[Renewal, asyncio.Event]:
    """A renewal after a trial that ended so."""

    class Trial(PlayedProcess):
        returncode = status

        async def communicate(self) -> tuple[bytes, bytes]:
            return b"0.1.1-abc\n", errors

    async def begin() -> tuple[Renewal, asyncio.Event]:
        stop, made = asyncio.Event(), Renewal(lambda: "sge_qmaster")
        made.watch(stop)
        made.begin()
        await asyncio.gather(*(task for task in asyncio.all_tasks() if task is not asyncio.current_task()))
        return made, stop

    async def start(*command: str, **_: Any) -> Trial:
        assert command[1:] == ("--version",)
        return Trial()

    monkeypatch.setattr(renewal.asyncio, "create_subprocess_exec", start)
    return asyncio.run(begin())


def test_the_daemon_ends_its_work_and_becomes_the_program_that_belongs_here_now(
    monkeypatch: pytest.MonkeyPatch, executed: list[list[str]], tmp_path: Path
) -> None:
    made, stop = tried(monkeypatch, 0)
    assert made.is_due and stop.is_set()
    made.become()
    assert executed == [[str(tmp_path / "bin" / "sge_qmaster"), "--host-name", "h1", "--foreground"]]


@pytest.mark.usefixtures("executed")
def test_a_program_that_cannot_load_itself_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    made, stop = tried(monkeypatch, 1, b"Traceback\nImportError: no module named ray\n")
    assert not made.is_due and not stop.is_set()
    assert made.refusal.endswith("sge_qmaster: ImportError: no module named ray")
