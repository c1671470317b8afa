"""The attempts that have ended on this host, and the last instructions of the qmaster, so that no task starts twice.

Owns the file `tries` of the host's spool. The file contains the stamp of the last message of a master that was obeyed, and
every attempt whose directory was removed, with the revision from which on the master knows of its end. Messages of masters
are ordered by (incarnation, revision); one older than the last is refused. An attempt may therefore be forgotten once a
message of its revision or later arrives: any start of that attempt would be older. The file is only appended to, and
rewritten when this process starts and when most of its lines are obsolete. Must not know Ray. Called by `tasks`, `reporter`
and the actor. Source: docs/architecture.md section 5, adr/0090.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from gridengine.errors import plain_fault
from gridengine.files.durable import durable_write
from gridengine.protocols.delivery import Batch, Report, Stamp
from gridengine.values.task_key import TaskKey

_log = logging.getLogger(__name__)

#: obsolete lines that the file may hold before it is rewritten
MAX_OBSOLETE_LINES = 2000
_MASTER, _LIFE, _ATTEMPT = "master", "life", "try"


@dataclass(frozen=True, slots=True)
class _EndedAttempt:
    """An attempt that has ended. `submitted`: epoch seconds, distinguishes its job from another job of the same number;
    `revision`: of the master's state, from which on the master knows of the end."""

    submitted: float
    revision: int


class AttemptLog:
    """The content of the file, with all changes since. `now_ms`: by the clock of the host; every object is a life of the host.

    `master`: the stamp of the last message that was obeyed.
    """

    def __init__(self, path: Path, now_ms: int) -> None:
        self._path = path
        self.master: Stamp = (0, 0)
        self._heard_revision = 0  # highest revision in any message of the master, which knows all revisions up to that number
        self._ended: dict[TaskKey, _EndedAttempt] = {}
        self._unwritten: list[str] = []
        self._lines = 0
        before = self._read()
        self._life, self._number = max(before + 1, now_ms), 0
        self._rewrite()

    # --- messages of the master -----------------------------------------------------------------------------------

    def obey(self, stamp: Stamp) -> bool:
        """Return whether the message of the master may be obeyed: no later message was obeyed. Forgets attempts that can no
        longer be started."""
        if not self.is_current(stamp):
            return False
        newer = stamp[0] > self.master[0]
        self.master = stamp
        self._heard_revision = stamp[1] if newer else max(self._heard_revision, stamp[1])
        for key in [key for key, ended in self._ended.items() if ended.revision <= stamp[1]]:
            del self._ended[key]
        if newer:
            self._append([json.dumps([_MASTER, *stamp])])
        elif self._lines > len(self._ended) + MAX_OBSOLETE_LINES:
            self._rewrite()
        return True

    def is_current(self, stamp: Stamp) -> bool:
        """Whether no later message has been obeyed."""
        return stamp >= self.master

    # --- reports --------------------------------------------------------------------------------------------------

    def make_batch(self, reports: list[Report]) -> Batch:
        """The batch of these reports: with the next number, for the master that this host obeys."""
        self._number += 1
        return Batch(reports=reports, master=self.master, host=(self._life, self._number))

    def accept_answer(self, answer: Batch, with_inventory: bool) -> bool:
        """Whether the answer to reports is valid. `with_inventory`: the reports contained an inventory, so that
        instructions from before the answer are no longer obeyed."""
        if answer.master[0] < self.master[0]:
            return False
        if with_inventory or answer.master[0] > self.master[0]:
            self.obey(max(self.master, answer.master))
        if answer.host[0] > self._life:
            self._life = answer.host[0] + 1  # the disk was restored, or the clock was set back
        self._heard_revision = max(self._heard_revision, answer.master[1])
        return not answer.refused

    # --- attempts -------------------------------------------------------------------------------------------------

    def has_ended(self, key: TaskKey, submitted: float) -> bool:
        """Whether this attempt, or a later one of its task, has ended here."""
        return any(
            ended.submitted == submitted and (other == key or other[:2] == key[:2] and other.attempt > key.attempt)
            for other, ended in self._ended.items()
        )

    def add(self, submitted: Mapping[TaskKey, float]) -> None:
        """Note attempts that have ended, each with the submit time of its job; call it before their directories are removed."""
        for key, time in submitted.items():
            self._ended[key] = _EndedAttempt(time, self._heard_revision)
        self._append([self._line(key) for key in submitted])

    # --- the file -------------------------------------------------------------------------------------------------

    def _line(self, key: TaskKey) -> str:
        ended = self._ended[key]
        return json.dumps([_ATTEMPT, list(key), ended.submitted, ended.revision])

    def _append(self, lines: list[str]) -> None:
        """Add lines durably; lines that do not fit on a full disk stay in memory, and are written before the next lines."""
        self._unwritten += lines
        data = "".join(f"{line}\n" for line in self._unwritten).encode()
        try:
            descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                if os.write(descriptor, data) < len(data):
                    raise OSError("the disk is full")
                os.fdatasync(descriptor)
            finally:
                os.close(descriptor)
        except OSError as error:
            _log.error("cannot write %s: %s", self._path, plain_fault(error))
            self._unwritten.insert(0, "")  # ends a line of which half was written
            return
        self._lines += len(self._unwritten)
        self._unwritten.clear()

    def _rewrite(self) -> None:
        lines = [json.dumps([_MASTER, *self.master]), json.dumps([_LIFE, self._life]), *map(self._line, self._ended)]
        try:
            durable_write(self._path, "".join(f"{line}\n" for line in lines).encode(), 0o644)
        except OSError as error:  # a full disk: the old file holds enough
            _log.error("cannot write %s: %s", self._path, plain_fault(error))
            return
        self._lines = len(lines)

    def _read(self) -> int:
        """Read the file. Returns the last life of the host. A line that a crash has torn was not acknowledged."""
        life = 0
        try:
            text = self._path.read_text(errors="replace")
        except FileNotFoundError:
            return 0
        for line in text.splitlines():
            try:
                kind, *values = json.loads(line)
                if kind == _MASTER:
                    self.master = max(self.master, (int(values[0]), int(values[1])))
                elif kind == _LIFE:
                    life = int(values[0])
                elif kind == _ATTEMPT:
                    self._ended[TaskKey.of(values[0])] = _EndedAttempt(float(values[1]), int(values[2]))
            except (ValueError, TypeError, IndexError):
                continue
        self._heard_revision = self.master[1]
        return life
