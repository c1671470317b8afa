"""Share usage: past usage of users and projects, as the share tree policy counts it.

Owns the amounts and their decay. `State.share_usage` holds user -> project ("" for none) -> amounts of ended tasks;
`running_usage` adds the usage of running tasks on request. Usage is kept for configured users and projects, and deleted with
them. Pure. Source: sge_sched_conf(5) halftime, halflife_decay_list; sge_share_tree(5); QF-33, PR-6, PR-7.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from gridengine.state.configured.scheduler import RUNNING_ONLY


class ShareUsage(Struct, omit_defaults=True):
    """Amounts as they were at `time` (epoch s), decayed until then: cpu s, mem GB s, io GB; `ltcpu`, `ltmem`, `ltio`: totals
    without decay."""

    time: float = 0.0
    cpu: float = 0.0
    mem: float = 0.0
    io: float = 0.0
    ltcpu: float = 0.0
    ltmem: float = 0.0
    ltio: float = 0.0

    def at(self, time: float, half_lives: Mapping[str, float]) -> ShareUsage:
        """The amounts decayed further until `time`; half_lives: seconds by kind."""
        age = max(0.0, time - self.time)
        left = {name: getattr(self, name) * remaining(age, half_lives[name]) for name in ("cpu", "mem", "io")}
        return replace(self, time=max(time, self.time), **left)

    def plus(self, cpu: float, mem: float, io: float) -> ShareUsage:
        """The amounts plus additional usage; none falls below 0."""
        decayed = [max(0.0, was + more) for was, more in ((self.cpu, cpu), (self.mem, mem), (self.io, io))]
        in_all = [max(0.0, was + more) for was, more in ((self.ltcpu, cpu), (self.ltmem, mem), (self.ltio, io))]
        return ShareUsage(self.time, *decayed, *in_all)


def remaining(age: float, half_life: float) -> float:
    """The remaining fraction of an amount, 0..1, after `age` seconds."""
    if half_life == RUNNING_ONLY:
        return 0.0
    return 1.0 if half_life == 0 else float(0.5 ** (age / half_life))
