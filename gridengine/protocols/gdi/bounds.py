"""Bounds: the permitted size and content of each field of a request.

Owns the table of bounds and their check. A type of this table describes a field (`Name`, `Path`, `Seconds` …). All fields in
`gdi.requests` and `gdi.reading` have such a type, so every field has a bound, and a fuzzer can build
requests from the types alone. The meaning of a value and the rights of the caller are checked elsewhere. The bounds only ensure
that one request cannot cost other callers time, memory or a queue.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, Literal, NotRequired, Union, get_args, get_origin, get_type_hints, is_typeddict

import msgspec

from gridengine.errors import InvalidValueError
from gridengine.syntax.wildcard import is_pattern
from gridengine.values.topology import BindingRequest

KB, MB = 1024, 1024 * 1024


class BoundsError(msgspec.ValidationError):
    """A field that is out of its bounds; `str(fault)` begins with the field's name."""


@dataclass(frozen=True, slots=True)
class Text:
    """`most`: bytes in UTF-8. `printable`: no control or format characters and no line separators (str.isprintable); a text of
    several `lines` may have tabs and line ends.

    `without`: further forbidden characters. `form`: parses a text other than ""; raises InvalidValueError.
    """

    most: int
    printable: bool = True
    without: str = "\0"
    form: Callable[[str], object] | None = None
    lines: bool = False

    def fault(self, value: str) -> str:
        if len(value) > self.most or (not value.isascii() and len(value.encode()) > self.most):
            return f"is longer than {self.most} bytes"
        if self.printable and not value.isprintable() and (character := _unprintable(value, self.lines)):
            return f"contains a character that cannot be printed (U+{ord(character):04X})"
        for character in self.without:
            if character in value:
                return "must not contain NUL" if character == "\0" else f'must not contain "{character}"'
        try:
            if self.form is not None:
                self.form(value)
        except InvalidValueError as fault:
            return f"is wrong: {fault}"
        return ""


def _unprintable(text: str, lines: bool) -> str:
    """The first character that cannot be printed, "" if there is none."""
    return next((each for each in text if not each.isprintable() and not (lines and each in "\t\n")), "")


@dataclass(frozen=True, slots=True)
class Number:
    """From `low` to `high`, both included."""

    low: int
    high: int

    def fault(self, value: float) -> str:
        # a value that is not a number, NaN, compares with no bound
        return "" if self.low <= value <= self.high else f"is not within {self.low} and {self.high}"


@dataclass(frozen=True, slots=True)
class Items:
    """Bounds of a list or a table: at most `most` items, with `total` bytes in all their texts. `filled`: no key is "".

    `patterns`, `names`: the limits on items that are patterns, or no numbers: each of them needs a search through all jobs.
    """

    most: int
    total: int
    filled: bool = False
    patterns: int = 0
    names: int = 0

    def fault(self, value: list[Any] | tuple[Any, ...] | dict[str, Any]) -> str:
        if len(value) > self.most:
            return f"has more than {self.most} items"
        if self.filled and "" in value:
            return "has an item without a name"
        if sum(_lengths(value)) > self.total:
            return f"is longer than {self.total} bytes in all"
        if self.patterns and sum(map(is_pattern, value)) > self.patterns:
            return f"has more than {self.patterns} patterns"
        if self.names and sum(not item[:1].isdecimal() for item in value) > self.names:
            return f"has more than {self.names} items that are no numbers"
        return ""


@dataclass(frozen=True, slots=True)
class FieldsOf:
    """A table of some fields of the struct `request`, by name."""

    request: type[msgspec.Struct]


# --- the table -------------------------------------------------------------------------------------------

Name = Annotated[str, Text(512)]
Pattern = Annotated[str, Text(1 * KB)]
"""A name, a pattern or an expression of them; also ranges of tasks and of slots."""
TaskNumbers = Annotated[str, Text(64 * KB)]
"""Ranges of tasks, which may be many."""
Line = Annotated[str, Text(4 * KB)]
Note = Annotated[str, Text(4 * KB, lines=True)]
"""A value of a context variable, a reason: text for people, perhaps of several lines."""
Path = Annotated[str, Text(4 * KB, printable=False)]
Script = Annotated[str, Text(16 * MB, printable=False, without="")]
"""A script with a NUL is refused elsewhere, with an answer of its own."""
Variable = Annotated[str, Text(1000, without="=")]
Value = Annotated[str, Text(130_000, printable=False)]
"""A value of a variable, or an argument: the kernel takes 128 KB with the name (execve(2), MAX_ARG_STRLEN)."""
Binding = Annotated[str, Text(512, form=BindingRequest.parse)]
Attribute = Annotated[str, Text(1 * MB, printable=False)]
"""A value of a configuration object."""

JobNumber = Annotated[int, Number(0, 9_999_999)]
TaskNumber = Annotated[int, Number(0, 4_294_967_295)]
TailBytes = Annotated[int, Number(1, 64 * KB)]
"""Bytes at the end of a file that are read for its owner."""
Count = Annotated[int, Number(0, 2**31 - 1)]
Priority = Annotated[int, Number(-(2**31), 2**31 - 1)]
Port = Annotated[int, Number(0, 65_535)]
Seconds = Annotated[float, Number(0, 250_000_000_000)]
"""A duration, or a time up to the year 9892: no calendar goes beyond 9999."""

Ports = Annotated[list[Port], Items(128, 1 * KB)]
Names = Annotated[tuple[Name, ...], Items(1000, 64 * KB)]
Patterns = Annotated[tuple[Pattern, ...], Items(1000, 64 * KB, patterns=32)]
Users = Annotated[list[Pattern], Items(100, 16 * KB, patterns=16)]
Predecessors = Annotated[tuple[Pattern, ...], Items(1000, 64 * KB, patterns=16, names=64)]
Targets = Annotated[list[Pattern], Items(10_000, 128 * KB, patterns=16, names=64)]
"""Targets of requests that are carried out in slices."""
FewTargets = Annotated[list[Pattern], Items(1000, 64 * KB, patterns=16, names=64)]
FewestTargets = Annotated[list[Pattern], Items(250, 64 * KB, patterns=16, names=64)]
"""Targets that cost a fifth of a millisecond each."""
AccountingLines = Annotated[list[Annotated[str, Text(64 * KB, printable=False)]], Items(2000, 768 * KB)]
"""Lines of an accounting file; a category may be long."""
Lines = Annotated[list[Line], Items(1000, 64 * KB)]
PathsOnHosts = Annotated[tuple[tuple[Name, Path], ...], Items(256, 64 * KB)]
Arguments = Annotated[tuple[Value, ...], Items(16_384, 256 * KB)]
Environment = Annotated[dict[Variable, Value], Items(8192, 512 * KB, filled=True)]
Variables = Annotated[tuple[Variable, ...], Items(8192, 256 * KB, filled=True)]
Digests = Annotated[dict[Name, Name], Items(64, 8 * KB)]
"""Digests of files, by name."""
Context = Annotated[dict[Name, Note], Items(256, 64 * KB)]
Attributes = Annotated[dict[Name, Attribute], Items(1000, 4 * MB)]


# --- the check -------------------------------------------------------------------------------------------

Check = Callable[[Any, str], None]
"""(value, name of the field): raises BoundsError."""


def check(value: Any, of: Any) -> None:
    """Raise BoundsError for the first field that is out of its bounds. `of`: the type of the converted value."""
    _check_of(of)(value, "")


@cache
def _check_of(of: Any) -> Check:
    """The check of a type, made once. A text or a number without a bound is a fault of the program."""
    if isinstance(of, type) and (issubclass(of, msgspec.Struct) or is_typeddict(of)):
        return _of_fields(of)
    origin, arguments = get_origin(of), get_args(of)
    if origin is Annotated:
        return _bounded(arguments[0], arguments[1])
    if origin is NotRequired:
        return _check_of(arguments[0])
    if origin in (Union, types.UnionType):
        (inner,) = (each for each in arguments if each is not type(None))
        checked = _check_of(inner)
        return lambda value, where: None if value is None else checked(value, where)
    if origin is tuple:
        parts = [_check_of(each) for each in arguments]
        return lambda value, where: _each(parts, value, where)
    if of is bool or origin is Literal:
        return _nothing
    raise TypeError(f"{of} has no bounds")


def _bounded(of: Any, bound: Any) -> Check:
    if isinstance(bound, FieldsOf):
        fields = _check_of(bound.request)
        return lambda value, where: fields(msgspec.convert(value, bound.request), where)

    def checked(value: Any, where: str) -> None:
        if fault := bound.fault(value):
            raise BoundsError(f"{where} {fault}" if where else f"the request {fault}")
        inside(value, where)

    inside = _inside(of)
    return checked


def _inside(of: Any) -> Check:
    """The check of the items of a list or a table."""
    origin = get_origin(of)
    if origin not in (list, tuple, dict):
        return _nothing
    first, *others = (_check_of(each) for each in get_args(of) if each is not Ellipsis)

    def checked(value: Any, where: str) -> None:
        for each in value:
            first(each, where)
        for item in others:
            for each in value.values():
                item(each, where)

    return checked


def _of_fields(of: type) -> Check:
    checks = {name: _check_of(kind) for name, kind in get_type_hints(of, include_extras=True).items()}
    fields_of = _fields_of_table if is_typeddict(of) else _fields_of_struct

    def checked(value: Any, where: str) -> None:
        for name, field in fields_of(value, checks):
            if name not in checks:
                raise BoundsError(f'there is no field "{name[:100]}"')
            # an omitted field is within all bounds, and most fields are omitted
            if field or field == 0:
                checks[name](field, f"{where}.{name}" if where else name)

    return checked


def _fields_of_struct(value: msgspec.Struct | dict[str, Any], checks: dict[str, Check]) -> Any:
    if isinstance(value, dict):  # as it arrived, in the body of a query
        return value.items()
    return ((name, getattr(value, name)) for name in checks)


def _fields_of_table(value: dict[str, Any], checks: dict[str, Check]) -> Any:
    return value.items()


def _each(parts: list[Check], values: tuple[Any, ...], where: str) -> None:
    for part, value in zip(parts, values, strict=True):
        part(value, where)


def _nothing(value: Any, where: str) -> None:
    """Check nothing."""


def _lengths(value: Any) -> Any:
    """The lengths of all texts in a list or a table."""
    for each in [*value, *value.values()] if isinstance(value, dict) else value:
        if isinstance(each, str):
            yield len(each) if each.isascii() else len(each.encode())
        elif isinstance(each, (list, tuple, dict)):
            yield from _lengths(each)
