"""Clients that a daemon's TLS admits: with a certificate of the cell, of another cell, or without a certificate."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest

from clients.admin.certificate import make_authority, make_certificate, utc_now
from daemons.runtime.keys import Keys


def keys_of(directory: Path) -> Keys:
    """The keys of a host in a cell of its own."""
    directory.mkdir()
    authority = make_authority("a cell", utc_now())
    signed = make_certificate(authority, "localhost", [], utc_now())
    files = {"authority": authority.certificate, "tls.key": signed.key, "tls.crt": signed.certificate}
    for name, content in files.items():
        (directory / name).write_bytes(content)
    return Keys(directory, directory / "authority", "make keys")


def handshake(server_context: ssl.SSLContext, client_context: ssl.SSLContext) -> None:
    """Both ends of a handshake in this thread. Raises ssl.SSLError of whichever refuses."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = [
        client_context.wrap_bio(to_client, to_server, server_hostname="localhost"),
        server_context.wrap_bio(to_server, to_client, server_side=True),
    ]
    for _ in range(10):
        for end in list(ends):
            try:
                end.do_handshake()
                ends.remove(end)
            except ssl.SSLWantReadError:
                pass
    assert not ends


@pytest.mark.parametrize("caller", ["a host of the cell", "a host of another cell", "a stranger"])
def test_only_hosts_of_the_cell_come_through_the_handshake(tmp_path: Path, caller: str) -> None:
    keys, other = keys_of(tmp_path / "cell"), keys_of(tmp_path / "other")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(keys.authority)
    if caller == "a host of the cell":
        handshake(keys.server_context(callers_need_keys=True), keys.client_context())
        return
    if caller == "a host of another cell":
        context.load_cert_chain(other.certificate, other.key)
    handshake(keys.server_context(callers_need_keys=False), context)
    with pytest.raises(ssl.SSLError):
        handshake(keys.server_context(callers_need_keys=True), context)
