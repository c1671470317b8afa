"""Cluster queues: the list as in qstat -g c, and the settings of a queue by host and origin. Source: GU-2, GU-3, GU-4."""

from __future__ import annotations

from typing import Any, NamedTuple

from daemons.web.mirror import MirroredChange
from daemons.web.pages.changing import why_not_configure
from daemons.web.pages.page import CsvTable, Data, NotFoundError, Page, Visit, rows_of_page
from daemons.web.pages.trends import trend_panel
from daemons.web.trends.trend_store import QUEUE
from gridengine.syntax.overrides import Overrides

ROWS = 100
#: codes of the states for which `qstat -g c -ext` counts slots, the most severe first
_STATES = ("E", "u", "c", "o", "d", "s", "a", "A", "D", "C", "S")


class Setting(NamedTuple):
    """The `value` of an attribute on a host. `origin`: the host, a host group, or "" for the default; `between`: the groups that
    set different values, so that the default counts."""

    value: str
    origin: str
    between: tuple[str, ...]

    @property
    def tone(self) -> str:
        return "bad" if self.between else "mark" if self.origin.startswith("@") else "busy" if self.origin else ""


async def queue_list(visit: Visit) -> Data:
    """All cluster queues with their slots."""
    status: Any = (await visit.shared.read("status", {"cluster_queues": {}}, visit.caller)).data
    return {"rows": status["cluster_queues"], "state_codes": _STATES, "why_not": why_not_configure(visit)}


async def queues_csv(visit: Visit) -> CsvTable:
    """All cluster queues; for each state the number of slots in it."""
    keys = ("name", "load", "used", "resv", "available", "total")
    columns = ("cluster_queue", "load", "slots_used", "slots_reserved", "slots_free", "slots_total")
    rows = (await queue_list(visit))["rows"]
    return CsvTable("queues", (*columns, *(f"slots_{code}" for code in _STATES)), [
        [*(row[key] for key in keys), *(row["states"].get(code, 0) for code in _STATES)] for row in rows
    ])


async def queue_details(visit: Visit) -> Data:
    """A cluster queue: its slots, per-host overrides, and detached settings."""
    name = visit.parts["name"]
    state = visit.shared.mirror.state
    attributes = state.kind("cluster_queue").get(name)
    if attributes is None:
        raise NotFoundError(f"There is no cluster queue {name}")
    status: Any = (await visit.shared.read("status", {"cluster_queues": {"select": {"queues": [name]}}}, visit.caller)).data
    detached: Any = (await visit.shared.read("config_detached", {}, visit.caller)).data
    overrides = {attribute: Overrides.parse(text) for attribute, text in attributes.items() if "[" in text}
    varied = {attribute: each for attribute, each in overrides.items() if each.tuples}
    hosts = sorted(state.instances[instance].host for instance in state.instances_of.get(name, ()))
    shown, pager = rows_of_page(visit, hosts, ROWS)
    rows = [(host, [_setting(each, host, state.groups.groups_of(host)) for each in varied.values()]) for host in shown]
    return pager | trend_panel(visit, QUEUE, name) | {
        "trend_title": "Trends", "state_codes": _STATES, "name": name, "summary": next(iter(status["cluster_queues"]), None),
        "why_not": why_not_configure(visit),
        "attributes": attributes, "varied": varied, "rows": rows,
        "detached": [(attribute, identifier, partly) for queue, attribute, identifier, partly in detached if queue == name],
    }


def _setting(overrides: Overrides, host: str, groups: frozenset[str]) -> Setting:
    value, between = overrides.value_for(host, groups)
    origins = [host] if host in overrides.tuples else [each for each in overrides.tuples if each in groups]
    return Setting(value, "" if between or not origins else origins[0], between)


def _concerns(change: MirroredChange) -> bool:
    affected = change.affected
    return change.whole or bool(affected.instances or affected.kinds or affected.lost or affected.returned or affected.members)


PAGES = [
    Page("/queues", "queues.html", queue_list, _concerns, csv=queues_csv),
    Page("/queues/{name}", "queue.html", queue_details, _concerns),
]
