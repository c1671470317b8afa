"""The ports of a node: a block of the range, one for each node of a machine, and none outside."""

from __future__ import annotations

import dataclasses
import socket
from pathlib import Path

import pytest

from clients.admin.free_ports import free_range
from daemons.runtime.cell import Cell, CellError
from daemons.runtime.ports import claim_block, explain_taken_port, session_ports
from gridengine.addresses import LOOPBACK
from gridengine.files.bootstrap import PORT_BLOCK, RAY_PORTS


@pytest.fixture
def cell() -> Cell:
    place = Path("/nowhere")
    plain = Cell(place, "c", "root", place, place, place, qmaster_port=1, ray_port=2)
    return dataclasses.replace(plain, ray_ports=free_range(2 * PORT_BLOCK))


def test_each_node_of_a_machine_has_ports_of_its_own_and_of_the_range(cell: Cell, tmp_path: Path) -> None:
    blocks = [claim_block(cell, LOOPBACK, tmp_path) for _ in range(2)]
    ports = [port for block in blocks for port in (block.node_manager, block.object_manager, *block.workers)]
    ports += session_ports(cell)
    assert sorted(ports) == list(range(cell.ray_ports[0], cell.ray_ports[1] + 1))
    with pytest.raises(CellError, match="all ports of ray_ports .* are taken"):
        claim_block(cell, LOOPBACK, tmp_path)
    blocks[0].release()
    again = claim_block(cell, LOOPBACK, tmp_path)
    assert again.node_manager == cell.ray_ports[0]
    for block in (blocks[1], again):
        block.release()


def test_a_port_that_a_stranger_has_is_passed_over(cell: Cell, tmp_path: Path) -> None:
    with socket.create_server((LOOPBACK, cell.ray_ports[0] + 1)):
        block = claim_block(cell, LOOPBACK, tmp_path)
        assert block.node_manager == cell.ray_ports[0] + PORT_BLOCK
        block.release()


def test_a_port_of_sessions_that_was_named_is_the_only_one(cell: Cell) -> None:
    assert session_ports(dataclasses.replace(cell, execd_port=6445)) == [6445]


def test_the_default_holds_whole_blocks() -> None:
    assert (RAY_PORTS[1] - RAY_PORTS[0] + 1) % PORT_BLOCK == 0


@pytest.mark.statement("GC-5")
@pytest.mark.parametrize("key", ["qmaster_port", "ray_port"])
def test_a_port_of_the_master_that_another_program_has_is_named(cell: Cell, key: str) -> None:
    first, second = free_range(2)
    cell = dataclasses.replace(cell, qmaster_port=first, ray_port=second)
    assert explain_taken_port(cell, LOOPBACK) == ""
    port = getattr(cell, key)
    with socket.create_server((LOOPBACK, port)):
        text = explain_taken_port(cell, LOOPBACK)
    assert text.startswith(f"port {port} is taken by another program") and key in text
