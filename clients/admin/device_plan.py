"""The configuration that fits the GPUs that a host has found: its resource map, and the properties of its units.

Owns the rules; works on plain objects and sends no request. Called by `devices` and by the doctor. Source: adr/0345.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from gridengine.errors import InvalidValueError
from gridengine.syntax.lists import is_none
from gridengine.syntax.resource_map import RSMAP, format_map, parse_map
from gridengine.syntax.unit_list import UnitProperties, format_unit_list, parse_unit_list
from gridengine.values.gpus import GPUS

GPU_MEMORY, GPU_MODEL = "gpu_mem", "gpu_type"
"""Complexes of the values of units."""
COMPLEXES: dict[str, dict[str, str]] = {
    GPUS: {"shortcut": GPUS, "type": RSMAP, "relop": "<=", "requestable": "YES", "consumable": "YES", "default": "0"},
    GPU_MEMORY: {"shortcut": GPU_MEMORY, "type": "MEMORY", "relop": "<=", "requestable": "YES", "default": "0"},
    GPU_MODEL: {"shortcut": GPU_MODEL, "type": "RESTRING", "relop": "==", "requestable": "YES", "default": "NONE"},
}
"""The complexes that a cell with named GPUs needs, each with its attributes."""
_GIGABYTE = 2**30


def planned_values(row: Mapping[str, Any], shares: int = 0) -> str:
    """The complex_values of a host with all GPUs that it has found.

    `row`: of the request `devices`. `shares`: the requests that may have a GPU at the same time; 0: as configured, else one.
    """
    others = [each for each in _pairs(row) if each.partition("=")[0] != GPUS]
    before = _shares(row)
    found = {each["unit"]: shares or before.get(each["unit"], 1) for each in row["devices"] if not each.get("divided")}
    return ",".join([*others, f"{GPUS}={format_map(found)}"]) if found else ",".join(others) or "NONE"


def planned_units(row: Mapping[str, Any]) -> str:
    """The host units of a host with all GPUs that it has found. Units of other resources, and further properties of units,
    stay."""
    before = parse_unit_list(row["units"])
    listed = dict(before.get(GPUS, {}))
    names = {each["identifier"]: each["unit"] for each in row["devices"] if each.get("identifier")}
    found = {each["unit"]: _properties(each, names, listed) for each in row["devices"] if each.get("identifier")}
    return format_unit_list({**{resource: of for resource, of in before.items() if resource != GPUS}, GPUS: found})


def is_to_configure(row: Mapping[str, Any]) -> bool:
    """Whether the configuration of a host differs from the GPUs that it has found. A device that fails changes nothing."""
    try:
        wrong_units = parse_unit_list(planned_units(row)) != parse_unit_list(row["units"])
        return wrong_units or parse_map(_value(planned_values(row))) != parse_map(_value(row["complex_values"]) or "0")
    except InvalidValueError:
        return True  # a map of another kind


def _properties(device: Mapping[str, Any], names: Mapping[str, str], listed: Mapping[str, UnitProperties]) -> UnitProperties:
    before = listed.get(device["unit"], UnitProperties())
    values = dict(before.values)
    if device.get("memory"):
        # rounded up to what the vendor calls it: the driver keeps some for itself
        values[GPU_MEMORY] = f"{-(-device['memory'] // _GIGABYTE)}G"
    if device.get("model"):
        values[GPU_MODEL] = device["model"]
    return UnitProperties(
        values=values,
        device_files=tuple(device.get("device_files", ())),
        numa_node=device.get("numa_node", -1),
        cores=device.get("cores", ""),
        parent=names.get(device.get("parent", ""), ""),
        identifier=device["identifier"],
        links=tuple(names[each] for each in device.get("links", ()) if each in names),
    )


def _pairs(row: Mapping[str, Any]) -> list[str]:
    text = row["complex_values"]
    return [] if is_none(text) else re.split(r"\s*,\s*", text.strip())


def _value(complex_values: str) -> str:
    """The value of the GPUs in complex_values, "" for none."""
    return next((each.partition("=")[2] for each in complex_values.split(",") if each.partition("=")[0] == GPUS), "")


def _shares(row: Mapping[str, Any]) -> Mapping[str, int]:
    """The configured shares of each GPU; none if the configured value is no map."""
    try:
        return parse_map(_value(row["complex_values"]) or "0")
    except InvalidValueError:
        return {}
