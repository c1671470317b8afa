"""Readings of many jobs in slices: the pending reason of each job (qexplain), and its details (qstat -j); other requests
are served in between.

Owns the division of such a reading and the join of its parts into one answer. A job that ends meanwhile is left out; each is
shown as of the moment when its part is read. Called by `daemons.qmaster.serve.service`. Source: ADR 116.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from daemons.qmaster.selection import Unmatched
from daemons.qmaster.serve.requests.slices import batched, is_little_work, look_up
from gridengine.protocols.gdi.requests import Answer
from gridengine.state.state import State

Body = dict[str, Any]
#: jobs of a part: explaining a job takes up to a millisecond, showing a job a tenth of that time
SLICE = {"explain_job": 20, "job_detail": 100}


def split_reading(state: State, name: str, body: Body) -> Iterator[Body | None]:
    """Bodies that together read the same as this body; None where nothing is read but other requests may be served.

    Raises InvalidValueError, before the first body.
    """
    kind, selected = _kind_and_selection(name, body)
    targets = list(dict.fromkeys(selected.get("jobs", ())))
    if not targets or max(len(targets), len(state.jobs)) <= SLICE[kind] and is_little_work(state, targets):
        yield body
        return
    tokens: dict[str, None] = {}
    for target in targets:
        if target[:1].isdecimal():
            tokens[target] = None
            continue
        parts: list[str] = []
        for some in look_up(state, target, []):
            parts += some
            yield None
        tokens |= dict.fromkeys(parts or [Unmatched(target)])
    for few in batched(list(tokens), SLICE[kind]):
        yield {"jobs": few} if kind == name else {kind: {**selected, "jobs": few}}


def join_answers(name: str, body: Body, answers: list[Answer]) -> Answer:
    """The answer to a whole reading, from the answers to its parts."""
    refused = next((answer for answer in answers if answer.status), None)
    kind, selected = _kind_and_selection(name, body)
    if refused is not None or not selected.get("jobs"):
        return refused or answers[0]
    read: list[Any] = [answer.data for answer in answers]
    parts: list[Body] = [data if kind == name else data[kind] for data in read]
    jobs = {job["id"]: job for part in parts for job in part["jobs"]}
    unknown = {token for part in parts for token in part["unknown"]}
    unknown_tokens = [token for token in selected["jobs"] if token in unknown]
    joined = {"jobs": [jobs[job_id] for job_id in sorted(jobs)], "unknown": unknown_tokens}
    data = parts[-1] | joined  # the other fields are the same in all parts
    return Answer(data=data if kind == name else {kind: data})


def _kind_and_selection(name: str, body: Body) -> tuple[str, Body]:
    """The kind of reading, and the body that names its jobs; a reading of several kinds at one moment is not divided."""
    if name == "status" and body.keys() == {"job_detail"}:
        return "job_detail", body["job_detail"]
    return name, body if name in SLICE else {}
