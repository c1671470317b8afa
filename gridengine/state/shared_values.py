"""Equal values of many jobs, stored once: of a million pending jobs most differ in little but their number.

Owns which values of a job are shared. Called when jobs enter a state, by an event or a snapshot; such a value is never
changed, a changed job gets another value.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from sys import intern
from typing import Any, TypeVar

from gridengine.state.jobs import Job
from gridengine.values.ranges import Ranges

_TEXTS = ("name", "owner", "group", "submit_host", "department", "account", "project")
_PATHS = ("script_file", "cwd", "submit_cwd", "home", "login_shell", "submit_path")
_TUPLES = ("mail_list", "environment_names", "stdout", "stderr", "path_aliases", "hard_queues")
_TABLES = ("hard", "soft", "conditions", "context")
_GROWING = ("holds", "tasks")
_ONE_TASK = Ranges.of([1])
_KINDS = 4096
"""Size of the cache of values: more than a cell has categories at a time."""


K = TypeVar("K")
V = TypeVar("V")


EMPTY: dict[Any, Any] = {}
"""The empty table of holds or tasks, shared by all jobs without an entry. Entries are added by `with_entry` alone; a law in
`gridengine.state.invariants` checks it. No subclass: msgspec leaves out an empty table only if its type is dict."""


def with_entry(table: dict[K, V], key: K, value: V) -> dict[K, V]:
    """Add an entry to a table of a job. Returns the same table, or a new table in place of the shared table."""
    if table is EMPTY:
        return {key: value}
    table[key] = value
    return table


def share_values(jobs: Iterable[Job]) -> None:
    """Make the jobs share equal values with each other and with earlier jobs."""
    for job in jobs:
        for name in _TEXTS + _PATHS:
            if text := getattr(job, name):
                setattr(job, name, intern(text))
        for name in _TUPLES:
            if items := getattr(job, name):
                setattr(job, name, _same(items))
        for name in _TABLES:
            setattr(job, name, _table(tuple(getattr(job, name).items())))
        for name in _GROWING:
            if not getattr(job, name):
                setattr(job, name, EMPTY)
        if job.pending == _ONE_TASK:
            job.pending = _ONE_TASK


@lru_cache(maxsize=_KINDS)
def _same(items: tuple[Any, ...]) -> tuple[Any, ...]:
    return items


@lru_cache(maxsize=_KINDS)
def _table(items: tuple[tuple[Any, Any], ...]) -> dict[Any, Any]:
    return dict(items)
