"""A qmaster that needs no vote does not serve where another host is the master, or was later."""

from __future__ import annotations

import asyncio
import itertools
import os
import pwd
import shutil
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from clients.admin.authority import Authority
from clients.admin.cell import CellFiles
from clients.admin.certificate import utc_now
from clients.admin.free_ports import free_ports
from daemons.execd.witness import Witness
from daemons.qmaster.shadow.other_masters import refuse_second_master
from daemons.qmaster.shadow.promotion import shadow_directory
from daemons.runtime.cell import Cell, CellError
from daemons.runtime.keys import Keys
from daemons.runtime.lease_voter import LeaseVoter
from gridengine.protocols.lease import VoteRecord


@pytest.fixture
def cell(tmp_path: Path) -> Cell:
    """A cell with master m and host n, which is at 127.0.0.1; m is elsewhere for the test."""
    aliases = {"10.0.0.1": "m", "127.0.0.1": "n"}
    cell = Cell(tmp_path, "c", "x", tmp_path / "q", tmp_path / "e", tmp_path / "r", 1, 2, aliases=aliases)
    cell.common.mkdir(parents=True)
    shadow_directory(cell).mkdir(parents=True)
    cell.act_qmaster.write_text("m\n")
    authority = Authority(CellFiles(cell.root, cell.name), cell.qmaster_spool_dir, pwd.getpwuid(os.geteuid()).pw_name)
    authority.found("m", ["10.0.0.1"], utc_now())
    authority.add("n", ["127.0.0.1"], utc_now())
    return cell


def voter(cell: Cell, holder: str = "", epoch: int = 7, version: int = 1) -> LeaseVoter:
    """The voter of host m, with a vote record."""
    path = shadow_directory(cell) / "promise"
    if holder:
        path.write_bytes(msgspec.json.encode(VoteRecord(epoch, holder, version=version)))
    seconds = itertools.count(0.0, 10.0)  # at each reading of the clock all grants have expired
    return LeaseVoter(path, lambda: next(seconds))


def begin(cell: Cell, own: LeaseVoter, force: bool = False) -> None:
    """The check of host m before it serves. Raises CellError."""
    asyncio.run(refuse_second_master(cell, "m", own, force))


@asynccontextmanager
async def server(context: ssl.SSLContext | None) -> AsyncIterator[int]:
    """A port of this machine, with the certificate of a host or without TLS."""
    listening = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0, ssl=context)
    async with listening:
        yield listening.sockets[0].getsockname()[1]


async def listens(port: int) -> bool:
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        return False
    writer.close()
    return True


def test_a_cell_starts_while_all_other_hosts_are_off(cell: Cell) -> None:
    begin(cell, voter(cell))


@pytest.mark.parametrize(("holder", "refused"), [("m", False), ("n", True)])
def test_a_host_does_not_serve_after_a_later_master(cell: Cell, holder: str, refused: bool) -> None:
    """A former shadow whose own files name it as the only master: its replica is old."""
    own = voter(cell, holder)
    if not refused:
        return begin(cell, own)
    with pytest.raises(CellError, match=r"host n was the master after this host \(epoch 7\).*sge_qmaster --force"):
        begin(cell, own)
    begin(cell, own, force=True)
    assert (own.record.holder, own.record.epoch) == ("m", 8)
    begin(cell, voter(cell))


def test_a_host_that_was_not_elected_does_not_serve_alone(cell: Cell) -> None:
    """Its vote for itself has replaced the one for the master."""
    own = voter(cell, "m", version=0)
    with pytest.raises(CellError, match="campaigned to be the master in epoch 7 and was not elected"):
        begin(cell, own)
    begin(cell, own, force=True)
    begin(cell, own)


@pytest.mark.parametrize("stale", ["n", "a program without TLS"])
@pytest.mark.parametrize("force", [False, True])
def test_a_host_that_serves_is_found(cell: Cell, stale: str, force: bool) -> None:
    async def start() -> None:
        keys = Keys(cell.secrets / "n", cell.common / "tls.crt", "")
        async with server(keys.server_context(callers_need_keys=True) if stale == "n" else None) as port:
            await refuse_second_master(replace(cell, qmaster_port=port), "m", voter(cell), force)

    if stale == "n":
        with pytest.raises(CellError, match="host n serves as the master of this cell"):
            asyncio.run(start())
    else:
        asyncio.run(start())


@pytest.mark.parametrize(("theirs", "own", "refused"), [(8, 0, True), (8, 7, True), (7, 8, False), (0, 0, False)])
def test_execution_hosts_report_a_later_master(cell: Cell, theirs: int, own: int, refused: bool) -> None:
    """The record of this host was lost with its disk, or is older; host x, which n has voted for, is off."""
    (port,) = free_ports(1)
    cell = replace(cell, shadow_port=port)
    keys = cell.execd_spool("n") / "keys"
    shutil.copytree(cell.secrets / "n", keys)
    if theirs:
        (keys.parent / "promise").write_bytes(msgspec.json.encode(VoteRecord(theirs, "x", version=1)))

    async def start() -> None:
        witness = asyncio.create_task(Witness(cell, "n").run())
        try:
            while theirs and not await listens(port):
                await asyncio.sleep(0.01)
            await refuse_second_master(cell, "m", voter(cell, "m" if own else "", own))
        finally:
            witness.cancel()
            await asyncio.gather(witness, return_exceptions=True)

    if refused:
        with pytest.raises(CellError, match=rf"host x was the master after this host \(epoch {theirs}\)"):
            asyncio.run(start())
    else:
        asyncio.run(start())
