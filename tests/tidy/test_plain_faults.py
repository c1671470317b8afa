"""No message shows an OSError as Python writes it: `[Errno 28] No space left on device: '/x'` (gridengine.errors.plain_fault)."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.tidy.sources import Source

PROGRAMS = ("gridengine", "daemons", "shepherd", "clients")
FAULTS = {"OSError", "IOError"}


def shown_raw(tree: ast.AST) -> Iterator[int]:
    """Lines of f-strings and log calls with the exception of a handler of OSErrors itself."""
    for handler in ast.walk(tree):
        if not isinstance(handler, ast.ExceptHandler) or not handler.name or handler.type is None:
            continue
        caught = {each.id for each in ast.walk(handler.type) if isinstance(each, ast.Name)}
        if FAULTS.isdisjoint(caught):
            continue
        for node in ast.walk(handler):
            shown = [node.value] if isinstance(node, ast.FormattedValue) else []
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and ast.unparse(node.func).startswith("_log."):
                shown = list(node.args[1:])
            if any(isinstance(each, ast.Name) and each.id == handler.name for each in shown):
                yield node.lineno


def test_faults_of_the_system_are_shown_as_sentences() -> None:
    assert [f"{source.path}:{line}" for source in Source.of(*PROGRAMS) for line in shown_raw(source.tree)] == []


def test_an_oserror_shown_raw_is_found() -> None:
    text = "try:\n    pass\nexcept (OSError, ValueError) as error:\n    raise X(f'cannot: {error}')\n"
    log = "try:\n    pass\nexcept OSError as error:\n    _log.error('cannot: %s', error)\n"
    fine = "try:\n    pass\nexcept OSError as error:\n    raise X(f'cannot: {plain_fault(error)} {error.strerror}')\n"
    assert [list(shown_raw(ast.parse(each))) for each in (text, log, fine)] == [[4], [4], []]
