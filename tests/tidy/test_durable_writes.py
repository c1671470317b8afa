"""One module syncs a file and gives it its name: `gridengine.files.durable`. All other durable writes call it."""

from __future__ import annotations

import ast

import pytest

from tests.tidy.sources import Source

PROGRAMS = ("gridengine", "daemons", "shepherd", "clients", "tools")
SYNCS, RENAMES = {"fsync", "fdatasync"}, {"rename", "renames", "replace"}
ALLOWED = {
    "gridengine/files/durable.py": "the one place",
    "shepherd/task_files.py": "overwrites recycled files, which saves each task the time for new files",
}


def syncs_and_renames(source: Source) -> bool:
    """Whether a file has a call for the sync of a file, and a call for a rename: of `os`, or of a path."""
    attributes = [node for node in source.nodes if isinstance(node, ast.Attribute)]
    of_os = {node.attr for node in attributes if isinstance(node.value, ast.Name) and node.value.id == "os"}
    # `replace` of a text has two arguments
    methods = {
        node.func.attr
        for node in source.nodes
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and len(node.args) + len(node.keywords) == 1
    }
    return bool(of_os & SYNCS and (methods | of_os) & RENAMES)


def test_durable_writes_are_in_one_module() -> None:
    assert [source.path for source in Source.of(*PROGRAMS) if syncs_and_renames(source)] == sorted(ALLOWED)


@pytest.mark.parametrize(
    ("text", "is_seen"),
    [
        ("os.fsync(file)\nos.rename(draft, path)", True),
        ("run(os.fsync, file)\ndraft.replace(path)", True),
        ("os.fdatasync(file)\ndraft.rename(path)", True),
        ("os.fsync(file)\ntext.replace('a', 'b')", False),
        ("draft.rename(path)", False),
    ],
)
def test_a_second_place_is_seen(text: str, is_seen: bool) -> None:
    assert syncs_and_renames(Source("daemons/execd/a.py", text)) == is_seen
