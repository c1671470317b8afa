"""The program of a GridExecutor's task on its host: reads calls from a file, makes them, and writes their outcomes.

A task may have several chunks of calls. The task takes further chunks during its shift; the remaining chunks go to other tasks.

A separate program, run by the caller's Python, which may not have this project: it must import only the standard library, and
little of that. Reads and writes only in a private directory, and unpickles only files that no other user can have
written. Formats of the files: `gridengine.api.call_files`.

    python -P worker.py DIRECTORY      the array's directory; its task is SGE_TASK_ID; -P: only the caller's module paths are used
"""

import os
import stat
import sys
import time

TYPE_CHECKING = False  # as typing has it: each task pays for every import
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, BinaryIO

    Description = dict[str, Any]

try:
    import _pickle as pickle  # the C part alone: the module around it costs 5 ms more
except ImportError:
    import pickle  # type: ignore[no-redef]

_HEAD = 16
"""Digits of the length before the description in a file of calls."""
TASK, PROGRAM = "task", "program"
"""The two holders that may claim a chunk: the task, to run it, or the program, to reclaim it."""


class UnsafeFileError(Exception):
    """Another user could have written the file."""


class TooLargeError(Exception):
    """The outcome of a call is larger than the executor accepts."""


class BoundedFile:
    """A file with a limited size. `most`: bytes."""

    def __init__(self, file: "BinaryIO", most: int) -> None:
        self._file, self._left, self._most = file, most, most

    def write(self, data: "Any") -> int:
        """As `write` of a file. Raises TooLargeError."""
        self._left -= memoryview(data).nbytes
        if self._left < 0:
            raise TooLargeError(f"its outcome is larger than {self._most} bytes")
        return self._file.write(data)


def python_version() -> str:
    """The part of Python's version on which pickles depend."""
    return f"{sys.version_info[0]}.{sys.version_info[1]}"


def check_private(directory: "str | os.PathLike[str]") -> None:
    """Raise UnsafeFileError for a directory that is not private to the caller."""
    status = os.lstat(directory)
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid() or status.st_mode & 0o077:
        raise UnsafeFileError(f"{directory} must be a directory of yours with the mode 0700")


def open_own(path: "str | os.PathLike[str]") -> "BinaryIO":
    """A file of the caller, open for reading. Raises UnsafeFileError, OSError."""
    file = os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC), "rb")
    status = os.fstat(file.fileno())
    if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid():
        file.close()
        raise UnsafeFileError(f"{path} is not yours")
    return file


def claim(directory: "str | os.PathLike[str]", name: str, holder: str) -> bool:
    """Claim a chunk; whether this holder was the first. The claim is a dangling link, since a link is created atomically."""
    path = os.path.join(directory, f"{name}.claim")
    try:
        os.symlink(holder, path)
        return True
    except FileExistsError:
        return os.readlink(path) == holder


def is_claimed(directory: "str | os.PathLike[str]", name: str) -> bool:
    """Whether a holder has claimed the chunk."""
    return os.path.lexists(os.path.join(directory, f"{name}.claim"))


class Calls:
    """The file of calls of an array, open. `array`: its description. Raises UnsafeFileError, OSError."""

    def __init__(self, directory: str) -> None:
        check_private(directory)
        self._file = open_own(os.path.join(directory, "calls"))
        length = int(self._file.read(_HEAD))
        self.array: Description = pickle.loads(self._file.read(length))
        self._begin = _HEAD + length

    def chunks(self, number: int) -> "list[tuple[int, tuple[int, int]]]":
        """The chunks of a task: number of the function, span of the calls."""
        first, count = self.array["tasks"][number - 1]
        chunks: list[tuple[int, tuple[int, int]]] = self.array["chunks"][first : first + count]
        return chunks

    def read_pickle(self, span: "tuple[int, int]") -> bytes:
        """A pickle by its span (begin, size)."""
        self._file.seek(self._begin + span[0])
        return self._file.read(span[1])


def write_atomically(directory: "str | os.PathLike[str]", name: str, write: "Callable[[BinaryIO], object]") -> None:
    """Write a temporary file and rename it when it is complete."""
    draft = os.path.join(directory, f".{name}.{os.getpid()}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            write(file)
        os.rename(draft, os.path.join(directory, name))
    except BaseException:
        try:
            os.unlink(draft)
        except OSError:
            pass  # the first error is reported
        raise


def dump(value: object, file: "BinaryIO", most: int) -> None:
    """Pickle a value into a file, with cloudpickle if plain pickle fails. Raises TooLargeError, and the errors of pickling."""
    begin = file.tell()
    try:
        pickle.dump(value, BoundedFile(file, most), 5)
    except TooLargeError:
        file.seek(begin)
        file.truncate()
        raise
    except Exception:  # pickling by reference failed, whatever the reason
        file.seek(begin)
        file.truncate()
        from cloudpickle import dump as dump_by_value

        dump_by_value(value, BoundedFile(file, most), 5)


def outcome(function: "Callable[..., Any]", args: "tuple[Any, ...]", kwargs: "dict[str, Any]") -> "tuple[Any, ...]":
    """(True, result) or (False, exception, its traceback as a text)."""
    try:
        return True, function(*args, **kwargs)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # of the user's function
        return _failed(error)


def _failed(error: BaseException) -> "tuple[bool, BaseException, str]":
    import traceback

    text = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    error.__traceback__ = None
    return False, error, text


def write_outcomes(file: "BinaryIO", function: "Callable[..., Any]", calls: "Any", most: int) -> None:
    """Write a pickle for each call: its `outcome`, or ("text", kind, text) if it cannot be pickled. Raises OSError."""
    for args, kwargs in calls:
        outcome_record = outcome(function, args, kwargs)
        begin = file.tell()
        try:
            dump(outcome_record, file, most - begin)
            continue
        except TooLargeError as error:
            outcome_record = ("text", "too large", str(error))
        except OSError:
            raise
        except Exception as error:  # of the user's pickling
            is_result = outcome_record[0] is True
            what = f"a result of type {type(outcome_record[1]).__name__}" if is_result else f"the exception {outcome_record[2]}"
            outcome_record = ("text", "no pickle", f"{what} cannot be pickled: {error}")
        file.seek(begin)
        file.truncate()
        pickle.dump(outcome_record, file, 5)


def run_chunk(directory: str, name: str, array: "Description", function_blob: bytes, calls_blob: bytes) -> None:
    """Make the calls of a chunk, in the program's directory and with its umask. Raises OSError."""
    if os.path.isdir(array["cwd"]):
        os.chdir(array["cwd"])
    os.umask(array["umask"])

    def make(file: "BinaryIO") -> None:
        try:
            function, calls = pickle.loads(function_blob), pickle.loads(calls_blob)
        except Exception as error:  # of the user's modules
            pickle.dump(("text", "no call", _failed(error)[2]), file, 5)
            return
        write_outcomes(file, function, calls, array["most"])
        sys.stdout.flush()

    write_atomically(directory, f"{name}.result", make)


def redirect_output(directory: str, name: str) -> None:
    """Redirect stdout and stderr to the log of a chunk."""
    sys.stdout.flush()
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
    log = os.open(os.path.join(directory, f"{name}.log"), flags, 0o600)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.close(log)


def run(directory: str, number: int) -> None:
    """Make the calls of a task: of its only chunk, or of its chunks in sequence until the end of its shift."""
    begin = time.monotonic()
    calls = Calls(directory)
    array, chunks, version = calls.array, calls.chunks(number), python_version()
    names = [f"{number}.{index}" for index in range(len(chunks))]
    if array["python"] != version:
        text = f"{sys.executable} on {os.uname()[1]} is Python {version}, and the calls were made by {array['python']}"
        for name in names:
            write_atomically(directory, f"{name}.result", lambda file: pickle.dump(("text", "other python", text), file, 2))
        return
    sys.path[:0] = [path for path in array["path"] if path not in sys.path]
    for name, (function, span) in zip(names, chunks, strict=True):
        if len(chunks) > 1:
            if time.monotonic() - begin > array["shift"]:
                break
            if not claim(directory, name, TASK) or os.path.exists(os.path.join(directory, f"{name}.result")):
                continue
            redirect_output(directory, name)
        run_chunk(directory, name, array, calls.read_pickle(array["functions"][function]), calls.read_pickle(span))


def main() -> None:
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]  # stdout and stderr keep their order
    try:
        run(sys.argv[1], int(os.environ.get("SGE_TASK_ID", "")))
    except (UnsafeFileError, OSError, ValueError) as error:
        sys.exit(f"worker: {getattr(error, 'strerror', None) or error}")


if __name__ == "__main__":
    main()
