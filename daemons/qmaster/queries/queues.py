"""Queue instances with their slots, load, state codes and resources, and the summary by cluster queue.

Owns the rows. Pure. Called through `daemons.qmaster.queries`. Statements ST-4 … ST-15, QI-14, QI-15, QS-1.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from daemons.qmaster.queries.selection import Body, Listing
from gridengine.errors import InvalidValueError
from gridengine.placement.obstacles import COMPUTED, alarm, suspend_alarm
from gridengine.placement.reasons import Violation
from gridengine.placement.resources import all_resources, available
from gridengine.placement.unit_choice import offer_text
from gridengine.placement.values import Offer
from gridengine.protocols.gdi.requests import Caller
from gridengine.state.queues import QueueInstance
from gridengine.syntax.queue_expression import QueueExpression

#: states that make slots unavailable temporarily, and states that need an administrator, as `-g c` counts them (ST-11)
_TEMPORARY = frozenset("aoACDS")
_MANUAL = frozenset("cdsuE")
#: columns of `-g c -ext`
_EACH_STATE = "sASCuadDcoE"


def queues(listing: Listing, body: Body, caller: Caller, now: float) -> list[dict[str, Any]]:
    """Body: `select` (of instances), `load` (name of the load value shown), `resources` (null, [] for all, names),
    `explain` (codes of aAcdE).

    Data: a dict an instance: name, type, resv, used, total, load, arch (texts or null), states, resources
    ([source codes, name, value] each), explain (texts by state code). Raises InvalidValueError.
    """
    load_name = body.get("load") or "load_avg"
    requested = body.get("resources")
    return [
        _instance(listing, instance, load_name, requested, body.get("explain") or "")
        for instance in listing.instances(body.get("select") or {})
    ]


def _instance(
    listing: Listing, instance: QueueInstance, load_name: str, requested: list[str] | None, explain: str
) -> dict[str, Any]:
    state = listing.state
    config = state.configs.get(instance.name)
    host = state.hosts.get(instance.host)
    load = host.load if host is not None else {}
    shown: dict[str, Any] = {
        "name": instance.name,
        "type": _type_codes(listing, instance),
        "resv": state.slots_reserved(instance.name),
        "used": state.slots_used(instance.name),
        "total": config.slots if config is not None else 0,
        "load": _scaled_load(listing, instance.host, load_name) if load_name in load else None,
        "arch": listing.architecture(instance.host) if load else None,
        "states": listing.state_codes(instance),
    }
    if requested is not None and config is not None:
        shown["resources"] = [offer_row(listing, offer, instance.host) for offer in _offers(listing, instance.name, requested)]
    if explain:
        shown["explain"] = _explanations(listing, instance, explain)
    return shown


def _scaled_load(listing: Listing, host: str, name: str) -> str:
    """A load value with load_scaling, for the load column of qstat; the column of qhost has no scaling. Source: LS-5, O."""
    entry = listing.config_snapshot.entries.get(name)
    found = listing.ledger.load(host, entry) if entry is not None else None
    if found is None or isinstance(found[0], str):
        return listing.state.hosts[host].load[name]
    return f"{found[0]:f}"


def offer_row(listing: Listing, offer: Offer, host: str, whole: bool = True) -> list[str]:
    """[codes of level and source, name, value]. `host`: where it is offered; `whole`: format of INT (see `format_value`)."""
    return [offer.codes, offer.entry.name, offer_text(listing.state, offer, host, whole)]


def _offers(listing: Listing, name: str, requested: list[str]) -> list[Offer]:
    offers = list(all_resources(listing.config_snapshot, listing.ledger, name))
    if not requested:
        return offers
    names = {entry_name(listing, given) for given in requested}
    return [offer for offer in offers if offer.entry.name in names]


def entry_name(listing: Listing, given: str) -> str:
    """The full name of a resource; raises InvalidValueError for an unknown resource."""
    entry = listing.config_snapshot.entry(given)
    if entry is None:
        raise InvalidValueError(f'unknown resource "{given}"')
    return entry.name


def _type_codes(listing: Listing, instance: QueueInstance) -> str:
    """Type codes: B, I, P with a PE, C with a checkpointing environment; N without any of these (ST-7)."""
    config = listing.state.configs.get(instance.name)
    if config is None:
        return "N"
    flags = (("B", config.batch), ("I", config.interactive), ("P", config.pe_list), ("C", config.ckpt_list))
    return "".join(code for code, on in flags if on) or "N"


def _explanations(listing: Listing, instance: QueueInstance, codes: str) -> dict[str, list[str]]:
    """Reasons of states by state code (QI-14)."""
    found: dict[str, list[str]] = {}
    name = instance.name
    if name in listing.state.configs:
        states = listing.state_codes(instance)
        if "a" in codes and "a" in states:
            found["a"] = [_format_alarm(v, "load") for v in alarm(listing.config_snapshot, listing.ledger, name)]
        if "A" in codes and "A" in states:
            found["A"] = [_format_alarm(v, "suspend") for v in suspend_alarm(listing.config_snapshot, listing.ledger, name)]
    if "c" in codes:
        found["c"] = [
            f'attribute "{attribute}" configuration is ambiguous: {", ".join(sources)} set different values'
            for attribute, sources in listing.state.ambiguous.get(name, [])
        ]
    host = listing.state.hosts.get(instance.host)
    if "d" in codes and host is not None and host.drained is not None:
        since = datetime.fromtimestamp(host.drained.time, listing.zone).strftime("%Y-%m-%d %H:%M")
        found["d"] = [f"host drained by {host.drained.user} since {since}: {host.drained.reason}"]
    if "E" in codes:
        found["E"] = list(instance.errors)
    return {code: texts for code, texts in found.items() if texts}


def _format_alarm(violation: Violation, kind: str) -> str:
    if not violation.value:
        return f"alarm {violation.name} has no value, {kind}-threshold={violation.threshold}"
    # computed values take at least eight columns. Source: O
    value = f"{violation.value:>8}" if violation.codes[1] in COMPUTED else violation.value
    return f"alarm {violation.codes}:{violation.name}={value} {kind}-threshold={violation.threshold}"


def queue_configurations(listing: Listing, body: Body, caller: Caller, now: float) -> dict[str, Any]:
    """Configurations as qconf -sq shows them (QF-12): of cluster queues, and resolved configurations of instances for `q@h`.

    Body: `queues` (expressions). Data: {"found": [{"name", "attributes"}], "unknown": expressions that match nothing}.
    Raises InvalidValueError.
    """
    state = listing.state
    found: dict[str, dict[str, str]] = {}
    unknown = []
    for text in body["queues"]:
        if "@" in text:
            matching = {
                i.name: {("hostname" if a == "hostlist" else a): v for a, v in state.configs[i.name].text.items()}
                | {"hostname": i.host}
                for i in listing.instances({"queues": [text]})
                if i.name in state.configs
            }
        else:
            expression = QueueExpression(text)
            queues = state.kind("cluster_queue")
            matching = {name: queues[name] for name in sorted(queues) if expression.matches_queue(name)}
        found |= matching
        if not matching:
            unknown.append(text)
    return {"found": [{"name": name, "attributes": text} for name, text in found.items()], "unknown": unknown}


def cluster_queues(listing: Listing, body: Body, caller: Caller, now: float) -> list[dict[str, Any]]:
    """Body: `select`. Data: a dict a cluster queue: name, load (number or null), used, resv, available, total,
    temporary, manual, states (slots by state code of `sASCuadDcoE`). Statements ST-11 … ST-14."""
    rows: dict[str, dict[str, Any]] = {}
    weights: dict[str, float] = {}
    for instance in sorted(listing.instances(body.get("select") or {}), key=lambda i: i.queue):
        row = rows.get(instance.queue)
        if row is None:
            row = rows[instance.queue] = _empty_row(instance.queue)
        _add_instance(listing, instance, row, weights)
    if not any((body.get("select") or {}).values()):
        # a queue without instances has a row too
        for name in sorted(listing.state.queues.keys() - rows.keys()):
            rows[name] = _empty_row(name)
    for name, weight in weights.items():
        rows[name]["load"] /= weight
    return [rows[name] for name in sorted(rows)]


def _empty_row(queue: str) -> dict[str, Any]:
    counts = dict.fromkeys(("used", "resv", "available", "total", "temporary", "manual"), 0)
    return {"name": queue, "load": None, **counts, "states": dict.fromkeys(_EACH_STATE, 0)}


def _add_instance(listing: Listing, instance: QueueInstance, row: dict[str, Any], weights: dict[str, float]) -> None:
    name = instance.name
    config = listing.state.configs.get(name)
    slots = config.slots if config is not None else 0
    used = listing.state.slots_used(name)
    state_codes = listing.state_codes(instance)
    row["used"] += used
    row["resv"] += listing.state.slots_reserved(name)
    row["total"] += slots
    if not _MANUAL.isdisjoint(state_codes):
        row["manual"] += slots
    elif not _TEMPORARY.isdisjoint(state_codes):
        row["temporary"] += slots
    else:
        row["available"] += max(0, slots - used)
    for state_code in state_codes:
        row["states"][state_code] = row["states"].get(state_code, 0) + slots
    if config is not None and slots:
        offer = available(listing.config_snapshot, listing.ledger, name, "np_load_avg")
        if offer is not None and not isinstance(offer.value, str):
            row["load"] = (row["load"] or 0.0) + offer.value * slots
            weights[instance.queue] = weights.get(instance.queue, 0.0) + slots
