"""The file `environment` of a task: variables that a prolog or pe_start passes to the job and to the methods after it.

Owns its format, which is the format of 8.1.9 (`NAME=value` lines, a backslash doubled, a line feed as backslash and n), the
methods that may write it, and the steps that get the variables. Called by `run`. Source: O; adr/0172.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from gridengine.errors import plain_fault
from shepherd.identity import Identity, IdentityError, find_identity
from shepherd.methods import safe_start
from shepherd.outcome import METHODS
from shepherd.plan import Run
from shepherd.task_files import Trace

ENVIRONMENT = "environment"
#: the methods whose lines are read
WRITERS = ("prolog", "pe_start")
_METHOD_PREFIX = "SGE_METHOD_"  # the user's own, which methods of other users get anyway (adr/0098)
_MOST_BYTES = 1 << 20
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ESCAPED = re.compile(r"\\(.)")


class EnvironmentFile:
    """The variables in the file: read after each writer, then kept in memory, so that the job cannot change them."""

    def __init__(self, directory: Path, owner: Identity, trace: Trace) -> None:
        self._path, self._owner, self._trace = directory / ENVIRONMENT, owner, trace
        self._initial: Mapping[str, str] | None = None
        self._by_owner = True
        self._changes: dict[str, str] = {}

    def before(self, step: Run, environment: Mapping[str, str]) -> None:
        """Make the file before the first method, with the environment of the job. The file is private to the user of that
        method, or to root, if the method comes after the job."""
        if self._initial is not None or step.name not in METHODS:
            return
        self._initial = environment
        try:
            writer = None
            if step.name in WRITERS:
                writer = self._owner if step.user is None else find_identity(step.user)
            self._by_owner = writer is not None and writer.uid == self._owner.uid
            self._write("".join(f"{name}={_escaped(value)}\n" for name, value in environment.items()), writer)
        except (OSError, IdentityError) as error:
            self._trace(f"can't write {self._path}: {plain_fault(error)}")

    def after(self, step: Run) -> None:
        """Read the variables that a method before the job has added or changed."""
        if self._initial is None or step.name not in WRITERS:
            return
        try:
            descriptor = os.open(self._path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
            with open(descriptor, "rb") as file:
                lines = file.read(_MOST_BYTES).decode("utf-8", "surrogateescape").split("\n")
        except OSError as error:
            self._trace(f"can't read {self._path}: {error.strerror}")
            return
        pairs = (line.partition("=") for line in lines)
        now = {name: _plain(value) for name, sign, value in pairs if sign and _NAME.fullmatch(name) and "\0" not in value}
        self._changes = {name: value for name, value in now.items() if self._initial.get(name) != value}

    def variables_for(self, step: Run) -> dict[str, str]:
        """Return the variables that a step gets: the job gets all variables, methods only variables that cannot make them
        run other code.

        A user other than the job's owner gets the variables that the owner could not have written; from a file that the owner
        may have written, the variables with METHOD_PREFIX.
        """
        as_owner = step.user is None and not step.awaits_client
        if step.name == "job" and as_owner:
            return dict(self._changes)
        safe = {name: value for name, value in safe_start(self._changes).items() if self._changes.get(name) == value}
        if as_owner or not self._by_owner:
            return safe
        return {name: value for name, value in safe.items() if name.startswith(_METHOD_PREFIX)}

    def _write(self, text: str, writer: Identity | None) -> None:
        descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with open(descriptor, "w", encoding="utf-8", errors="surrogateescape", newline="") as file:
            file.write(text)
            file.flush()
            if writer is not None and os.geteuid() == 0:
                os.fchown(descriptor, writer.uid, writer.gid)


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace("\n", "\\n")


def _plain(value: str) -> str:
    return _ESCAPED.sub(lambda match: {"n": "\n", "\\": "\\"}.get(match[1], match[0]), value)
