"""The types of configuration attributes: the check of a value, and its canonical print form.

Owns `AttributeType` and the types that several objects share. Called by the models of this package only.
A check gets the text of a value, returns its canonical text and raises InvalidValueError (a ValueError, which pydantic
turns into a validation error of the attribute). Canonical text is a fixed point: checking it again changes nothing.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Annotated, Any, NamedTuple

from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema
from pydantic_core.core_schema import no_info_after_validator_function

from gridengine.errors import InvalidValueError
from gridengine.syntax.lists import (
    check_host_identifier,
    check_host_name,
    check_object_name,
    is_none,
    join_names,
    join_pairs,
    split_names,
    split_pairs,
)
from gridengine.syntax.overrides import Overrides
from gridengine.values.ranges import Ranges
from gridengine.values.units import (
    INFINITY,
    MAX_NUMBER,
    format_bool,
    parse_bool,
    parse_double,
    parse_memory,
    parse_number,
    parse_time,
)

Check = Callable[[str], str]
#: (kind, name) of an object that a value names
Reference = tuple[str, str]
Refers = Callable[[str], Iterable[Reference]]


class ValueForm(NamedTuple):
    """The form of the values that a check accepts, for controls of forms.

    `name`: text, number, time, memory, name, names, pairs (`name=value`), ranges, path, command or signal; boolean or choice if
    the `constants` are all values. `constants`: fixed values, such as `INFINITY`.
    """

    name: str = "text"
    constants: tuple[str, ...] = ()


class TypedCheck:
    """A check that knows the `form` of its values."""

    __slots__ = ("_check", "form")

    def __init__(self, check: Check, name: str, *constants: str) -> None:
        self._check, self.form = check, ValueForm(name, constants)

    def __call__(self, text: str) -> str:
        return self._check(text)


def typed(name: str, *constants: str) -> Callable[[Check], Check]:
    """A decorator of checks: the form of their values, and the constants among them."""
    return lambda check: TypedCheck(check, name, *constants)


def form_of(check: Check) -> ValueForm:
    """The form of the values that a check accepts; text for a plain function."""
    return check.form if isinstance(check, TypedCheck) else ValueForm()


def _nothing(text: str) -> Iterable[Reference]:
    return ()


class AttributeType:
    """A check and the references of a value; part of the annotation of a model's field.

    refers: the objects that a value names and that must exist when it is stored; mentions: objects that need not exist.
    """

    __slots__ = ("check", "refers", "mentions")

    def __init__(self, check: Check, refers: Refers | None = None, mentions: Refers | None = None) -> None:
        self.check = check
        self.refers = refers or _nothing
        self.mentions = mentions or _nothing

    @property
    def form(self) -> ValueForm:
        """The form of the values that the check accepts."""
        return form_of(self.check)

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return no_info_after_validator_function(self.check, handler(source))


def overridable(check: Check, refers: Refers | None = None) -> AttributeType:
    """The type of a queue attribute: its value and each of its tuples are checked. Source: CQ-7."""

    def check_all(text: str) -> str:
        overrides = Overrides.parse(text)
        checked: dict[str, str] = {}
        for identifier, value in overrides.values():
            try:
                checked[identifier] = check(value)
            except InvalidValueError as fault:
                if not identifier:
                    raise
                raise InvalidValueError(f"[{identifier}=...]: {fault}") from None
        return str(Overrides(checked.pop(""), checked))

    def refer_all(text: str) -> Iterable[Reference]:
        for identifier, value in Overrides.parse(text).values():
            if identifier.startswith("@"):
                yield "host_group", identifier
            if refers:
                yield from refers(value)

    form = form_of(check)
    return AttributeType(TypedCheck(check_all, form.name, *form.constants), refer_all)


def given(text: str) -> str:
    """Any text that is not empty."""
    if not text.strip():
        raise InvalidValueError("a value is missing")
    if "\n" in text or not text.isprintable():
        raise InvalidValueError("a value must be printable text on one line")
    if text.rstrip().endswith("\\"):
        raise InvalidValueError("a value must not end in a backslash")
    return text.strip()


def number(low: int = 0, high: int = MAX_NUMBER) -> Check:
    """An integer within low..high, printed in decimal."""
    return TypedCheck(lambda text: str(parse_number(given(text), low, high)), "number")


@typed("number")
def real(text: str) -> str:
    """A real number, printed with six decimals."""
    value = parse_double(given(text))
    if abs(value) == INFINITY or abs(value) > 1e300:
        raise InvalidValueError("the number is too large")
    return f"{value:f}"


@typed("number")
def positive_real(text: str) -> str:
    """A real number that is not negative, printed with six decimals."""
    printed = real(text)
    if printed.startswith("-"):
        raise InvalidValueError(f"{text} is negative")
    return printed


@typed("boolean", "TRUE", "FALSE")
def boolean(text: str) -> str:
    """TRUE or FALSE."""
    return format_bool(parse_bool(given(text)))


@typed("time", "INFINITY")
def time(text: str) -> str:
    """A time specifier, kept as written."""
    parse_time(given(text))
    return text.strip()


@typed("time")
def finite_time(text: str) -> str:
    """A time specifier other than INFINITY, kept as written."""
    if parse_time(given(text)) == INFINITY:
        raise InvalidValueError("INFINITY is not allowed here")
    return text.strip()


@typed("memory", "INFINITY")
def memory(text: str) -> str:
    """A memory specifier, kept as written."""
    parse_memory(given(text))
    return text.strip()


def choice(*choices: str) -> Check:
    """One of the choices, in any case; printed as spelled here."""

    def check(text: str) -> str:
        for each in choices:
            if given(text).lower() == each.lower():
                return each
        raise InvalidValueError(f'"{text}" is not one of {", ".join(choices)}')

    return TypedCheck(check, "choice", *choices)


@typed("path")
def absolute_path(text: str) -> str:
    """A path that begins with a slash, with an optional `user@` in front."""
    user, at, path = given(text).partition("@")
    if not (path if at and "/" not in user else text).startswith("/"):
        raise InvalidValueError(f'the path "{text}" must begin with "/"')
    return text.strip()


def none_or(check: Check, none: str = "NONE") -> Check:
    """NONE in any case, printed as `none`, or a value that the check accepts."""
    form = form_of(check)
    return TypedCheck(lambda text: none if is_none(given(text)) else check(text), form.name, *form.constants, none)


def written_none_or(check: Check) -> Check:
    """NONE in any case, printed as written, or a value that the check accepts."""
    form = form_of(check)
    return TypedCheck(lambda text: text.strip() if is_none(given(text)) else check(text), form.name, *form.constants, "none")


@typed("command")
def command(text: str) -> str:
    """A command line: an absolute path, with an optional `user@` in front, and arguments."""
    absolute_path(given(text).split()[0])
    return text.strip()


def command_with(variables: frozenset[str]) -> Check:
    """A command line with no other `$variables` than these."""

    def check(text: str) -> str:
        checked = command(text)
        check_variables(checked, variables)
        return checked

    return TypedCheck(check, "command")


def check_variables(text: str, variables: frozenset[str]) -> None:
    """Refuse a `$name` that is not one of the variables."""
    for piece in text.split("$")[1:]:
        name = ""
        for character in piece:
            if not (character.isalnum() or character == "_"):
                break
            name += character
        if name not in variables:
            raise InvalidValueError(f'the variable "${name}" is unknown')


def ranges(low: int) -> Check:
    """A list of ranges of numbers from `low` on."""

    def check(text: str) -> str:
        parsed = Ranges.parse(given(text))
        if parsed.first < low:
            raise InvalidValueError(f"{parsed.first} is below {low}")
        return text.strip()

    return TypedCheck(check, "ranges")


def name_list(check: Check = check_object_name, separator: str = " ", none: str = "NONE") -> Check:
    """A list of names divided by blanks or commas, or NONE."""

    def check_list(text: str) -> str:
        return separator.join(check(name) for name in split_names(given(text))) or none

    return TypedCheck(check_list, "names", none)


def pair_list(check_value: Callable[[str, str], str] | None = None, names: Sequence[str] = ()) -> Check:
    """A list of `name=value`, or NONE. check_value gets name and value; names: the allowed names."""

    def check(text: str) -> str:
        pairs = []
        for name, value in split_pairs(given(text)):
            check_object_name(name)
            if names and name not in names:
                raise InvalidValueError(f'"{name}" is not one of {", ".join(names)}')
            pairs.append((name, check_value(name, value) if check_value else value))
        return join_pairs(pairs)

    return TypedCheck(check, "pairs", "NONE")


@typed("names", "NONE")
def host_list(text: str) -> str:
    """Hosts and host groups divided by blanks or commas, or NONE (CQ-5)."""
    return join_names(check_host_identifier(name) for name in split_names(given(text)))


@typed("names", "NONE")
def unique_host_list(text: str) -> str:
    """A host list without repetitions. Source: CQ-6."""
    names = given(text).replace(",", " ").lower().split()
    twice = next((name for name in names if names.count(name) > 1), None) if len(set(names)) < len(names) else None
    if twice:
        raise InvalidValueError(f'"{twice}" is listed twice')
    return host_list(text)


def refers_to(kind: str) -> Refers:
    """Every name of a list is an object of this kind."""
    return lambda text: [(kind, name) for name in split_names(text)]


def refers_by_pair(kind: str) -> Refers:
    """Every name of a list of `name=value` is an object of this kind."""
    return lambda text: [(kind, name) for name, _ in split_pairs(text)]


def refers_to_hosts(text: str) -> Iterable[Reference]:
    """Host groups and execution hosts of a host list."""
    return [("host_group" if name.startswith("@") else "exec_host", name) for name in split_names(text)]


object_name = TypedCheck(check_object_name, "name")
ObjectName = Annotated[str, AttributeType(object_name)]
HostName = Annotated[str, AttributeType(TypedCheck(check_host_name, "name"))]
Boolean = Annotated[str, AttributeType(boolean)]
Number = Annotated[str, AttributeType(number())]
Real = Annotated[str, AttributeType(real)]
Usersets = Annotated[str, AttributeType(name_list(), refers_to("userset"))]
Projects = Annotated[str, AttributeType(name_list(), refers_to("project"))]
