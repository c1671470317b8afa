"""Names and pages use the terms of the field, and none of the words that docs/glossary.md lists as not used."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest

from tests.tidy.sources import ROOT, Source, table_of

NOT_USED = frozenset(token for row in table_of("docs/glossary.md", "not", "but") for token in row[0].split(", "))
#: terms of other programs, of the system and of this file: a shell splits words, "nobody" is a user of the system
TERMS = re.compile(r"split_words|test_words|nobody", re.IGNORECASE)
#: the name of a test is a sentence, where a relative pronoun follows its noun
RELATIVE = frozenset(("who", "whose"))
#: words of the glossary's table that are no ordinary English for these concepts: pages do without them, too
PRIVATE = NOT_USED & frozenset(
    "told untold wish wishes wished settled settle seat heir heirs outbid vouched stray strays mend mended "
    "complain complaint complaints distrust bury burial guardian pristine nobody somebody everybody anybody whoever".split()
)
_CODE = re.compile(r"```.*?```|`[^`]*`", re.DOTALL)
_TOKEN = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


def defined_names(source: Source) -> Iterator[str]:
    """Names that a file gives: itself, its functions, classes, arguments, variables and attributes."""
    yield source.name.removesuffix(".py")
    for node in source.nodes:
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name) | ast.arg(arg=name):
                yield name
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield name


def tokens_not_used(name: str) -> set[str]:
    """The words of a name that the glossary replaces."""
    found = {token.lower() for token in _TOKEN.findall(TERMS.sub("", name))} & NOT_USED
    return found - RELATIVE if name.startswith("test_") else found


def private_terms(page: str) -> set[str]:
    """The private words in the prose of a page, without its code."""
    return {token.lower() for token in re.findall(r"[A-Za-z]+", _CODE.sub("", page))} & PRIVATE


def test_names_have_the_terms_of_the_field() -> None:
    sources = Source.of("gridengine", "daemons", "shepherd", "clients", "tests", "tools", "bench")
    found = {f"{source.path}: {name}" for source in sources for name in defined_names(source) if tokens_not_used(name)}
    assert sorted(found) == []


@pytest.mark.parametrize(
    ("name", "tokens"),
    [
        ("_told", {"told"}),
        ("CellWishes", {"wishes"}),
        ("WORDS_OF_HOST", {"words"}),
        ("keyword", set()),
        ("split_words", set()),
        ("nobody_ids", set()),
        ("state_codes", set()),
        ("test_a_user_who_is_told", {"told"}),
    ],
)
def test_a_token_is_found_in_any_spelling_of_a_name(name: str, tokens: set[str]) -> None:
    assert tokens_not_used(name) == tokens


def test_decisions_have_the_terms_of_the_field() -> None:
    pages = sorted((ROOT / "docs" / "adr").glob("*.md"))
    assert {page.name: found for page in pages if (found := private_terms(page.read_text()))} == {}


def test_a_private_term_is_found_in_prose_but_not_in_code() -> None:
    assert private_terms("Nobody is told of `strays`.\n```\nwish\n```\n") == {"nobody", "told"}
