"""Names of the product use the terms of the field: no name has a word that docs/glossary.md lists as not used."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest

from tests.tidy.sources import Source, table_of

NOT_USED = frozenset(word for row in table_of("docs/glossary.md", "not", "but") for word in row[0].split(", "))
#: a term of another program's or the system's own: a shell splits words, "nobody" is a user of the system
TERMS = re.compile(r"split_words|nobody", re.IGNORECASE)
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


def defined_names(source: Source) -> Iterator[str]:
    """Names that a file gives: itself, its functions, classes, arguments, variables and attributes."""
    yield source.name.removesuffix(".py")
    for node in ast.walk(source.tree):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name) | ast.arg(arg=name):
                yield name
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield name


def words_not_used(name: str) -> set[str]:
    """The words of a name that the glossary replaces."""
    return {word.lower() for word in _WORD.findall(TERMS.sub("", name))} & NOT_USED


def test_names_have_the_words_of_the_field() -> None:
    sources = Source.of("gridengine", "daemons", "shepherd", "clients")
    found = {f"{source.path}: {name}" for source in sources for name in defined_names(source) if words_not_used(name)}
    assert sorted(found) == []


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("_told", {"told"}),
        ("CellWishes", {"wishes"}),
        ("WORDS_OF_HOST", {"words"}),
        ("keyword", set()),
        ("split_words", set()),
        ("nobody_ids", set()),
        ("state_codes", set()),
    ],
)
def test_a_word_is_found_in_any_spelling_of_a_name(name: str, words: set[str]) -> None:
    assert words_not_used(name) == words
