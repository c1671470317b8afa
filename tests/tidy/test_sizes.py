"""No file has more than 400 lines, no function more than 60: what is longer wants to be two."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.tidy.sources import Source

FILE, FUNCTION = 400, 60
#: what is longer still, with its length: a figure may become smaller, and goes when it is small enough
LONGER = {
    "tests/unit/clients/test_qstat.py": 450,
    "tests/unit/placement/test_match.py": 449,
    "tests/unit/reservations/test_commands.py": 409,
}
SOURCES = Source.of("gridengine", "daemons", "shepherd", "clients", "tools", "bench", "tests")


def lengths(source: Source) -> Iterator[tuple[str, int, int]]:
    """What a file holds, how long it is, and how long it may be."""
    yield source.path, source.text.count("\n"), LONGER.get(source.path, FILE)
    for node in source.statements():
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            name = f"{source.path} {node.name}"
            yield name, (node.end_lineno or node.lineno) - node.lineno + 1, LONGER.get(name, FUNCTION)


def test_nothing_is_too_long() -> None:
    found = [each for source in SOURCES for each in lengths(source)]
    assert [f"{name} has {length} lines" for name, length, most in found if length > most] == []
    lengths_now = {name: length for name, length, _ in found if name in LONGER}
    assert lengths_now == LONGER  # who makes one shorter makes its figure smaller


def test_a_long_function_is_seen() -> None:
    source = Source("clients/x.py", "def f():\n" + "    pass\n" * FUNCTION)
    assert [name for name, length, most in lengths(source) if length > most] == ["clients/x.py f"]
