"""A spool that cannot be written: queries are answered, changes refused, and it recovers by itself (ADR 170)."""

import asyncio
import errno
import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import msgspec
import pytest

from daemons.qmaster.serve import spool_space
from daemons.qmaster.serve.service import Service
from daemons.qmaster.spooling.spool_file import write_fault
from daemons.runtime.call_faults import NotServing
from gridengine.protocols.delivery import Batch, encode
from gridengine.protocols.gdi.requests import Answer, Caller
from tests.harness import Cell
from tests.service_callbacks import IdleCallbacks

ALICE = Caller("alice", 1001, "users", 100, "h1")
EXECD = Caller("root", 0, "root", 0, "h1", daemon=True)
JOB = {"name": "once", "script_file": "/bin/true", "binary": True, "holds": "u"}


def broken(fault: int) -> Callable[..., None]:
    """A function that fails with an OSError, as the disk does."""

    def answer(*arguments: Any) -> None:
        raise OSError(fault, os.strerror(fault))

    return answer


def mounts_at(*places: str) -> Callable[[Path], bool]:
    return lambda path: str(path) in ("/", *places)


async def ask(service: Service, what: str, key: str = "", caller: Caller = ALICE, /, **fields: Any) -> Answer:
    return await service.answer(what, msgspec.json.encode(fields), caller, key)


@pytest.mark.parametrize("fault", [errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO])
def test_the_reason_names_host_and_file_system(
    cell: Cell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: int
) -> None:
    monkeypatch.setattr(os.path, "ismount", mounts_at(str(tmp_path)))
    monkeypatch.setattr(socket, "gethostname", lambda: "gm")
    monkeypatch.setattr(os, "posix_fallocate", broken(fault))
    (tmp_path / "spool").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "spool")
    cell.master.spool.path = tmp_path / "link" / "spool.db"
    space = spool_space.SpoolSpace(cell.master.spool)
    assert not space.check()
    file_system = f"{cell.master.spool.path} on host gm, file system {tmp_path}"
    assert space.refusal.startswith(f"cannot write spool {file_system}: {os.strerror(fault)}; nothing is changed")


@pytest.mark.parametrize("what", ["database or disk is full", "disk I/O error", "attempt to write a readonly database"])
def test_messages_of_sqlite_name_the_host_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    monkeypatch.setattr(os.path, "ismount", mounts_at())
    monkeypatch.setattr(socket, "gethostname", lambda: "gm")
    reason = str(write_fault(tmp_path / "spool.db", apsw.Error(what)))
    assert reason == f"cannot write spool {tmp_path}/spool.db on host gm, file system /: {what}"


@pytest.mark.statement("SP-3")
def test_without_space_it_answers_and_changes_nothing_and_then_goes_on(cell: Cell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spool_space, "LOOK_S", 0.01)
    service = Service(cell.master, IdleCallbacks())

    async def played() -> None:
        first = await ask(service, "submit", "k1", **JOB)
        revision = cell.state.revision
        with monkeypatch.context() as disk:
            disk.setattr(os, "posix_fallocate", broken(errno.ENOSPC))
            service.begin()
            reason = str(write_fault(cell.master.spool.path, OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))))
            for refused in (
                await ask(service, "submit", "k2", **JOB),
                await ask(service, "delete_jobs", targets=["1"]),
                await ask(service, "execd_hello", "", EXECD, host="h1", pid=1, incarnation="1", session_port=0),
            ):
                assert refused.status == 1
                assert f"{reason}; nothing is changed until there is space" in refused.answers[0][1]
            with pytest.raises(NotServing, match="No space left"):
                await service.reports("h1", encode(Batch()))
            assert await ask(service, "submit", "k1", **JOB) == first, "it is on the disk, and repeated requests get it"
            assert (await ask(service, "status")).status == 0
            await asyncio.sleep(0.05)
            assert (cell.state.revision, cell.master.pending) == (revision, False)
        async with asyncio.timeout(60):
            while (await ask(service, "submit", "k2", **JOB)).status:
                await asyncio.sleep(0.01)
        await service.stop()

    asyncio.run(played())
    assert len(cell.state.jobs) == 2
