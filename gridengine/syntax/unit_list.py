"""Unit lists: the properties of the named units of a host's resource maps, as `gpu/0(gpu_mem=80G device_files=/dev/nvidia0)`.

Owns the grammar of the attribute `units` of host units (docs/formats/host_units.md). Light: no state, no objects.
Called by `gridengine.config`, by placement and by the instructions for a host. Source: adr/0320, adr/0340.

Grammar:
    units  = "NONE" | unit {blank unit}
    unit   = resource "/" name "(" {blank} [property {blank property}] ")"
    property = name "=" value        the pairs of `UnitProperties`, or a complex with the unit's value of it
A value has no blank and no parenthesis; values of lists have commas.
"""

from __future__ import annotations

import re
from collections.abc import Container, Mapping
from functools import lru_cache
from typing import NamedTuple

from gridengine.errors import InvalidValueError
from gridengine.syntax.lists import is_none

MAX_NUMA_NODE = 1023
_UNIT = re.compile(r"\s*([^\s/()]+)/([^\s()]+)\(([^()]*)\)\s*")


class UnitProperties(NamedTuple):
    """A unit. `values`: complex -> text, compared with requests of the complex. `device_files`: absolute paths that a job
    with the unit may open. `numa_node`: -1 for unknown. `cores`: processor numbers near the unit, as the kernel counts them,
    None for unknown. `parent`: the unit of the same resource of which it is a slice, "" for none. `identifier`: of its
    vendor (a UUID). `links`: units of the same resource with a fast connection to it.
    """

    values: Mapping[str, str] = {}
    device_files: tuple[str, ...] = ()
    numa_node: int = -1
    cores: str = ""
    parent: str = ""
    identifier: str = ""
    links: tuple[str, ...] = ()

    def for_placement(self) -> PlacementProperties:
        """The properties that matter to placement, hashable."""
        return PlacementProperties(tuple(self.values.items()), self.numa_node, self.parent, self.links)


class PlacementProperties(NamedTuple):
    """Properties by which placement tells units apart. `values`: pairs of complex and text; `numa_node`, `parent`, `links`: as in
    `UnitProperties`."""

    values: tuple[tuple[str, str], ...] = ()
    numa_node: int = -1
    parent: str = ""
    links: tuple[str, ...] = ()


UnitList = Mapping[str, Mapping[str, UnitProperties]]
"""resource -> unit -> its properties, in the order of the text."""


@lru_cache(maxsize=4096)
def parse_unit_list(text: str) -> UnitList:
    """The units of a text. Raises InvalidValueError. Cached."""
    found: dict[str, dict[str, UnitProperties]] = {}
    position = 0
    while not is_none(text) and position < len(text):
        match = _UNIT.match(text, position)
        if match is None:
            raise InvalidValueError(f'"{text[position:].strip()[:60]}" is not of the form RESOURCE/UNIT(NAME=VALUE ...)')
        resource, unit, properties = match.groups()
        of_resource = found.setdefault(resource, {})
        if unit in of_resource:
            raise InvalidValueError(f'the unit "{resource}/{unit}" is listed twice')
        try:
            of_resource[unit] = _properties(properties)
        except InvalidValueError as fault:
            raise InvalidValueError(f"{resource}/{unit}: {fault}") from None
        position = match.end()
    for resource, of_resource in found.items():
        for unit, properties in of_resource.items():
            _check_names(resource, unit, properties, of_resource)
    return found


def _properties(text: str) -> UnitProperties:
    pairs: dict[str, str] = {}
    for item in text.split():
        name, equals, value = item.partition("=")
        if not (name and equals and value):
            raise InvalidValueError(f'"{item}" is not of the form NAME=VALUE')
        if name in pairs:
            raise InvalidValueError(f'"{name}" is set twice')
        pairs[name] = value
    files = _names(pairs.pop("device_files", ""))
    for path in files:
        if not path.startswith("/") or "/../" in f"{path}/":
            raise InvalidValueError(f'device_files: "{path}" is not an absolute path')
    node = pairs.pop("numa_node", "-1")
    if node != "-1" and not (node.isascii() and node.isdecimal() and int(node) <= MAX_NUMA_NODE):
        raise InvalidValueError(f'numa_node: "{node}" is not a number from 0 to {MAX_NUMA_NODE}')
    return UnitProperties(
        device_files=files,
        numa_node=int(node),
        cores=_cores(pairs.pop("cores", "")),
        parent=pairs.pop("parent", ""),
        identifier=pairs.pop("identifier", ""),
        links=_names(pairs.pop("links", "")),
        values=pairs,
    )


def _names(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for name in text.split(",") if name))


def _cores(text: str) -> str:
    """Processor numbers from 0 on, as `0-15,32-47`."""
    for part in filter(None, text.split(",")):
        low, dash, high = part.partition("-")
        if not all(end.isascii() and end.isdecimal() and len(end) <= 5 for end in (low, high if dash else low)):
            raise InvalidValueError(f'cores: "{part}" is not a number or a range of numbers')
        if dash and int(low) > int(high):
            raise InvalidValueError(f'cores: the range "{part}" ends before it begins')
    return text


def _check_names(resource: str, unit: str, properties: UnitProperties, of_resource: Mapping[str, UnitProperties]) -> None:
    """A parent and links are other units of the list; a slice has no slices."""
    for role, names in (("parent", (properties.parent,) if properties.parent else ()), ("links", properties.links)):
        for name in names:
            if name not in of_resource or name == unit:
                raise InvalidValueError(f'{resource}/{unit}: {role}: "{name}" is no other unit of {resource} in this list')
    if properties.parent and of_resource[properties.parent].parent:
        raise InvalidValueError(f'{resource}/{unit}: parent: "{properties.parent}" is a slice itself, and has no slices')


def format_unit_list(units: UnitList) -> str:
    """The canonical text, NONE without units."""
    items = [_format(resource, unit, each) for resource, of in units.items() for unit, each in of.items()]
    return " ".join(items) or "NONE"


def _format(resource: str, unit: str, properties: UnitProperties) -> str:
    pairs = dict(properties.values)
    if properties.device_files:
        pairs["device_files"] = ",".join(properties.device_files)
    if properties.numa_node >= 0:
        pairs["numa_node"] = str(properties.numa_node)
    for name in ("cores", "parent", "identifier"):
        if value := getattr(properties, name):
            pairs[name] = value
    if properties.links:
        pairs["links"] = ",".join(properties.links)
    return f"{resource}/{unit}({' '.join(f'{name}={value}' for name, value in pairs.items())})"


def excluded_units(units: Mapping[str, UnitProperties], used: Container[str]) -> set[str]:
    """The units that must not be used while the `used` units are: wholes of slices, and slices of wholes."""
    pairs = [(unit, each.parent) for unit, each in units.items() if each.parent]
    return {whole for unit, whole in pairs if unit in used} | {unit for unit, whole in pairs if whole in used}


def unit_list_complexes(text: str) -> list[str]:
    """The complexes that a text names: resources and values of units."""
    names: dict[str, None] = {}
    for resource, of_resource in parse_unit_list(text).items():
        names[resource] = None
        for properties in of_resource.values():
            names.update(dict.fromkeys(properties.values))
    return list(names)
