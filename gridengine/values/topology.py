"""Processor cores of a host: their layout as text, and the choice of cores for a job with `-binding`.

Owns the numbering (sockets from 0, cores of a socket from 0, no holes) and the three strategies. Pure: layout, request
and the cores that are in use come in as arguments. Called by the execd. Source: sge_submit(1) -binding,
load_parameters(5) m_topology; EX-18, SO-6.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from gridengine.errors import InvalidValueError

_FORM = re.compile(
    r"(set|env|pe) (linear(:(N|slots)?(:N,N)?)?|striding:(N|slots)?(:N?(:N,N)?)?|explicit(:N,N)+)".replace("N", "[0-9]{1,6}")
)
Core = tuple[int, int]
"""(socket, core), both logical."""


@dataclass(frozen=True, slots=True)
class Topology:
    """`sockets[socket][core]`: numbers of the processors (hardware threads) of a core, as the kernel counts them."""

    sockets: tuple[tuple[tuple[int, ...], ...], ...]

    @classmethod
    def of(cls, processors: Iterable[tuple[int, int, int]]) -> Topology:
        """From (socket, core, processor) with the kernel's numbers, which may have holes."""
        found: dict[int, dict[int, list[int]]] = {}
        for socket, core, processor in sorted(processors):
            found.setdefault(socket, {}).setdefault(core, []).append(processor)
        return cls(tuple(tuple(tuple(core) for core in cores.values()) for cores in found.values()))

    @property
    def cores(self) -> list[Core]:
        """All cores, socket by socket."""
        return [(socket, core) for socket, cores in enumerate(self.sockets) for core in range(len(cores))]

    @property
    def processor_count(self) -> int:
        return sum(len(core) for cores in self.sockets for core in cores)

    def processors(self, cores: Iterable[Core]) -> list[int]:
        """The kernel's numbers of the processors of these cores."""
        return [number for socket, core in cores for number in self.sockets[socket][core]]

    def text(self, used: Collection[Core] = ()) -> str:
        """`SCCSCC`, or `SCTTCTT` where a core has several threads; cores that are `used` in lower case."""
        several = any(len(core) > 1 for cores in self.sockets for core in cores)
        codes = []
        for socket, cores in enumerate(self.sockets):
            codes.append("S")
            for core, processors in enumerate(cores):
                each = "C" + ("T" * len(processors) if several else "")
                codes.append(each.lower() if (socket, core) in used else each)
        return "".join(codes)


def processor_numbers(cores: str) -> set[int]:
    """The numbers of processors in a valid text such as `0-15,32`."""
    parts = (part.partition("-") for part in cores.split(",") if part)
    return {number for low, dash, high in parts for number in range(int(low), int(high if dash else low) + 1)}


@dataclass(frozen=True, slots=True)
class BindingRequest:
    """A request by `-binding`. `kind`: `set`, `env` or `pe`. `strategy`: `linear`, `striding` or `explicit`; `step`: distance of
    the cores of striding. `amount` None: as many cores as slots on the host.

    `start`: first core of linear and striding, None for any; `cores`: the cores of explicit.
    """

    kind: str
    strategy: str
    amount: int | None = None
    step: int = 1
    start: Core | None = None
    cores: tuple[Core, ...] = ()

    @classmethod
    def parse(cls, text: str) -> BindingRequest:
        """Read a job's `binding` such as `set linear:2:0,1`. Raises InvalidValueError."""
        if not _FORM.fullmatch(text):
            raise InvalidValueError(f'"{text}" is no binding to cores')
        kind, _, rest = text.partition(" ")
        strategy, *parts = rest.split(":")
        if strategy == "explicit":
            return cls(kind, strategy, cores=tuple(_core(part) for part in parts))
        amount, *parts = parts or ["slots"]
        step, *parts = parts if strategy == "striding" else ["1", *parts]
        start = _core(parts[0]) if parts else None
        return cls(kind, strategy, int(amount) if amount.isdecimal() else None, int(step or 1), start)


def choose(request: BindingRequest, topology: Topology, used: Collection[Core], slots: int) -> tuple[Core, ...]:
    """The cores for a job with `slots` slots on the host; () when the request cannot be met: the job runs unbound."""
    amount = slots if request.amount is None else request.amount
    if request.strategy == "explicit":
        known = set(topology.cores) - set(used)
        unique = len(set(request.cores)) == len(request.cores)
        return request.cores if unique and known.issuperset(request.cores) else ()
    if amount < 1:
        return ()
    if request.strategy == "linear" and request.start is None:
        return _by_sockets(topology, used, amount)
    return _by_steps(topology.cores, used, amount, request.step, request.start)


def _by_sockets(topology: Topology, used: Collection[Core], amount: int) -> tuple[Core, ...]:
    """Cores of the first unused socket; then of the sockets with the most free cores, until there are enough."""
    sizes = [len(cores) for cores in topology.sockets]
    free = [[(socket, core) for core in range(size) if (socket, core) not in used] for socket, size in enumerate(sizes)]
    order = sorted(range(len(free)), key=lambda socket: -len(free[socket]))
    empty = next((socket for socket, size in enumerate(sizes) if len(free[socket]) == size), None)
    if empty is not None:
        order.remove(empty)
        order.insert(0, empty)
    found = [core for socket in order for core in free[socket]][:amount]
    return tuple(found) if len(found) == amount else ()


def _by_steps(cores: list[Core], used: Collection[Core], amount: int, step: int, start: Core | None) -> tuple[Core, ...]:
    """The first `amount` free cores at distances of `step`, counted over all sockets."""
    if step < 1 or (start is not None and start not in cores):
        return ()
    for first in range(len(cores)) if start is None else [cores.index(start)]:
        found = tuple(cores[first::step][:amount])
        if len(found) == amount and not set(found).intersection(used):
            return found
    return ()


def _core(text: str) -> Core:
    socket, _, core = text.partition(",")
    return int(socket), int(core)
