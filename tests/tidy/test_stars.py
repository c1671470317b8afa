"""`*` and `**` unpack named values: elements of a literal stand in the place of its star."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from keyword import iskeyword

import pytest

from tests.tidy.sources import Source

CODE = ("gridengine", "daemons", "shepherd", "clients", "cluster-config", "tools", "bench", "tests")
_STAR = re.compile(r"\*[(\[{]")


def faults_of(source: Source) -> Iterator[str]:
    """Unpacked literals: `*(a, b)`, `**{"a": 1}`. A mapping whose keys are no keywords, or that others override, is a value."""
    for node in source.nodes if _STAR.search(source.text) else ():
        match node:
            case ast.Starred(value=ast.Tuple() | ast.List() | ast.Set()):
                yield f"{source.path}:{node.lineno} unpacks a sequence"
            case ast.Dict(keys=keys, values=values):
                if any(key is None and isinstance(value, ast.Dict) for key, value in zip(keys, values, strict=True)):
                    yield f"{source.path}:{node.lineno} unpacks a mapping in a mapping"
            case ast.keyword(arg=None, value=ast.Dict(keys=keys)) if all(map(_is_keyword, keys)):
                yield f"{source.path}:{node.value.lineno} unpacks keywords"


def _is_keyword(key: ast.expr | None) -> bool:
    return isinstance(key, ast.Constant) and isinstance(key.value, str) and key.value.isidentifier() and not iskeyword(key.value)


def test_no_literal_is_unpacked() -> None:
    assert [fault for source in Source.of(*CODE) for fault in faults_of(source)] == []


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        ("f(*(a, b), c=1)", 1),
        ("f(*(), c=1)", 1),
        ('f(**{"a": 1})', 1),
        ('x = {**{"a": 1}, "b": 2}', 1),
        ("x = [*[a, b], c]", 1),
        ('f(*a, **{name: 1}, **{"from": 2}, **{**usual, "a": 3})', 0),
        ("x = (*a, *(each for each in b)), {**a, **{each: 1 for each in b}}", 0),
    ],
)
def test_an_unpacked_literal_is_seen(text: str, faults: int) -> None:
    assert len(list(faults_of(Source("x.py", text)))) == faults
