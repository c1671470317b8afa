"""Bookings: the used amount of each consumable, by holder: queue instances, hosts, the cluster, PEs, rules of quotas.

Owns the holders of consumables (`Holder`), the bookings of grants (`bookings_of`) and the sums (`Bookings`). The bookings
of the state always equal the sum over the dispatched tasks (statement CX-46), because only `gridengine.state.apply` books
and releases, with the amounts stored in the task. Capacities are configuration, not state: availability is computed in
`gridengine.placement`, which counts its own grants and reservations by the same holders.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Literal

from msgspec import Struct

from gridengine.state.jobs import Grant
from gridengine.syntax.resource_map import PER_HOST
from gridengine.values.instance_name import host_of

GLOBAL = "global"
_ROUNDING = 1e-9
"""Sums of decimal fractions below this are taken as 0."""
_NOTHING: dict[str, float] = {}

Kind = Literal["instance", "host", "cluster", "pe", "quota"]


class Holder(Struct, frozen=True, cache_hash=True):
    """An object that has consumables, by its kind and its name. Its hash is computed once."""

    kind: Kind
    name: str

    @property
    def host(self) -> str:
        """The host whose load values apply to the holder; values of the cluster are reported for "global"."""
        return host_of(self.name) if self.kind == "instance" else self.name


CLUSTER = Holder("cluster", GLOBAL)

Once = Literal["", "JOB", "HOST"]
"""A task is charged with an amount for each of its slots (""), once, or once on each of its hosts."""
Amounts = Mapping[str, tuple[float, Once]]
"""Consumable -> (amount, how often), without slots."""
Booking = tuple[Holder, Mapping[str, float]]
"""(holder, consumable -> amount), including slots."""


# Use the functions below to get holders: dictionaries find the same object without comparing texts


@lru_cache(maxsize=65536)
def host_holder(name: str) -> Holder:
    """A host, or the cluster for "global"."""
    return Holder("host", name) if name != GLOBAL else CLUSTER


@lru_cache(maxsize=65536)
def holders_at(instance: str) -> tuple[Holder, Holder, Holder]:
    """A queue instance, its host and the cluster: a slot there is booked in each of them."""
    return Holder("instance", instance), host_holder(host_of(instance)), CLUSTER


@lru_cache(maxsize=1024)
def pe_holder(name: str) -> Holder:
    """A parallel environment, which has only slots."""
    return Holder("pe", name)


def bookings_of(
    granted: Iterable[Grant], amounts: Amounts, pe: str = "", holders: Callable[[str], Iterable[Holder]] = holders_at
) -> Iterator[Booking]:
    """All bookings of grants. `holders(instance)`: the holders to book.

    `slots` is booked like any per-slot consumable (CX-37); a PE has no other. A per-job consumable (JOB) is booked once,
    in the instance of the master task (CX-38); an amount of each host (HOST) in its first instance there.
    """
    total = 0
    hosts: set[str] = set()
    for position, grant in enumerate(granted):
        slots = grant.slots
        total += slots
        taken: dict[str, float] = {"slots": slots}
        for name, (amount, once) in amounts.items():
            if not once:
                taken[name] = amount * slots
            elif not position or (once == PER_HOST and grant.host not in hosts):
                taken[name] = amount
        hosts.add(grant.host)
        for holder in holders(grant.instance):
            yield holder, taken
    if pe:
        yield pe_holder(pe), {"slots": total}


class Bookings(dict[Holder, dict[str, float]]):
    """Sums: holder -> consumable -> amount. Holders without use are left out."""

    __slots__ = ()

    def of(self, holder: Holder, name: str) -> float:
        """The amount of one consumable."""
        return self.get(holder, _NOTHING).get(name, 0.0)

    def at(self, holder: Holder) -> Mapping[str, float]:
        """The amounts of all consumables."""
        return self.get(holder, _NOTHING)

    def slots(self, instance: str) -> int:
        """Slots in use in a queue instance."""
        return int(self.of(holders_at(instance)[0], "slots"))

    def book(self, bookings: Iterable[Booking], sign: int = 1) -> None:
        """Book (`sign` 1) or release (-1)."""
        for holder, amounts in bookings:
            sums = self.get(holder)
            if sums is None:
                sums = self[holder] = {}
            for name, amount in amounts.items():
                total = sums.get(name, 0.0) + sign * amount
                if total > _ROUNDING or total < -_ROUNDING:
                    sums[name] = total
                else:
                    sums.pop(name, None)
            if not sums:
                del self[holder]

    def entries(self) -> Iterator[tuple[Holder, str, float]]:
        """All entries: holder, consumable, amount."""
        return ((holder, name, amount) for holder, sums in self.items() for name, amount in sums.items())
