"""Execution hosts with the load values of qhost, and their resources.

Owns the rows of hosts. Pure. Called through `daemons.qmaster.queries`. Statements QH-1 … QH-4.
"""

from __future__ import annotations

from typing import Any

from daemons.qmaster.queries.queues import entry_name, offer_row
from daemons.qmaster.queries.selection import Body, Listing
from gridengine.errors import InvalidValueError
from gridengine.placement.resources import host_resources
from gridengine.placement.values import reported_value
from gridengine.protocols.gdi.requests import Caller
from gridengine.state.bookings import GLOBAL

SHOWN = "arch num_proc m_socket m_core m_thread load_avg mem_total mem_used swap_total swap_used".split()


def hosts(listing: Listing, body: Body, caller: Caller, now: float) -> list[dict[str, Any]]:
    """Body: `hosts` (names, [] for all), `requests` (-l), `load` (name of the value in the load column),
    `resources` (null, [] for all, names), `load_values` (true: all load values, as the host reports them).

    Data: a dict a host, "global" first unless it lacks a resource of -l: name, values (arch as text, the other values
    numbers, memory in bytes; null if unknown, in the order arch num_proc m_socket m_core m_thread load_avg mem_total
    mem_used swap_total swap_used), resources ([source codes, name, value] each), load_values (texts by name).
    Raises InvalidValueError.
    """
    state = listing.state
    known = sorted(name for name in state.kind("exec_host") if name not in (GLOBAL, "template"))
    requested = {listing.host(name): name for name in body.get("hosts") or ()}
    for unique, name in requested.items():
        if unique not in known:
            raise InvalidValueError(f'can\'t resolve hostname "{name}"')
    names = [name for name in known if not requested or name in requested]
    if body.get("requests"):
        names = listing.hosts_offering([GLOBAL, *names], body["requests"])
    else:
        names = [GLOBAL, *names]
    load_name = body.get("load") or "load_avg"
    rows = [_host(listing, name, load_name, body.get("resources")) for name in names]
    if body.get("load_values"):
        for row in rows:
            row["load_values"] = dict(state.hosts[row["name"]].load) if row["name"] in state.hosts else {}
    return rows


def _host(listing: Listing, name: str, load_name: str, requested: list[str] | None) -> dict[str, Any]:
    host = listing.state.hosts.get(name)
    load = host.load if host is not None and name != GLOBAL else {}
    values = [_typed_value(listing, shown, load.get(load_name if shown == "load_avg" else shown)) for shown in SHOWN]
    if load:
        values[0] = listing.architecture(name)
        values[1] = listing.config_snapshot.host(name).fixed.get("num_proc", values[1])
    row: dict[str, Any] = {"name": name, "values": values}
    if requested is not None:
        chosen = {entry_name(listing, given) for given in requested}
        row["resources"] = [
            offer_row(listing, offer, name, whole=False)
            for offer in host_resources(listing.config_snapshot, listing.ledger, name)
            if not chosen or offer.entry.name in chosen
        ]
    return row


def _typed_value(listing: Listing, name: str, text: str | None) -> float | str | None:
    """A load value as a number if its complex is numeric; without a complex entry as its text."""
    entry = listing.config_snapshot.entries.get(name)
    if text is None or entry is None:
        return text
    return reported_value(entry.type, text)
