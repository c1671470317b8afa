"""Hosts that may send requests to a participant, and the error for a host that does not answer."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Mapping
from pathlib import Path

import aiohttp
import pytest

from clients.admin.certificate import Signed, make_authority, make_certificate, utc_now
from clients.admin.free_ports import free_ports
from daemons.runtime.cell import Cell, read_cell
from daemons.runtime.keys import Keys
from daemons.runtime.peers import Peers, PeerUnreachableError, serve_peers


@pytest.fixture(scope="module")
def authority() -> Signed:
    return make_authority("test", utc_now())


PATIENCE_S = 60.0


@pytest.fixture
def cell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cell:
    """m and s, both on this machine, may be the master."""
    monkeypatch.setattr("daemons.runtime.peers.CONNECT_S", PATIENCE_S)
    common = tmp_path / "c" / "common"
    common.mkdir(parents=True)
    (port,) = free_ports(1)
    (common / "bootstrap").write_text(
        f"admin_user root\nqmaster_spool_dir {tmp_path}/q\nexecd_spool_dir {tmp_path}/e\nrun_dir {tmp_path}/run\n"
        f"qmaster_port 1\nray_port 2\nshadow_port {port}\n"
    )
    (common / "host_aliases").write_text("m 127.0.0.1\ns localhost\n")
    (common / "shadow_masters").write_text("m\ns\n")
    return read_cell({"SGE_ROOT": str(tmp_path), "SGE_CELL": "c"})


def keys(place: Path, authority: Signed, host: str) -> Keys:
    made = make_certificate(authority, host, ["127.0.0.1"], utc_now())
    place.mkdir()
    (place / "tls.crt").write_bytes(made.certificate)
    (place / "tls.key").write_bytes(made.key)
    (place / "authority").write_bytes(authority.certificate)
    return Keys(place, place / "authority", "make keys")


def ask(cell: Cell, served: Keys, caller: Keys, name: str = "who") -> tuple[int, bytes]:
    """m serves, the caller sends it a request."""

    async def role(host: str, headers: Mapping[str, str], body: aiohttp.StreamReader) -> tuple[int, bytes]:
        return 200, f"{host} {headers['X-Word']} {(await body.read()).decode()}".encode()

    async def play() -> tuple[int, bytes]:
        opened = asyncio.Event()
        server = asyncio.create_task(serve_peers(cell, "m", served, {"who": role}, opened.set, {"any": role}))
        peers = Peers(cell, caller)
        try:
            waiting = asyncio.ensure_future(opened.wait())
            await asyncio.wait([server, waiting], return_when=asyncio.FIRST_COMPLETED)
            assert waiting.done(), server.exception()
            return await peers.call("m", name, b"is there", {"X-Word": "what"}, PATIENCE_S)
        finally:
            await peers.close()
            server.cancel()
            await asyncio.gather(server, return_exceptions=True)

    return asyncio.run(play())


@pytest.mark.statement("SE-3", "SH-3")
def test_the_caller_is_the_host_of_its_certificate(cell: Cell, authority: Signed, tmp_path: Path) -> None:
    served = keys(tmp_path / "m", authority, "m")
    assert ask(cell, served, keys(tmp_path / "s", authority, "s")) == (200, b"s what is there")
    assert ask(cell, served, keys(tmp_path / "h1", authority, "h1"))[0] == 403
    assert ask(cell, served, keys(tmp_path / "h2", authority, "h2"), "any") == (200, b" what is there")
    assert ask(cell, served, served, "something")[0] == 404


def test_a_certificate_of_another_authority_is_refused(cell: Cell, authority: Signed, tmp_path: Path) -> None:
    stranger = keys(tmp_path / "s", make_authority("other", utc_now()), "s")
    with pytest.raises(PeerUnreachableError):
        ask(cell, keys(tmp_path / "m", authority, "m"), stranger)


def test_a_host_that_does_not_answer(cell: Cell, authority: Signed, tmp_path: Path) -> None:
    async def play() -> None:
        peers = Peers(cell, keys(tmp_path / "s", authority, "s"))
        try:
            with pytest.raises(PeerUnreachableError, match="connection refused"):
                await peers.call("m", "who", answer_s=PATIENCE_S)
        finally:
            await peers.close()

    asyncio.run(play())


def test_the_last_host_of_the_list_is_still_answered(cell: Cell, authority: Signed, tmp_path: Path) -> None:
    """A master whose only shadow was removed keeps its lease with the votes of witnesses."""
    served, caller = keys(tmp_path / "m", authority, "m"), keys(tmp_path / "s", authority, "s")
    cell.shadow_masters.write_text("s\n")
    assert cell.candidate_hosts() == () and ask(cell, served, caller)[0] == 200
    assert ask(cell, served, served)[0] == 403


def test_a_port_that_another_daemon_frees_is_awaited(cell: Cell, authority: Signed, tmp_path: Path) -> None:
    served = keys(tmp_path / "m", authority, "m")
    held = socket.create_server(("127.0.0.1", cell.shadow_port))
    timer = threading.Timer(0.5, held.close)
    timer.start()
    assert ask(cell, served, served)[0] == 200
    timer.join()
