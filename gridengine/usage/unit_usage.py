"""Unit usage: the use of a named unit that is a device, as a GPU, by a task.

Owns the figures, their sum over several tasks, and their texts. Pure; light enough for clients. Made by `sge_execd`, kept with
the accounting record, shown by commands and pages. Source: adr/0355.
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from gridengine.values.quantities import size_text

UNIT_USAGE = "unit usage"
"""Key in the JSON object behind the fields of a record, and label for people."""
_JOULES_PER_KWH = 3_600_000.0


class UnitUsage(NamedTuple):
    """The use of `unit` of `resource` on `host`. As JSON an array in this order; later fields may be missing.

    `seconds`: for which the task had the unit. `utilisation`: 0..1, mean over the `measured` seconds among them, None if nothing
    was measured. `memory`: bytes, the most at a measurement, None for unknown. `energy`: J, None for unknown. `shared`: another
    task had the device at a measurement, and the figures count all tasks. `identifier`: of the vendor, "" for unknown.
    """

    host: str
    resource: str
    unit: str
    seconds: float = 0.0
    utilisation: float | None = None
    memory: float | None = None
    energy: float | None = None
    measured: float = 0.0
    shared: bool = False
    identifier: str = ""


def of_rows(rows: Iterable[Sequence[Any]]) -> list[UnitUsage]:
    """The usage in decoded JSON; a later release may have written more fields."""
    width = len(UnitUsage._fields)
    return [UnitUsage(*row[:width]) for row in rows]


def sum_by_unit(usages: Iterable[UnitUsage]) -> list[UnitUsage]:
    """One entry for each unit, of tasks that had the unit in turn."""
    found: dict[tuple[str, str, str], UnitUsage] = {}
    for each in usages:
        key = each[:3]
        found[key] = _sum(found[key], each) if key in found else each
    return list(found.values())


def _sum(first: UnitUsage, second: UnitUsage) -> UnitUsage:
    measured = first.measured + second.measured
    busy = sum((each.utilisation or 0.0) * each.measured for each in (first, second))
    return second._replace(
        seconds=first.seconds + second.seconds,
        utilisation=busy / measured if measured else None,
        memory=_or_none(max, first.memory, second.memory),
        energy=_or_none(sum, first.energy, second.energy),
        measured=measured,
        shared=first.shared or second.shared,
        identifier=second.identifier or first.identifier,
    )


def _or_none(function: Any, *values: float | None) -> float | None:
    known = [value for value in values if value is not None]
    return function(known) if known else None


def text(usage: UnitUsage) -> str:
    """`gpu=node1=0 time=3600s, utilisation=87.5%, maxmem=71.200GB, energy=0.412kWh, shared`; figures that are unknown are left
    out."""
    figures = [f"time={usage.seconds:.0f}s"]
    if usage.utilisation is not None:
        figures.append(f"utilisation={100 * usage.utilisation:.1f}%")
    if usage.memory is not None:
        figures.append(f"maxmem={size_text(usage.memory, 3)}B")
    if usage.energy is not None:
        figures.append(f"energy={usage.energy / _JOULES_PER_KWH:.3f}kWh")
    if usage.shared:
        figures.append("shared")
    return f"{usage.resource}={usage.host}={usage.unit} {', '.join(figures)}"


def json_fields(usage: UnitUsage) -> dict[str, Any]:
    """The fields as `-json` and the REST API have them."""
    return {
        "host": usage.host,
        "resource": usage.resource,
        "unit": usage.unit,
        "identifier": usage.identifier or None,
        "time_s": usage.seconds,
        "measured_s": usage.measured,
        "utilisation": usage.utilisation,
        "maxmem_bytes": None if usage.memory is None else int(usage.memory),
        "energy_j": usage.energy,
        "shared": usage.shared,
    }
