"""The palette: jobs, users, hosts, queues, settings, pages and actions that a typed text finds, at most `MOST` of a kind.

The part of a page that `static/palette.js` shows while the visitor types; `/search` has the complete results. One pass over the
rows of jobs at most, which ends with the last shown job. Source: GU-4.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import islice
from typing import NamedTuple

from daemons.web.pages.configuration import matches, noun_of
from daemons.web.pages.formats import link, part
from daemons.web.pages.navigation import NAVIGATION
from daemons.web.pages.page import Data, Page, Visit, page_route
from gridengine.kinds import KIND
from gridengine.state.state import State

MOST = 6
_LONGEST = 100
"""Characters of a text that are used."""
_ACTIONS = (
    ("Submit a job", "/submit"), ("Reserve slots", "/reservations/new"), ("Change complexes", "/complexes/edit"),
    ("Custom SQL", "/accounting/sql"), ("Create a token", "/me"),
    *((f"Add: {noun_of(kind)}", f"/config/{kind}/+") for kind, row in KIND.items() if not row.bare),
)


class PaletteEntry(NamedTuple):
    """A result: its `name`, a `note` on it, and the `address` of its page."""

    name: str
    note: str
    address: str


async def palette(visit: Visit) -> Data:
    """The results for the text `find`, by heading; without a text the pages."""
    find = visit.parameter("find")[:_LONGEST]
    groups = _everything(visit, find) if find else {"Pages": _pages("")}
    return {"groups": {heading: entries for heading, found in groups.items() if (entries := list(islice(found, MOST)))}}


def _everything(visit: Visit, find: str) -> dict[str, Iterable[PaletteEntry]]:
    state = visit.shared.mirror.state
    return {
        "Jobs": _jobs(visit, find),
        "Users": _users(state, find),
        "Hosts": _named(find, state.kind("exec_host"), "host", "/hosts/"),
        "Cluster queues": _named(find, state.kind("cluster_queue"), "cluster queue", "/queues/"),
        "Queue instances": _named(find, state.instances, "queue instance", "/instances/"),
        "Pages": _pages(find),
        "Actions": (PaletteEntry(label, "", address) for label, address in _ACTIONS if _has(find, label)),
        "Settings": (
            PaletteEntry(match.name or match.noun, f"{match.noun}: {', '.join(match.attributes[:3])}", match.address)
            for match in matches(state, re.compile(re.escape(find), re.IGNORECASE))
        ),
    }


def _has(find: str, text: str) -> bool:
    return find.lower() in text.lower()


def _jobs(visit: Visit, find: str) -> Iterable[PaletteEntry]:
    jobs = visit.shared.mirror.state.jobs
    if find.isascii() and find.isdigit() and len(find) < 8 and int(find) in jobs:
        job = jobs[int(find)]
        yield PaletteEntry(f"Job {job.id}", f"{job.name}, {job.owner}", f"/jobs/{job.id}")
        for label, path in (("Output of", "output"), ("Change", "alter")):
            yield PaletteEntry(f"{label} job {job.id}", "", f"/jobs/{job.id}/{path}")
        yield PaletteEntry(f"Clone and edit job {job.id}", "", link("/submit", **{"from": job.id}))
        return
    shown = set[int]()
    for row in visit.shared.jobs.matching(find):
        if row.id not in shown:
            shown.add(row.id)
            yield PaletteEntry(f"{row.id} {row.name}", f"{row.owner}, {row.state}", f"/jobs/{row.id}")


def _users(state: State, find: str) -> Iterable[PaletteEntry]:
    names = {owner for owner, _ in state.owned} | set(state.kind("user"))
    return (PaletteEntry(name, "jobs of this user", link("/jobs", owner=name)) for name in sorted(names) if _has(find, name))


def _named(find: str, names: Iterable[str], noun: str, path: str) -> Iterable[PaletteEntry]:
    left_out = ("global", "template") if noun == "host" else ()
    return (PaletteEntry(name, noun, path + part(name)) for name in sorted(names) if _has(find, name) and name not in left_out)


def _pages(find: str) -> Iterable[PaletteEntry]:
    pages = [entry for entries in NAVIGATION.values() for entry in entries]
    return (PaletteEntry(label, "page", address) for label, address in pages if _has(find, label))


PALETTE = Page("/search/palette", "palette.html", palette)
ROUTES = [page_route(PALETTE)]
