"""Ports of throw-away cells."""

from __future__ import annotations

import pytest

from clients.admin import free_ports


def test_the_ports_of_a_cell_lie_outside_its_range(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(free_ports, "_is_free", lambda port: True)
    for _ in range(3000):
        qmaster_port, ray_port, ray_ports = free_ports.free_cell_ports(32)
        first, last = map(int, ray_ports.split("-"))
        assert last - first == 31
        assert qmaster_port != ray_port and not {qmaster_port, ray_port} & set(range(first, last + 1))
