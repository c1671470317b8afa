"""A participant whose qmaster does not start."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from clients.admin.certificate import make_authority, make_certificate, utc_now
from clients.admin.free_ports import free_ports
from daemons.qmaster.shadow import participant as participant_module
from daemons.qmaster.shadow.participant import Participant
from daemons.runtime.cell import Cell, read_cell
from daemons.runtime.daemon import Startup
from daemons.runtime.keys import Keys
from daemons.runtime.reexec import Renewal

PATIENCE_S = 60.0


@pytest.fixture
def cell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cell:
    """m is alone on the list: its own vote is enough."""
    common, keys = tmp_path / "c" / "common", tmp_path / "keys"
    for directory in (common, keys, tmp_path / "q", tmp_path / "run", tmp_path / "e" / "m"):
        directory.mkdir(parents=True)
    (port,) = free_ports(1)
    (common / "bootstrap").write_text(
        f"admin_user root\nqmaster_spool_dir {tmp_path}/q\nexecd_spool_dir {tmp_path}/e\nrun_dir {tmp_path}/run\n"
        f"qmaster_port 1\nray_port 2\nshadow_port {port}\n"
    )
    (common / "host_aliases").write_text("m 127.0.0.1\n")
    (common / "shadow_masters").write_text("m\n")
    (common / "act_qmaster").write_text("m\n")
    authority = make_authority("test", utc_now())
    made = make_certificate(authority, "m", ["127.0.0.1"], utc_now())
    for name, text in (("tls.crt", made.certificate), ("tls.key", made.key), ("authority", authority.certificate)):
        (keys / name).write_bytes(text)
    monkeypatch.setattr(participant_module, "own_keys", lambda *_: Keys(keys, keys / "authority", "make keys"))
    monkeypatch.setattr(participant_module, "voters", lambda _: (frozenset(("m",)),))
    monkeypatch.setattr(participant_module, "position", lambda _: (1, 1))
    monkeypatch.setattr(participant_module, "become_leader", lambda *_: None)
    monkeypatch.setattr(participant_module, "RENEW_S", 0.05)
    monkeypatch.setattr(participant_module, "RETRY_S", 0.05)
    return read_cell({"SGE_ROOT": str(tmp_path), "SGE_CELL": "c"})


@pytest.mark.parametrize(("begins", "served", "status"), [((True, False, False, True), 4, 0), ((False, True), 1, 1)])
def test_a_master_that_has_served_retries_until_it_can(
    cell: Cell, monkeypatch: pytest.MonkeyPatch, begins: tuple[bool, ...], served: int, status: int
) -> None:
    """A host that lost its lease on a busy machine must not end for good because a port is taken at that moment."""
    terms: list[bool] = []
    stop = asyncio.Event()

    class Supervisor:
        def __init__(self, _cell: Cell, _host: str, startup: Startup) -> None:
            self._startup = startup

        async def run(self, _end: asyncio.Event) -> int:
            begun = begins[len(terms)]
            terms.append(begun)
            if not begun:
                return 1
            self._startup.ready()
            await asyncio.sleep(0.2)  # by then it is on the list of hosts in sync
            if len(terms) == len(begins):
                stop.set()
            return 0

        def abandon(self) -> None:
            pass

    monkeypatch.setattr(participant_module, "QmasterSupervisor", Supervisor)

    async def play() -> int:
        async with asyncio.timeout(PATIENCE_S):
            return await Participant(cell, "m", Startup(), True, Renewal(lambda: "sge_qmaster")).run(stop)

    assert asyncio.run(play()) == status
    assert terms == list(begins[:served])
