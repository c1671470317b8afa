"""Wildcard expressions: patterns joined by boolean operators, in -l requests, names of queues, hosts, PEs, jobs.

Owns the pattern language. Must not import anything slow: clients load it. Called by queue expressions, placement,
`qconf -sobjl`, job and reservation selection. Compile once, match often.

Grammar (sge_types(5) expression, pattern; QN-4, QN-5, CX-53..58):
    expression = term {"|" term}        term = factor {"&" factor}
    factor     = "!" factor | "(" expression ")" | pattern
    pattern    = {"*" | "?" | "[" set "]" | "\\\\" any | any other character}
The operators `& | ! ( )` always divide, also inside brackets and behind a backslash (X-6: `[a|b]` is `[a` or `b]`).
In a set `^` is an ordinary member; a `[` without its `]` is itself; `.` is itself.

A match takes time in proportion to the length of the string, for any pattern: other requests wait during a match.
"""

import sys
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from functools import lru_cache
from itertools import accumulate
from types import MethodWrapperType

from gridengine.errors import InvalidValueError

Matcher = Callable[[str], bool]

_OPERATORS = frozenset("&|!()")
_PATTERN_CHARACTERS = frozenset("*?[\\")
_BEYOND_STARS = frozenset("?[\\")
_MAX_DEPTH = 100
#: maximum length of an expression: its compiled form takes a hundred times as much memory, and some hundred are kept;
#: an expression of plain names, such as a list of hosts, takes less
_MAX_LENGTH, _MAX_PLAIN_LENGTH = 1024, 4096
#: maximum number of patterns in an expression: each is matched against every name; all plain alternatives count as one
_MAX_PATTERNS = 64


def is_pattern(text: str) -> bool:
    """Whether the text is more than a plain name: it contains an operator, `*`, `?`, `[` or a backslash."""
    return not (_OPERATORS | _PATTERN_CHARACTERS).isdisjoint(text)


def compile_expression(text: str, ignore_case: bool = False) -> Matcher:
    """A function that returns whether a string matches the whole expression.

    ignore_case: for CSTRING and HOST (CX-55). Raises InvalidValueError with the position of the fault, counted from 1.
    """
    max_length = _MAX_PLAIN_LENGTH if _PATTERN_CHARACTERS.isdisjoint(text) else _MAX_LENGTH
    if len(text) > max_length:
        raise InvalidValueError(f'the expression "{text[:40]}..." is longer than {max_length} characters')
    return _compiled(text, ignore_case)


@lru_cache(maxsize=256)
def _compiled(text: str, ignore_case: bool) -> Matcher:
    if ignore_case:
        exact = _compiled(text.lower(), False)
        return lambda value: exact(value.lower())
    if _OPERATORS.isdisjoint(text):
        return _compile_pattern(text)
    parser = _Parser(text)
    matcher = parser.expression(0)
    if parser.position < len(text):
        parser.fail()
    if parser.patterns > _MAX_PATTERNS:
        raise InvalidValueError(f'the expression "{text[:40]}..." has more than {_MAX_PATTERNS} patterns')
    return matcher


def matches(text: str, value: str, ignore_case: bool = False) -> bool:
    """Whether the value matches the expression. Raises InvalidValueError as `compile_expression` does."""
    return compile_expression(text, ignore_case)(value)


class _Parser:
    """Recursive descent over one expression; `position` is the index of the next character."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0
        self.patterns = 0

    def fail(self) -> None:
        raise InvalidValueError(f'the expression "{self.text}" is wrong at position {self.position + 1}')

    def next(self) -> str:
        return self.text[self.position : self.position + 1]

    def expression(self, depth: int) -> Matcher:
        alternatives = [self.term(depth)]
        while self.next() == "|":
            self.position += 1
            alternatives.append(self.term(depth))
        names = [each.__self__ for each in alternatives if isinstance(each, MethodWrapperType)]
        if len(names) > 1:
            others = (each for each in alternatives if not isinstance(each, MethodWrapperType))
            alternatives = [frozenset(names).__contains__, *others]
            self.patterns -= len(names) - 1
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
        if depth > _MAX_DEPTH:
            raise InvalidValueError(f'the expression "{self.text[:40]}..." is nested too deeply')
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
        self.patterns += 1
        return _compile_pattern(self.text[start : self.position])


def _compile_pattern(pattern: str) -> Matcher:
    if _PATTERN_CHARACTERS.isdisjoint(pattern):
        return pattern.__eq__
    if _BEYOND_STARS.isdisjoint(pattern):
        return _Pieces(pattern)
    return _Elements(pattern)


class _Pieces:
    """A pattern of plain text and `*` only: its pieces are searched in sequence, each as early as possible."""

    __slots__ = ("head", "middle", "tail", "shortest")

    def __init__(self, pattern: str) -> None:
        self.head, *middle, self.tail = pattern.split("*")
        self.middle = [piece for piece in middle if piece]
        self.shortest = len(pattern) - pattern.count("*")

    def __call__(self, value: str) -> bool:
        if len(value) < self.shortest or not (value.startswith(self.head) and value.endswith(self.tail)):
            return False
        position, end = len(self.head), len(value) - len(self.tail)
        for piece in self.middle:
            position = value.find(piece, position, end) + len(piece)
            if position < len(piece):
                return False
        return True


class _Elements:
    """Any pattern. A number has a bit for each position between characters of a string that the elements so far can reach, so
    that a step of a few operations takes all positions across the next element.
    """

    __slots__ = ("_steps", "_shortest")

    def __init__(self, pattern: str) -> None:
        self._steps = _steps(pattern)
        self._shortest = sum(step is not None for step in self._steps)

    def __call__(self, value: str) -> bool:
        if len(value) < self._shortest:
            return False
        everywhere = (2 << len(value)) - 1
        positions = _positions(value)
        reached = 1
        for spans in self._steps:
            if spans is None:
                reached = everywhere & -(reached & -reached)
            elif spans is _ANY:
                reached = reached << 1 & everywhere
            else:
                reached = (reached & positions.within(spans)) << 1
            if not reached:
                return False
        return reached >> len(value) == 1


Spans = list[tuple[int, int]]
"""First and last code points, disjoint and in ascending order."""
_ANY: Spans = [(0, sys.maxunicode)]


class _Positions:
    """Positions of a string's characters: bit i of a number stands for the character at i."""

    __slots__ = ("_of_code", "_codes", "_below")

    def __init__(self, value: str) -> None:
        self._of_code: dict[int, int] = {}
        bit = 1
        for code in map(ord, value):
            self._of_code[code] = self._of_code.get(code, 0) | bit
            bit <<= 1
        self._codes = sorted(self._of_code)
        self._below = list(accumulate((self._of_code[code] for code in self._codes), initial=0))

    def within(self, spans: Spans) -> int:
        """The positions of all characters of these code points."""
        found = 0
        for first, last in spans:
            if first == last:
                found |= self._of_code.get(first, 0)
            else:
                found |= self._below[bisect_right(self._codes, last)] - self._below[bisect_left(self._codes, first)]
        return found


#: a cache of one: the patterns of an expression are matched against the same string in sequence
_positions = lru_cache(maxsize=1)(_Positions)


def _steps(pattern: str) -> list[Spans | None]:
    """The code points that each element matches; None for `*`."""
    steps: list[Spans | None] = []
    position = 0
    while position < len(pattern):
        character = pattern[position]
        position += 1
        if character == "*":
            if steps[-1:] != [None]:
                steps.append(None)
        elif character == "?":
            steps.append(_ANY)
        elif character == "[" and (end := _end_of_set(pattern, position)) > 0:
            steps.append(_spans_of_set(pattern[position:end]))
            position = end + 1
        else:
            if character == "\\" and position < len(pattern):
                character = pattern[position]
                position += 1
            steps.append([(ord(character), ord(character))])
    return steps


def _end_of_set(pattern: str, start: int) -> int:
    """Index of the `]` that ends the set which begins at start (a `]` right at the start is a member), or -1."""
    position = start + 1 if pattern[start : start + 1] == "]" else start
    while position < len(pattern):
        if pattern[position] == "]":
            return position
        position += 2 if pattern[position] == "\\" else 1
    return -1


def _spans_of_set(members: str) -> Spans:
    """The members of a set; a range whose end is below its start has none."""
    plain: list[tuple[str, bool]] = []
    characters = iter(members)
    for character in characters:
        escaped = character == "\\"
        plain.append((next(characters, character) if escaped else character, escaped))
    spans: Spans = []
    position = 0
    while position < len(plain):
        low = high = ord(plain[position][0])
        if position + 2 < len(plain) and plain[position + 1] == ("-", False):
            high = ord(plain[position + 2][0])
            position += 2
        position += 1
        if low <= high:
            spans.append((low, high))
    return _disjoint(spans)


def _disjoint(spans: Spans) -> Spans:
    found: Spans = []
    for low, high in sorted(spans):
        if found and low <= found[-1][1]:
            found[-1] = (found[-1][0], max(high, found[-1][1]))
        else:
            found.append((low, high))
    return found
