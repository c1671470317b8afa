"""The common part of the daemons' programs: options, reports of a failed start, the entry point.

Owns the exit code and the line on stderr of a daemon that cannot start. Called by the `__main__` of each daemon.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated, NoReturn

import typer

import gridengine.terminal.typer_values  # noqa: F401  no pydantic for a few options
from daemons.runtime.cell import CellError
from daemons.runtime.daemon import UMASK, DaemonError, Startup, become_daemon
from daemons.runtime.journal import forget_foreign_stream
from daemons.runtime.release import own_release
from gridengine.errors import plain_fault
from gridengine.terminal.standard_output import with_output_check


def _print_release(requested: bool) -> None:
    if requested:
        print(own_release())
        raise typer.Exit


Foreground = Annotated[bool, typer.Option("--foreground", help="Do not detach (for systemd).")]
Version = Annotated[
    bool, typer.Option("--version", is_eager=True, callback=_print_release, help="Print the release and exit.")
]


@contextmanager
def preparation(program: str) -> Iterator[None]:
    """The work before a daemon detaches: an invalid cell and files that cannot be used end the program with a line on stderr."""
    os.umask(UMASK)
    try:
        yield
    except (CellError, OSError) as fault:
        unusable = isinstance(fault, OSError) and fault.filename
        exit_with_error(program, f"cannot use {plain_fault(fault)}" if unusable else plain_fault(fault))


@contextmanager
def detached(program: str, foreground: bool, *faults: type[Exception]) -> Iterator[Startup]:
    """The work after a daemon has detached: its faults, and these, are reported as a failed start."""
    reported: tuple[type[Exception], ...] = (DaemonError, CellError, OSError, *faults)
    startup = become_daemon(foreground, program)
    forget_foreign_stream()
    try:
        yield startup
    except reported as fault:
        startup.failed(f"{program}: {plain_fault(fault)}")
        raise SystemExit(1) from None


def exit_with_error(program: str, reason: str) -> NoReturn:
    """End with a line on stderr and exit code 1."""
    print(f"{program}: {reason}", file=sys.stderr)
    raise SystemExit(1)


def entry_point(serve: Callable[..., None]) -> Callable[[], int]:
    """The function that runs `serve` with the options of the command line."""

    @with_output_check
    def main() -> int:
        typer.run(serve)
        return 0

    return main
