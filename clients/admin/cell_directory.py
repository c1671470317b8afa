"""A directory that holds the configuration of a cell: written, read, and compared with the cell.

Owns the files of `gridengine config`: one object a file, in the syntax that qconf prints, so that they can be kept under version
control. Must not contact the qmaster. Called by `config`. The layout is `gridengine.config.sample_cell`'s.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from clients.admin.errors import AdminError
from gridengine.config.sample_cell import cell_texts, is_cell_file, read_cell
from gridengine.errors import ConfigError, plain_fault
from gridengine.kinds import KIND

Objects = dict[str, dict[str, dict[str, str]]]
"""Attributes by kind and name."""


def write_directory(directory: Path, objects: Objects) -> tuple[int, int]:
    """Write the configuration of a cell to a directory; (files written, files removed). Other files are not changed."""
    texts = cell_texts(objects)
    try:
        directory.mkdir(parents=True, exist_ok=True)
        stale = [name for name in _cell_files(directory) if name not in texts]
        for name in stale:
            (directory / name).unlink()
        written = 0
        for name, text in texts.items():
            path = directory / name
            path.parent.mkdir(exist_ok=True)
            if not path.exists() or path.read_text() != text:
                path.write_text(text)
                written += 1
    except (OSError, UnicodeDecodeError) as error:
        raise AdminError(f"cannot write {directory}: {plain_fault(error)}") from None
    return written, len(stale)


def read_directory(directory: Path) -> Objects:
    """The objects that the files of a directory describe. AdminError: a file is wrong, unknown or not readable."""
    if not directory.is_dir():
        raise AdminError(f"{directory} is not a directory")
    texts: dict[str, str] = {}
    for name in _visible_files(directory):
        if not is_cell_file(name):
            raise AdminError(f"{directory / name}: a cell has no file of this name")
        try:
            texts[name] = (directory / name).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise AdminError(f"cannot read {directory / name}: {plain_fault(error)}") from None
    objects: Objects = {}
    for name, text in texts.items():
        try:
            read = read_cell({name: text})
        except ConfigError as error:
            raise AdminError(f"{directory / name}: {error}") from None
        for kind, model in read:
            if model.object_name in objects.setdefault(kind, {}):
                label = f'{kind.replace("_", " ")} "{model.object_name}"'
                raise AdminError(f"{directory / name}: the {label} is in another file, too")
            objects[kind][model.object_name] = model.attributes()
    if not objects:
        raise AdminError(f"{directory} holds no configuration")
    return objects


def _visible_files(directory: Path) -> Iterator[str]:
    """Relative names of all files, without hidden files and hidden directories."""
    for path in sorted(directory.rglob("*")):
        relative = path.relative_to(directory)
        if path.is_file() and not any(part.startswith(".") for part in relative.parts):
            yield relative.as_posix()


def _cell_files(directory: Path) -> list[str]:
    return [name for name in _visible_files(directory) if is_cell_file(name)]


def changes_between(before: Objects, after: Objects) -> list[dict[str, Any]]:
    """The changes from `before` to `after`, in the form of `config_change`. Equal objects are left out."""
    changes: list[dict[str, Any]] = []
    for kind in KIND:
        old, new = before.get(kind, {}), after.get(kind, {})
        if KIND[kind].always_there and not new:
            continue  # a directory without the file does not change the object
        unlisted = KIND[kind].unlisted
        for name in sorted(old.keys() | new.keys()):
            if old.get(name) != new.get(name) and (name in new or name not in unlisted):
                changes.append({"kind": kind, "name": name, "before": old.get(name), "after": new.get(name)})
    return changes


def differences(before: Objects, after: Objects, directory: Path) -> list[str]:
    """Lines of a unified difference from the cell to the directory, by file."""
    lines: list[str] = []
    old, new = cell_texts(before), cell_texts(after)
    for name in sorted(old.keys() | new.keys()):
        lines += difflib.unified_diff(
            old.get(name, "").splitlines(),
            new.get(name, "").splitlines(),
            f"cell/{name}" if name in old else "/dev/null",
            str(directory / name) if name in new else "/dev/null",
            n=1,
            lineterm="",
        )
    return lines


def describe(change: dict[str, Any]) -> Iterator[str]:
    """A change in readable form: the kind of the change and the object, then the changed attributes."""
    before, after = change["before"], change["after"]
    sign = "+" if before is None else "-" if after is None else "~"
    name = f' "{change["name"]}"' if change["name"] else ""
    yield f"{sign} {change['kind'].replace('_', ' ')}{name}"
    if before is None or after is None:
        return
    for attribute in {**before, **after}:
        old, new = before.get(attribute, "(unset)"), after.get(attribute, "(unset)")
        if old != new:
            yield f"    {attribute}: {old} -> {new}"
