"""A listener behind which only hosts of the cell are let in: handshakes of strangers fail, and leave nothing behind."""

from __future__ import annotations

import asyncio
import gc
import ssl
from contextlib import suppress
from pathlib import Path

import pytest

from clients.admin.certificate import make_authority, make_certificate, utc_now
from daemons.runtime.connection_limiter import ConnectionLimiter
from daemons.runtime.listener import Listener, open_tcp_socket

PATIENCE_S, STRANGERS, SHARE = 60.0, 40, 8


@pytest.fixture
def needs_keys(tmp_path: Path) -> ssl.SSLContext:
    """The context of a server that demands a certificate of the cell."""
    authority = make_authority("a cell", utc_now())
    signed = make_certificate(authority, "localhost", [], utc_now())
    for name, content in {"authority": authority.certificate, "key": signed.key, "crt": signed.certificate}.items():
        (tmp_path / name).write_bytes(content)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "crt", tmp_path / "key")
    context.load_verify_locations(tmp_path / "authority")
    context.verify_mode = ssl.CERT_REQUIRED
    return context


def handshakes() -> int:
    """Server sides of TLS connections in memory; each holds buffers of 256 KB."""
    return sum(isinstance(each, ssl.SSLObject) and each.server_side for each in gc.get_objects())


@pytest.mark.usefixtures("no_cycles_looked_for")
@pytest.mark.parametrize("silent", [False, True], ids=["without a certificate", "silent until newer ones come"])
def test_strangers_handshakes_leave_no_memory_behind(needs_keys: ssl.SSLContext, silent: bool) -> None:
    limiter = ConnectionLimiter(100)
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.check_hostname, client.verify_mode = False, ssl.CERT_NONE

    async def play() -> None:
        listener = open_tcp_socket("127.0.0.1", 0)
        opened = Listener(limiter, listener, lambda connection: asyncio.Protocol(), SHARE, needs_keys)
        writers = []
        for _ in range(STRANGERS):
            reader, writer = await asyncio.open_connection(*listener.getsockname(), ssl=None if silent else client)
            writers.append(writer)
            if not silent:
                with suppress(OSError):
                    assert await reader.read() == b""
        for writer in writers:
            writer.close()
        while limiter.count:
            await asyncio.sleep(0)
        opened.close()

    async def bounded() -> None:
        async with asyncio.timeout(PATIENCE_S):
            await play()

    before = handshakes()
    asyncio.run(bounded())
    assert handshakes() <= before
