"""A whole cell as texts, read and written: the default cell, backups, and the saved configuration for an upgrade.

Owns the assignment of objects to files of such a directory. Reads no file itself: the caller passes the texts.
Called by the installation and by load and save of configurations. Source: QC-43, CX-15, PE-15, HG-11, X-19.
"""

from collections.abc import Mapping

from gridengine.config.kinds import KINDS
from gridengine.config.objects import ConfigObject
from gridengine.errors import ConfigError
from gridengine.kinds import KIND
from gridengine.syntax.object_file import format_complex_table, format_object, parse_objects

#: kind by the directory of its files, or by the name of its only file; bare kinds have a file of names
_DIRECTORIES = {kind.directory: kind.name for kind in KIND.values() if kind.directory}
_FILES = {kind.file: kind.name for kind in KIND.values() if kind.file and not kind.bare}
_NAME_LISTS = {kind.file: kind.name for kind in KIND.values() if kind.file and kind.bare}


def read_cell(texts: Mapping[str, str]) -> list[tuple[str, ConfigObject]]:
    """(kind, object) of every object in the files, in an order in which they can be added.

    texts: text by relative file name (`queues/all.q`, `complexes`). Raises ConfigError; files of unknown names too.
    """
    objects: list[tuple[str, ConfigObject]] = []
    for file_name, text in sorted(texts.items()):
        directory, slash, base = file_name.partition("/")
        kind = _DIRECTORIES.get(directory) if slash else _FILES.get(file_name) or _NAME_LISTS.get(file_name)
        if kind is None:
            raise ConfigError("cell", "", "", f'"{file_name}" is not the name of a file that a cell has')
        if file_name in _NAME_LISTS:
            objects += [(kind, KINDS[kind].parse([("name", name, 0)])) for name in text.split()]
            continue
        name = (base if slash else "global") if kind == "configuration" else ""
        objects += [(kind, KINDS[kind].parse(entries, name=name)) for entries in parse_objects(kind, text)]
    rank = list(KIND)
    return sorted(objects, key=lambda item: rank.index(item[0]))


def cell_texts(objects: Mapping[str, Mapping[str, Mapping[str, str]]]) -> dict[str, str]:
    """The files of a cell by relative name, the input of `read_cell`.

    objects: attributes by kind and name. Lines are not broken, so that a difference between two texts is one of values.
    """
    texts: dict[str, str] = {}
    for directory, kind in _DIRECTORIES.items():
        for name, attributes in objects.get(kind, {}).items():
            if kind != "configuration" or name != "global":
                texts[f"{directory}/{_file_name(name)}"] = format_object(kind, attributes, single_line=True)
    for file_name, kind in _NAME_LISTS.items():
        texts[file_name] = "".join(f"{name}\n" for name in sorted(objects.get(kind, {})))
    for file_name, kind in _FILES.items():
        named = objects.get(kind, {})
        if kind == "complex":
            texts[file_name] = format_complex_table(named[name] for name in sorted(named))
        elif single := named.get("global" if kind == "configuration" else ""):
            texts[file_name] = format_object(kind, single, single_line=True)
    return texts


def is_cell_file(file_name: str) -> bool:
    """Whether a cell may have a file of this relative name."""
    directory, slash, base = file_name.partition("/")
    return bool(base and "/" not in base and directory in _DIRECTORIES) if slash else file_name in {**_FILES, **_NAME_LISTS}


def _file_name(name: str) -> str:
    """The name of an object's file. Only configurations get their name from it, and names of hosts never begin with a dot."""
    return f"%2E{name[1:]}" if name.startswith(".") else name
