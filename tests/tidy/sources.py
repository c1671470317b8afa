"""The project's own text, as the tests of this directory read it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import takewhile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Source:
    """A Python file. `path`: from the project's root."""

    path: str
    text: str

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """All nodes of the tree: a walk through all files takes more than a second, and many tests look at them."""
        return list(ast.walk(self.tree))

    def statements(self) -> Iterator[ast.stmt]:
        """All statements, without the nodes within expressions: three times as fast as a walk."""
        return iter(self._statements)

    @cached_property
    def _statements(self) -> list[ast.stmt]:
        return list(self._walk())

    def _walk(self) -> Iterator[ast.stmt]:
        waiting: list[ast.AST] = [self.tree]
        while waiting:
            for child in ast.iter_child_nodes(waiting.pop()):
                if not isinstance(child, ast.expr):
                    waiting.append(child)
                if isinstance(child, ast.stmt):
                    yield child

    @staticmethod
    def of(*directories: str) -> list[Source]:
        """All Python files below directories that have a text, in order."""
        found = sorted(file for directory in directories for file in (ROOT / directory).rglob("*.py"))
        return [_read(file) for file in found if file.stat().st_size]


@cache
def _read(file: Path) -> Source:
    return Source(str(file.relative_to(ROOT)), file.read_text())


def table_of(page: str, *header: str) -> Iterator[list[str]]:
    """Rows of the table of a page that has this header: the texts of their cells."""
    lines = iter((ROOT / page).read_text().splitlines())
    for line in lines:
        if cells(line) == list(header):
            next(lines)  # the rule below it
            yield from (cells(row) for row in takewhile(lambda row: row.startswith("|"), lines))
            return
    raise AssertionError(f"{page} has no table with the columns {', '.join(header)}")


def cells(line: str) -> list[str]:
    """Texts between the bars of a table's line; a bar behind a backslash is part of a text."""
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
