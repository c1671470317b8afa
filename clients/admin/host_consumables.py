"""The memory and the GPUs of a host, as consumables.

Owns the names of these complexes, and adding them to a host. Works on plain objects, in the form of `gridengine config export`.
Called by `host_objects`, and by `initial_config` for a new cell. Source: complex(5); adr/0168.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from clients.admin.errors import AdminError
from gridengine.errors import InvalidValueError
from gridengine.syntax.lists import is_none
from gridengine.values.gpus import GPUS
from gridengine.values.units import INFINITY, parse_memory

if TYPE_CHECKING:
    from clients.admin.cell_directory import Objects

MEMORY = "h_vmem"
"""A job that requests this complex is also limited by it."""
_TYPES = ("INT", "DOUBLE", "RSMAP")


def counts_memory(objects: Objects) -> bool:
    """Whether memory is a consumable in this cell."""
    return _is_consumable(objects, MEMORY)


def can_count_gpus(objects: Objects) -> bool:
    """Whether GPUS is a numeric consumable, or the name is free."""
    entry = objects["complex"].get(GPUS)
    if entry is not None:
        return _is_consumable(objects, GPUS) and entry["type"] in _TYPES
    return all(other["shortcut"] != GPUS for other in objects["complex"].values())


def _is_consumable(objects: Objects, name: str) -> bool:
    entry = objects["complex"].get(name)
    return entry is not None and entry["consumable"] != "NO"


def memory_size(option: str, text: str) -> float:
    """The size of a consumable in bytes. AdminError: the text is no valid size."""
    try:
        size = parse_memory(text)
    except InvalidValueError as fault:
        raise AdminError(f"{option}: {fault}") from None
    if not 0 < size < INFINITY:
        raise AdminError(f'{option} "{text}": give a size, such as 60G, or total')
    return size


def count_memory(made: Objects, host: str, memory: str, slots: int | None = None) -> None:
    """Set the memory of a host as a consumable. If the cell did not count memory, the default request becomes the share of one
    slot.
    """
    entry = made["complex"].get(MEMORY)
    if entry is None:
        raise AdminError(f'there is no complex "{MEMORY}", by which memory is counted')
    if entry["consumable"] == "NO":
        entry["consumable"] = "YES"
        if slots:
            entry["default"] = f"{int(parse_memory(memory) / slots // 2**20)}M"
    _set(made, host, MEMORY, memory)


def count_gpus(made: Objects, host: str, gpus: int) -> None:
    """Set the GPUs of a host as a consumable that jobs request once, not per slot. AdminError: the name is taken."""
    if not can_count_gpus(made):
        raise AdminError(
            f'the complex "{GPUS}", by which GPUs are counted, is no consumable INT, or its name is a shortcut already'
        )
    if GPUS not in made["complex"]:
        from gridengine.config.complexes import Complex  # loads pydantic, which most callers of this module do not need

        counted = {"relop": "<=", "consumable": "JOB"}
        made["complex"][GPUS] = {**Complex.template(GPUS).attributes(), **counted}
    _set(made, host, GPUS, str(gpus))


def _set(made: Objects, host: str, name: str, value: str) -> None:
    values = made["exec_host"][host]["complex_values"]
    others = [] if is_none(values) else [each for each in values.split(",") if each.partition("=")[0] != name]
    made["exec_host"][host]["complex_values"] = ",".join([*others, f"{name}={value}"])


def value_of(exec_host: Mapping[str, str], name: str) -> str:
    """The value of a complex on a host, "" for none."""
    values = dict(each.partition("=")[::2] for each in exec_host["complex_values"].split(","))
    return values.get(name, "")
