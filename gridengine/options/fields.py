"""Folds of options that simply fill a field of a dict, for all commands except the submitting commands.

Called through the rows of `gridengine.options.status`, `control` and `accounting`.
"""

from gridengine.errors import InvalidValueError

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

Target = dict[str, "Any"]
Values = list[str]


def flag(target: Target, field: str, values: Values) -> None:
    target[field] = True


def text(target: Target, field: str, values: Values) -> None:
    """The argument; the empty text if an optional argument is missing."""
    target[field] = values[0] if values else ""


def given(target: Target, field: str, values: Values) -> None:
    """The argument, which must not be empty; the empty text, which means all, if an optional argument is missing."""
    check_not_empty(values)
    text(target, field, values)


def check_not_empty(values: Values) -> None:
    """Raises InvalidValueError for an empty argument: the empty variable of a script must not mean all."""
    if not all(value.strip(", ") for value in values):
        raise InvalidValueError("an argument must not be empty")


def optional_names(target: Target, field: str, values: Values) -> None:
    """Names divided by commas or blanks; the last option counts. Without names the list is empty, which means all."""
    target[field] = _names(values)


def names(target: Target, field: str, values: Values) -> None:
    """At least one name, as for `check_not_empty`; several options add up."""
    target.setdefault(field, []).extend(_require_items(_names(values), values))


def items(target: Target, field: str, values: Values) -> None:
    """At least one request; several options add up (-l)."""
    from gridengine.syntax.request_list import split_requests  # late: few commands have -l

    target.setdefault(field, []).extend(_require_items(split_requests(",".join(values)), values))


def _names(values: Values) -> list[str]:
    return [name for value in values for name in value.replace(",", " ").split()]


def _require_items(listed: list[str], values: Values) -> list[str]:
    if not listed:
        raise InvalidValueError(f'"{" ".join(values)}" is an empty list')
    return listed


def codes(allowed: str, noun: str) -> "Callable[[Target, str, Values], None]":
    """A fold for one-letter codes out of `allowed`; commas may divide them; several options add up."""

    def fold(target: Target, field: str, values: Values) -> None:
        given = "".join(values).replace(",", "")
        if not given or any(code not in allowed for code in given):
            raise InvalidValueError(f'"{" ".join(values)}" is no {noun}, letters of {allowed} are expected')
        target[field] = str(target.get(field, "")) + given

    return fold


def date(target: Target, field: str, values: Values) -> None:
    """`[[CC]YY]MMDDhhmm[.SS]` as epoch seconds; the target's `now` gives a year that is left out."""
    from gridengine.values.units import parse_date_time

    target[field] = parse_date_time(values[0], target["now"])


def count(target: Target, field: str, values: Values) -> None:
    """A number that is not negative."""
    if not (values[0].isascii() and values[0].isdigit() and len(values[0]) < 10):
        raise InvalidValueError(f'"{values[0]}" is not a number')
    target[field] = int(values[0])
