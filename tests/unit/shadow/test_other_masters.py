"""A qmaster that needs no vote does not serve where another host is the master, or was later."""

from __future__ import annotations

import asyncio
import os
import pwd
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
from daemons.qmaster.shadow.other_masters import refuse_second_master
from daemons.qmaster.shadow.promotion import shadow_directory
from daemons.runtime.cell import Cell, CellFault
from daemons.runtime.keys import Keys
from gridengine.lease import Promise


@pytest.fixture
def cell(tmp_path: Path) -> Cell:
    """A cell with master m and host n, which is at 127.0.0.1; m is elsewhere for the test."""
    aliases = {"10.0.0.1": "m", "127.0.0.1": "n"}
    cell = Cell(tmp_path, "c", "x", tmp_path / "q", tmp_path / "e", tmp_path / "r", 1, 2, aliases=aliases)
    cell.common.mkdir(parents=True)
    shadow_directory(cell).mkdir(parents=True)
    authority = Authority(CellFiles(cell.root, cell.name), cell.qmaster_spool_dir, pwd.getpwuid(os.geteuid()).pw_name)
    authority.found("m", ["10.0.0.1"], utc_now())
    authority.add("n", ["127.0.0.1"], utc_now())
    return cell


def promise(cell: Cell, holder: str) -> None:
    (shadow_directory(cell) / "promise").write_bytes(msgspec.json.encode(Promise(epoch=7, holder=holder)))


@asynccontextmanager
async def server(context: ssl.SSLContext | None) -> AsyncIterator[int]:
    """A port of this machine, with the certificate of a host or without TLS."""
    listening = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0, ssl=context)
    async with listening:
        yield listening.sockets[0].getsockname()[1]


def test_a_cell_of_which_all_hosts_are_off_starts(cell: Cell) -> None:
    asyncio.run(refuse_second_master(cell, "m"))


@pytest.mark.parametrize(("holder", "refused"), [("m", False), ("n", True)])
def test_a_host_that_another_one_followed_as_the_master_does_not_serve(cell: Cell, holder: str, refused: bool) -> None:
    """A former shadow whose own files name it as the only master: its copy of the spool is old."""
    promise(cell, holder)
    if not refused:
        return asyncio.run(refuse_second_master(cell, "m"))
    with pytest.raises(CellFault, match=r"host n was the master after this host \(epoch 7\)"):
        asyncio.run(refuse_second_master(cell, "m"))


@pytest.mark.parametrize("whose", ["n", "a program without TLS"])
def test_a_host_that_serves_is_found(cell: Cell, whose: str) -> None:
    async def start() -> None:
        keys = Keys(cell.secrets / "n", cell.common / "tls.crt", "")
        async with server(keys.server_context(callers_need_keys=True) if whose == "n" else None) as port:
            await refuse_second_master(replace(cell, qmaster_port=port), "m")

    if whose == "n":
        with pytest.raises(CellFault, match="host n serves as the master of this cell"):
            asyncio.run(start())
    else:
        asyncio.run(start())
