"""Requests on many jobs in slices: other requests are served in between (SO-47; ADR 116).

Owns the division of such a request; each part is a request and a transaction of its own. Patterns are matched in slices,
too, including the patterns for the predecessors of a single job. Called by `service`. Source: sge_conf(5)
MAX_JOB_DELETION_TIME. Deviation: a slice is a number of jobs, which takes some milliseconds, and not a time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import TypeVar

import msgspec

from daemons.qmaster.decide.jobs.dependencies import FIELDS as DEPENDENCIES
from daemons.qmaster.selection import Unmatched, match_jobs, select_instances, select_jobs, user_matches
from gridengine.errors import InvalidValueError
from gridengine.protocols.gdi.requests import AlterJobs, Caller, ChangeStates, DeleteJobs, HoldJobs, ResubmitJobs, Submit
from gridengine.state.state import State

Divided = DeleteJobs | HoldJobs | AlterJobs | ResubmitJobs | ChangeStates
"""Requests that may affect thousands of jobs."""
SLICE: dict[type[Divided], int] = {DeleteJobs: 100, HoldJobs: 100, ChangeStates: 100, ResubmitJobs: 25, AlterJobs: 10}
"""Jobs of one slice: an altered job is checked as a whole."""
MATCHED = 10
"""Names that a pattern of 1 KB is matched against at a time, which takes up to 0.15 ms for a name of 512 bytes; more for
shorter patterns. A request of another user takes some ten rounds of the loop, and waits for a slice in each."""
_KB = 1024
_SHORTEST = 16

_Item = TypeVar("_Item")


def slices(state: State, request: Divided, caller: Caller, operator: bool) -> Iterator[Divided | None]:
    """Requests that together equal this request, in its order; None where nothing is to be done but other requests may be served.

    A request on few jobs stays whole. A name or pattern stands for the jobs that matched when it was looked up.
    """
    size = SLICE[type(request)]
    few = len(state.jobs) <= size or request.targets and all(token[:1].isdecimal() for token in request.targets)
    if (few and len(request.targets) <= size and is_little_work(state, request.targets)) or _malformed(request):
        yield request
        return
    alone = isinstance(request, ChangeStates)  # jobs that qmod names are not queues
    tokens: list[tuple[str, bool]] = []
    for target in request.targets or [""]:
        users = _users(request, target, caller, operator)
        if users is None or target[:1].isdecimal() or _means_queues(state, request, target):
            tokens.append((target, False))
            continue
        parts: list[str] = []
        running: list[str] = []
        for numbers in look_up(state, target, users):
            for token in numbers:
                (running if isinstance(request, DeleteJobs) and state.jobs[int(token)].runs else parts).append(token)
            yield None
        # pending jobs first: else each freed slot would start the next job, only to be deleted
        parts += running
        tokens += [(token, alone) for token in parts or [Unmatched(target)]]
    for of_jobs, of_a_kind in groupby(tokens, lambda each: each[1]):
        for few_tokens in batched(list(of_a_kind), size):
            part = msgspec.structs.replace(request, targets=[token for token, _ in few_tokens])
            if isinstance(part, ChangeStates) and of_jobs:
                part.what = "job"
            yield part


def look_up(state: State, target: str, users: list[str]) -> Iterator[list[str]]:
    """Numbers of the jobs of these users that match a name or pattern, some names at a time, none at first: many callers
    must not match even a few names in one round. Raises InvalidValueError.
    """
    yield []
    owned = state.jobs_of(lambda owner, group: user_matches(owner, users))
    for jobs in batched(owned, at_a_time(target)):
        yield [str(job.id) for job in match_jobs(jobs, target, users)]


def at_a_time(pattern: str) -> int:
    """Return the number of names to match a pattern against before other requests are served."""
    return MATCHED * _KB // min(_KB, max(_SHORTEST, len(pattern)))


def is_little_work(state: State, tokens: Iterable[str]) -> bool:
    """Whether all names and patterns among the tokens can be matched against the names of all jobs at a time."""
    return sum(len(state.jobs) / at_a_time(token) for token in tokens if not token[:1].isdecimal()) <= 1


def look_up_predecessors(state: State, request: Submit | AlterJobs) -> Iterator[dict[str, list[int]] | None]:
    """The job numbers for the names and patterns of -hold_jid and its relatives, of all users.

    None where other requests may be served; {} at once if all of it is little work. Raises InvalidValueError.
    """
    if isinstance(request, AlterJobs):
        lists = [request.changes.get(each, ()) for each in DEPENDENCIES]
    else:
        lists = [getattr(request, each) for each in DEPENDENCIES]
    tokens = {token for tokens in lists for token in tokens if token and not token[:1].isdecimal()}
    found: dict[str, list[int]] = {}
    if not is_little_work(state, tokens):
        for token in tokens:
            found[token] = []
            for numbers in look_up(state, token, []):
                found[token] += map(int, numbers)
                yield None
    yield found


def batched(items: list[_Item], size: int) -> Iterator[list[_Item]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]


def _malformed(request: Divided) -> bool:
    """Whether the request will be refused as a whole, checked against an empty cell; qmod handles each token by itself."""
    if isinstance(request, (ResubmitJobs, ChangeStates)):
        return False
    try:
        select_jobs(State(), request.targets, request.tasks)
    except InvalidValueError:
        return True
    return False


def _users(request: Divided, target: str, caller: Caller, operator: bool) -> list[str] | None:
    """The users whose jobs a name can match, [] for all; None if names match no jobs."""
    if isinstance(request, ResubmitJobs):
        return None
    if isinstance(request, ChangeStates):
        return []
    if request.users or not target:
        return request.users
    return [] if operator and not isinstance(request, DeleteJobs) else [caller.user]


def _means_queues(state: State, request: Divided, target: str) -> bool:
    """Whether a token of qmod names queues, which take precedence, or is malformed."""
    if not isinstance(request, ChangeStates):
        return False
    try:
        match_jobs((), target, [])
        return request.what == "queue" or request.what == "any" and bool(select_instances(state, target))
    except InvalidValueError:
        return True
