"""Structs from the texts of attributes: the type of a field decides how its text is parsed.

Owns the parser of each type. Called by the modules of this package, for structs whose fields have the names of attributes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import fields

from gridengine.syntax.lists import is_none, none_as_null, split_names, split_pairs
from gridengine.values.units import INFINITY, parse_bool, parse_time

T = TypeVar("T", bound=Struct)


def seconds(text: str) -> float:
    """A duration in seconds, INFINITY for none."""
    return INFINITY if is_none(text) else float(parse_time(text))


_PARSERS: dict[Any, Callable[[str], Any]] = {
    str: str,
    int: lambda text: int(text or 0),
    float: float,
    bool: parse_bool,
    str | None: none_as_null,
    tuple[str, ...]: split_names,
    frozenset[str]: lambda text: frozenset(split_names(text)),
    dict[str, str]: lambda text: dict(split_pairs(text)),
}


@cache
def _plan(struct: type[Struct], *given: str) -> list[tuple[str, str, Callable[[str], Any]]]:
    """Field, attribute and parser of the fields that are not given; the attribute of a duration `…_s` has no unit in its name."""
    plan: list[tuple[str, str, Callable[[str], Any]]] = []
    for field in (field for field in fields(struct) if field.name not in given):
        if field.type is float and field.name.endswith("_s"):
            plan.append((field.name, field.name[:-2], seconds))
        elif field.type in _PARSERS:
            plan.append((field.name, field.name, _PARSERS[field.type]))
    return plan


def typed(struct: type[T], text: Mapping[str, str], **given: Any) -> T:
    """The struct for the texts of its attributes. `given`: the fields that are no attribute, or have a form of their own."""
    for name, attribute, parse in _plan(struct, *given):
        given[name] = parse(text[attribute])
    return struct(**given)
