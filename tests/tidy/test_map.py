"""Each row of the map (docs/map.md) names a file that exists and a name that it defines."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.tidy.sources import ROOT, Source, table_of

ROWS = list(table_of("docs/map.md", "where is", "file", "name"))
_DEFINITION = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def defined_names(body: list[ast.stmt], prefix: str = "") -> Iterator[str]:
    """Names that a module or class defines: functions, classes and assigned names; `Class.name` for members of a class."""
    for node in body:
        if isinstance(node, _DEFINITION):
            yield prefix + node.name
        if isinstance(node, ast.ClassDef):
            yield from defined_names(node.body, f"{prefix}{node.name}.")
        elif isinstance(node, ast.Assign):
            yield from (prefix + target.id for target in node.targets if isinstance(target, ast.Name))
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield prefix + node.target.id


def is_defined(path: str, name: str) -> bool:
    """Whether a file exists and defines a name at its top level, or in a class of it."""
    return (ROOT / path).is_file() and name in defined_names(Source(path, (ROOT / path).read_text()).tree.body)


def test_each_row_leads_to_a_definition() -> None:
    assert len(ROWS) >= 40
    wrong = [(path, name) for _, path, name in ROWS if not is_defined(path.strip("`"), name.strip("`"))]
    assert wrong == []


def test_a_row_that_leads_nowhere_is_seen() -> None:
    assert is_defined("gridengine/state/state.py", "State.branch")
    assert not is_defined("gridengine/state/state.py", "State.nothing")
    assert not is_defined("gridengine/nothing.py", "State")
