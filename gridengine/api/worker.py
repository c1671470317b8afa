"""What a task of a GridExecutor runs on its host: it takes calls out of a file, makes them, and leaves what came of them.

A task may have several chunks of calls. It takes another one as long as its shift lasts; those that it leaves go to other tasks.

A program of its own, run by the caller's Python, which need not know the project: it must import nothing but the standard
library, and of that little. Reads and writes in one private directory alone, and unpickles only what nobody else can have
written. Shapes of the files: `gridengine.api.call_files`.

    python -P worker.py DIRECTORY      the array's directory; its task is SGE_TASK_ID; -P: modules are sought where the caller did
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
"""Bytes of the length that stands before the description of a file of calls."""
TASK, PROGRAM = "task", "program"
"""Who may claim a chunk: the task that is to make it, or the program, which takes it back then."""


class Unsafe(Exception):
    """Somebody else could have written this."""


class TooLarge(Exception):
    """What comes of a call is larger than the executor takes."""


class BoundedFile:
    """A file that takes so many bytes."""

    def __init__(self, file: "BinaryIO", most: int) -> None:
        self._file, self._left, self._most = file, most, most

    def write(self, data: "Any") -> int:
        """As that of a file. Raises TooLarge."""
        self._left -= memoryview(data).nbytes
        if self._left < 0:
            raise TooLarge(f"what comes of it is larger than {self._most} bytes")
        return self._file.write(data)


def python_version() -> str:
    """Of which pickles may differ."""
    return f"{sys.version_info[0]}.{sys.version_info[1]}"


def check_private(directory: "str | os.PathLike[str]") -> None:
    """Raise Unsafe for a directory that is not the caller's alone."""
    facts = os.lstat(directory)
    if not stat.S_ISDIR(facts.st_mode) or facts.st_uid != os.geteuid() or facts.st_mode & 0o077:
        raise Unsafe(f"{directory} must be a directory of yours with the mode 0700")


def open_own(path: "str | os.PathLike[str]") -> "BinaryIO":
    """A file of the caller, open for reading. Raises Unsafe, OSError."""
    file = os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC), "rb")
    facts = os.fstat(file.fileno())
    if not stat.S_ISREG(facts.st_mode) or facts.st_uid != os.geteuid():
        file.close()
        raise Unsafe(f"{path} is not yours")
    return file


def claim(directory: "str | os.PathLike[str]", name: str, holder: str) -> bool:
    """Whether a chunk is this holder's, as it is once he has claimed it first: the links to nowhere are made in one step."""
    path = os.path.join(directory, f"{name}.claim")
    try:
        os.symlink(holder, path)
        return True
    except FileExistsError:
        return os.readlink(path) == holder


def is_claimed(directory: "str | os.PathLike[str]", name: str) -> bool:
    """Whether a chunk is somebody's."""
    return os.path.lexists(os.path.join(directory, f"{name}.claim"))


class Calls:
    """The file of calls of an array, open. `array`: its description. Raises Unsafe, OSError."""

    def __init__(self, directory: str) -> None:
        check_private(directory)
        self._file = open_own(os.path.join(directory, "calls"))
        length = int(self._file.read(_HEAD))
        self.array: Description = pickle.loads(self._file.read(length))
        self._begin = _HEAD + length

    def chunks(self, number: int) -> "list[tuple[int, tuple[int, int]]]":
        """Those of a task: number of the function, place of the calls."""
        first, count = self.array["tasks"][number - 1]
        chunks: list[tuple[int, tuple[int, int]]] = self.array["chunks"][first : first + count]
        return chunks

    def at(self, place: "tuple[int, int]") -> bytes:
        """A pickle by its place."""
        self._file.seek(self._begin + place[0])
        return self._file.read(place[1])


def leave(directory: "str | os.PathLike[str]", name: str, write: "Callable[[BinaryIO], object]") -> None:
    """Write a file beside its name and give it that when all of it is there."""
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
            pass  # what went wrong first is what counts
        raise


def dump(value: object, file: "BinaryIO", most: int) -> None:
    """Pickle a value into a file; what plain pickle cannot, cloudpickle may. Raises TooLarge, and whatever pickling does."""
    begin = file.tell()
    try:
        pickle.dump(value, BoundedFile(file, most), 5)
    except TooLarge:
        file.seek(begin)
        file.truncate()
        raise
    except Exception:
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
    except BaseException as error:
        return _failed(error)


def _failed(error: BaseException) -> "tuple[bool, BaseException, str]":
    import traceback

    text = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    error.__traceback__ = None
    return False, error, text


def write_outcomes(file: "BinaryIO", function: "Callable[..., Any]", calls: "Any", most: int) -> None:
    """A pickle for each call: what `outcome` says, or ("text", kind, text) of what has none. Raises OSError."""
    for args, kwargs in calls:
        came = outcome(function, args, kwargs)
        begin = file.tell()
        try:
            dump(came, file, most - begin)
            continue
        except TooLarge as error:
            came = ("text", "too large", str(error))
        except OSError:
            raise
        except Exception as error:
            what = f"a result of type {type(came[1]).__name__}" if came[0] is True else f"the exception {came[2]}"
            came = ("text", "no pickle", f"{what} cannot be pickled: {error}")
        file.seek(begin)
        file.truncate()
        pickle.dump(came, file, 5)


def make_chunk(directory: str, name: str, array: "Description", function_blob: bytes, calls_blob: bytes) -> None:
    """Make the calls of a chunk, where the program is and with its umask. Raises OSError."""
    if os.path.isdir(array["cwd"]):
        os.chdir(array["cwd"])
    os.umask(array["umask"])

    def make(file: "BinaryIO") -> None:
        try:
            function, calls = pickle.loads(function_blob), pickle.loads(calls_blob)
        except Exception as error:
            pickle.dump(("text", "no call", _failed(error)[2]), file, 5)
            return
        write_outcomes(file, function, calls, array["most"])
        sys.stdout.flush()

    leave(directory, f"{name}.result", make)


def print_to(directory: str, name: str) -> None:
    """Have a log of its own for what is printed from now on."""
    sys.stdout.flush()
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
    log = os.open(os.path.join(directory, f"{name}.log"), flags, 0o600)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.close(log)


def run(directory: str, number: int) -> None:
    """Make the calls of a task: of its only chunk, or of one chunk after the other until its shift is over."""
    begin = time.monotonic()
    calls = Calls(directory)
    array, chunks, here = calls.array, calls.chunks(number), python_version()
    names = [f"{number}.{which}" for which in range(len(chunks))]
    if array["python"] != here:
        text = f"{sys.executable} on {os.uname()[1]} is Python {here}, and the calls were made by {array['python']}"
        for name in names:
            leave(directory, f"{name}.result", lambda file: pickle.dump(("text", "other python", text), file, 2))
        return
    sys.path[:0] = [path for path in array["path"] if path not in sys.path]
    for name, (function, place) in zip(names, chunks, strict=True):
        if len(chunks) > 1:
            if time.monotonic() - begin > array["shift"]:
                break
            if not claim(directory, name, TASK) or os.path.exists(os.path.join(directory, f"{name}.result")):
                continue
            print_to(directory, name)
        make_chunk(directory, name, array, calls.at(array["functions"][function]), calls.at(place))


def main() -> None:
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]  # stdout and stderr keep their order
    try:
        run(sys.argv[1], int(os.environ.get("SGE_TASK_ID", "")))
    except (Unsafe, OSError, ValueError) as error:
        sys.exit(f"worker: {getattr(error, 'strerror', None) or error}")


if __name__ == "__main__":
    main()
