"""The map of hosts: /hosts?view=map&colour=&group=, and the class of each host for the filter of the list. Source: adr/0290.

Owns the values by which hosts are coloured: load, memory, slots, state, or any complex.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

from daemons.runtime.qmaster_client import NoQmasterError
from daemons.web.drawing.host_map import (
    MapCell,
    ValueClass,
    count_classes,
    fraction_class,
    fraction_classes,
    range_classes,
    sections,
    text_classes,
)
from daemons.web.pages.formats import link
from daemons.web.pages.page import Data, Visit
from daemons.web.trends.cell_figures import cell_slots, exec_hosts, host_loads
from gridengine.placement.config_snapshot import PlacementConfig
from gridengine.placement.ledger import Ledger
from gridengine.placement.resources import host_available
from gridengine.placement.values import Value, format_value
from gridengine.state.bookings import GLOBAL
from gridengine.state.state import State

COLOURS = {"load": "Load per core", "memory": "Used memory", "slots": "Used slots", "state": "State"}
"""Values that hosts are coloured by, besides complexes."""
_STATES = {
    "unreachable": ValueClass("unreachable", "unreachable", "bad s5"),
    "drained": ValueClass("drained", "drained", "warn s3"),
    "closed": ValueClass("closed", "no open queue instance", "off s4"),
    "busy": ValueClass("busy", "all slots used", "busy s0"),
    "partly": ValueClass("partly", "some slots used", "mark s2"),
    "idle": ValueClass("idle", "idle", "ok s1"),
}


class ColouredHosts(NamedTuple):
    """`classes`: of values; `names`: the class of each host, by its name; `texts`: its value for people."""

    classes: list[ValueClass]
    names: dict[str, str]
    texts: dict[str, str]


def colour_of(visit: Visit) -> str:
    """The value in the address that hosts are coloured by: by default the load."""
    colour = visit.parameter("colour")
    return colour if colour in COLOURS or colour in visit.shared.mirror.state.complexes else "load"


def coloured_hosts(state: State, colour: str) -> ColouredHosts:
    """All execution hosts with their class."""
    if colour not in COLOURS:
        return _by_complex(state, colour)
    if colour == "state":
        names = dict(_states(state))
        return ColouredHosts(list(_STATES.values()), names, {host: _STATES[name].label for host, name in names.items()})
    if colour == "slots":
        slots = cell_slots(state).hosts
        return _fractions({host: each.used / each.total if each.total else math.nan for host, each in slots.items()})
    loads = host_loads(state)
    return _fractions({host: each.load if colour == "load" else each.memory for host, each in loads.items()})


def _fractions(found: dict[str, float]) -> ColouredHosts:
    texts = {host: "unknown" if math.isnan(value) else f"{100 * value:.0f} %" for host, value in found.items()}
    return ColouredHosts(fraction_classes(), {host: fraction_class(value) for host, value in found.items()}, texts)


def _states(state: State) -> Iterator[tuple[str, str]]:
    for name, slots in cell_slots(state).hosts.items():
        host = state.hosts.get(name)
        if host is None or not host.up:
            yield name, "unreachable"
        elif host.drained is not None:
            yield name, "drained"
        elif slots.down and not slots.free:
            yield name, "closed"
        elif slots.used:
            yield name, "partly" if slots.free else "busy"
        else:
            yield name, "idle" if slots.total else "closed"


def _by_complex(state: State, name: str) -> ColouredHosts:
    """By the used fraction of a consumable that hosts have, else by the value of the host."""
    config_snapshot, ledger, entry = PlacementConfig.of(state), Ledger(state), state.complexes[name]
    capacities = {host: config_snapshot.host(host).consumables.get(entry.name) for host in exec_hosts(state)}
    if any(capacity is not None for capacity in capacities.values()):
        used: dict[str, float] = {}
        for host, capacity in capacities.items():
            offer = host_available(config_snapshot, ledger, host, entry.name) if capacity else None
            left = offer.value if offer is not None and isinstance(offer.value, float | int) else math.nan
            used[host] = 1 - left / capacity if capacity else math.nan
        return _fractions(used)
    values: dict[str, Value | None] = {}
    for host in capacities:
        known = state.hosts.get(host)
        offer = host_available(config_snapshot, ledger, host, entry.name) if known is not None and known.up else None
        values[host] = offer.value if offer is not None else None
    texts = {host: "unknown" if value is None else format_value(entry.type, value) for host, value in values.items()}
    if any(isinstance(value, str) for value in values.values()):
        classes, find_text = text_classes(str(value) for value in values.values() if value is not None)
        names = {host: find_text("" if value is None else str(value)) for host, value in values.items()}
    else:
        numbers = {host: math.nan if value is None else float(value) for host, value in values.items()}
        classes, find = range_classes(numbers.values(), lambda value: format_value(entry.type, value))
        names = {host: find(value) for host, value in numbers.items()}
    return ColouredHosts(classes, names, texts)


def host_map(visit: Visit, matches: frozenset[str]) -> Data:
    """The map of the hosts that match the filters of the list. Raises NoQmasterError until the mirror has a state."""
    if not visit.shared.mirror.ready:
        raise NoQmasterError("the mirror of the qmaster is not loaded yet", sent=False)
    state, colour = visit.shared.mirror.state, colour_of(visit)
    coloured = coloured_hosts(state, colour)
    looks = {each.name: each.look for each in coloured.classes}
    names = {host: name for host, name in coloured.names.items() if host in matches}
    cells = [MapCell(host, f"{host}: {coloured.texts[host]}", looks[name]) for host, name in sorted(names.items())]
    is_grouped = visit.parameter("group") == "y"
    legend = [
        (each, count, link(visit.here, view=None, group=None, colour=colour, **{"class": each.name}))
        for each, count in count_classes(coloured.classes, names)
    ]
    complexes = sorted(name for name in state.complexes if name not in COLOURS and name != GLOBAL)
    return {
        "map": sections(cells, state.groups if is_grouped else None), "legend": legend, "colour": colour,
        "group": "y" if is_grouped else "",
        "colours": [*COLOURS.items(), *((name, name) for name in complexes)],
    }
