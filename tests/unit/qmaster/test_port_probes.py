"""Ports of an exec host that the master host reaches: the permission, and that only the cell's ports are probed."""

from __future__ import annotations

import asyncio
import dataclasses
import socket
from collections.abc import Sequence
from pathlib import Path

import pytest

from clients.admin.free_ports import free_range
from daemons.qmaster.serve.requests.port_probes import PortProbes, try_ports
from daemons.runtime import cell as cells
from gridengine.protocols.gdi.requests import Answer, Caller
from tests.harness import Cell


def ask(cell: Cell, user: str, at: str, host: str) -> Answer:
    async def tried(host: str, ports: Sequence[int]) -> dict[str, list[int]]:
        return {"answers": list(ports), "refused": [], "silent": []}

    caller = Caller(user, 0 if user == "root" else 1001, "users", 100, at)
    body = {"host": host, "ports": [6447]}
    return asyncio.run(try_ports(cell.state, cell.master.world(), tried, body, caller))


@pytest.mark.parametrize(
    ("user", "at", "host", "status"),
    [("alice", "h1", "h1", 0), ("root", "master", "h2", 0), ("alice", "h1", "h2", 1), ("root", "h1", "elsewhere", 1)],
)
def test_a_user_may_probe_only_the_ports_of_their_own_host(cell: Cell, user: str, at: str, host: str, status: int) -> None:
    answer = ask(cell, user, at, host)
    assert answer.status == status
    assert answer.data == ({"answers": [6447], "refused": [], "silent": []} if status == 0 else None)


def test_no_port_is_tried_that_is_not_of_the_cell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("daemons.qmaster.serve.requests.port_probes.PATIENCE_S", 60.0)
    first, last = free_range(2)
    plain = cells.Cell(tmp_path, "c", "root", tmp_path, tmp_path, tmp_path, qmaster_port=first, ray_port=last)
    cell = dataclasses.replace(plain, aliases={"127.0.0.1": "h1"})
    with socket.create_server(("127.0.0.1", first)), socket.create_server(("127.0.0.1", 0)) as stranger:
        port = stranger.getsockname()[1]
        found = asyncio.run(PortProbes(cell)("h1", [first, last, port]))
    assert found == {"answers": [first], "refused": [last], "silent": []}


def test_a_host_without_an_address_is_silent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cell = cells.Cell(tmp_path, "c", "root", tmp_path, tmp_path, tmp_path, qmaster_port=6444, ray_port=6446)

    def no_address(self: cells.Cell, host: str) -> str:
        raise cells.CellError("no address")

    monkeypatch.setattr(cells.Cell, "address", no_address)
    assert asyncio.run(PortProbes(cell)("h1", [6444])) == {"answers": [], "refused": [], "silent": [6444]}
