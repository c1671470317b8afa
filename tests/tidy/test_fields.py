"""A public field of a struct is explained: by its own comment, or in another text of the class by its name in backticks.

A field needs none if its name is a word of the manuals, alone or with the unit `_s`, or has one meaning everywhere (`PLAIN`).
A struct is a class of msgspec or a NamedTuple, directly or by a class of the project, or a dataclass.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest

from gridengine.config.kinds import KINDS
from gridengine.config.parameters import KNOWN_PARAMETERS
from gridengine.files.bootstrap import SETTINGS
from gridengine.usage.accounting import FIELDS
from gridengine.values.field_names import FIELD_NAMES
from tests.tidy.sources import Source

PROGRAMS = ("gridengine", "daemons")
#: attributes of configuration objects, fields of accounting records and of jobs, parameters, settings of a cell
OF_MANUALS = frozenset(
    {name for model in KINDS.values() for name in model.model_fields}
    | {key.lower() for keys in KNOWN_PARAMETERS.values() for key in keys}
    | {*FIELDS, *SETTINGS, *(field.name for field in FIELD_NAMES)}
)
#: name -> its one meaning
PLAIN = {
    "host": "name of a host in its unique form",
    "hosts": "names of hosts, or hosts by name",
    "user": "login name",
    "users": "login names",
    "queue": "name of a cluster queue",
    "job_id": "number of a job",
    "task_id": "number of a task within its job, 1 for a job that is not an array",
    "ar_id": "number of an advance reservation",
    "attempt": "number of a start of a task, from 1",
    "revision": "number of a transaction",
    "uid": "user id",
    "gid": "group id",
    "time": "epoch seconds",
    "submit_time": "epoch seconds",
    "reason": "a text for people",
    "message": "a text for people",
    "title": "a text for people",
    "text": "the thing as text",
}
BASES = {"Struct", "NamedTuple"}


def is_struct(node: ast.ClassDef, structs: set[str]) -> bool:
    """`structs`: names of the classes that are structs."""
    bases = {ast.unparse(base).rpartition(".")[2] for base in node.bases}
    return bool(bases & structs) or any("dataclass" in ast.unparse(each) for each in node.decorator_list)


def struct_names(sources: list[Source]) -> set[str]:
    """Names of all structs of the project, and of the classes that make a class a struct."""
    nodes = [node for source in sources for node in source.statements() if isinstance(node, ast.ClassDef)]
    found = set(BASES)
    while more := {node.name for node in nodes if is_struct(node, found)} - found:
        found |= more
    return found


def fields(node: ast.ClassDef) -> Iterator[tuple[int, str]]:
    """Line and name of each public field."""
    for statement in node.body:
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            name = statement.target.id
            if not name.startswith("_") and "ClassVar" not in ast.unparse(statement.annotation):
                yield statement.lineno, name


def explained(source: Source, node: ast.ClassDef) -> Iterator[str]:
    """Names of the fields that have a comment of their own, and all names in backticks in the texts of the class."""
    lines = source.text.splitlines()
    comments = (line for line in lines[node.lineno : node.end_lineno] if line.lstrip().startswith("#:"))
    yield from re.findall(r"`(\w+)", "\n".join((ast.get_docstring(node) or "", *comments)))
    yield from (name for line, name in fields(node) if lines[line - 2].lstrip().startswith("#:"))
    for statement, following in zip(node.body, node.body[1:], strict=False):
        if isinstance(statement, ast.AnnAssign) and isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant):
            yield ast.unparse(statement.target)


def unexplained(sources: list[Source]) -> Iterator[str]:
    """File, class and name of each public field without an explanation."""
    structs = struct_names(sources)
    for source in sources:
        for node in source.statements():
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_") and is_struct(node, structs):
                known = OF_MANUALS | PLAIN.keys() | set(explained(source, node))
                names = (name for _, name in fields(node) if name not in known and name.removesuffix("_s") not in OF_MANUALS)
                yield from (f"{source.path}: {node.name}.{name}" for name in names)


def test_each_field_is_explained() -> None:
    assert list(unexplained(Source.of(*PROGRAMS))) == []


def test_each_plain_name_is_in_use() -> None:
    names = {
        name
        for source in Source.of(*PROGRAMS)
        for node in source.statements()
        if isinstance(node, ast.ClassDef)
        for _, name in fields(node)
    }
    assert PLAIN.keys() <= names - OF_MANUALS


@pytest.mark.parametrize(
    ("lines", "seen"),
    [
        (["class Grant(Struct):", "    places: int"], True),
        (["class Grant(NamedTuple):", '    """A grant of places."""', "    places: int"], True),
        (["@dataclass(frozen=True)", "class Grant:", "    places: int"], True),
        (["class Held(Struct): ...", "class Grant(Held, frozen=True):", "    places: int"], True),
        (["class Grant(Struct):", '    """`places`: their number."""', "    places: int"], False),
        (["class Grant(Struct):", "    #: their number", "    places: int"], False),
        (["class Grant(Struct):", "    #: their number", "    slots: int", "    places: int"], True),
        (["class Grant(Struct):", "    #: of all, as `places`", "    slots: int", "    places: int"], False),
        (["class Grant(Struct):", "    places: int", '    """Their number."""'], False),
        (["class Grant(Struct):", "    slots: int", "    h_rt_s: float", "    host: str"], False),
        (["class Grant(Struct):", "    kinds: ClassVar[int]", "    _places: int"], False),
        (["class _Grant(Struct):", "    places: int"], False),
        (["class Grant:", "    places: int"], False),
    ],
)
def test_a_field_without_an_explanation_is_seen(lines: list[str], seen: bool) -> None:
    assert bool(list(unexplained([Source("gridengine/a.py", "\n".join(lines))]))) == seen
