"""The message to a user when the qmaster cannot be reached."""

from __future__ import annotations

import asyncio
import dataclasses
import socket
import ssl
from pathlib import Path

import aiohttp
import pytest

from clients.admin.certificate import make_authority, make_certificate, utc_now
from clients.admin.free_ports import free_ports
from daemons.runtime import qmaster_client
from daemons.runtime.cell import Cell, read_cell
from daemons.runtime.keys import Keys
from daemons.runtime.qmaster_client import HostCredentials, LocalCaller, NoQmasterError, QmasterClient


@pytest.fixture
def cell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cell:
    """A cell whose master host is this one, without a listener, and with long timeouts."""
    monkeypatch.setattr(qmaster_client, "CONNECT_S", 60.0)
    common = tmp_path / "c" / "common"
    common.mkdir(parents=True)
    (common / "act_qmaster").write_text("m\n")
    (common / "host_aliases").write_text("m localhost\n")
    (port,) = free_ports(1)
    (common / "bootstrap").write_text(
        f"admin_user root\nqmaster_spool_dir {tmp_path}/q\nexecd_spool_dir {tmp_path}/e\nrun_dir {tmp_path}/run\n"
        f"qmaster_port {port}\nray_port 2\n"
    )
    return read_cell({"SGE_ROOT": str(tmp_path), "SGE_CELL": "c"})


def test_a_master_that_does_not_run_refuses(cell: Cell) -> None:
    async def ask() -> str:
        client = QmasterClient(cell, "h1", HostCredentials("key", ssl.create_default_context()))
        try:
            with pytest.raises(NoQmasterError) as caught:
                await client.post("/v1/execd_hello", b"{}", LocalCaller("root", 0, "root", 0))
        finally:
            await client.close()
        assert not caught.value.sent
        return str(caught.value)

    assert asyncio.run(ask()) == f'unable to contact qmaster on host "m" port {cell.qmaster_port}: connection refused'


def test_whether_the_master_makes_a_handshake(cell: Cell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    authority = make_authority("a cell", utc_now())
    signed = make_certificate(authority, "m", [], utc_now())
    files = {"authority": authority.certificate, "tls.key": signed.key, "tls.crt": signed.certificate}
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    keys = Keys(tmp_path, tmp_path / "authority", "make keys")

    async def ask(tls: ssl.SSLContext | None = None) -> bool:
        client = QmasterClient(cell, "h1", HostCredentials("key", keys.client_context()))
        try:
            if tls is None:
                return await client.reaches_master()
            async with await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", cell.qmaster_port, ssl=tls):
                return await client.reaches_master()
        finally:
            await client.close()

    assert not asyncio.run(ask())
    with socket.create_server(("127.0.0.1", cell.qmaster_port)):
        assert not asyncio.run(ask()), "the kernel accepts it, without a process behind it"
    monkeypatch.setattr(qmaster_client, "HANDSHAKE_S", 60.0)
    assert asyncio.run(ask(keys.server_context(callers_need_keys=True)))
    cell.act_qmaster.unlink()
    assert not asyncio.run(ask())


@pytest.fixture
def two_hosts(cell: Cell, monkeypatch: pytest.MonkeyPatch) -> Cell:
    """Both m, which does not listen, and localhost are candidates."""
    monkeypatch.setattr(Cell, "address", lambda _, host: {"m": "127.0.0.2"}.get(host, "127.0.0.1"))
    cell.shadow_masters.write_text("m  # the usual one\n\nlocalhost\n")
    return dataclasses.replace(cell, aliases={})


@pytest.mark.statement("SH-2")
def test_a_link_asks_the_next_host_that_may_be_the_master(two_hosts: Cell, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    async def play() -> list[str]:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}")
            writer.close()

        server = await asyncio.start_server(serve, "127.0.0.1", two_hosts.qmaster_port)
        client = QmasterClient(two_hosts, "h1", HostCredentials("key", ssl.create_default_context()))
        plain = aiohttp.ClientSession.post

        def without_tls(self: aiohttp.ClientSession, url: str, *, server_hostname: str, **options: object) -> object:
            asked.append(server_hostname)
            return plain(self, url.replace("https:", "http:"), **options)  # type: ignore[arg-type]

        monkeypatch.setattr(aiohttp.ClientSession, "post", without_tls)
        try:
            for _ in range(2):
                (await client.post("/v1/execd_hello", b"{}", LocalCaller("root", 0, "root", 0))).close()
            (two_hosts.common / "act_qmaster").write_text("localhost\n")
            (await client.post("/v1/execd_hello", b"{}", LocalCaller("root", 0, "root", 0))).close()
            # an old copy of the files, which no longer names the master
            (two_hosts.common / "act_qmaster").write_text("m\n")
            two_hosts.shadow_masters.unlink()
            (await client.post("/v1/execd_hello", b"{}", LocalCaller("root", 0, "root", 0))).close()
        finally:
            await client.close()
            server.close()
        return asked

    assert asyncio.run(play()) == ["m", "localhost", "localhost", "localhost", "m", "localhost"]


def test_a_cell_of_a_single_host_has_no_other_candidates(cell: Cell) -> None:
    assert cell.candidate_hosts() == ()
    cell.shadow_masters.write_text("m\nm\n")
    assert cell.candidate_hosts() == ()
