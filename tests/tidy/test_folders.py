"""Folders import only the folders that the table of docs/architecture.md, section 2, permits."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from tests.tidy.sources import ROOT, Source, table_of

PROGRAMS = ("gridengine", "daemons", "shepherd", "clients")

#: files of the core that load modules by name: why
LOADERS = {
    "clients/admin/program.py": "the one place where the core finds extensions: sub-commands, loaded on their call",
    "clients/configure/__init__.py": "modules of that package",
    "daemons/runtime/lazy_modules.py": "libraries",
    "daemons/runtime/ray_session.py": "the class of an actor",
}


class Folder(NamedTuple):
    """A row of the table. `part`: core or extension; `libraries`: the files that may import each, none for all."""

    part: str
    folders: frozenset[str]
    libraries: dict[str, frozenset[str]]


def _row(cells: list[str]) -> tuple[str, Folder]:
    name, part, folders, libraries = cells
    allowed = {}
    for entries in filter(None, libraries.split(", ")):
        library, _, files = entries.partition(" in ")
        allowed[library] = frozenset(file.strip("`") for file in files.split())
    return name.strip("`"), Folder(part, frozenset(each.strip("`") for each in folders.split(", ") if each), allowed)


TABLE = dict(_row(cells) for cells in table_of("docs/architecture.md", "folder", "part", "imports", "libraries"))


def folder_of(path: str) -> str:
    """The folder of a file or module: the longest that the table has."""
    parts = path.split("/")
    names = ["/".join(parts[:length]) for length in range(len(parts), 0, -1)]
    return next((each for name in names for each in (name, f"{name}.py") if each in TABLE), parts[0])


def _imported(source: Source) -> Iterator[str]:
    for node in source.statements():
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            # `from daemons.qmaster import effects` names a module of a folder, or a name in a module: both are in that folder
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def faults_of(source: Source) -> list[str]:
    """A sentence for each import that the table does not allow."""
    own = folder_of(source.path)
    folder, faults = TABLE[own], []
    for module in _imported(source):
        top = module.partition(".")[0]
        if top in PROGRAMS:
            theirs = folder_of(module.replace(".", "/"))
            allowed = theirs == own or theirs in folder.folders
        else:
            files = folder.libraries.get(top)
            theirs = top
            allowed = top in sys.stdlib_module_names or (files is not None and (not files or source.name in files))
        if not allowed:
            faults.append(f"{source.path} imports {module}: {own} may not import {theirs}")
    return faults


def loads_by_name(source: Source) -> bool:
    """Whether a file imports a function that loads modules by name, or calls the built-in function."""
    return any(module in ("importlib", "importlib.import_module") for module in _imported(source)) or "__import__(" in source.text


def test_folders_import_what_their_rows_allow() -> None:
    assert [fault for source in Source.of(*PROGRAMS) for fault in faults_of(source)] == []


@pytest.mark.parametrize(
    ("path", "text", "fault"),
    [
        ("clients/qstat.py", "from gridengine.state.jobs import Job", "clients may not import gridengine/state"),
        ("clients/qstat.py", "def f():\n    import ray", "clients may not import ray"),
        ("daemons/schedd/cycle.py", "from daemons.qmaster import admit", "may not import daemons/qmaster"),
        ("daemons/qmaster/serve/service.py", "import ray", "daemons/qmaster/serve may not import ray"),
        ("daemons/qmaster/serve/actor.py", "import ray", None),
        ("gridengine/values/units.py", "from gridengine.placement.use import Use", "may not import gridengine/placement"),
        ("shepherd/run.py", "import psutil", "shepherd may not import psutil"),
        ("clients/qsub.py", "def f():\n    from gridengine.api import Cell", "clients may not import gridengine/api"),
        ("clients/qsub.py", "from gridengine.api.wire import Answer", None),
        ("clients/admin/doctor.py", "from clients.admin.arco.tables import as_json", "may not import clients/admin/arco"),
    ],
)
def test_a_wrong_import_is_seen(path: str, text: str, fault: str | None) -> None:
    found = faults_of(Source(path, text))
    assert [fault is not None and fault in each for each in found] == [True] * (fault is not None)


def test_every_folder_of_the_table_is_there() -> None:
    assert [folder for folder in TABLE if not (ROOT / folder).exists()] == []


def test_a_folder_is_core_or_extension() -> None:
    assert {name: row.part for name, row in TABLE.items() if row.part not in ("core", "extension")} == {}


def test_no_folder_of_the_core_may_import_an_extension() -> None:
    core = {name: row for name, row in TABLE.items() if row.part == "core"}
    assert [(name, each) for name, row in core.items() for each in row.folders if TABLE[each].part == "extension"] == []


def test_the_core_loads_modules_by_name_in_the_stated_files() -> None:
    core = (source for source in Source.of(*PROGRAMS) if TABLE[folder_of(source.path)].part == "core")
    assert {source.path for source in core if loads_by_name(source)} == set(LOADERS)
