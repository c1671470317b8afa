"""Host dependent values of queue attributes: `default,[host_or_group=value],...`.

Owns the division of an attribute's text into its default and its tuples, and the choice of a host's value. Does not know the
types of values. Called by `gridengine.config` and by the -Xattr verbs of qconf. Readers raise InvalidValueError.

Grammar (queue_conf(5) FORMAT; CQ-7, CQ-8, CQ-11, CQ-24, CQ-25, X-2):
    overrides = default {"," "[" identifier "=" value "]"}      identifier = host | "@" group
Blanks are allowed around the commas between tuples. A default is required; two tuples of one identifier are refused.
"""

from collections.abc import Iterable, Mapping

from gridengine.errors import InvalidValueError
from gridengine.syntax.lists import check_host_identifier


class Overrides:
    """The default of an attribute and its tuples, in the order in which qconf prints them: by identifier."""

    __slots__ = ("default", "tuples", "_groups")

    def __init__(self, default: str, tuples: Mapping[str, str] | None = None) -> None:
        self.default = default
        self.tuples = dict(sorted((tuples or {}).items()))
        self._groups = [identifier for identifier in self.tuples if identifier.startswith("@")]

    @classmethod
    def parse(cls, text: str) -> "Overrides":
        """Read the text of an attribute. Only text with brackets can have tuples."""
        default, *rest = _divide(text)
        if default.startswith("[") and default.endswith("]"):
            raise InvalidValueError("the default value is missing: the text must begin with a value outside of brackets")
        tuples: dict[str, str] = {}
        for part in rest:
            identifier, value = _tuple_of(part)
            if identifier in tuples:
                raise InvalidValueError(f'"{identifier}" has more than one value')
            tuples[identifier] = value
        return cls(default, tuples)

    def __str__(self) -> str:
        return ",".join([self.default, *(f"[{identifier}={value}]" for identifier, value in self.tuples.items())])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Overrides) and self.default == other.default and self.tuples == other.tuples

    def __hash__(self) -> int:
        return hash(str(self))

    def values(self) -> Iterable[tuple[str, str]]:
        """(identifier, value) of the default, with the identifier "", and of all tuples."""
        return (("", self.default), *self.tuples.items())

    def value_for(self, host: str, groups: frozenset[str]) -> tuple[str, tuple[str, ...]]:
        """The value of a host, and the identifiers of the groups between which it is ambiguous (else none).

        groups: all groups that hold the host, also through other groups. The host's own tuple wins over a group's tuple, a
        group's over the default (CQ-9, CQ-10, CQ-15); with tuples of two groups the default counts (CQ-12, CQ-14).
        """
        if not self.tuples:
            return self.default, ()
        own = self.tuples.get(host)
        if own is not None:
            return own, ()
        hits = [identifier for identifier in self._groups if identifier in groups]
        if len(hits) == 1:
            return self.tuples[hits[0]], ()
        return self.default, tuple(hits)

    def with_value(self, identifier: str, value: str) -> "Overrides":
        """A copy with this value of the identifier; "" is the default."""
        if not identifier:
            return Overrides(value, self.tuples)
        return Overrides(self.default, {**self.tuples, identifier: value})

    def without(self, identifiers: Iterable[str]) -> "Overrides":
        """A copy without the tuples of these identifiers. Source: QF-8."""
        gone = set(identifiers)
        return Overrides(self.default, {name: value for name, value in self.tuples.items() if name not in gone})


def _divide(text: str) -> list[str]:
    """The default and the bracketed parts."""
    start = text.find("[")
    while start > 0 and text[:start].rstrip()[-1:] != ",":
        # A bracket within the default belongs to it unless it looks like a tuple that lacks its comma.
        if text[start - 1] == " " and text.rstrip().endswith("]"):
            raise InvalidValueError(f'a comma is missing before "{text[start:]}"')
        start = text.find("[", start + 1)
    if start < 0:
        stripped = text.strip()
        if stripped.endswith(",") and stripped != ",":
            raise InvalidValueError(f'"{text}" ends in a comma')
        return [stripped]
    default = text[:start].rstrip().removesuffix(",").rstrip()
    parts = [default] if start > 0 else []
    rest = text[start:].strip()
    while rest:
        end = rest.find("]")
        if not rest.startswith("["):
            raise InvalidValueError(f'"{rest}" stands where a tuple [host_identifier=value] is expected')
        if end < 0:
            raise InvalidValueError(f'the closing bracket of "{rest}" is missing')
        parts.append(rest[: end + 1])
        rest = rest[end + 1 :].strip()
        if rest:
            if not rest.startswith(","):
                raise InvalidValueError(f'a comma is missing before "{rest}"')
            rest = rest[1:].strip()
            if not rest:
                raise InvalidValueError(f'"{text}" ends in a comma')
    return parts


def _tuple_of(part: str) -> tuple[str, str]:
    identifier, equal, value = part[1:-1].partition("=")
    identifier = identifier.strip()
    if not equal or not identifier:
        raise InvalidValueError(f'"{part}" is not of the form [host_identifier=value]')
    if not value.strip():
        raise InvalidValueError(f'"{part}" has no value')
    return check_host_identifier(identifier), value.strip()
