"""Values of complex attributes: typed from their text, compared by relational operator, printed.

Owns the rules per type. Must not know levels, hosts or jobs. Called by the other modules of placement and by the
queries that print resources.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from gridengine.errors import InvalidValueError
from gridengine.state.bookings import Once
from gridengine.state.configured.objects import ComplexEntry
from gridengine.syntax.resource_map import RSMAP, amount_text
from gridengine.values.ranges import MAX_SLOTS
from gridengine.values.units import (
    format_double,
    format_memory,
    format_time,
    parse_bool,
    parse_memory,
    parse_quantity,
    parse_time,
)

Value = float | str
"""Numbers for INT RSMAP DOUBLE TIME (s) MEMORY (bytes) BOOL (0 or 1); text for STRING CSTRING RESTRING HOST."""

ROUNDING = 1e-9
"""Amounts are sums of decimal fractions: three times 0.1 must fit into 0.3."""

EXCLUSIVE = "EXCL"
"""The relational operator of resources for exclusive use."""
STRING_TYPES = frozenset(("STRING", "CSTRING", "RESTRING", "HOST"))
WHOLE_TYPES = frozenset(("INT", RSMAP))
CASELESS_TYPES = frozenset(("CSTRING", "HOST"))

RELATIONS: dict[str, Callable[[float, float], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
"""`request RELATION offered` must hold. Source: complex(5) relop, CX-24."""

LOW_IS_STRICT = frozenset(("<", "<="))
HIGH_IS_STRICT = frozenset((">", ">="))


def typed_value(kind: str, text: str) -> Value:
    """The value of a text for a complex type. Raises InvalidValueError. Source: CX-4."""
    if kind in STRING_TYPES:
        return text
    if kind == "TIME":
        return float(parse_time(text))
    if kind == "MEMORY":
        return float(parse_memory(text))
    if kind == "BOOL":
        return 1.0 if parse_bool(text or "TRUE") else 0.0
    return parse_quantity(amount_text(text) if kind == RSMAP else text)


def requested_amount(entry: ComplexEntry, text: str) -> float:
    """The amount of a request for a numeric attribute; two slots share `1/2` of a consumable (AR-126).

    Raises InvalidValueError.
    """
    top, slash, bottom = text.partition("/")
    if not slash or not entry.is_consumable:
        return float(typed_value(entry.type, text))
    if not bottom.isdecimal() or not int(bottom):
        raise InvalidValueError(f'"{bottom}" is not a number of slots that share {top}')
    return float(typed_value(entry.type, top)) / int(bottom)


def request_text(kind: str, text: str) -> str:
    """A request as listings show it: TIME in seconds, as in 8.1.9; others unchanged. Source: O (qstat -j)."""
    if kind != "TIME" or text.upper() == "INFINITY":
        return text
    return f"{parse_time(text):g}"


def whole(value: float) -> float:
    """A load value of the type INT: its decimals are cut. Source: O."""
    return float(int(value)) if math.isfinite(value) else value


@lru_cache(maxsize=65536)
def reported_value(kind: str, text: str) -> Value | None:
    """As `typed_value` for a reported value: None if it is not of the type (CX-18), INT without decimals.

    Cached, because a cycle reads the same report many times.
    """
    try:
        value = typed_value(kind, text)
    except InvalidValueError:
        return None
    return whole(float(value)) if kind in WHOLE_TYPES else value


def stricter(relop: str, first: float, second: float) -> bool:
    """Whether `first` satisfies fewer requests than `second`. Never for == and != (CX-29, CX-31)."""
    if relop in LOW_IS_STRICT:
        return first < second
    return relop in HIGH_IS_STRICT and first > second


def format_value(kind: str, value: Value, whole: bool = True) -> str:
    """As `qstat -F` prints it: 23.346G, 00:05:00, 0.170410, infinity; INT as 2, or 2.000000 if not `whole`.

    `qhost -F` and the scheduler's reasons print INT with decimals; BOOL always has them. Source: O.
    """
    if isinstance(value, str):
        return value
    if kind == "MEMORY":
        return format_memory(value)
    if kind == "TIME":
        return f"-{format_time(-value)}" if value < 0 else format_time(value)
    if kind in WHOLE_TYPES and whole and float(value).is_integer():
        return str(int(value))
    return format_double(value)


class Offer(NamedTuple):
    """The available `value` of the attribute `entry`. `level`: g, h or q; `source`: l, L (scaled or corrected load), c, f."""

    entry: ComplexEntry
    value: Value
    level: str
    source: str

    @property
    def codes(self) -> str:
        return self.level + self.source

    def text(self, whole: bool = True) -> str:
        """`hl:mem_free=23.346G`, the form of -F. `whole`: see `format_value`; else reasons, which name a BOOL in words."""
        if self.entry.type == "BOOL" and not whole:
            return f"{self.codes}:{self.entry.name}={'true' if self.value else 'false'}"
        return f"{self.codes}:{self.entry.name}={format_value(self.entry.type, self.value, whole)}"


def slots_in(left: float, amount: float, once: Once) -> int:
    """Return the number of slots that fit into the free amount of a consumable, of which each slot takes `amount`, or all
    slots together if `once`.

    A job without a request for it also waits while the consumable is overbooked. Source: O.
    """
    if left == float("inf") or (not amount and left + ROUNDING >= 0):
        return MAX_SLOTS
    if not amount:
        return 0
    fitting = int((left + ROUNDING) // amount)
    return fitting if not once else MAX_SLOTS if fitting >= 1 else 0
