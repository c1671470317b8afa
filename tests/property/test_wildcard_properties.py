"""Patterns have the meaning of fnmatch, and the cost of a match is bounded by the lengths of its string and its pattern."""

from __future__ import annotations

import fnmatch
import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gridengine.syntax.wildcard import compile_expression, matches

PATTERNS = st.text("ab*?[]-^.é", max_size=14)
NAMES = st.text("aAbBcé.-]^", max_size=14)
LITERALS = st.text("ab*?[]\\-", max_size=10)


@pytest.mark.statement("QN-5", "CX-57")
@given(pattern=PATTERNS, name=NAMES)
@example(pattern="*ab*ab", name="abab")
@example(pattern="a*a", name="a")
@example(pattern="[a-c-e]?*", name="-b")
@example(pattern="[]-a]", name="]")
def test_patterns_are_those_of_fnmatch(pattern: str, name: str) -> None:
    assert matches(pattern, name) == fnmatch.fnmatchcase(name, pattern)


@pytest.mark.statement("CX-55")
@given(pattern=PATTERNS, name=NAMES)
def test_without_case_a_pattern_means_its_characters_in_both(pattern: str, name: str) -> None:
    if "[" not in pattern:
        assert matches(pattern, name, True) == fnmatch.fnmatchcase(name.lower(), pattern.lower())
    elif matches(pattern, name):
        assert matches(pattern, name, True)


@given(text=LITERALS)
def test_a_backslash_takes_its_meaning_from_any_character(text: str) -> None:
    escaped = "".join(f"\\{character}" for character in text)
    if text:
        assert matches(escaped, text)
        assert matches(f"?{escaped}*", f"x{text}y")


def _cost_s(pattern: str, name: str) -> float:
    """Processor time of one match, the least of several tries."""
    matcher = compile_expression(pattern)
    costs = []
    for _ in range(5):
        begun = time.thread_time()
        matcher(name)
        costs.append(time.thread_time() - begun)
    return max(min(costs), 1e-6)


@pytest.mark.parametrize("element", ["a", "?", "[ab]"], ids=["plain", "any", "set"])
def test_a_match_does_not_cost_more_the_more_ways_there_are(element: str) -> None:
    """Each further `*` made it forty times as much when all ways were tried."""
    few, many = ("*".join(["", *[element] * stars, "b"]) for stars in (2, 4))
    name = "a" * 80
    assert _cost_s(many, name) < 40 * _cost_s(few, name)
    # the longest that can be asked: a pattern of 1 KB, a name of 512 bytes
    matches(f"*{element}" * (1000 // (len(element) + 1)) + "b", "a" * 512)
