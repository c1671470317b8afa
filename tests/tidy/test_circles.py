"""Modules of placement do not import each other in circles, not even for their types."""

from __future__ import annotations

import ast
from graphlib import CycleError, TopologicalSorter

import pytest

from tests.tidy.sources import Source

NAME = "gridengine.placement."


def in_order(sources: list[Source]) -> list[str]:
    """Names of modules, each behind those that it imports. Raises CycleError."""
    sorter: TopologicalSorter[str] = TopologicalSorter()
    for source in sources:
        modules = [node.module or "" for node in source.statements() if isinstance(node, ast.ImportFrom)]
        sorter.add(source.name, *(f"{each.removeprefix(NAME)}.py" for each in modules if each.startswith(NAME)))
    return list(sorter.static_order())


def test_modules_of_placement_have_an_order() -> None:
    order = in_order(Source.of("gridengine/placement"))
    assert order.index("values.py") < order.index("ledger.py") < order.index("match.py") < order.index("spread.py")


def test_a_circle_is_found_also_of_types() -> None:
    for_types = f"if TYPE_CHECKING:\n    from {NAME}b import B\n"
    with pytest.raises(CycleError):
        in_order([Source("a.py", for_types), Source("b.py", f"from {NAME}a import A\n")])
