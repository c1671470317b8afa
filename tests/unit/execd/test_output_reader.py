"""Reading of output by an exec host for owners: directory, number at a time, and time limit, with processes that are none."""

from __future__ import annotations

import asyncio
import json
import stat
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from daemons.execd import ended_outputs, output_reader
from daemons.execd.ended_outputs import EndedOutputs
from daemons.execd.output_reader import MAX_READINGS, MAX_READINGS_PER_OWNER, OutputReader
from gridengine.protocols.delivery import OutputRequest, OutputTail, decode_output_tail, encode
from gridengine.values.task_key import SlaveKey, TaskKey

KEY, GONE = TaskKey(12, 1, 3), TaskKey(12, 1, 2)


class Process:
    """A reader that prints `printed`; with None it waits, and one that is killed has not ended before `gone` is set."""

    def __init__(self, printed: bytes | None) -> None:
        self.printed, self.returncode = printed, 1
        self.killed, self.gone = asyncio.Event(), asyncio.Event()

    async def communicate(self) -> tuple[bytes, bytes]:
        if self.printed is None:
            await asyncio.Event().wait()
        return self.printed or b"", b""

    async def end(self, patience_s: float | None) -> None:
        assert patience_s is None, "one that cannot be ended is waited for"
        self.killed.set()
        if self.printed is None:
            await self.gone.wait()


@pytest.fixture(autouse=True)
def played(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output_reader.children, "end", Process.end)


class Host:
    """`printed`: output of the next processes; `started`: their arguments, and the processes."""

    def __init__(self, timeout_s: float = 60.0) -> None:
        self.printed: bytes | None = encode(OutputTail("/o", 5, 0, "told\n"))
        self.started: list[tuple[list[str], Process]] = []
        self.ended = EndedOutputs()
        self.reader = OutputReader({KEY: Path("/active/12.1")}, self.ended, self._start, timeout_s)

    async def _start(self, arguments: list[str]) -> Any:
        process = Process(self.printed)
        self.started.append((arguments, process))
        return process

    async def ask(self, key: TaskKey = KEY, owner: str = "alice") -> OutputTail:
        return decode_output_tail(await self.reader.answer(encode(OutputRequest(key, owner, "stdout", 100))))


def play(scene: Callable[[], Awaitable[None]]) -> None:
    asyncio.run(scene())  # type: ignore[arg-type]


def test_the_directory_is_the_hosts_own_and_that_of_this_attempt_alone() -> None:
    async def scene() -> None:
        host = Host()
        assert await host.ask() == OutputTail("/o", 5, 0, "told\n")
        assert [arguments for arguments, _ in host.started] == [["/active/12.1", "alice", "stdout", "100"]]
        assert "no longer on its host" in (await host.ask(GONE)).fault
        assert len(host.started) == 1

    play(scene)


def test_a_process_without_output_is_a_fault() -> None:
    async def scene() -> None:
        host = Host()
        host.printed = b""
        assert (await host.ask()).fault == "reading failed with status 1"

    play(scene)


def test_a_file_server_that_hangs_is_reported_and_its_readings_count_until_they_are_gone() -> None:
    async def scene() -> None:
        host = Host(timeout_s=0.0)
        host.printed = None
        waiting = [asyncio.ensure_future(host.ask()) for _ in range(MAX_READINGS_PER_OWNER)]
        while len(host.started) < MAX_READINGS_PER_OWNER:
            await asyncio.sleep(0)
        for _, process in host.started:
            await process.killed.wait()
        assert {"is its file server there?" in tail.fault for tail in await asyncio.gather(*waiting)} == {True}
        assert "too many files" in (await host.ask()).fault, "they cannot be ended, and are there"
        assert len(host.started) == MAX_READINGS_PER_OWNER
        host.printed = b"{}"
        assert (await host.ask(owner="bob")).fault == "", "others are not kept from theirs"
        for _, process in host.started:
            process.gone.set()
        await asyncio.sleep(0)
        while (await host.ask()).fault:
            await asyncio.sleep(0)

    play(scene)


def test_all_readings_of_a_host_have_a_limit() -> None:
    async def scene() -> None:
        host = Host()
        host.printed = None
        waiting = [asyncio.ensure_future(host.ask(owner=f"user{number}")) for number in range(MAX_READINGS)]
        while len(host.started) < MAX_READINGS:
            await asyncio.sleep(0)
        host.printed = b"{}"
        reason = (await host.ask()).fault
        for _, process in host.started:
            process.gone.set()
        for each in waiting:
            each.cancel()
        assert "too many files" in reason

    play(scene)


def test_a_host_that_can_start_no_process_reports_it() -> None:
    async def full(arguments: list[str]) -> Any:
        raise OSError(11, "Resource temporarily unavailable")

    async def scene() -> None:
        host = Host()
        host.reader = OutputReader({KEY: Path("/active/12.1")}, host.ended, full)
        assert (await host.ask()).fault == "the host cannot start a process: Resource temporarily unavailable"

    play(scene)


def test_of_tasks_that_are_over_the_last_ones_are_read_without_their_environment(tmp_path: Path) -> None:
    async def scene() -> None:
        host, seen = Host(), []
        (tmp_path / "config").write_text('{"owner": "alice", "stdout": "/o", "environment": {"SECRET": "1"}}')

        async def start(arguments: list[str]) -> Any:
            seen.append(json.loads((Path(arguments[0]) / "config").read_text()))
            assert stat.S_IMODE(Path(arguments[0]).stat().st_mode) == 0o700
            return Process(host.printed)

        host.reader = OutputReader({KEY: Path("/active/12.1")}, host.ended, start)
        over = TaskKey(13, 2, 0)
        assert (await host.ask(over)).fault == "where the task wrote is no longer known"
        host.ended.note(TaskKey(13, 2, 5), tmp_path)
        host.ended.note(SlaveKey(14, 1, 1, 1), tmp_path)
        assert await host.ask(over) == OutputTail("/o", 5, 0, "told\n")
        assert seen == [{"owner": "alice", "stdout": "/o", "environment": {}, "method_environment": {}}]
        assert "no longer on its host" in (await host.ask(TaskKey(13, 2, 5))).fault
        for number in range(ended_outputs.MAX_TASKS):
            host.ended.note(TaskKey(100 + number, 1, 1), tmp_path)
        assert over not in host.ended and TaskKey(14, 1, 0) not in host.ended

    play(scene)


def test_a_task_with_methods_has_its_own_config_under_another_name(tmp_path: Path) -> None:
    (tmp_path / "config").write_text("job_id=13\n")
    (tmp_path / "config.json").write_text('{"stdout": "/o"}')
    ended = EndedOutputs()
    ended.note(TaskKey(13, 1, 1), tmp_path)
    with ended.directory(TaskKey(13, 1, 0)) as place:
        assert json.loads((place / "config").read_text())["stdout"] == "/o"
