"""Resource maps: the named units of a resource that a host has, as `4(0-3)` in complex_values.

Owns the grammar of the complex type RSMAP. Light: no state, no objects. Called by `gridengine.config`, by placement and by
listings of free units. Source: adr/0320; the descendants of Grid Engine have the same form.

Grammar:
    map   = amount [ "(" unit {blank unit} ")" ]        without a list the units are 0 to amount-1
    unit  = (name | number "-" number) [":" shares]     `0:2`: two requests may have the unit 0
The amount is the sum of all shares; a unit that is listed again has more shares. A name has letters, digits and any of
`._/+@-`, and begins with none of `.-/`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from types import MappingProxyType

from gridengine.errors import InvalidValueError

RSMAP = "RSMAP"
"""The complex type."""
PER_HOST = "HOST"
"""The value of the column `consumable` for an amount that is taken once on each host of a job."""
MAX_UNITS = 10_000
"""Shares of all units of one map."""

_MARKS = frozenset("._/+@-")
_MAX_NUMBER = 999_999_999
"""Highest number in a range."""


@lru_cache(maxsize=4096)
def parse_map(text: str) -> Mapping[str, int]:
    """The shares of each unit, in the order of the list. Raises InvalidValueError. Cached: hosts of one kind have one text."""
    amount, opened, rest = text.partition("(")
    count = _whole(amount, "the amount of units", MAX_UNITS)
    if not opened:
        return MappingProxyType({str(number): 1 for number in range(count)})
    if not rest.endswith(")") or "(" in rest or ")" in rest[:-1]:
        raise InvalidValueError(f'"{text}" is not of the form AMOUNT(UNIT UNIT ...)')
    shares: dict[str, int] = {}
    total = 0
    for name, number in _units(rest[:-1]):
        shares[name] = shares.get(name, 0) + number  # the descendants list a unit once for each share
        total += number
        if total > MAX_UNITS:
            raise InvalidValueError(f"a list may have up to {MAX_UNITS} units")
    if total != count:
        raise InvalidValueError(f"the amount is {count}, and the list has {total}: {text}")
    return MappingProxyType(shares)


def _units(text: str) -> Iterator[tuple[str, int]]:
    for item in text.split():
        name, colon, number = item.partition(":")
        shares = _whole(number, f'the number of shares of "{name}"', MAX_UNITS) if colon else 1
        if not shares:
            raise InvalidValueError(f'the unit "{name}" has no shares')
        first, dash, last = name.partition("-")
        if not (dash and first.isdecimal() and last.isdecimal()):
            yield _checked(name, item), shares
            continue
        low, high = (_whole(end, f'an end of the range "{name}"', _MAX_NUMBER) for end in (first, last))
        if low > high:
            raise InvalidValueError(f'the range "{name}" ends before it begins')
        for each in range(low, high + 1):
            yield str(each), shares


def _whole(text: str, what: str, most: int) -> int:
    if not (text.isascii() and text.isdecimal()):
        raise InvalidValueError(f'{what} is not a whole number: "{text}"')
    if len(text) > len(str(_MAX_NUMBER)) or int(text) > most:
        raise InvalidValueError(f"{what} is over {most}: {text}")
    return int(text)


def _checked(name: str, item: str) -> str:
    if not name:
        raise InvalidValueError(f'the unit "{item}" has no name')
    if name[0] in ".-/":
        raise InvalidValueError(f'the name of the unit "{name}" must not begin with "{name[0]}"')
    for character in name:
        if not (character.isascii() and character.isalnum()) and character not in _MARKS:
            raise InvalidValueError(f'the character "{character}" is not allowed in the name of a unit: "{name}"')
    return name


def canonical_map(text: str) -> str:
    """The text of a map in which each unit is listed once: `4(0:2 1:2)` for `4(0 0 1 1)`; unchanged if each is already. Raises
    InvalidValueError."""
    names = [name for name, _ in _units(text.partition("(")[2].removesuffix(")"))]
    return text if len(set(names)) == len(names) else format_map(parse_map(text))


def amount_text(text: str) -> str:
    """The amount alone: `4` of `4(0-3)`."""
    return text.partition("(")[0]


def format_map(shares: Mapping[str, int], amount: int | None = None) -> str:
    """A map as text: `4(0-2 mic)`, `0` for none. Numbers in a row are a range, `0:2` is a unit with two shares. `amount`: by
    default of all shares."""
    total = sum(shares.values()) if amount is None else amount
    names = " ".join(_ranges(shares.items()))
    return f"{total}({names})" if names else str(total)


def _ranges(units: Iterable[tuple[str, int]]) -> Iterator[str]:
    """Units that are consecutive numbers with one share each become one item."""
    run: list[int] = []
    for name, number in units:
        counted = number == 1 and name.isdecimal() and str(int(name)) == name
        if run and not (counted and int(name) == run[-1] + 1):
            yield _range(run)
            run = []
        if counted:
            run.append(int(name))
        elif number:
            yield name if number == 1 else f"{name}:{number}"
    if run:
        yield _range(run)


def _range(run: list[int]) -> str:
    return f"{run[0]}-{run[-1]}" if len(run) > 2 else " ".join(map(str, run))
