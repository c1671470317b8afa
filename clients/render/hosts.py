"""The host table of qhost, with queues, jobs and resources of each host.

Owns this text format. Called by qhost. Source: qhost(1), QH-1 … QH-4; O for widths.
"""

from clients.render.instances import load_text
from clients.render.jobs import JobTable
from gridengine.values.quantities import size_text

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    Host = dict[str, Any]

_HEADER = "HOSTNAME                ARCH         NCPU{} LOAD  MEMTOT  MEMUSE  SWAPTO  SWAPUS\n"


def shown_values(host: "Host") -> list[str]:
    """The values of a host as texts: arch, ncpu, sockets, cores, threads, load, and four times memory."""
    arch, *numbers = host["values"]
    counts = ["-" if number is None else f"{number:.0f}" for number in numbers[:4]]
    load = "-" if numbers[4] is None else load_text(str(numbers[4]))
    return [arch or "-", *counts, load, *("-" if size is None else size_text(size, 1) for size in numbers[5:])]


def host_table(
    hosts: "list[Host]",
    topology: bool,
    queues: "dict[str, list[Host]] | None",
    jobs: "dict[str, list[Any]] | None",
    titled: bool,
) -> "Iterator[str]":
    """The lines of qhost. `queues`, `jobs`: the rows to show below each host by its name, None to show none.

    `topology`: with sockets, cores and threads; `titled`: a title in front of the resources (-F with names).
    Jobs are printed below their queues if queues are shown, and then without a header.
    """
    if hosts:
        yield _HEADER.format(" NSOC NCOR NTHR " if topology else " ")
        yield "-" * (94 if topology else 79) + "\n"
    table = JobTable(slot_lines=True, queue=10 if queues is None else 0, indent="   ")
    header: str | None = table.header() if queues is None else None
    for host in hosts:
        arch, ncpu, sockets, cores, threads, load, *memory = shown_values(host)
        counts = f"{ncpu:>4} {sockets:>4} {cores:>4} {threads:>4}" if topology else f"{ncpu:>4}"
        sizes = "".join(f"{size:>8}" for size in memory)
        yield f"{host['name']:<23.23} {arch:<12.12} {counts} {load:>5}{sizes}\n"
        resources = [f"{dominance}:{name}={value}" for dominance, name, value in host.get("resources", ())]
        if resources and titled:
            yield f"    Host Resource(s):      {resources.pop(0)}\n"
        yield from (f"   {resource}\n" for resource in resources)
        tasks = (jobs or {}).get(host["name"], ())
        for row in (queues or {}).get(host["name"], ()):
            slots = f"{row['resv']}/{row['used']}/{row['total']}"
            yield f"   {row['name'].partition('@')[0]:<20} {row['type']:<5} {slots:<14}{row['states']}\n"
            for task, grants in tasks:
                if grants[0][0] == row["name"]:
                    yield from table.grant_lines(task, grants)
        for row, grants in tasks if queues is None else ():
            if header is not None:
                yield header
                header = None
            yield from table.grant_lines(row, grants)
