"""The directory of a list, `NAME.tJOB` beside the job's output: the list, the records of its commands, and requests of qtasks.

    list      the script of the job
    records   a line of JSON for each attempt, and for other changes of a state; only the runner writes it
    requests  a line of JSON for each `qtasks add` and `qtasks retry`, and whether the runner takes requests; locked while written
    out/N, err/N  outputs that are kept apart

Owns these files: their rights (no other user reads them), their syncs, and the meaning of a torn line. Called by the
runner and by qtasks.
"""

import errno
import fcntl
import os
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from clients.task_runner.capture import write_all
from gridengine import json_text
from gridengine.errors import UserError
from gridengine.task_lists.task_states import records_in

#: pause between two syncs of the records: at least this, and so many times the duration of the last one
SYNC_S, SYNC_SHARE = 1.0, 20
_FLAGS = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
_OPEN, _CLOSED = b'{"open":true}\n', b'{"open":false}\n'


class ListFileError(UserError):
    """A file of a list that cannot be used. The text is a sentence with the path."""


def make_directory(path: str) -> bool:
    """Make the directory of a list; whether it is new. Raises ListFileError for a directory of another user."""
    try:
        os.mkdir(path, 0o700)
        return True
    except FileExistsError:
        status = os.lstat(path)
        if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid():
            raise ListFileError(f"{path} is not a directory of this user") from None
        return False
    except OSError as error:
        raise ListFileError(f"cannot make {path}: {error.strerror}") from None


class RecordFile:
    """The records of a list, as their runner writes them: a write for each turn of the loop, a sync about once a second.

    One runner has them at a time: on a host that was cut off, a runner goes on while its job begins elsewhere.
    """

    def __init__(self, directory: str) -> None:
        self._descriptor = _open(f"{directory}/records")
        _await_lock(self._descriptor)
        self._lines: list[str] = []
        self._synced_at = self._sync_s = 0.0
        self._is_unsynced = False
        self.content = _read(self._descriptor)
        if self.content and not self.content.endswith(b"\n"):
            write_all(self._descriptor, b"\n")  # the line that a killed runner has not finished

    def add(self, line: str) -> None:
        """Add a record, as JSON in ASCII without its line end."""
        self._lines.append(line)

    def flush(self, sync: bool = False) -> None:
        """Write the added records. `sync`: to the disk, now. Raises OSError."""
        if self._lines:
            lines, self._lines = self._lines, []
            write_all(self._descriptor, ("\n".join(lines) + "\n").encode())
            self._is_unsynced = True
        now = time.monotonic()
        if self._is_unsynced and (sync or now > self._synced_at + max(SYNC_S, SYNC_SHARE * self._sync_s)):
            os.fdatasync(self._descriptor)
            self._synced_at, self._is_unsynced = time.monotonic(), False
            self._sync_s = self._synced_at - now

    def close(self) -> None:
        os.close(self._descriptor)


class RequestFile:
    """The requests to the runner of a list. A request is on the disk before its command answers."""

    def __init__(self, directory: str) -> None:
        self._descriptor = _open(f"{directory}/requests")

    def unread(self, position: int) -> bytes:
        """The complete lines from a position on."""
        if os.fstat(self._descriptor).st_size <= position:
            return b""
        data = _read(self._descriptor, position)
        return data[: data.rfind(b"\n") + 1]

    def close_if_read(self, position: int | None) -> bool:
        """Take no further requests, unless there are some behind a position (None: in any case); whether it is closed now."""
        with self.locked():
            if position is not None and self.unread(position):
                return False
            self.append(_CLOSED)
            return True

    def open(self) -> None:
        """Take requests, also if an earlier runner took none in the end."""
        with self.locked():
            self.append(_OPEN)

    @property
    def is_open(self) -> bool:
        """Whether the runner takes requests; to be asked while locked."""
        states = [row["open"] for row in records_in(_read(self._descriptor)) if "open" in row]
        return bool(states and states[-1])

    @contextmanager
    def locked(self) -> Iterator[None]:
        fcntl.flock(self._descriptor, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(self._descriptor, fcntl.LOCK_UN)

    def close(self) -> None:
        os.close(self._descriptor)

    def append(self, line: bytes) -> None:
        """Append a line, durably; while locked. Raises OSError."""
        size = os.fstat(self._descriptor).st_size
        torn = size and os.pread(self._descriptor, 1, size - 1) != b"\n"
        write_all(self._descriptor, b"\n" * bool(torn) + line)
        os.fsync(self._descriptor)


def request_line(**fields: object) -> bytes:
    return json_text.encode(fields) + b"\n"


def _open(path: str) -> int:
    try:
        return os.open(path, _FLAGS, 0o600)
    except OSError as error:
        reason = "it is a link" if error.errno == errno.ELOOP else error.strerror
        raise ListFileError(f"cannot open {path}: {reason}") from None


def _await_lock(descriptor: int) -> None:
    """Lock a file until it is closed; a file system without locks must not prevent the start."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        print("qtasks: another runner serves this list; this one waits for its end", file=sys.stderr, flush=True)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    except OSError:
        return


def _read(descriptor: int, position: int = 0) -> bytes:
    pieces = []
    while piece := os.pread(descriptor, 1 << 20, position):
        pieces.append(piece)
        position += len(piece)
    return b"".join(pieces)
