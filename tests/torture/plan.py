"""The faults and their times: a list that depends on the seed alone, before anything runs.

Owns the kinds of faults and how often each comes. Pure. Called by `play`; `faults` inflicts them.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

CELL = "torture"
MASTER = "om"
EXEC_HOSTS = ("o1", "o2", "o3")

#: processes of each role, by what their command line or name holds
VICTIMS = {
    "qmaster actor": "ray::QmasterActor",
    "schedd actor": "ray::ScheddActor",
    "control store": "/gcs_server ",
    "sge_qmaster": "/sge_qmaster",
    "execd actor": "ray::ExecdActor",
    "raylet": "/raylet ",
    "sge_execd": "/sge_execd",
    "launcher": "sge_launcher",
    "shepherd": "sge_shepherd",
    "execd in a rack": "execd.rack_member",
    "rack actor": "ray::RackActor",
}
OF_MASTER = ("qmaster actor", "schedd actor", "control store", "sge_qmaster", "raylet")
OF_EXEC_HOST = ("execd actor", "raylet", "sge_execd", "launcher", "shepherd", "shepherd")
OF_HOST_IN_RACK = ("execd in a rack", "rack actor", "raylet", "sge_execd", "launcher", "shepherd", "shepherd")
DAEMONS = frozenset(("sge_qmaster", "sge_execd"))
"""Processes that no other process restarts."""

#: how often each kind comes, and how long it lasts at least and at most, in seconds
KINDS = {
    "kill": (10, 0.0, 0.0),
    "stop": (4, 0.5, 8.0),
    "power": (3, 0.0, 6.0),
    "cut": (3, 1.0, 10.0),
    "lossy": (2, 2.0, 10.0),
    "full": (1, 1.0, 6.0),
}
#: with a host that takes over: the one that is lost may be away for longer than that takes, and two hosts may lose each other
KINDS_OF_TWO = {**KINDS, "power": (3, 0.0, 20.0), "part": (3, 1.0, 15.0)}
SHADOW = "o1"
GAP_S = 4.0
"""Longest quiet time between two faults."""


@dataclass(frozen=True, slots=True)
class Fault:
    """The fault `kind` happens to a host (or to a `victim` there, or between it and `victim`) `after_s` the end of the previous
    fault, and lasts for a time; both in seconds."""

    after_s: float
    kind: str
    host: str
    victim: str
    lasts_s: float

    def __str__(self) -> str:
        return f"{self.kind} {self.victim or 'host'} on {self.host}, {self.lasts_s:.1f} s"


def faults(
    seed: int, number: int, kinds: Mapping[str, tuple[int, float, float]] = KINDS, of_host: Sequence[str] = OF_EXEC_HOST
) -> list[Fault]:
    """The first faults of a seed; a longer list starts with the faults of a shorter list. `of_host`: the victims on a host."""
    chance = random.Random(f"faults {seed}")
    return [_fault(chance, kinds, of_host) for _ in range(number)]


def _fault(chance: random.Random, kinds: Mapping[str, tuple[int, float, float]], of_host: Sequence[str]) -> Fault:
    (kind,) = chance.choices(list(kinds), [weight for weight, _, _ in kinds.values()])
    _, least, most = kinds[kind]
    host = MASTER if kind == "full" or chance.random() < 0.3 else chance.choice(EXEC_HOSTS)
    victim = chance.choice(OF_MASTER if host == MASTER else of_host) if kind in ("kill", "stop") else ""
    if kind == "part":
        host, victim = chance.sample((MASTER, SHADOW, *EXEC_HOSTS[1:]), 2)
    return Fault(chance.uniform(0, GAP_S), kind, host, victim, chance.uniform(least, most))
