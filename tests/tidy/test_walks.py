"""The walks of docs/architecture.md lead through functions that are there."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from tests.tidy.sources import ROOT, Source, table_of

PAGE = "docs/architecture.md"
WALKS = ("where a qsub goes", "where a load report goes", "where a lost host leads")
_FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)


def definitions(source: Source) -> Iterator[str]:
    """Functions and classes of a file, `Class.method` for methods."""
    for node in source.tree.body:
        if isinstance(node, ast.ClassDef):
            yield from (f"{node.name}.{inner.name}" for inner in node.body if isinstance(inner, _FUNCTION))
        if isinstance(node, (ast.ClassDef, *_FUNCTION)):
            yield node.name


def is_there(step: str) -> bool:
    """Whether a step, "`path` `name`", names a function of a file."""
    path, name = step.strip("`").split("` `")
    return (ROOT / path).is_file() and name in definitions(Source(path, (ROOT / path).read_text()))


@pytest.mark.parametrize("walk", WALKS)
def test_each_step_of_a_walk_is_a_function(walk: str) -> None:
    steps = [where for where, _ in table_of(PAGE, walk, "what happens")]
    assert steps
    assert [step for step in steps if not is_there(step)] == []


def test_a_step_that_is_not_there_is_seen() -> None:
    assert is_there("`daemons/qmaster/master.py` `Master.record`")
    assert not is_there("`daemons/qmaster/master.py` `Master.dance`")
    assert not is_there("`daemons/nobody.py` `record`")
