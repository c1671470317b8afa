"""The map of hosts: a cell for each host, in the class of its value, in sections by host group.

Owns classes and sections, not the figures. Pure. Called by `pages.host_map`. Source: adr/0290.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from gridengine.state.groups import HostGroups

PARTS = 5
"""Classes of a fraction, besides none and full."""
MAX_TEXTS = 6
"""Classes of texts; all other texts are in the class `OTHER`."""
OTHER, UNKNOWN, _UNLIMITED = "other", "unknown", "unlimited"
_TEXT_TONES = ("busy", "ok", "mark", "warn", "wait", "bad")


class ValueClass(NamedTuple):
    """A class of values: `name` in addresses, `label` for people, `look`: classes of style.css."""

    name: str
    label: str
    look: str


class MapCell(NamedTuple):
    """A `host` in the map. `title`: its name and value; `look`: classes of style.css."""

    host: str
    title: str
    look: str


class MapSection(NamedTuple):
    """The `cells` of the hosts of a host `group`, "" for hosts without a group, in order."""

    group: str
    cells: list[MapCell]


def fraction_classes(unit: str = "%") -> list[ValueClass]:
    """The classes of fractions, the lowest first: filled from below, so that the amount is visible without colours."""
    bounds = [f"{100 * each // PARTS}" for each in range(PARTS + 1)]
    classes = [ValueClass("0", f"0 {unit}", "l0")]
    classes += [
        ValueClass(str(each + 1), f"{bounds[each]} to {bounds[each + 1]} {unit}", f"l{each + 1}") for each in range(PARTS)
    ]
    return [*classes, ValueClass("full", f"{bounds[-1]} {unit} and more", "full"), UNKNOWN_CLASS]


UNKNOWN_CLASS = ValueClass(UNKNOWN, "unknown", "none")
"""The class of hosts without a value."""


def fraction_class(value: float) -> str:
    """The name of the class of a fraction; NaN is unknown."""
    if math.isnan(value):
        return UNKNOWN
    if value >= 1:
        return "full"
    return "0" if value <= 0 else str(int(value * PARTS) + 1)


def range_classes(values: Iterable[float], text: Callable[[float], str]) -> tuple[list[ValueClass], Callable[[float], str]]:
    """Classes of equal width from the lowest to the highest finite value, one of infinite values, and the function that finds
    the class of a value."""
    numbers = list(values)
    known = [value for value in numbers if math.isfinite(value)]
    rest = [UNKNOWN_CLASS]
    if any(map(math.isinf, numbers)):
        rest.insert(0, ValueClass(_UNLIMITED, "infinity", "full"))
    low, width = (min(known), (max(known) - min(known)) / PARTS) if known else (0.0, 0.0)
    if not width:
        alike = [ValueClass("1", text(low), "l3")] if known else []
        return [*alike, *rest], lambda value: _without_number(value) or "1"
    classes = [
        ValueClass(str(each + 1), f"{text(low + each * width)} to {text(low + (each + 1) * width)}", f"l{each + 1}")
        for each in range(PARTS)
    ]

    def find(value: float) -> str:
        return _without_number(value) or str(min(int((value - low) / width), PARTS - 1) + 1)

    return [*classes, *rest], find


def _without_number(value: float) -> str:
    """The class of a value that is not finite; "" for others."""
    return UNKNOWN if math.isnan(value) else _UNLIMITED if math.isinf(value) else ""


def text_classes(texts: Iterable[str]) -> tuple[list[ValueClass], Callable[[str], str]]:
    """Classes of the most frequent texts, and the function that finds the class of a text; "" is unknown."""
    counts = Counter(text for text in texts if text)
    names = [text for text, _ in sorted(counts.items(), key=lambda each: (-each[1], each[0]))[:MAX_TEXTS]]
    looks = (f"{tone} s{number}" for number, tone in enumerate(_TEXT_TONES))
    classes = [ValueClass(name, name, look) for name, look in zip(names, looks, strict=False)]
    if len(counts) > MAX_TEXTS:
        classes.append(ValueClass(OTHER, "other", "off s6"))
    return [*classes, UNKNOWN_CLASS], lambda text: text if text in names else OTHER if text else UNKNOWN


def sections(cells: Sequence[MapCell], groups: HostGroups | None) -> list[MapSection]:
    """The cells in one section, or by the smallest host group of each host."""
    if groups is None:
        return [MapSection("", list(cells))]
    sizes = Counter(group for cell in cells for group in groups.groups_of(cell.host))
    by_group: dict[str, list[MapCell]] = {}
    for cell in cells:
        own = min(groups.groups_of(cell.host), key=lambda group: (sizes[group], group), default="")
        by_group.setdefault(own, []).append(cell)
    return [MapSection(group, by_group[group]) for group in sorted(by_group, key=lambda group: (not group, group))]


def count_classes(classes: Sequence[ValueClass], names: Mapping[str, str]) -> list[tuple[ValueClass, int]]:
    """The classes that have hosts, with their numbers of hosts. `names`: of the class of each host."""
    counts = Counter(names.values())
    return [(each, counts[each.name]) for each in classes if counts[each.name]]
