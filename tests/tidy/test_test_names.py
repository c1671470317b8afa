"""Names of tests say subject, condition and outcome: no pronoun stands in them for a noun."""

from __future__ import annotations

import ast
import re

import pytest

from tests.tidy.sources import Source

_AT_THE_HEAD = "what who whose whom it nobody somebody everybody which one those that others"
_ANYWHERE = "nobody somebody everybody anybody whoever whomever whatever nobodys somebodys everybodys"
_LEANING = re.compile(rf"test_({_AT_THE_HEAD.replace(' ', '|')})(_|$)|test_(.*_)?({_ANYWHERE.replace(' ', '|')})(_|$)")


def leaning_names(source: Source) -> list[str]:
    """Names of tests in a file that have a pronoun in place of a noun."""
    functions = (node for node in source.statements() if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    return [function.name for function in functions if _LEANING.match(function.name)]


def repeated_names(source: Source) -> list[str]:
    """Names that two tests of a file share: the second test replaces the first, which then never runs."""
    names = [node.name for node in source.tree.body if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")]
    return sorted({name for name in names if names.count(name) > 1})


def test_names_of_tests_have_nouns_instead_of_pronouns() -> None:
    assert [f"{source.path}: {name}" for source in Source.of("tests") for name in leaning_names(source)] == []


def test_no_two_tests_of_a_file_share_a_name() -> None:
    assert [f"{source.path}: {name}" for source in Source.of("tests") for name in repeated_names(source)] == []


@pytest.mark.parametrize(
    ("name", "leans"),
    [
        ("test_what_is_shown", True),
        ("test_one", True),
        ("test_a_door_shuts_nobody_out", True),
        ("test_jobs_of_everybody", True),
        ("test_ones_and_zeros", False),
        ("test_a_door_that_is_shut", False),
        ("what_is_shown", False),
    ],
)
def test_a_pronoun_in_place_of_a_noun_is_found(name: str, leans: bool) -> None:
    assert bool(leaning_names(Source("tests/test_x.py", f"def {name}(): ..."))) == leans


def test_a_repeated_name_is_found() -> None:
    assert repeated_names(Source("tests/test_x.py", "def test_x(): ...\ndef test_y(): ...\ndef test_x(): ...")) == ["test_x"]
