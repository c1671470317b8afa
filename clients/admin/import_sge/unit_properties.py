"""Properties of named units in `complex_values` of the descendants of Grid Engine, as `gpu=2(0[device=/dev/nvidia0] 1)`.

Owns the conversion to a resource map and to host units. Pure. Called by `objects`. Source: adr/0340.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gridengine.errors import InvalidValueError
from gridengine.syntax.resource_map import MAX_UNITS
from gridengine.syntax.unit_list import UnitProperties, format_unit_list

_ITEM = re.compile(r"([^\s\[\]()]+)(?:\[([^\]]*)\])?")
_RANGE = re.compile(r"(\d{1,9})-(\d{1,9})")
_MASK = re.compile(r":([SCTsct]+)$")
"""A topology mask behind the name of a unit: it says which cores of any host are near, and has no processor numbers."""
_DEVICES = frozenset(("device", "devices"))
_IDENTIFIERS = frozenset(("uuid", "id"))


def without_properties(text: str) -> tuple[str, str, list[str]]:
    """complex_values without properties of units, the units with their properties as text (NONE without any), and remarks on
    properties that have no counterpart. Raises InvalidValueError."""
    pairs: list[str] = []
    units: dict[str, dict[str, UnitProperties]] = {}
    left_out: dict[str, None] = {}
    for pair in _split(text):
        resource, _, value = (part.strip() for part in pair.partition("="))
        amount, opened, listed = value.partition("(")
        if not opened or not ("[" in listed or _masked(listed)):
            pairs.append(pair)
            continue
        names: list[str] = []
        for name, properties in _items(resource, listed.removesuffix(")")):
            if mask := _MASK.search(name):
                name = name[: mask.start()]
                left_out[f"the topology mask {mask[1]} of {resource}/{name}"] = None
            names.append(name)
            made, unknown = _converted(properties)
            left_out.update(dict.fromkeys(f"{item} of {resource}/{name}" for item in unknown))
            if made != UnitProperties():
                units.setdefault(resource, {}).update(dict.fromkeys(_named(name), made))
        pairs.append(f"{resource}={amount.strip()}({' '.join(names)})")
    return ",".join(pairs), format_unit_list(units), list(left_out)


def _items(resource: str, listed: str) -> Iterator[tuple[str, str]]:
    """Each item of a list of units, and the text in its brackets. Raises InvalidValueError."""
    if strange := _ITEM.sub("", listed).strip():
        raise InvalidValueError(f'"{strange}" in the units of {resource} is neither a unit nor its properties in brackets')
    return ((match[1], match[2] or "") for match in _ITEM.finditer(listed))


def _named(item: str) -> list[str]:
    """The units of an item: `0`, `0:2` with two shares, `0-3`. Raises InvalidValueError."""
    name = item.partition(":")[0]
    if (numbers := _RANGE.fullmatch(name)) is None:
        return [name]
    first, last = map(int, numbers.groups())
    if not first <= last < first + MAX_UNITS:
        raise InvalidValueError(f'the range "{name}" ends before it begins, or has over {MAX_UNITS} units')
    return [str(number) for number in range(first, last + 1)]


def _split(text: str) -> Iterator[str]:
    """The pairs of a list; commas in parentheses and brackets belong to a value. Raises InvalidValueError."""
    depth, begin = 0, 0
    for position, character in enumerate(text):
        depth += (character in "([") - (character in ")]")
        if character == "," and not depth:
            yield text[begin:position].strip()
            begin = position + 1
    if depth:
        raise InvalidValueError(f"a parenthesis or bracket is not closed: {text}")
    yield text[begin:].strip()


def _masked(listed: str) -> bool:
    return any(_MASK.search(item) for item in listed.removesuffix(")").split())


def _converted(text: str) -> tuple[UnitProperties, list[str]]:
    """The properties with a counterpart, and the others as text."""
    files: list[str] = []
    identifier = ""
    unknown: list[str] = []
    for item in filter(None, (part.strip() for part in text.split(","))):
        name, _, value = item.partition("=")
        if name in _DEVICES and all(re.fullmatch(r"/[^\s()]+", path) for path in value.split(":")):
            files += value.split(":")
        elif name in _IDENTIFIERS and value and not set(value) & set(" ()"):
            identifier = value
        else:
            unknown.append(item)
    return UnitProperties(device_files=tuple(files), identifier=identifier), unknown
