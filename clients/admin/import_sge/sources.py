"""The configuration of a Grid Engine to import, as texts: from a directory, or from its own qconf.

Owns the files and the options of qconf for each kind of object, and the other data of the old cell. Must not parse the texts:
`objects` does. Called by `command`. Source: util/upgrade_modules/save_sge_config.sh of 8.1.9 (O); qconf(1); adr/0159.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from clients.admin.errors import AdminError
from gridengine.kinds import KIND
from gridengine.options.configuration import CONFIGURATION_OPTIONS

#: files of save_sge_config.sh other than objects
_BESIDE = frozenset("backup_date version sge_root sge_cell ports arseqnum jobseqnum win_hosts".split())
#: kinds whose object of this name is not in the list of names
_UNLISTED = {"configuration": "global", "exec_host": "global"}
_QCONF_S = 60.0
#: architecture names of Grid Engine, by the kernel's machine name
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64", "ppc64le": "ppc64le"}


@dataclass(frozen=True, slots=True)
class OldText:
    """The output of qconf for one object, or for all objects of a kind. `name`: of the object; `where`: the source, for messages.
    """

    kind: str
    name: str
    where: str
    text: str


@dataclass(slots=True)
class OldCell:
    """`root`: SGE_ROOT there, "" if not known; `last_job`: the number of its last job, 0 if not known.

    `files`: names of its files in common/, `unread`: files that belong to no old configuration.
    """

    texts: list[OldText] = field(default_factory=list)
    root: str = ""
    last_job: int = 0
    files: list[str] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)


def read_saved(directory: Path) -> OldCell:
    """Read files as qconf prints them, by the names of save_sge_config.sh or of `gridengine config export`.

    AdminError: the path is no directory, holds no configuration, or a file cannot be read.
    """
    if not directory.is_dir():
        raise AdminError(f"{directory} is not a directory")
    old = OldCell()
    for path in sorted(directory.rglob("*")):
        name = path.relative_to(directory).as_posix()
        if not path.is_file() or any(part.startswith(".") for part in name.split("/")):
            continue
        if name.startswith("cell/"):
            old.files.append(name.removeprefix("cell/"))
        elif kind := _kind_of(name):
            old.texts.append(OldText(kind, path.name if "/" in name else "global", str(path), _text_of(path)))
        elif name not in _BESIDE:
            old.unread.append(str(path))
    if not old.texts:
        raise AdminError(f"{directory} holds no configuration: give a directory made by save_sge_config.sh, or `live`")
    old.root = _first_token(directory / "sge_root").partition("=")[2].rstrip(";")
    old.last_job = _number(directory / "jobseqnum")
    return old


def _kind_of(name: str) -> str:
    """The kind of the objects in a file, "" if the file belongs to no configuration."""
    directory, slash, base = name.partition("/")
    if "/" in base:
        return ""
    for kind in KIND.values():
        if slash:
            names = (kind.directory, kind.saved_as if kind.directory else "")
        else:
            names = (kind.file, "" if kind.directory else kind.saved_as)
        if directory in names:
            return kind.name
    return ""


def read_live(root: Path, cell: str, qconf: Path | None) -> OldCell:
    """Read the whole configuration by the qconf of an old cell. AdminError: there is no qconf, or it does not answer."""
    program = qconf or _qconf_of(root)
    environment = {**os.environ, "SGE_ROOT": str(root), "SGE_CELL": cell, "SGE_SINGLE_LINE": "1"}
    # settings of this cell must not misdirect the command of the old cell
    for name in ("SGE_QMASTER_PORT", "SGE_EXECD_PORT"):
        environment.pop(name, None)
    old = OldCell(root=str(root))
    options = _options()
    for kind in KIND:
        listing, show = options.get(("list", kind), ""), options.get(("show", kind), "")
        for name in _names(program, environment, kind, listing) if listing and show else ("",):
            arguments = [show or listing, name] if name else [show or listing]
            if text := _run_qconf(program, environment, arguments):
                old.texts.append(OldText(kind, name or "global", f"qconf {' '.join(arguments)}", text))
    common = root / cell / "common"
    old.files = sorted(path.name for path in common.glob("*") if path.is_file())
    spool = next((line.split()[1] for line in _lines(common / "bootstrap") if line.startswith("qmaster_spool_dir ")), "")
    old.last_job = _number(Path(spool) / "jobseqnum") if spool else 0
    return old


def _qconf_of(root: Path) -> Path:
    found = sorted(path for path in root.glob("bin/*/qconf") if os.access(path, os.X_OK))
    own = [path for path in found if path.parent.name == f"lx-{_ARCHITECTURES.get(os.uname().machine, '')}"]
    if not found:
        raise AdminError(f"{root}/bin has no qconf: name it by --qconf")
    return (own or found)[0]


def _options() -> dict[tuple[str, str], str]:
    """The options of qconf that list names and show objects, by verb and kind, as in 8.1.9."""
    found: dict[tuple[str, str], str] = {}
    for option in CONFIGURATION_OPTIONS:
        if option.name.startswith("-s"):
            target: dict[str, Any] = {}
            option.fold(target, option.field, [])
            verb, kind, _ = target["actions"][0]
            found[verb, kind] = option.name
    return found


def _names(program: Path, environment: dict[str, str], kind: str, listing: str) -> Iterator[str]:
    if kind in _UNLISTED:
        yield _UNLISTED[kind]
    yield from _run_qconf(program, environment, [listing]).split()


def _run_qconf(program: Path, environment: dict[str, str], arguments: list[str]) -> str:
    """The output of qconf, "" if it reports no such object. Raises AdminError."""
    command_line = f"{program} {' '.join(arguments)}"
    try:
        done = subprocess.run(
            [str(program), *arguments], env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=_QCONF_S
        )
    except OSError as error:
        raise AdminError(f"cannot run {program}: {error.strerror}") from None
    except subprocess.TimeoutExpired:
        raise AdminError(f"{command_line}: no answer within {_QCONF_S:.0f} s") from None
    error_text = done.stderr.decode(errors="replace").strip()
    if done.returncode and not error_text.startswith("no "):
        raise AdminError(f"{command_line}: {error_text or f'exit code {done.returncode}'}")
    return "" if done.returncode else done.stdout.decode(errors="replace")


def _text_of(path: Path) -> str:
    try:
        return path.read_bytes().decode(errors="replace")
    except OSError as error:
        raise AdminError(f"cannot read {path}: {error.strerror}") from None


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(errors="replace").splitlines()
    except OSError:
        return []


def _first_token(path: Path) -> str:
    return next((line.split()[0] for line in _lines(path) if line.strip()), "")


def _number(path: Path) -> int:
    token = _first_token(path)
    return int(token) if token.isdecimal() and len(token) <= 7 else 0
