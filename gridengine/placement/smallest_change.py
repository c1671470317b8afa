"""The smallest change: the requests that a job has to give up, or to lower, so that it can start.

Owns that search and its texts. A request for a consumable is never given up or lowered to 0: a job that needs a licence
would run without a licence. Called by `gridengine.placement.explanation`.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import tzinfo
from typing import Any

import msgspec
from msgspec import Struct

from gridengine.placement.causes import EXAMPLES
from gridengine.placement.reasons import Reason
from gridengine.placement.values import Offer, Value, format_value
from gridengine.placement.verify import Verifier
from gridengine.state.jobs import Job
from gridengine.state.state import State
from gridengine.values.ranges import parse_slot_ranges

_CHANGEABLE = ("hard_queues", "pe_range", "checkpoint", "project", "master_queues")


class Change(Struct, omit_defaults=True):
    """The smallest change that lets the job start: `texts`: sentences; `options`: of qalter for it ("" if there are none)."""

    texts: list[str]
    options: str = ""
    now: bool = False


def smallest_change(state: State, job: Job, now: float, assume_empty: bool, zone: tzinfo) -> Change | None:
    """Find a single request to give up if that is enough, else as few as possible; None if no change of requests helps."""
    items = [*(("hard", name) for name in job.hard), *((name, "") for name in _CHANGEABLE if getattr(job, name))]

    asked = Verifier(state, assume_empty, now, zone).verify

    def fits(changed: Job) -> bool:
        return bool(asked(changed)[0])

    def make_change(given_up: list[tuple[str, str]]) -> Change | None:
        changed, texts = without_requests(job, given_up), []
        for what, name in given_up:
            reasons = asked(without_requests(job, [item for item in given_up if item != (what, name)]))[1]
            least = _least_change(state, job, changed, what, name, reasons, fits)
            if least is None:
                return None
            changed, text = least
            texts.append(text)
        return Change(texts, _options(job, changed, given_up), not assume_empty)

    for item in items:
        if fits(without_requests(job, [item])) and (change := make_change([item])) is not None:
            return change
    if not items or not fits(without_requests(job, items)):
        return None
    given_up = list(items)
    for item in items:
        fewer = [other for other in given_up if other != item]
        if fits(without_requests(job, fewer)):
            given_up = fewer
    return make_change(given_up)


def without_requests(job: Job, items: list[tuple[str, str]]) -> Job:
    """Return the same job without some of its requests: ("hard", resource) or (field of the job, "")."""
    changes: dict[str, Any] = {}
    for what, name in items:
        if what == "hard":
            changes["hard"] = {key: value for key, value in changes.get("hard", job.hard).items() if key != name}
        elif what == "pe_range":
            changes["pe_range"] = "1"
        else:
            changes[what] = type(getattr(job, what))()
    return msgspec.structs.replace(job, **changes)


def _least_change(
    state: State, job: Job, changed: Job, what: str, name: str, reasons: list[Reason], fits: Callable[[Job], bool]
) -> tuple[Job, str] | None:
    """The nearest value that fits in place of a request, if the reasons name such a value. None: the request must not be
    given up."""
    if what == "pe_range":
        least, most = 1, parse_slot_ranges(job.pe_range)[0][0]
        while least < most:
            middle = (least + most + 1) // 2
            if fits(msgspec.structs.replace(changed, pe_range=str(middle))):
                least = middle
            else:
                most = middle - 1
        return msgspec.structs.replace(changed, pe_range=str(least)), f"{least} slots instead of {job.pe_range} (-pe)"
    if what != "hard":
        options = {"hard_queues": "-q", "master_queues": "-masterq", "checkpoint": "-ckpt", "project": "-P"}
        value = getattr(job, what)
        return changed, f"without {options[what]} {','.join(value) if isinstance(value, tuple) else value}"
    entry = state.complexes.get(name)
    for value, size in _offered(reasons, name):
        if entry is not None and entry.is_consumable and size <= 0:
            continue
        trial = msgspec.structs.replace(changed, hard={**changed.hard, name: value})
        if fits(trial):
            return trial, f"{name}={value} instead of {name}={job.hard[name]} (-l)"
    if entry is not None and entry.is_consumable:
        return None
    return changed, f"without {name}={job.hard[name]} (-l)"


def _offered(reasons: list[Reason], name: str) -> list[tuple[str, float]]:
    """Available values of a resource, in the form of a request, and their sizes; the greatest first."""
    offers = [reason.left for reason in reasons if isinstance(reason.left, Offer) and reason.resource == name]
    found = {_as_request(offer): _size(offer.value) for offer in offers}
    return sorted(found.items(), key=lambda each: (each[1], each[0]), reverse=True)[:EXAMPLES]


def _as_request(offer: Offer) -> str:
    """The value in the form of a request, without trailing zeros."""
    text = format_value(offer.entry.type, offer.value, whole=False)
    return text.rstrip("0").rstrip(".") if "." in text and text.replace(".", "", 1).isdecimal() else text


def _size(value: Value) -> float:
    return 0.0 if isinstance(value, str) else value


def _options(job: Job, changed: Job, given_up: list[tuple[str, str]]) -> str:
    parts = []
    kinds = {what for what, _ in given_up}
    if kinds & {"checkpoint", "project", "master_queues"}:
        return ""
    if "hard" in kinds:
        parts.append("-l " + (",".join(f"{name}={value}" for name, value in changed.hard.items()) or "''"))
    if "hard_queues" in kinds:
        parts.append("-q '*'")
    if "pe_range" in kinds:
        parts.append(f"-pe {job.pe} {changed.pe_range}" if job.pe else f"-alloc {job.allocation_rule} {changed.pe_range}")
    return " ".join(parts)
