"""Bookings: how much of every consumable the dispatched tasks hold, per queue instance, host and cluster.

Owns the sums alone; they always equal the sum over the dispatched tasks (statement CX-46), because only
`gridengine.state.apply` charges and releases, with the amounts kept in the task. Capacities are configuration,
not state: availability is computed in `gridengine.placement`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator

from gridengine.state.jobs import Grant, Task

GLOBAL = "global"
_PE = "pe "


def pe_key(name: str) -> str:
    """The key of a parallel environment among those of instances, hosts and the cluster: none of these has a blank."""
    return _PE + name


def pe_of(key: str) -> str:
    """The parallel environment of a key, "" for another object's."""
    return key.removeprefix(_PE) if key.startswith(_PE) else ""


class Bookings:
    """Sums by object: `instances[q@h]`, `hosts[h]`, `cluster`; each a dict of complex name to amount.

    `slots` is booked like any per-slot consumable (CX-37). A per-job consumable (JOB) is booked once, where the
    master task runs (CX-38).
    """

    def __init__(self) -> None:
        self.instances: dict[str, dict[str, float]] = defaultdict(dict)
        self.hosts: dict[str, dict[str, float]] = defaultdict(dict)
        self.cluster: dict[str, float] = {}
        self.pes: dict[str, int] = {}

    def slots(self, instance: str) -> int:
        """Slots in use in a queue instance."""
        return int(self.instances[instance].get("slots", 0)) if instance in self.instances else 0

    def charge(self, task: Task, per_job: Callable[[str], bool], sign: int = 1) -> None:
        """Book (`sign` 1) or release (-1) what a dispatched task holds. `per_job(name)`: consumable JOB."""
        self.book(task.granted, task.resources, task.pe, per_job, sign)

    def book(
        self, granted: list[Grant], resources: dict[str, str], pe: str, per_job: Callable[[str], bool], sign: int = 1
    ) -> None:
        """The same of anything that holds slots; an advance reservation does, too."""
        for position, grant in enumerate(granted):
            self._add(grant, "slots", sign * grant.slots)
            for name, text in resources.items():
                once = per_job(name)
                if once and position:
                    continue
                self._add(grant, name, sign * float(text) * (1 if once else grant.slots))
        if pe:
            self.pes[pe] = self.pes.get(pe, 0) + sign * sum(grant.slots for grant in granted)

    def amounts(self) -> Iterator[tuple[str, str, float]]:
        """(key of the object, consumable, amount) of all that is booked."""
        for objects in (self.instances, self.hosts, {GLOBAL: self.cluster}):
            for where, sums in objects.items():
                for name, amount in sums.items():
                    yield where, name, amount
        for pe, slots in self.pes.items():
            yield pe_key(pe), "slots", float(slots)

    def _add(self, grant: Grant, name: str, amount: float) -> None:
        for sums in (self.instances[grant.instance], self.hosts[grant.host], self.cluster):
            total = sums.get(name, 0) + amount
            if abs(total) < 1e-9:
                sums.pop(name, None)
            else:
                sums[name] = total
