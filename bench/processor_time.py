"""The processor time of each kind of process of a cell, read from /proc on its hosts. Called by `measure`.

A busy machine delays the clock, but does not change these figures. Jobs count as part of their shepherds, which collect them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable

TICKS = os.sysconf("SC_CLK_TCK")
#: the name of a process, which the kernel cuts to 15 characters -> what its time counts for
ROLES = {
    "ray::QmasterActor"[:15]: "qmaster",
    "ray::ScheddActor"[:15]: "schedd",
    "ray::ExecdActor"[:15]: "execd",
    "sge_qmaster": "supervisors",
    "sge_execd": "supervisors",
    "sge_launcher": "launchers",
    "sge_shepherd": "shepherds_and_jobs",
    "raylet": "raylets",
    "gcs_server": "gcs",
    "python3": "node_keepers",
}
_EACH = "cat /proc/[0-9]*/stat 2>/dev/null; true"

Seconds = dict[str, float]


def seconds(hosts: Iterable[str], run: Callable[..., str]) -> Seconds:
    """Seconds of processor time that each role has used so far. `run(host, *command)`: its output on a host."""
    found = dict.fromkeys(ROLES.values(), 0.0)
    for host in hosts:
        for line in run(host, "sh", "-c", _EACH).splitlines():
            _count(line, found)
    return found


def _count(line: str, found: Seconds) -> None:
    """One process, from proc(5) stat: its own time, and the time of its collected children."""
    begin, end = line.find("("), line.rfind(")")
    role = ROLES.get(line[begin + 1 : end])
    fields = line[end + 2 :].split()
    if role is None or len(fields) < 15:
        return
    own, children = (sum(map(int, fields[first : first + 2])) / TICKS for first in (11, 13))
    found[role] += own
    if role in ("launchers", "shepherds_and_jobs"):
        found["shepherds_and_jobs"] += children


def of_shell(spoken: str) -> float:
    """Seconds that a shell and its children took, as its `times` says in the last two lines: `0m1.234s 0m0.567s`."""
    columns = [column for line in spoken.strip().splitlines()[-2:] for column in line.split()]
    return sum(60 * float(minutes) + float(seconds) for minutes, seconds in (column.rstrip("s").split("m") for column in columns))


def per_task(before: Seconds, after: Seconds, tasks: int) -> dict[str, float]:
    """Milliseconds a task of each role, and of all together, as figures of `measure`."""
    spent = {f"processor_ms.{role}": (after[role] - before[role]) * 1000 / tasks for role in before}
    return spent | {"processor_ms.together": sum(spent.values())}
