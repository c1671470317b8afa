"""A spool that cannot be written: what is known is told, nothing is changed, and it goes on by itself (ADR 170)."""

import asyncio
import errno
import os
from typing import Any

import msgspec
import pytest

from daemons.qmaster.serve import spool_room
from daemons.qmaster.serve.service import Service
from daemons.runtime.call_faults import NotServing
from gridengine.delivery import Batch, encode
from gridengine.gdi.requests import Answer, Caller
from tests.harness import Cell

ALICE = Caller("alice", 1001, "users", 100, "h1")
EXECD = Caller("root", 0, "root", 0, "h1", daemon=True)
JOB = {"name": "once", "script_file": "/bin/true", "binary": True, "holds": "u"}


async def nothing(*arguments: Any) -> Any:
    return None


def full(*arguments: Any) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


async def ask(service: Service, what: str, key: str = "", caller: Caller = ALICE, /, **fields: Any) -> Answer:
    return await service.answer(what, msgspec.json.encode(fields), caller, key)


@pytest.mark.statement("SP-3")
def test_without_room_it_tells_and_changes_nothing_and_then_goes_on(cell: Cell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spool_room, "LOOK_S", 0.01)
    service = Service(cell.master, nothing, nothing, nothing, dict, nothing)

    async def played() -> None:
        first = await ask(service, "submit", "k1", **JOB)
        revision = cell.state.revision
        with monkeypatch.context() as disk:
            disk.setattr(os, "posix_fallocate", full)
            service.begin()
            reason = f"cannot write spool {cell.master.spool.path}: No space left on device"
            for refused in (
                await ask(service, "submit", "k2", **JOB),
                await ask(service, "delete_jobs", targets=["1"]),
                await ask(service, "execd_hello", "", EXECD, host="h1", pid=1, incarnation="1", session_port=0),
            ):
                assert refused.status == 1
                assert f"{reason}; nothing is changed until there is room" in refused.answers[0][1]
            with pytest.raises(NotServing, match="No space left"):
                await service.reports("h1", encode(Batch()))
            assert await ask(service, "submit", "k1", **JOB) == first, "it is on the disk, whoever asks again is told so"
            assert (await ask(service, "status")).status == 0
            await asyncio.sleep(0.05)
            assert (cell.state.revision, cell.master.pending) == (revision, False)
        async with asyncio.timeout(60):
            while (await ask(service, "submit", "k2", **JOB)).status:
                await asyncio.sleep(0.01)
        await service.stop()

    asyncio.run(played())
    assert len(cell.state.jobs) == 2
