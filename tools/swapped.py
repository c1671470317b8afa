"""Swapped: functions of a loaded module get the code of another version of its source, also for existing references to them.

Owns the exchange of code objects. Code that runs only while a module is loaded is not exchanged. Called by `tools/mutants.py` in
a process that ends with the mutant.
"""

from __future__ import annotations

import ast
import gc
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import CodeType, FunctionType


def runs_when_called(source: str, first: int, last: int) -> bool:
    """Whether lines of a source belong to the body of a function, so that an exchange of its code changes them."""
    functions = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    return any(node.body[0].lineno <= first and last <= (node.end_lineno or 0) for node in functions)


def swap(path: Path, source: str) -> None:
    """Let the functions of a loaded file run another version of it. Raises ValueError where the two do not fit together."""
    fresh = _by_name(_outermost(compile(source, str(path), "exec")))
    known = [each for each in gc.get_objects() if isinstance(each, FunctionType) and each.__code__.co_filename == str(path)]
    there = _by_name(each.__code__ for each in known)
    for each in known:
        name = each.__code__.co_qualname
        if name in fresh:
            position = min(there[name].index(each.__code__), len(fresh[name]) - 1)
            each.__code__ = fresh[name][position]


def _outermost(code: CodeType) -> Iterator[CodeType]:
    """The code of functions and methods, without the functions that they define when they are called."""
    for each in code.co_consts:
        if isinstance(each, CodeType):
            is_class = not each.co_flags & 0x2  # CO_NEWLOCALS: functions have it, bodies of classes do not
            yield from _outermost(each) if is_class else (each,)


def _by_name(codes: Iterable[CodeType]) -> dict[str, list[CodeType]]:
    """Code objects by name; a name with several objects, as the getter and the setter of a property, has them in text order."""
    found: dict[str, list[CodeType]] = defaultdict(list)
    for code in codes:
        if code not in found[code.co_qualname]:
            found[code.co_qualname].append(code)
    for several in found.values():
        several.sort(key=lambda code: code.co_firstlineno)
    return found
