"""Mutations: the possible small wrong changes of a source, one at a time.

Owns the kinds of changes. A change replaces one piece of the text: a comparison gets the wrong boundary, a condition loses
a part, a number is off by one, a statement is gone. Code without effect on decisions at run time is left alone:
annotations, decorators, assertions, raised and logged texts, strings. Called by `tools/mutants.py`.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from typing import NamedTuple


class Mutation(NamedTuple):
    """Characters `start` to `end` of a source become `text`; `line` is where they begin."""

    line: int
    start: int
    end: int
    text: str

    def applied(self, source: str) -> str:
        """The changed source."""
        return source[: self.start] + self.text + source[self.end :]

    def described(self, source: str) -> str:
        """`before  ->  after` in one line."""
        before, after = (" ".join(text.split()) for text in (source[self.start : self.end], self.text))
        return f"{before}  ->  {after}"


def mutations(source: str) -> list[Mutation]:
    """All mutations of a Python source, in the order of the text. Raises SyntaxError."""
    begins = [0]
    for line in source.splitlines(keepends=True):
        begins.append(begins[-1] + len(line))
    lines = source.splitlines()

    def offset(line: int, column: int) -> int:
        return begins[line - 1] + len(lines[line - 1].encode()[:column].decode())

    found = []
    for node, text in _changes(ast.parse(source)):
        assert node.end_lineno is not None and node.end_col_offset is not None
        start, end = offset(node.lineno, node.col_offset), offset(node.end_lineno, node.end_col_offset)
        found.append(Mutation(node.lineno, start, end, text))
    return sorted(set(found))


_Node = ast.expr | ast.stmt

_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}
_OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult,
    ast.BitOr: ast.BitAnd, ast.BitAnd: ast.BitOr,
}
_CALLS = {"min": "max", "max": "min", "any": "all", "all": "any", "sorted": "list"}
_TEXTS = (ast.JoinedStr, ast.Assert, ast.Raise, ast.Import, ast.ImportFrom)


def _changes(node: ast.AST) -> Iterator[tuple[_Node, str]]:
    """Each node that may be replaced, with the text instead, below a node."""
    if isinstance(node, _TEXTS) or _is_log(node):
        return
    if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
        return
    if isinstance(node, ast.expr):
        yield from ((node, f"({ast.unparse(other)})") for other in _other_expressions(node))
    elif isinstance(node, ast.stmt):
        yield from ((node, text) for text in _other_statements(node))
        yield from _conditions(node)
    if isinstance(node, ast.comprehension):
        yield from ((test, "True") for test in node.ifs)
    for child in _below(node):
        yield from _changes(child)


def _below(node: ast.AST) -> Iterator[ast.AST]:
    """The parts of a node that decide something."""
    skipped = {"annotation", "returns", "decorator_list", "bases", "keywords"} if not isinstance(node, ast.Call) else set()
    for name, value in ast.iter_fields(node):
        if name not in skipped:
            yield from (each for each in (value if isinstance(value, list) else [value]) if isinstance(each, ast.AST))


def _is_log(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and ast.unparse(node.value.func).startswith("_log.")


def _other_expressions(node: ast.expr) -> Iterator[ast.expr]:
    if isinstance(node, ast.Compare):
        for index, operator in enumerate(node.ops):
            other = copy.deepcopy(node)
            other.ops[index] = _COMPARISONS[type(operator)]()
            yield other
    elif isinstance(node, ast.BoolOp):
        yield ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
        for index in range(len(node.values)):
            rest = node.values[:index] + node.values[index + 1 :]
            yield ast.BoolOp(node.op, rest) if len(rest) > 1 else rest[0]
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield node.operand
    elif isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS and not _is_text(node):
        yield ast.BinOp(node.left, _OPERATORS[type(node.op)](), node.right)
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield ast.Constant(not node.value)
    elif isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        yield ast.Constant(node.value + 1)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _CALLS:
        keywords = [] if node.func.id == "sorted" else node.keywords
        yield ast.Call(ast.Name(_CALLS[node.func.id]), node.args, keywords)


def _is_text(node: ast.BinOp) -> bool:
    """Whether it puts strings together, or lists: the wrong operator would be no operator at all."""
    return any(
        isinstance(side, ast.JoinedStr | ast.List | ast.Tuple) or (isinstance(side, ast.Constant) and isinstance(side.value, str))
        for side in (node.left, node.right)
    )


def _other_statements(node: ast.stmt) -> Iterator[str]:
    if isinstance(node, ast.Continue | ast.Break):
        yield "break" if isinstance(node, ast.Continue) else "continue"
    elif isinstance(node, ast.Delete) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)):
        yield "pass"
    elif isinstance(node, ast.AugAssign) and type(node.op) in _OPERATORS and not isinstance(node.value, ast.JoinedStr):
        yield ast.unparse(ast.AugAssign(node.target, _OPERATORS[type(node.op)](), node.value))


def _conditions(node: ast.stmt) -> Iterator[tuple[_Node, str]]:
    """Conditions without an operator of their own, turned round."""
    if isinstance(node, ast.If | ast.While) and isinstance(node.test, ast.Name | ast.Attribute | ast.Call):
        yield node.test, f"not {ast.unparse(node.test)}"
