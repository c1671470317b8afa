"""Modules of the programs do not import each other in circles: neither for their types nor within a function."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter

import pytest

from tests.tidy.sources import Source

PROGRAMS = ("gridengine", "daemons", "shepherd", "clients", "tools", "bench")


def module_of(source: Source) -> str:
    """The dotted name of a file; a package for its `__init__.py`."""
    return source.path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _imported(source: Source) -> Iterator[str]:
    """Modules, and names that may be modules of a package or names in a module."""
    for node in source.statements():
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def in_order(sources: list[Source]) -> list[str]:
    """Names of modules, each behind all that it imports. Raises CycleError."""
    modules = {module_of(source) for source in sources}
    sorter: TopologicalSorter[str] = TopologicalSorter()
    for source in sources:
        named = (name if name in modules else name.rpartition(".")[0] for name in _imported(source))
        sorter.add(module_of(source), *(modules.intersection(named) - {module_of(source)}))
    return list(sorter.static_order())


def test_modules_have_an_order() -> None:
    order = in_order(Source.of(*PROGRAMS))
    known = [f"gridengine.placement.{name}" for name in ("values", "ledger", "match", "spread")]
    assert sorted(known, key=order.index) == known


@pytest.mark.parametrize("block", ["if TYPE_CHECKING:\n    {}", "def f():\n    {}", "try:\n    {}\nfinally:\n    pass"])
def test_a_circle_is_seen_also_within_a_block(block: str) -> None:
    with pytest.raises(CycleError):
        in_order([Source("a/b.py", block.format("from a import c")), Source("a/c.py", "import a.b\n")])


def test_a_package_is_a_module_beside_its_modules() -> None:
    sources = [Source("a/__init__.py", "from a.b import B"), Source("a/b.py", "import a.c"), Source("a/c.py", "x = 1")]
    assert in_order(sources) == ["a.c", "a.b", "a"]
