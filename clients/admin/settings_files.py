"""The files of `common/` by which shells and module systems use a cell: settings.sh, settings.csh and modulefile.

Owns the list of their variables and the three forms; each form states the whole list. Called by `creation`, `join` and
`gridengine settings`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import typer

from clients.admin.authority import owner_for
from clients.admin.cell import CellFiles, cell_of_environment, optional_text, read_cell
from clients.admin.cell_options import CellName, Root
from clients.admin.errors import AdminError
from clients.admin.installation import Installation, find_installation
from clients.admin.sge_root import library_of
from gridengine.files.durable import durable_write, write_new


@dataclass(frozen=True, slots=True)
class ShellSettings:
    """What a shell gets. Values are checked to need no quotes in any of the forms."""

    #: variable -> value
    fixed: dict[str, str]
    #: variable -> program that prints its value on the host
    printed: dict[str, Path]
    #: variable -> directory that comes first in its list
    listed: dict[str, Path]
    #: variable -> file, if the host has it
    found: dict[str, Path]


def write_settings(common: Path, files: CellFiles, qmaster_port: int, installation: Installation) -> None:
    """Write the files into the new directory `common`. Raises OSError."""
    for name, text in settings_texts(files, qmaster_port, installation).items():
        write_new(common / name, text.encode(), 0o644)


def settings_command(root: Root = None, cell: CellName = "default") -> None:
    """Write settings.sh, settings.csh and modulefile again, where they differ from what this release would write."""
    here = read_cell(cell_of_environment(root, cell))
    texts = settings_texts(here.files, int(here.settings["qmaster_port"]), find_installation())
    changed = {here.files.common / name: text for name, text in texts.items() if optional_text(here.files.common / name) != text}
    for path, text in changed.items():
        try:
            durable_write(path, text.encode(), 0o644, owner=owner_for(here.settings["admin_user"]))
        except OSError as error:
            raise AdminError(f"cannot write {path}: {error.strerror}") from error
        typer.echo(f"wrote {path}")


def cluster_name(qmaster_port: int) -> str:
    """The name of the cell for scripts, `p6444`, as proposed by the installation of 8.1.9."""
    return f"p{qmaster_port}"


def settings_texts(files: CellFiles, qmaster_port: int, installation: Installation) -> dict[str, str]:
    """File name -> text, for the cell with these files."""
    settings = ShellSettings(
        fixed={
            "SGE_ROOT": str(files.root),
            "SGE_CELL": files.name,
            "SGE_QMASTER_PORT": str(qmaster_port),
            "SGE_CLUSTER_NAME": cluster_name(qmaster_port),
        },
        printed={"SGE_ARCH": files.root / "util" / "arch"},
        listed={"PATH": installation.bin, "MANPATH": installation.man},
        found={"DRMAA_LIBRARY_PATH": library_of(installation.bin.parent)},
    )
    forms = {"settings.sh": _for_sh(settings), "settings.csh": _for_csh(settings), "modulefile": _for_modules(settings)}
    return {name: "\n".join(lines) + "\n" for name, lines in forms.items()}


def _for_sh(settings: ShellSettings) -> list[str]:
    """The form for a Bourne shell. An empty element of MANPATH stands for the pages of the system."""
    lines = [f"{variable}={value}; export {variable}" for variable, value in settings.fixed.items()]
    lines += [f"{variable}=`{program}`; export {variable}" for variable, program in settings.printed.items()]
    for variable, directory in settings.listed.items():
        lines += [
            f'case ":${variable}:" in',
            f'  *":{directory}:"*) ;;',
            f'  *) {variable}="{directory}:${variable}"; export {variable} ;;',
            "esac",
        ]
    found = settings.found.items()
    return lines + [f"if [ -e {path} ]; then {variable}={path}; export {variable}; fi" for variable, path in found]


def _for_csh(settings: ShellSettings) -> list[str]:
    lines = [f"setenv {variable} {value}" for variable, value in settings.fixed.items()]
    lines += [f"setenv {variable} `{program}`" for variable, program in settings.printed.items()]
    lines.append('if (! $?MANPATH) setenv MANPATH ""')
    for variable, directory in settings.listed.items():
        lines.append(f'if (":${{{variable}}}:" !~ *":{directory}:"*) setenv {variable} "{directory}:${{{variable}}}"')
    return lines + [f"if (-e {path}) setenv {variable} {path}" for variable, path in settings.found.items()]


def _for_modules(settings: ShellSettings) -> list[str]:
    """The form for Environment Modules and Lmod, in Tcl. They evaluate it also on hosts without the cell, to list modules."""
    root, name = settings.fixed["SGE_ROOT"], settings.fixed["SGE_CELL"]
    lines = ["#%Module1.0", f'module-whatis "Grid Engine, the cell {root}/{name}"']
    lines += [f"setenv {variable} {value}" for variable, value in settings.fixed.items()]
    for variable, program in settings.printed.items():
        lines.append(f"if {{![catch {{exec {program}}} printed]}} {{ setenv {variable} $printed }}")
    lines += [f"prepend-path {variable} {directory}" for variable, directory in settings.listed.items()]
    lines.append("append-path MANPATH {}")
    return lines + [f"if {{[file exists {path}]}} {{ setenv {variable} {path} }}" for variable, path in settings.found.items()]
