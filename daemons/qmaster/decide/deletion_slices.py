"""Large deletions in slices: other requests are served in between (SO-47).

Owns how a `delete_jobs` request is divided; each part is a request and a transaction of its own. Called by
`daemons.qmaster.service`. Source: sge_conf(5) MAX_JOB_DELETION_TIME. Deviation: a slice is SLICE jobs, which takes a part of
the least time that can be set there (1 s), so other requests never wait for longer.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from daemons.qmaster.selection import Selected, select_jobs
from gridengine.errors import SyntaxFault
from gridengine.gdi.requests import Caller, DeleteJobs
from gridengine.state.state import State

SLICE = 200
"""Jobs of one slice."""


def slices(state: State, request: DeleteJobs, caller: Caller) -> list[DeleteJobs]:
    """The request itself if it names no more than SLICE jobs, else requests that together do the same, in its order."""
    try:
        selection = select_jobs(state, request.targets, request.tasks, request.users, caller.user)
    except SyntaxFault:
        return [request]  # it will be refused
    if sum(len(found) for _, found in selection) <= SLICE:
        return [request]
    return [msgspec.structs.replace(request, targets=targets) for targets in _in_turn(list(_targets(selection.found)))]


def _targets(found: list[tuple[str, list[Selected]]]) -> Iterator[str]:
    """The words of the request, with those that mean several jobs replaced by the numbers of these."""
    for target, selected in found:
        if target[:1].isdecimal() or not selected:
            yield target
        else:
            yield from (str(one.job.id) for one in selected)


def _in_turn(targets: list[str]) -> Iterator[list[str]]:
    for start in range(0, len(targets), SLICE):
        yield targets[start : start + SLICE]
