"""One name is one thing: no two public classes of the programs share theirs, but for those below.

This test is about names alone; the words themselves are in docs/glossary.md.
"""

from __future__ import annotations

import ast
from collections import defaultdict

import pytest

from tests.tidy.sources import Source

PROGRAMS = ("gridengine", "daemons", "shepherd", "clients")
_TWO_FORMS = "the model at the gate and the typed form behind it are one object of qconf (adr/0118)"
_TWO_ENDS = "the same on both ends: commands and shepherds do not load the library by which daemons describe it"
#: name -> why two have it
SHARED = {
    **dict.fromkeys(("ExecHost", "ParallelEnvironment", "Project", "User"), _TWO_FORMS),
    "Answer": _TWO_ENDS,
    "Cell": "the cell as its daemons know it, and as a program of a user has it",
    **dict.fromkeys(("Signal", "Renice"), "the same act, told to a host and done by a shepherd"),
    "Ended": "the same fact, reported by a host and seen by a shepherd",
}


def classes(sources: list[Source]) -> dict[str, list[str]]:
    """Files by name of a public class."""
    found: dict[str, list[str]] = defaultdict(list)
    for source in sources:
        for node in source.statements():
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found[node.name].append(source.path)
    return found


def test_no_two_classes_share_a_name() -> None:
    shared = {name: paths for name, paths in classes(Source.of(*PROGRAMS)).items() if len(paths) > 1}
    assert {name: paths for name, paths in shared.items() if name not in SHARED} == {}
    assert SHARED.keys() <= shared.keys(), "a name that one class alone has is taken off the list"


@pytest.mark.parametrize(("text", "seen"), [("class Job: ...", True), ("class _Job: ...", False), ("Job = int", False)])
def test_a_second_class_is_seen(text: str, seen: bool) -> None:
    found = classes([Source("clients/a.py", "class Job: ..."), Source("clients/b.py", text)])
    assert (len(found["Job"]) == 2) == seen
