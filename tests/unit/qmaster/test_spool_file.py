"""The file of the spool: private to its owner, and a single file after a clean stop."""

from __future__ import annotations

import asyncio
import os
import shutil
import stat
from pathlib import Path

import pytest

from daemons.qmaster.serve.supervisor import QmasterSupervisor
from daemons.qmaster.spooling.spool import Spool
from daemons.qmaster.spooling.spool_file import merge_log
from daemons.runtime.ray_node import TOO_SLOW, NodeInfo, SlowStartError
from tests.harness import Cell
from tests.unit.played_process import PlayedProcess


def modes(directory: Path) -> dict[str, str]:
    return {path.name: stat.filemode(path.stat().st_mode) for path in (directory, *directory.iterdir())}


@pytest.mark.parametrize("umask", [0o022, 0])
def test_no_other_user_can_read_the_spool_and_its_side_files(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        spool = Spool(tmp_path / "spool" / "spool.db")
        spool.remember("fact", "1")
    finally:
        os.umask(before)
    closed = dict.fromkeys(("spool.db", "spool.db-wal", "spool.db-shm"), "-rw-------")
    assert modes(tmp_path / "spool") == {"spool": "drwx------", **closed}


def test_readable_side_files_of_an_earlier_version_become_private(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "spool" / "spool.db")
    spool.remember("fact", "1")
    for path in (spool.path.parent, *spool.path.parent.iterdir()):
        path.chmod(0o755)
    Spool(spool.path)
    assert {mode[4:] for mode in modes(spool.path.parent).values()} == {"------"}


def test_a_spool_with_a_merged_log_is_one_complete_file(tmp_path: Path) -> None:
    """A copy of this file alone has the last transaction of a killed master."""
    cell = Cell(tmp_path / "cell")
    job = cell.submit()
    path = tmp_path / "cell" / "spool.db"
    killed = tmp_path / "killed"
    killed.mkdir()
    for file in path.parent.glob("spool.db*"):
        shutil.copy(file, killed)
    merge_log(killed / "spool.db")
    assert [file.name for file in killed.iterdir()] == ["spool.db"]
    assert job in Spool(killed / "spool.db").load().jobs


def test_merging_creates_no_missing_spool(tmp_path: Path) -> None:
    merge_log(tmp_path / "spool.db")
    assert not any(tmp_path.iterdir())


def test_start_actors_ignores_modules_of_the_working_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    """A module of the working directory must not replace a module of the product: -P."""
    commands: list[tuple[str, ...]] = []

    class Done(PlayedProcess):
        async def communicate(self) -> tuple[bytes, bytes]:
            return b"", b""

    async def start(*command: str, **_options: object) -> Done:
        commands.append(command)
        return Done()

    monkeypatch.setattr(asyncio, "create_subprocess_exec", start)
    monkeypatch.setattr("daemons.qmaster.serve.supervisor.ray_environment", lambda cell, spec: {})
    monkeypatch.setattr("daemons.qmaster.serve.supervisor.head_spec", lambda cell, host: None)
    supervisor = QmasterSupervisor(cell=None, host="m", startup=None)  # type: ignore[arg-type]
    asyncio.run(supervisor._start_actors(NodeInfo("session", "10.0.0.1:6446", "node")))
    assert commands[0][1:4] == ("-P", "-m", "daemons.qmaster.serve.start_actors")
    assert commands[0][-2:] == (str(os.getpid()), "100.0"), "it ends with the supervisor"


def test_a_start_that_was_too_slow_gets_twice_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    limits: list[float] = []

    class Slow(PlayedProcess):
        returncode = TOO_SLOW

        async def communicate(self) -> tuple[bytes, bytes]:
            return b"", b""

    async def start(*command: str, **_options: object) -> Slow:
        limits.append(float(command[-1]))
        return Slow()

    monkeypatch.setattr(asyncio, "create_subprocess_exec", start)
    monkeypatch.setattr("daemons.qmaster.serve.supervisor.ray_environment", lambda cell, spec: {})
    monkeypatch.setattr("daemons.qmaster.serve.supervisor.head_spec", lambda cell, host: None)
    supervisor = QmasterSupervisor(cell=None, host="m", startup=None)  # type: ignore[arg-type]
    for _ in range(2):
        with pytest.raises(SlowStartError, match="did not answer within"):
            asyncio.run(supervisor._start_actors(NodeInfo("session", "10.0.0.1:6446", "node")))
    assert limits == [100.0, 210.0]
