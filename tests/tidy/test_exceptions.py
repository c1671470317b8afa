"""Exceptions: one tree (gridengine/errors.py), names that end in Error, and a reason for each handler that catches all."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from tests.tidy.sources import Source

PROGRAMS = ("gridengine", "daemons", "shepherd", "clients")
#: classes that derive from Exception itself: the root of the tree; the worker of the Python interface runs with the standard
#: library alone; and a remote traceback is the cause of an exception, shown and never raised
ROOTS = {"GridEngineError", "UnsafeFileError", "TooLargeError", "RemoteTraceback"}
#: published names of the Python interface (docs/python.md), and a name that hosts of other releases receive over Ray
KEPT = set(
    "Unreachable AnswerLost RequestDenied StreamEnded NotPicklable TaskFailed LostHost ResultTooLarge OtherPython "
    "RemoteTraceback NotServing".split()
)
_BUILT_IN = re.compile(r"(?:Exception|Error)$")
_CATCHES_ALL = re.compile(r"except (?:Exception|BaseException)\b")


def exceptions_of(sources: list[Source]) -> dict[str, list[str]]:
    """Exception classes -> the names of their bases."""
    bases = {
        node.name: [base.id if isinstance(base, ast.Name) else getattr(base, "attr", "") for base in node.bases]
        for source in sources
        for node in source.statements()
        if isinstance(node, ast.ClassDef)
    }
    found: dict[str, list[str]] = {}

    def is_exception(base: str) -> bool:
        return bool(_BUILT_IN.search(base)) or base in found

    while new := {name: of for name, of in bases.items() if name not in found and any(map(is_exception, of))}:
        found |= new
    return found


def handlers_without_reason(source: Source) -> Iterator[str]:
    """Handlers of all exceptions that do not raise in the end, and have no comment at their line or its neighbours."""
    lines = source.text.splitlines()
    for node in source.nodes if _CATCHES_ALL.search(source.text) else ():
        if not isinstance(node, ast.ExceptHandler) or not _CATCHES_ALL.search(lines[node.lineno - 1]):
            continue
        if not isinstance(node.body[-1], ast.Raise) and not any("#" in each for each in lines[node.lineno - 2 : node.lineno + 1]):
            yield f"{source.path}:{node.lineno}"


def test_exceptions_have_one_tree() -> None:
    classes = exceptions_of(Source.of(*PROGRAMS))
    assert {name for name, bases in classes.items() if bases == ["Exception"]} == ROOTS
    assert len(classes) > 60


def test_names_of_exceptions_end_in_error() -> None:
    classes = exceptions_of(Source.of(*PROGRAMS))
    assert {name for name in classes if not name.endswith("Error")} - KEPT == set()


def test_a_handler_of_all_exceptions_has_a_reason() -> None:
    assert [each for source in Source.of(*PROGRAMS) for each in handlers_without_reason(source)] == []


def test_a_wrong_exception_and_handler_are_seen() -> None:
    source = Source("clients/x.py", "class Bad(Exception): ...\nclass Worse(Bad): ...\ntry:\n    f()\nexcept Exception:\n    0\n")
    assert exceptions_of([source]) == {"Bad": ["Exception"], "Worse": ["Bad"]}
    assert list(handlers_without_reason(source)) == ["clients/x.py:5"]
