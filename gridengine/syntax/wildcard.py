"""Wildcard expressions: patterns joined by boolean operators, in -l requests, names of queues, hosts, PEs, jobs.

Owns the pattern language. Must not import anything slow: clients load it. Called by queue expressions, placement,
`qconf -sobjl`, job and reservation selection. Compile once, match often.

Grammar (sge_types(5) expression, pattern; QN-4, QN-5, CX-53..58):
    expression = term {"|" term}        term = factor {"&" factor}
    factor     = "!" factor | "(" expression ")" | pattern
    pattern    = {"*" | "?" | "[" set "]" | "\\\\" any | any other character}
The operators `& | ! ( )` always divide, also inside brackets and behind a backslash (X-6: `[a|b]` is `[a` or `b]`).
In a set `^` is an ordinary member; a `[` without its `]` is itself; `.` is itself.
"""

import re
from collections.abc import Callable
from functools import lru_cache

from gridengine.errors import SyntaxFault

Matcher = Callable[[str], bool]

_OPERATORS = frozenset("&|!()")
_PATTERN_CHARACTERS = frozenset("*?[\\")
_DEEPEST = 100


def is_pattern(text: str) -> bool:
    """Whether the text is more than a plain name: an operator, `*`, `?`, `[` or a backslash is in it."""
    return not (_OPERATORS | _PATTERN_CHARACTERS).isdisjoint(text)


@lru_cache(maxsize=4096)
def compile_expression(text: str, ignore_case: bool = False) -> Matcher:
    """A function that tells whether a string matches the whole expression.

    ignore_case: for CSTRING and HOST (CX-55). Raises SyntaxFault with the position of the fault, counted from 1.
    """
    if _OPERATORS.isdisjoint(text):
        return _compile_pattern(text, ignore_case)
    parser = _Parser(text, ignore_case)
    matcher = parser.expression(0)
    if parser.position < len(text):
        parser.fail()
    return matcher


def matches(text: str, value: str, ignore_case: bool = False) -> bool:
    """Whether the value matches the expression. Raises SyntaxFault as `compile_expression` does."""
    return compile_expression(text, ignore_case)(value)


class _Parser:
    """Recursive descent over one expression; `position` is the index of the next character."""

    def __init__(self, text: str, ignore_case: bool) -> None:
        self.text = text
        self.ignore_case = ignore_case
        self.position = 0

    def fail(self) -> None:
        raise SyntaxFault(f'the expression "{self.text}" is wrong at position {self.position + 1}')

    def next(self) -> str:
        return self.text[self.position : self.position + 1]

    def expression(self, depth: int) -> Matcher:
        alternatives = [self.term(depth)]
        while self.next() == "|":
            self.position += 1
            alternatives.append(self.term(depth))
        if len(alternatives) == 1:
            return alternatives[0]
        return lambda value: any(matcher(value) for matcher in alternatives)

    def term(self, depth: int) -> Matcher:
        factors = [self.factor(depth)]
        while self.next() == "&":
            self.position += 1
            factors.append(self.factor(depth))
        if len(factors) == 1:
            return factors[0]
        return lambda value: all(matcher(value) for matcher in factors)

    def factor(self, depth: int) -> Matcher:
        if depth > _DEEPEST:
            raise SyntaxFault(f'the expression "{self.text[:40]}..." is nested too deeply')
        if self.next() == "!":
            self.position += 1
            inner = self.factor(depth + 1)
            return lambda value: not inner(value)
        if self.next() == "(":
            self.position += 1
            inner = self.expression(depth + 1)
            if self.next() != ")":
                self.fail()
            self.position += 1
            return inner
        start = self.position
        while self.position < len(self.text) and self.text[self.position] not in _OPERATORS:
            self.position += 1
        if start == self.position:
            self.fail()
        return _compile_pattern(self.text[start : self.position], self.ignore_case)


def _compile_pattern(pattern: str, ignore_case: bool) -> Matcher:
    if _PATTERN_CHARACTERS.isdisjoint(pattern):
        if ignore_case:
            folded = pattern.lower()
            return lambda value: value.lower() == folded
        return pattern.__eq__
    if pattern.strip("*") == "":
        return lambda value: True
    matcher = re.compile(_to_regular_expression(pattern), re.DOTALL | (re.IGNORECASE if ignore_case else 0)).fullmatch
    return lambda value: matcher(value) is not None


def _to_regular_expression(pattern: str) -> str:
    parts: list[str] = []
    position = 0
    while position < len(pattern):
        character = pattern[position]
        position += 1
        if character == "*":
            if parts[-1:] != [".*"]:
                parts.append(".*")
        elif character == "?":
            parts.append(".")
        elif character == "\\" and position < len(pattern):
            parts.append(re.escape(pattern[position]))
            position += 1
        elif character == "[" and (end := _end_of_set(pattern, position)) > 0:
            parts.append(_set_to_regular_expression(pattern[position:end]))
            position = end + 1
        else:
            parts.append(re.escape(character))
    return "".join(parts)


def _end_of_set(pattern: str, start: int) -> int:
    """Index of the `]` that ends the set which begins at start (one right at the start is a member), or -1."""
    position = start + 1 if pattern[start : start + 1] == "]" else start
    while position < len(pattern):
        if pattern[position] == "]":
            return position
        position += 2 if pattern[position] == "\\" else 1
    return -1


def _set_to_regular_expression(members: str) -> str:
    """A character class; a range whose end is below its start has no member."""
    characters = re.findall(r"\\.|.", members, re.DOTALL)
    plain = [character[-1] for character in characters]
    parts: list[str] = []
    position = 0
    while position < len(plain):
        low = plain[position]
        if position + 2 < len(plain) and characters[position + 1] == "-":
            if low <= plain[position + 2]:
                parts.append(f"{re.escape(low)}-{re.escape(plain[position + 2])}")
            position += 3
        else:
            parts.append(re.escape(low))
            position += 1
    return f"[{''.join(parts)}]" if parts else "(?!)"
