"""Unit tests use public names: the number of private names of other modules that they touch only falls."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator

from tests.tidy.sources import Source

#: the number of today; lower it when it has fallen
LIMIT = 467
#: methods of each named tuple
NAMED_TUPLE = {"_replace", "_asdict", "_fields", "_make"}
#: functions that take the name of an attribute as a string
_BY_NAME = {"setattr", "delattr", "getattr", "hasattr"}
_PRIVATE = re.compile(r"_[A-Za-z]\w*")
_PRIVATE_AT_THE_END = re.compile(r"(?:[\w.]+\.)?(_[A-Za-z]\w*)")


def own_names(tree: ast.Module) -> set[str]:
    """Private names that a file defines: functions, classes, variables, and attributes that its classes assign to themselves."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and _is_self(node.value):
            names.add(node.attr)
    return names


def _is_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id in ("self", "cls")


def _standard_modules(tree: ast.Module) -> set[str]:
    imports = [alias for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
    return {each.asname or each.name for each in imports if each.name.partition(".")[0] in sys.stdlib_module_names}


def touched(source: Source) -> Iterator[str]:
    """The places where a file touches a private name that is not its own: an attribute, an import, or a string that names one."""
    own, standard = own_names(source.tree), _standard_modules(source.tree)
    for node in ast.walk(source.tree):
        names: list[str] = []
        if isinstance(node, ast.Attribute) and not (_is_self(node.value) and node.attr in own):
            if not (isinstance(node.value, ast.Name) and node.value.id in standard):
                names = [node.attr]
        elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] not in sys.stdlib_module_names:
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.Call) and (getattr(node.func, "id", None) or getattr(node.func, "attr", None)) in _BY_NAME:
            if not (isinstance(node.args[0], ast.Name) and node.args[0].id in standard):
                texts = [each.value for each in node.args[:2] if isinstance(each, ast.Constant) and isinstance(each.value, str)]
                names = [match[1] for text in texts if (match := _PRIVATE_AT_THE_END.fullmatch(text))]
        elif isinstance(node, ast.For) and isinstance(node.iter, ast.Tuple):
            names = [each.value for each in node.iter.elts if isinstance(each, ast.Constant) and isinstance(each.value, str)]
        yield from (f"{source.path}:{node.lineno} {name}" for name in names if _PRIVATE.fullmatch(name) and name not in NAMED_TUPLE)


def test_unit_tests_touch_ever_fewer_private_names() -> None:
    found = [each for source in Source.of("tests/unit") for each in touched(source)]
    assert len(found) <= LIMIT, "\n".join(found)


def test_a_private_name_is_seen_and_an_own_one_is_not() -> None:
    text = (
        "import os\nfrom clients import a\nfrom clients.b import _c\nclass D:\n    def _f(self): self._f(), self._g, self._h()._f\n"
        "os._exit(a._j)\nmonkeypatch.setattr(a, '_k', 1)\nmonkeypatch.setattr('clients.b._l', 1)\nmonkeypatch.setattr(os, '_exit', a)\n"
        "a._replace(b=1)\n"
    )
    names = [each.split()[1] for each in touched(Source("x.py", text))]
    assert sorted(names) == ["_c", "_f", "_g", "_h", "_j", "_k", "_l"]
