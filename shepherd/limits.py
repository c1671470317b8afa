"""Resource limits that the kernel enforces: their names, their values, and setting them.

`resource_limits` is pure and read in the plan; `apply` runs in the job's process before it gives up root, or `borrowed` in
the shepherd for the moment in which it starts that process. The limits that the shepherd enforces itself (h_rt, s_rt and
sums over processes) are in `control`.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from gridengine.protocols.task_file import MAX_LIMIT
from shepherd.process_tree import end_on_failure

LOCKS = 10  # RLIMIT_LOCKS, which the module `resource` does not name

# name -> (resource, multiplied by the slots, inherited when unset). 8.1.9 multiplies these four.
# Source: queue_conf(5) RESOURCE LIMITS (QC-39, RL-4 to RL-7), sge_conf(5) execd_params S_DESCRIPTORS ... (RL-10).
_LIMITS = {
    "cpu": (resource.RLIMIT_CPU, True, False),
    "fsize": (resource.RLIMIT_FSIZE, False, False),
    "data": (resource.RLIMIT_DATA, True, False),
    "stack": (resource.RLIMIT_STACK, True, False),
    "core": (resource.RLIMIT_CORE, False, False),
    "rss": (resource.RLIMIT_RSS, False, False),
    "vmem": (resource.RLIMIT_AS, True, False),
    "descriptors": (resource.RLIMIT_NOFILE, False, True),
    "maxproc": (resource.RLIMIT_NPROC, False, True),
    "memorylocked": (resource.RLIMIT_MEMLOCK, False, True),
    "locks": (LOCKS, False, True),
}
_MEMORY = ("data", "stack", "rss", "vmem")
# Lower limits are raised to these minimums, with which a shell can start and report an error. Source: O.
_LEAST = {"cpu": 2, "fsize": 15 * 2**10, "data": 10 * 2**20, "stack": 2**20, "rss": 10 * 2**20, "vmem": 10 * 2**20}
# The same for methods that run as the owner: seconds of processor time, and bytes.
_LEAST_OF_METHODS = {
    "cpu": 600, "fsize": 2**30, "core": 0,
    "data": 2**31, "stack": 2**23, "rss": 2**31, "vmem": 2**32, "descriptors": 256, "memorylocked": 2**16,
}
# Limits that do not affect a process of root with its capabilities.
_NOT_FELT_BY_ROOT = ("maxproc", "memorylocked", "locks", "core", "rss")
# The least that a shepherd needs itself while it has the limits of a job: bytes, and files.
_LEAST_OF_SHEPHERDS = {"data": 2**28, "stack": 2**23, "vmem": 2**30, "descriptors": 64}
_LEAST_CPU_S = 2.0


@dataclass(frozen=True, slots=True)
class ResourceLimit:
    """One setrlimit(2) call; `soft` and `hard` None are unlimited, else whole seconds or bytes."""

    name: str
    soft: int | None
    hard: int | None


def resource_limits(
    limits: Mapping[str, int | float | None], slots: int, per_job: Collection[str] = ()
) -> list[ResourceLimit]:
    """The calls for a job with `slots` slots on this host.

    A name that is absent is INFINITY for queue limits, and for limits of execd_params the same as its partner: a single
    value is set for both (RL-10). A soft limit above the hard limit becomes the hard limit. No limit is lower than its
    minimum.
    """
    result = []
    for name, (_, multiplied, inherited) in _LIMITS.items():
        given = {side: limits[f"{side}_{name}"] for side in "sh" if f"{side}_{name}" in limits}
        if not given:
            continue
        values = {}
        for side in "sh":
            value = given.get(side, next(iter(given.values())) if inherited else None)
            factor = slots if multiplied and f"{side}_{name}" not in per_job else 1
            values[side] = None if value is None else max(_whole(value * factor), _LEAST.get(name, 0))
        soft, hard = values["s"], values["h"]
        if hard is not None:
            soft = hard if soft is None else min(soft, hard)
        result.append(ResourceLimit(name, soft, hard))
    return result


def method_limits(limits: list[ResourceLimit]) -> list[ResourceLimit]:
    """The limits of a job for a method that runs as its owner, so that the owner's processes cannot escape them beside the job.

    None is so low that a method of the administrator fails because of a job's requests. Processes are not limited: the
    kernel counts all processes of the user, and a method would fail because of the user's other processes.
    """
    return [
        ResourceLimit(limit.name, _at_least(limit.name, limit.soft), _at_least(limit.name, limit.hard))
        for limit in limits
        if limit.name != "maxproc"
    ]


def _at_least(name: str, value: int | None) -> int | None:
    return None if value is None else max(value, _LEAST_OF_METHODS.get(name, 0))


def apply(limits: list[ResourceLimit], memory: bool) -> None:
    """Set the limits on memory, or all other limits, on this process. A refused limit is set as near as the kernel allows.

    Limits on memory come last before exec: the interpreter that sets them may need more memory than the job is allowed.
    """
    for limit in limits:
        if (limit.name in _MEMORY) != memory:
            continue
        kind = _LIMITS[limit.name][0]
        soft, hard = _values(limit)
        try:
            resource.setrlimit(kind, (soft, hard))
        except (ValueError, OSError):  # raising a hard limit needs root, and descriptors end at fs.nr_open even then
            present = resource.getrlimit(kind)[1]
            resource.setrlimit(kind, (_lower(soft, present), _lower(hard, present)))


def can_be_borrowed(limits: list[ResourceLimit], last: bool) -> bool:
    """Whether this process of root can have these limits for a moment, and restore its own. `last`: see `borrowed`."""
    changed = [(limit, own) for limit in _limits_to_restore(limits, last) if (own := _own(limit)) != _values(limit)]
    least = {**_LEAST_OF_SHEPHERDS, "cpu": time.process_time() + _LEAST_CPU_S}
    if any(limit.soft is not None and limit.soft < least.get(limit.name, 0) for limit, _ in changed):
        return False
    return all(own[1] == _values(limit)[1] for limit, own in changed) or _can_raise()


@contextmanager
def borrowed(limits: list[ResourceLimit], last: bool) -> Iterator[None]:
    """Inside the block this process has the limits, if they `can_be_borrowed`. This process keeps the limits that do not
    affect root if the process that is started inside is the `last` process of the task: without CAP_SYS_RESOURCE it could
    not restore its own limits."""
    own = {_LIMITS[limit.name][0]: _own(limit) for limit in _limits_to_restore(limits, last)}
    try:
        apply(limits, memory=False)
        apply(limits, memory=True)
        yield
    finally:
        with end_on_failure():
            for kind, values in own.items():
                resource.setrlimit(kind, values)


def read_limits() -> dict[int, tuple[int, int]]:
    """The limits of this process that a job may change: soft and hard by their RLIMIT numbers."""
    return {kind: resource.getrlimit(kind) for kind, _, _ in _LIMITS.values()}


def restore_limits(own: dict[int, tuple[int, int]]) -> dict[int, tuple[int, int]]:
    """Restore this process's own limits. Returns the limits that could not be restored, with their values."""
    stuck = {}
    for kind, (soft, hard) in own.items():
        if (now := resource.getrlimit(kind)) == (soft, hard):
            continue
        try:
            resource.setrlimit(kind, (soft, hard))
        except (ValueError, OSError):  # without CAP_SYS_RESOURCE
            stuck[kind] = now
    return stuck


def values(limits: list[ResourceLimit]) -> dict[int, tuple[int, int]]:
    """Soft and hard of each limit as setrlimit(2) takes them, by its RLIMIT number."""
    return {_LIMITS[limit.name][0]: _values(limit) for limit in limits}


def _limits_to_restore(limits: list[ResourceLimit], last: bool) -> list[ResourceLimit]:
    return [limit for limit in limits if not (last and limit.name in _NOT_FELT_BY_ROOT)]


def _can_raise() -> bool:
    """Return whether this process may raise hard limits, which a container's root may not: tested with a limit that Linux
    ignores."""
    soft, hard = resource.getrlimit(LOCKS)
    lower = MAX_LIMIT if hard == resource.RLIM_INFINITY else max(0, hard - 1)
    try:
        resource.setrlimit(LOCKS, (_lower(soft, lower), lower))
        resource.setrlimit(LOCKS, (soft, hard))
    except (ValueError, OSError):
        return False
    return True


def _own(limit: ResourceLimit) -> tuple[int, int]:
    return resource.getrlimit(_LIMITS[limit.name][0])


def _values(limit: ResourceLimit) -> tuple[int, int]:
    soft, hard = (resource.RLIM_INFINITY if value is None else value for value in (limit.soft, limit.hard))
    return soft, hard


def _lower(requested: int, ceiling: int) -> int:
    if ceiling == resource.RLIM_INFINITY:
        return requested
    return ceiling if requested == resource.RLIM_INFINITY else min(requested, ceiling)


def _whole(value: int | float) -> int:
    """Whole seconds or bytes, never rounded down to nothing."""
    return -int(-min(value, MAX_LIMIT) // 1)
