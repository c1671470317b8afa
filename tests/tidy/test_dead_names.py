"""Code without callers is removed: every function, method and class of the programs is used by one of them.

The test counts names anywhere in the text: objects of the same name hide each other, so each finding is surely dead.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from tests.tidy.sources import Source

PROGRAMS = ("gridengine", "daemons", "shepherd", "clients", "tools", "bench")
#: names that somebody else calls, and who
KEPT = {
    "emit": "logging",
    "on_config": "mkdocs, by a file that mkdocs.yml names",
    "on_page_markdown": "mkdocs, the same",
    "pytest_configure": "pytest",
    "pytest_unconfigure": "pytest",
    "pytest_runtestloop": "pytest",
    "start_api_server": "Ray, by a module that it looks up",
    "write_portable_launchers": "setup.py",
}
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_DEFINITION = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def _used(source: Source) -> Iterator[str]:
    for node in source.nodes:
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.alias):
            yield node.name.rpartition(".")[2]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and "\n" not in node.value:
            yield from _NAME.findall(node.value)  # looked up by name: methods of actors, verbs


def dead_names(sources: list[Source]) -> list[str]:
    """Definitions whose name stands nowhere else. Functions that a decorator registers, and functions that Python calls itself,
    are in use."""
    used = {name for source in sources for name in _used(source)}
    return [
        f"{source.path} {node.name}"
        for source in sources
        for node in source.statements()
        if isinstance(node, _DEFINITION) and not node.decorator_list
        if node.name not in used and not node.name.startswith("__")
    ]


def test_every_name_is_used() -> None:
    found = dead_names(Source.of(*PROGRAMS))
    assert [name for name in found if name.rpartition(" ")[2] not in KEPT] == []
    assert KEPT.keys() - {name.rpartition(" ")[2] for name in found} == set()  # what is kept is still unused


def test_a_dead_name_is_seen() -> None:
    source = Source("clients/x.py", "def used(): ...\n\nclass Alive:\n    def unused(self): used()\n\nAlive()\n")
    assert dead_names([source]) == ["clients/x.py unused"]
