"""No file has more than 400 lines, no function more than 60: a longer text has two purposes."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.tidy.sources import Source

FILE, FUNCTION = 400, 60
SOURCES = Source.of("gridengine", "daemons", "shepherd", "clients", "tools", "bench", "tests")


def lengths(source: Source) -> Iterator[tuple[str, int, int]]:
    """A file and its functions: name, length in lines, and limit."""
    yield source.path, source.text.count("\n"), FILE
    for node in source.statements():
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            name = f"{source.path} {node.name}"
            yield name, (node.end_lineno or node.lineno) - node.lineno + 1, FUNCTION


def test_nothing_is_too_long() -> None:
    found = [each for source in SOURCES for each in lengths(source)]
    assert [f"{name} has {length} lines" for name, length, most in found if length > most] == []


def test_a_long_function_is_seen() -> None:
    source = Source("clients/x.py", "def f():\n" + "    pass\n" * FUNCTION)
    assert [name for name, length, most in lengths(source) if length > most] == ["clients/x.py f"]
