"""Folds of options that simply fill a field of a dict: what all commands but the submitting ones need.

Called through the rows of `gridengine.options.status`, `control` and `accounting`.
"""

from gridengine.errors import SyntaxFault

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

Target = dict[str, "Any"]
Values = list[str]


def flag(target: Target, field: str, values: Values) -> None:
    target[field] = True


def text(target: Target, field: str, values: Values) -> None:
    """The argument; without one (an optional argument) the empty text."""
    target[field] = values[0] if values else ""


def given(target: Target, field: str, values: Values) -> None:
    """The argument, which must name something; without one (an optional argument) the empty text, which means all."""
    check_named(values)
    text(target, field, values)


def check_named(values: Values) -> None:
    """Raises SyntaxFault for an argument without a name: the empty variable of a script does not mean all."""
    if not all(value.strip(", ") for value in values):
        raise SyntaxFault("an empty argument names nothing")


def names_if_any(target: Target, field: str, values: Values) -> None:
    """Names between commas or blanks; several options add up. Without one the list is empty, which means all."""
    target.setdefault(field, []).extend(_names(values))


def names(target: Target, field: str, values: Values) -> None:
    """The same, and there must be one, as for `check_named`."""
    target.setdefault(field, []).extend(_some(_names(values), values))


def items(target: Target, field: str, values: Values) -> None:
    """Requests, at least one, added up (-l)."""
    from gridengine.syntax.request_list import split_requests  # late: few commands have -l

    target.setdefault(field, []).extend(_some(split_requests(values[0]), values))


def _names(values: Values) -> list[str]:
    return [name for value in values for name in value.replace(",", " ").split()]


def _some(listed: list[str], values: Values) -> list[str]:
    if not listed:
        raise SyntaxFault(f'"{" ".join(values)}" is not a list: nothing is in it')
    return listed


def letters(allowed: str, what: str) -> "Callable[[Target, str, Values], None]":
    """A fold for letters out of `allowed`; commas may stand between them; several options add up."""

    def fold(target: Target, field: str, values: Values) -> None:
        given = values[0].replace(",", "")
        if not given or any(letter not in allowed for letter in given):
            raise SyntaxFault(f'"{values[0]}" is no {what}, letters of {allowed} are expected')
        target[field] = str(target.get(field, "")) + given

    return fold


def date(target: Target, field: str, values: Values) -> None:
    """`[[CC]YY]MMDDhhmm[.SS]` as epoch seconds; the target's `now` gives a year that is left out."""
    from gridengine.units import parse_date_time

    target[field] = parse_date_time(values[0], target["now"])


def count(target: Target, field: str, values: Values) -> None:
    """A number that is not negative."""
    if not (values[0].isascii() and values[0].isdigit() and len(values[0]) < 10):
        raise SyntaxFault(f'"{values[0]}" is not a number')
    target[field] = int(values[0])
