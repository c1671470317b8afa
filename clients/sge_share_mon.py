"""sge_share_mon: the current share tree, once or repeatedly.

Owns the lines. Source: sge_share_mon(1), O for the formats; statement PR-11.
"""

import sys
import time

from clients import program
from gridengine.options.share_tree import FIELDS, SHARE_TREE_OPTIONS

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, TextIO

    Row = dict[str, Any]

_TIMES = ("curr_time", "usage_time")
_TEXTS = ("node_name", "user_name", "project_name")
_NO_TREE = 2


def sge_share_mon(arguments: list[str]) -> int:
    """Print records of the nodes named, or of all; the exit status: 2 without a share tree."""
    given, nodes = program.simple_options("sge_share_mon", SHARE_TREE_OPTIONS, arguments)
    rows = _read()
    if "output" not in given:
        _print(sys.stdout, given, nodes, rows)
        return 0
    try:
        with open(given["output"], given.get("mode", "w"), encoding="utf-8") as file:
            _print(file, given, nodes, rows)
    except OSError as error:
        raise program.CommandError(f"sge_share_mon: cannot write {given['output']}: {error.strerror}", 1) from None
    return 0


def _read() -> "list[Row]":
    rows: list[Row] | None = program.read("status", {"share_tree": {}})["share_tree"]
    if rows is None:
        raise program.CommandError("No share tree", _NO_TREE)
    now = int(time.time())
    return [{"curr_time": now, **row} for row in rows]


def _print(file: "TextIO", given: "dict[str, Any]", nodes: list[str], rows: "list[Row]") -> None:
    fields, column, between = given.get("fields") or FIELDS, given.get("columns", "\t"), given.get("records", "\n")
    if given.get("header"):
        file.write("".join(name + column for name in fields) + given.get("lines", "\n") + between)
    printed, count = 1, given.get("count")
    while True:
        program.show(_record(given, fields, column, nodes, rows), file)
        file.flush()
        if printed == count:
            return
        printed += 1
        time.sleep(given.get("interval", 15))
        file.write(between)
        rows = _read()


def _record(given: "dict[str, Any]", fields: list[str], column: str, nodes: list[str], rows: "list[Row]") -> "Iterator[str]":
    """The nodes of one record, each field and each node with its delimiter behind it."""
    line, named = given.get("lines", "\n"), given.get("named")
    for row in rows:
        if (nodes and row["node_name"] not in nodes) or (given.get("leaves") and not row["leaf"]):
            continue
        values = [(f"{name}=" if named else "") + _text(given, name, row[name]) for name in fields]
        yield "".join(value + column for value in values) + line


def _text(given: "dict[str, Any]", name: str, value: "Any") -> str:
    if name in _TIMES:
        return time.ctime(value) if given.get("dates") else str(value)
    if name in _TEXTS:
        return str(given.get("format", "%s") % value)
    return f"{value:.6f}" if isinstance(value, float) else str(value)
