"""`gridengine ray` and `gridengine dask`: submit a parallel job that builds a cluster and runs a script in it.

Owns the output of these commands, and the choice of the Python that runs the script. The job takes the options of qsub. Called by
`clients.admin.program`. `head` runs in the job.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

from clients.admin.clusters import head
from clients.admin.errors import AdminError
from gridengine.api import Cell, GridError
from gridengine.options.option import OptionError, options_of, read_options
from gridengine.options.submit import SUBMIT_OPTIONS

#: arguments of qsub come first; options among them are not options of this program
SETTINGS = {"ignore_unknown_options": True, "allow_extra_args": True, "allow_interspersed_args": False}
_MODULES = {"ray": "ray", "dask": "distributed"}

Python = Annotated[str, typer.Option("--python", help="Interpreter of script and cluster. Default: python3, by PATH.")]
Wait = Annotated[bool, typer.Option("--wait", help="Wait for the job, and end with its exit status.")]


def ray(context: typer.Context, python: Python = "", wait: Wait = False) -> None:
    """Run a Python script in a Ray cluster of its own, made of a parallel job: gridengine ray -pe NAME SLOTS SCRIPT.

    Options of qsub precede the script, arguments of the script follow it.
    """
    raise typer.Exit(_submit("ray", context.args, python, wait))


def dask(context: typer.Context, python: Python = "", wait: Wait = False) -> None:
    """Run a Python script in a Dask cluster of its own, made of a parallel job: gridengine dask -pe NAME SLOTS SCRIPT.

    Options of qsub precede the script, arguments of the script follow it.
    """
    raise typer.Exit(_submit("dask", context.args, python, wait))


def _submit(kind: str, arguments: list[str], python: str, wait: bool) -> int:
    """Submit the job; the exit status. AdminError: the job cannot be submitted."""
    options, script = _split_arguments(kind, arguments)
    command = ["-I", head.__file__, kind, python_with(kind, python), *script]
    # options of the user come later, and override these
    options = ["-cwd", "-N", Path(script[0]).name, *options]
    try:
        with Cell() as cell:
            job = cell.submit(sys.executable, *command, binary=True, options=options, no_shell=True)
            typer.echo(f'Your job {job.id} ("{job.name}") has been submitted')
            if not wait:
                return 0
            (end,) = cell.wait(job.id)
    except (GridError, ValueError) as error:
        raise AdminError(str(error)) from None
    if end.deleted or end.failed:
        typer.echo(f"job {job.id} has failed (failed {end.failed})" if end.failed else f"job {job.id} never ran", err=True)
    return end.exit_status or int(not end.ok)


def _split_arguments(kind: str, arguments: list[str]) -> tuple[list[str], list[str]]:
    """The options of the job, and the script with its arguments. AdminError: there is no parallel job, or no script."""
    try:
        settings, script = read_options(arguments, options_of("qsub", SUBMIT_OPTIONS))
    except OptionError as error:
        raise AdminError(f"{kind}: {error}") from None
    options = arguments[: len(arguments) - len(script)]
    if not any(option.name in ("-pe", "-alloc") for option, _, _ in settings):
        raise AdminError(f"{kind}: -pe NAME SLOTS is needed, a parallel environment whose control_slaves is true (qconf -spl)")
    if not script:
        raise AdminError(f"{kind}: a Python script is expected behind the options")
    path = Path(script[0])
    if not path.is_file():
        raise AdminError(f"{kind}: cannot read {path}: no such file")
    return [argument for argument in options if argument != "--"], [str(path.absolute()), *script[1:]]


def python_with(kind: str, requested: str) -> str:
    """The Python that runs the script: the requested Python, else the user's own, else (for Ray) the installed Python.

    AdminError: the Python lacks the library of this kind of cluster.
    """
    own = shutil.which("python3")
    if requested and not shutil.which(requested):
        raise AdminError(f"{kind}: {requested} is no program that you may run")
    for python in [requested] if requested else [*([own] if own else []), *([sys.executable] if kind == "ray" else [])]:
        path = shutil.which(python)
        if path and _has(path, _MODULES[kind]):
            return os.path.abspath(path)
    seen = requested or own or "python3"
    raise AdminError(f"{kind}: {seen} cannot import {_MODULES[kind]}: install it there ({seen} -m pip install {_MODULES[kind]}), "
                  "or name a Python that has it with --python")


def _has(python: str, module: str) -> bool:
    code = f"from importlib.util import find_spec; print(find_spec({module!r}) is not None)"
    try:
        return subprocess.run([python, "-c", code], capture_output=True, text=True).stdout == "True\n"
    except (OSError, UnicodeError):
        return False
