"""The devices of hosts as they were reported, with the configuration of their units.

Pure. Called through `daemons.qmaster.queries`. Source: adr/0345.
"""

from __future__ import annotations

from typing import Any

import msgspec

from daemons.qmaster.queries.source import StateSource
from gridengine.protocols.gdi.requests import Answer, Caller
from gridengine.state.state import State


def devices(source: StateSource, body: dict[str, Any], caller: Caller) -> Answer:
    """The request `devices`. Body: `hosts` (names; all if left out)."""
    state, resolve = source.state, source.world().resolve_host
    names = [resolve(name) or name for name in body.get("hosts") or ()]
    for name in names:
        if name not in state.hosts or not state.has("exec_host", name):
            return Answer(1, [("error", f'"{name}" is not known as execution host')])
    known = names or sorted(name for name, host in state.hosts.items() if host.devices or host.closed_units)
    return Answer(data={"hosts": [_row(state, name) for name in known]})


def _row(state: State, name: str) -> dict[str, Any]:
    host = state.hosts[name]
    return {
        "host": name,
        "devices": [msgspec.to_builtins(device) | {"unit": device.unit} for device in host.devices],
        "fault": host.device_fault,
        "closed": host.closed_units,
        "complex_values": state.kind("exec_host")[name]["complex_values"],
        "units": state.kind("host_units")[name]["units"] if state.has("host_units", name) else "NONE",
    }
