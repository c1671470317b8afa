"""`found` is the name of a function's growing result, and of nothing else: a value that is looked up has a noun."""

from __future__ import annotations

import ast

from tests.tidy.sources import Source

PROGRAMS = ("gridengine", "daemons", "shepherd", "clients")
_FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)


def misnamed(source: Source) -> list[str]:
    """Functions that call something `found` and do not return it."""
    if "found" not in source.text:
        return []
    functions = (node for node in source.nodes if isinstance(node, _FUNCTION))
    return [f"{source.path} {node.name}" for node in functions if _assigns(node) and not _returns(node)]


def _assigns(function: ast.AST) -> bool:
    names = (node for node in ast.walk(function) if isinstance(node, ast.Name) and node.id == "found")
    return any(isinstance(node.ctx, ast.Store) for node in names)


def _returns(function: ast.AST) -> bool:
    """Whether the function returns or yields `found`."""
    answers = [node.value for node in ast.walk(function) if isinstance(node, ast.Return | ast.Yield | ast.YieldFrom)]
    parts = (part for answer in answers if answer is not None for part in ast.walk(answer))
    return any(isinstance(part, ast.Name) and part.id == "found" for part in parts)


def test_found_names_only_the_result_of_a_function() -> None:
    assert [name for source in Source.of(*PROGRAMS) for name in misnamed(source)] == []


def test_a_misnamed_one_is_seen() -> None:
    text = "def a():\n    found = 1\n    return found + 1\ndef b():\n    found = 1\n    return 2\n"
    assert misnamed(Source("clients/a.py", text)) == ["clients/a.py b"]
