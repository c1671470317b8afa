"""Unit tests use public names: the number of places where they touch a private name of another module only falls."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator

from tests.tidy.sources import Source

#: the number of today; lower it when it has fallen
LIMIT = 101
#: methods of each named tuple
NAMED_TUPLE = {"_replace", "_asdict", "_fields", "_make"}
_PRIVATE = re.compile(r"(?:[\w.]+\.)?(_[A-Za-z]\w*)")
_MAY_TOUCH = re.compile(r"\b_[A-Za-z]")  # most files do not, and need no walk


def _is_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id in ("self", "cls")


def _is_read(node: ast.Name | ast.Attribute) -> bool:
    return isinstance(node.ctx, ast.Load)


def own_names(nodes: list[ast.AST]) -> set[str]:
    """Names that a file defines: functions, classes, variables, and attributes that its classes assign to themselves."""
    definitions = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    return {
        *(node.name for node in nodes if isinstance(node, definitions)),
        *(node.id for node in nodes if isinstance(node, ast.Name) and not _is_read(node)),
        *(node.attr for node in nodes if isinstance(node, ast.Attribute) and _is_self(node.value) and not _is_read(node)),
    }


def standard_modules(nodes: list[ast.AST]) -> set[str]:
    """Names by which a file imports modules of the standard library, whose private names do not count."""
    imports = [alias for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    return {each.asname or each.name for each in imports if each.name.partition(".")[0] in sys.stdlib_module_names}


def _names_in(node: ast.AST, own: set[str], standard: set[str]) -> list[str]:
    """The names of other modules at a node: an attribute, an import, or strings that name attributes."""
    match node:
        case ast.Attribute(value=value, attr=name) if not (_is_self(value) and name in own):
            return [] if isinstance(value, ast.Name) and value.id in standard else [name]
        case ast.ImportFrom(module=str(module)) if module.partition(".")[0] not in sys.stdlib_module_names:
            return [alias.name for alias in node.names]
        case ast.Call(func=ast.Name(id="setattr" | "getattr") | ast.Attribute(attr="setattr" | "delattr"), args=[on, *more]):
            return [] if isinstance(on, ast.Name) and on.id in standard else _texts([on, *more[:1]])
        case ast.For(iter=ast.Tuple(elts=values)):
            return _texts(values)
    return []


def _texts(nodes: list[ast.expr]) -> list[str]:
    return [node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]


def accessed(source: Source) -> Iterator[str]:
    """The places where a file touches a private name that is not its own."""
    nodes = source.nodes if _MAY_TOUCH.search(source.text) else []
    own, standard = own_names(nodes), standard_modules(nodes)
    for node in nodes:
        for private in filter(None, map(_PRIVATE.fullmatch, _names_in(node, own, standard))):
            if private[1] not in NAMED_TUPLE:
                yield f"{source.path}:{getattr(node, 'lineno', 0)} {private[1]}"


def test_unit_tests_touch_ever_fewer_private_names() -> None:
    found = [each for source in Source.of("tests/unit") for each in accessed(source)]
    assert len(found) <= LIMIT, "\n".join(found)


def test_a_private_name_is_seen_and_an_own_one_is_not() -> None:
    text = """
import os
from clients import a
from clients.b import _c
class D:
    def _f(self): self._f(), self._g, self._h()._f
os._exit(a._j)
monkeypatch.setattr(os, "_exit", a)
monkeypatch.setattr(a, "_k", 1)
monkeypatch.setattr("clients.b._l", 1)
for name in ("_m", "n"): monkeypatch.setattr(a, name, 1)
a._replace(b=1)
"""
    names = [each.split()[1] for each in accessed(Source("x.py", text))]
    assert sorted(names) == ["_c", "_f", "_g", "_h", "_j", "_k", "_l", "_m"]
