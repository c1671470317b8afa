"""Rules of host groups: membership by properties of a host, not by its name.

Owns the grammar and its meaning over the values of one host. Called by the model of host groups and by the qmaster, which
keeps the members up to date. Readers raise InvalidValueError. Source: HG-12; docs/adr/0005-rules-of-host-groups.md.

Grammar:
    rule       = conjunct {"|" conjunct}            conjunct = factor {"&" factor}
    factor     = "!" factor | "(" rule ")" | test   test = name relop value
    relop      = "=" | "==" | "!=" | "<" | "<=" | ">" | ">="
    value      = characters without blanks and & | ! ( ), or a text in double quotes
A value of a text attribute is a pattern of sge_types(5); numbers have the syntax of their complex. A test on an attribute that
a host does not have fails.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from gridengine.errors import InvalidValueError
from gridengine.syntax.lists import check_object_name
from gridengine.syntax.wildcard import compile_expression, matches

if TYPE_CHECKING:
    from lark import Lark, Token, Tree

_GRAMMAR = r"""
?rule: conjunct ("|" conjunct)* -> any
?conjunct: factor ("&" factor)* -> all
?factor: "!" factor -> negated | "(" rule ")" | test
test: NAME RELOP VALUE
NAME: /[A-Za-z_][A-Za-z0-9_.-]*/
RELOP: "==" | "=" | "!=" | "<=" | ">=" | "<" | ">"
VALUE: /"[^"]+"|[^\s&|!()<>="]+/
%ignore /[ \t]+/
"""
_ORDERS: dict[str, Callable[[float, float], bool]] = {
    "=": lambda actual, expected: actual == expected,
    "!=": lambda actual, expected: actual != expected,
    "<": lambda actual, expected: actual < expected,
    "<=": lambda actual, expected: actual <= expected,
    ">": lambda actual, expected: actual > expected,
    ">=": lambda actual, expected: actual >= expected,
}

_MAX_DEPTH = 100

Value = float | str
ValueOf = Callable[[str, str], Value]
"""(name of a complex, text) -> number for numeric types, else the text. Raises InvalidValueError."""


class Comparison(NamedTuple):
    """One comparison of the load value `name` with `value`. `relop`: =, !=, <, <=, > or >=."""

    name: str
    relop: str
    value: str

    def holds(self, values: Mapping[str, str], value_of: ValueOf) -> bool:
        """Whether a host with these values passes."""
        text = values.get(self.name)
        if text is None:
            return False
        try:
            actual, expected = value_of(self.name, text), value_of(self.name, self.value)
        except InvalidValueError:
            return False
        if isinstance(actual, str) or isinstance(expected, str):
            return matches(self.value, text) == (self.relop == "=")
        return _ORDERS[self.relop](actual, expected)

    def __str__(self) -> str:
        bare = not set(self.value) & set(' \t&|!()<>=')
        return f"{self.name}{self.relop}{self.value if bare else chr(34) + self.value + chr(34)}"


class HostRule:
    """A parsed rule."""

    __slots__ = ("_tree", "tests")

    def __init__(self, text: str) -> None:
        from lark import UnexpectedInput

        if text.count("(") + text.count("!") > _MAX_DEPTH:
            raise InvalidValueError(f"the rule has more than {_MAX_DEPTH} brackets and negations")
        try:
            self._tree = _grammar().parse(text)
        except UnexpectedInput as error:
            position = error.pos_in_stream
            where = f"at position {position + 1}" if position is not None and 0 <= position < len(text) else "at its end"
            raise InvalidValueError(f'the rule "{text}" is wrong {where}: NAME=VALUE with & | ! ( ) is expected') from None
        #: all comparisons, in the order of the text
        self.tests = tuple(_tests(self._tree))
        for test in self.tests:
            check_object_name(test.name)
            _check_pattern(text, test.value)

    def __str__(self) -> str:
        return _format(self._tree, outermost=True)

    def names(self) -> list[str]:
        """The complexes that are tested, each once."""
        return list(dict.fromkeys(test.name for test in self.tests))

    def holds(self, values: Mapping[str, str], value_of: ValueOf) -> bool:
        """Whether a host with these values (text by name of complex) is a member."""
        return _holds(self._tree, values, value_of)


def _check_pattern(text: str, value: str) -> None:
    """Refuse a value that is no valid pattern, so that no host can make a rule fail later."""
    try:
        compile_expression(value)
    except InvalidValueError as fault:
        raise InvalidValueError(f'the rule "{text}" is wrong: {fault}') from None


@cache
def _grammar() -> Lark:
    from lark import Lark  # late: most daemons never read one

    return Lark(_GRAMMAR, parser="lalr", start="rule")


def _test(tree: Tree[Token]) -> Comparison:
    name, relop, value = (str(child) for child in tree.children)
    return Comparison(name, "=" if relop == "==" else relop, value.strip('"'))


def _parts(tree: Tree[Token]) -> list[Tree[Token]]:
    from lark import Tree

    return [child for child in tree.children if isinstance(child, Tree)]


def _tests(tree: Tree[Token]) -> Iterator[Comparison]:
    if tree.data == "test":
        yield _test(tree)
        return
    for part in _parts(tree):
        yield from _tests(part)


def _holds(tree: Tree[Token], values: Mapping[str, str], value_of: ValueOf) -> bool:
    if tree.data == "test":
        return _test(tree).holds(values, value_of)
    if tree.data == "negated":
        return not _holds(_parts(tree)[0], values, value_of)
    combine = any if tree.data == "any" else all
    return combine(_holds(part, values, value_of) for part in _parts(tree))


def _format(tree: Tree[Token], outermost: bool = False) -> str:
    if tree.data == "test":
        return str(_test(tree))
    parts = [_format(part) for part in _parts(tree)]
    if tree.data == "negated":
        return f"!{parts[0]}"
    if len(parts) == 1:
        return parts[0] if not outermost else _format(_parts(tree)[0], True)
    text = (" | " if tree.data == "any" else " & ").join(parts)
    return text if outermost else f"({text})"
