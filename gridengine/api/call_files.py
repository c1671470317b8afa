"""The files between a program and the tasks that make its calls, in a private directory that the exec hosts share.

Owns the formats of the files, and the check that only the caller can have written them. `calls` holds a length in 16 digits, a
pickled description {"python": version, "path", "cwd", "umask", "most": bytes, "shift": s, "functions": [(begin, size)],
"chunks": [(number of the function, (begin, size))], "tasks": [(first chunk, count)]}, and the pickles that the description
refers to; the pickle of a chunk is a list of (args, kwargs). `N.K.result` holds the outcomes of chunk K of task N, a pickle for
each call. The output of a task is `N.log`, or `N.K.log` for each chunk if the task has several chunks; in this case the link
`N.K.claim` names the owner of the chunk. Results are written by rename. Called by `executor` and `task_arrays`; the
counterpart is `worker`.
"""

from __future__ import annotations

import os
import pickle
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from gridengine.api import worker
from gridengine.api.task_faults import NotPicklable, OtherPython, RemoteTraceback, ResultTooLarge, TaskFailed
from gridengine.extensions import missing_libraries

Call = tuple[tuple[Any, ...], dict[str, Any]]
"""Positional and keyword arguments."""
_LOG_BYTES = 64 * 1024
_ATTEMPTS = 10


class TaskLocation(NamedTuple):
    """The location of a task, for exceptions and logs."""

    job_id: int
    task_id: int
    host: str


class PrivateDirectory:
    """A private directory of the caller, below `parent`, which all exec hosts must share. Raises GridError, OSError."""

    def __init__(self, parent: Path) -> None:
        parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.path = Path(tempfile.mkdtemp(prefix="calls-", dir=parent))
        worker.check_private(self.path)

    def remove(self) -> None:
        """Remove the directory and its contents. A task that was deleted during its start may still create a file there."""
        for _ in range(_ATTEMPTS):
            shutil.rmtree(self.path, ignore_errors=True)
            if not self.path.exists():
                return


def no_cloudpickle() -> str:
    """Instructions for a Python without the library: the cell's own Python has it."""
    text = f"functions are sent to jobs by cloudpickle: {missing_libraries('api')}"
    prefix = next((parent.parent for parent in Path(__file__).resolve().parents if parent.name == "releases"), None)
    own = sorted(prefix.glob("libraries/*/bin/python3")) if prefix is not None else []
    return f"{text}, or use the Python of this installation, {own[-1]}" if own else text


def pickled(value: object, what: str) -> bytes:
    """The pickle of a value. Raises NotPicklable, which names `what`, also if the library is missing."""
    try:
        import cloudpickle
    except ModuleNotFoundError:
        raise NotPicklable(no_cloudpickle()) from None

    try:
        return bytes(cloudpickle.dumps(value, protocol=5))
    except Exception as error:
        raise NotPicklable(f"{what} cannot be sent to a job: {type(error).__name__}: {error}") from error


def write_calls(directory: Path, tasks: Sequence[Sequence[tuple[bytes, bytes]]], most_bytes: int, shift_s: float) -> None:
    """Create the directory of an array with the chunks of its tasks, (function, calls) each. Raises OSError."""
    directory.mkdir(mode=0o700)
    blobs: list[bytes] = []
    numbers: dict[bytes, int] = {}
    end = 0

    def add_blob(blob: bytes) -> tuple[int, int]:
        nonlocal end
        blobs.append(blob)
        end += len(blob)
        return end - len(blob), len(blob)

    functions: list[tuple[int, int]] = []
    chunks: list[tuple[int, tuple[int, int]]] = []
    rows = []
    for task in tasks:
        rows.append((len(chunks), len(task)))
        for function, calls in task:
            if function not in numbers:
                numbers[function] = len(functions)
                functions.append(add_blob(function))
            chunks.append((numbers[function], add_blob(calls)))
    mask = os.umask(0)
    os.umask(mask)
    array = {
        "python": worker.python_version(),
        "path": [os.path.abspath(path) for path in sys.path],
        "cwd": os.getcwd(),
        "umask": mask,
        "most": most_bytes,
        "shift": shift_s,
        "functions": functions,
        "chunks": chunks,
        "tasks": rows,
    }
    head = pickle.dumps(array, 2)
    worker.write_atomically(directory, "calls", lambda file: file.writelines([b"%016d" % len(head), head, *blobs]))


def read_outcomes(directory: Path, name: str, location: TaskLocation) -> list[Any]:
    """The outcomes of a chunk's calls: results, or `Raised`. Raises FileNotFoundError, UnsafeFileError, TaskFailed."""
    worker.check_private(directory)
    path = directory / f"{name}.result"
    outcomes: list[Any] = []
    with worker.open_own(path) as file:
        size = os.fstat(file.fileno()).st_size
        while file.tell() < size:
            outcomes.append(_outcome(pickle.load(file), location))
    path.unlink()
    return outcomes


class Raised(NamedTuple):
    """`error`: an exception that a call raised."""

    error: BaseException


def _outcome(outcome_record: tuple[Any, ...], location: TaskLocation) -> Any:
    if outcome_record[0] is True:
        return outcome_record[1]
    if outcome_record[0] is False:
        error: BaseException = outcome_record[1]
        error.__cause__ = RemoteTraceback(outcome_record[2])
        return Raised(error)
    _, kind, text = outcome_record
    if kind == "no pickle":
        return Raised(NotPicklable(text))
    fault = {"too large": ResultTooLarge, "other python": OtherPython}.get(kind, TaskFailed)
    return Raised(fault(text, *location))


def read_log(directory: Path, name: str) -> str:
    """The end of the output of a task or of a chunk, "" if there is no output."""
    path = directory / f"{name}.log"
    try:
        with worker.open_own(path) as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - _LOG_BYTES))
            text = file.read().decode(errors="replace")
        path.unlink()
    except (OSError, worker.UnsafeFileError):
        return ""
    return text
