"""The output of commands: kept in files without a name until a command ends, then copied whole to its place.

Owns the kinds of output (`-tasks-output`). Outputs of two commands never mix; a slot uses its files again.
"""

import itertools
import os
from collections.abc import Callable, Iterator

#: descriptors of the job's standard output and standard error, and numbers of the streams
OUT, ERR = STREAMS = (1, 2)
_PIECE = 1 << 20
_numbers = itertools.count()


class Capture:
    """The files for the streams of one command at a time. `descriptors`: for stdout and stderr, equal if `is_one`."""

    def __init__(self, is_one: bool) -> None:
        first = _unnamed_file()
        self.descriptors = (first, first if is_one else _unnamed_file())
        self._own: tuple[int, ...] = self.descriptors[:1] if is_one else self.descriptors

    def sizes(self) -> list[tuple[int, int]]:
        """(stream, bytes) of each stream with content."""
        found = []
        for stream, descriptor in zip(STREAMS, self._own, strict=False):
            if size := os.lseek(descriptor, 0, os.SEEK_END):
                found.append((stream, size))
        return found

    def pieces(self, stream: int, size: int) -> Iterator[bytes]:
        """The content of a stream."""
        position = 0
        while position < size and (piece := os.pread(self.descriptors[stream - 1], _PIECE, position)):
            yield piece
            position += len(piece)

    def add(self, stream: int, data: bytes) -> None:
        """Append output that arrives from another host."""
        write_all(self.descriptors[stream - 1], data)

    def empty(self) -> None:
        for descriptor in self._own:
            os.ftruncate(descriptor, 0)

    def close(self) -> None:
        for descriptor in self._own:
            os.close(descriptor)


class NoCapture(Capture):
    """For outputs that are dropped. `null`: a descriptor of /dev/null."""

    def __init__(self, null: int) -> None:
        self.descriptors, self._own = (null, null), ()


def write_all(descriptor: int, data: bytes) -> None:
    """Write all of the data. Raises OSError."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def is_one_file() -> bool:
    """Whether this process writes its output and its errors into the same file (`-j y`)."""
    out, err = (os.fstat(descriptor) for descriptor in STREAMS)
    return os.path.samestat(out, err)


def _unnamed_file() -> int:
    """A file for appending and reading in the scratch directory of the job, which no other process can open."""
    directory = os.environ.get("TMPDIR") or "/tmp"
    flags = os.O_RDWR | os.O_APPEND | os.O_CLOEXEC
    try:
        return os.open(directory, flags | os.O_TMPFILE, 0o600)
    except OSError:  # not every file system has these
        path = f"{directory}/qtasks.{os.getpid()}.{next(_numbers)}"
        descriptor = os.open(path, flags | os.O_CREAT | os.O_EXCL, 0o600)
        os.unlink(path)
        return descriptor


class OutputFiles:
    """The output of ended commands, by the options of the list.

    `directory`: of the list; `out/N` and `err/N` in it hold outputs that are kept apart, and with `ordered` outputs that wait for
    the end of a command before them.
    """

    def __init__(self, directory: str, kind: str, ordered: bool) -> None:
        self._directory, self._kind, self._ordered = directory, kind, ordered
        self._next = 1
        if ordered or kind in ("apart", "failures"):
            for name in ("out", "err"):
                os.makedirs(f"{directory}/{name}", 0o700, exist_ok=True)

    def take(self, number: int, capture: Capture, has_failed: bool, attempt: int) -> None:
        """Put the output of an attempt in its place. Raises OSError."""
        sizes = capture.sizes()
        if self._kind == "merged" and (not self._ordered or number < self._next):
            for stream, size in sizes:
                for piece in capture.pieces(stream, size):
                    write_all(stream, piece)
        elif self._kind != "none":
            if attempt > 1 and not self._ordered:
                self._remove(number)
            if has_failed or self._kind != "failures":
                for stream, size in sizes:
                    self._append(number, stream, capture.pieces(stream, size))
        if sizes:
            capture.empty()

    def move_in_order(self, is_ended: Callable[[int], bool]) -> None:
        """With the order of the list: move outputs into the files of the job, as far as all commands before them have ended.

        `is_ended(number)`: False also behind the last command. Raises OSError.
        """
        while self._ordered and is_ended(self._next):
            for stream in STREAMS:
                try:
                    with open(self.path(self._next, stream), "rb") as file:
                        while piece := file.read(_PIECE):
                            write_all(stream, piece)
                except FileNotFoundError:
                    continue
            self._remove(self._next)
            self._next += 1

    def path(self, number: int, stream: int) -> str:
        return output_path(self._directory, number, stream)

    def _append(self, number: int, stream: int, pieces: Iterator[bytes]) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(self.path(number, stream), flags, 0o600)
        try:
            for piece in pieces:
                write_all(descriptor, piece)
        finally:
            os.close(descriptor)

    def _remove(self, number: int) -> None:
        for stream in STREAMS:
            try:
                os.unlink(self.path(number, stream))
            except FileNotFoundError:
                continue


def output_path(directory: str, number: int, stream: int) -> str:
    """The file for the output of a command that is kept apart."""
    return f"{directory}/{'out' if stream == OUT else 'err'}/{number}"
