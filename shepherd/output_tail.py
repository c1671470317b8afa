"""The end of a task's output, read as its owner: `python -m shepherd.output_tail DIRECTORY OWNER STREAM BYTES`.

A program of its own, because it drops root's rights permanently before it reads any file of the user: the file is opened as the
owner in the task's `config`, with the groups that the owner has now. The path is also from the `config`.
Prints one JSON object: `path`, `size`, `begin`, `text`, or `fault`. Called by `daemons.execd.output_reader`, which ends it when
it takes too long. Source: adr/0138.
"""

from __future__ import annotations

import json
import os
import signal
import stat
import sys
from dataclasses import replace
from pathlib import Path

from gridengine.errors import GridEngineError
from gridengine.protocols import task_file
from gridengine.protocols.task_file import TaskConfig, TaskFileError
from shepherd.identity import IdentityError, become, owner
from shepherd.standard_files import file_in

#: seconds after which it ends by itself
_LONGEST_S = 10
#: bytes of a character in UTF-8 behind its first
_REST_OF_CHARACTER = range(0x80, 0xC0)


class OutputError(GridEngineError):
    """There is no output to show; the text is the reason, for the owner."""


def find_file(config: TaskConfig, stream: str) -> str:
    """The file to which the task writes `stream`, found with the rights of its owner. Raises OutputError."""
    if config.session:
        raise OutputError("an interactive task writes to its client, not to a file")
    if stream == "stdout" or config.merge or config.stderr is None:
        return file_in(config.stdout, config.default_stdout)
    return file_in(config.stderr, config.default_stderr)


def read_end(path: str, max_bytes: int) -> dict[str, object]:
    """The last `max_bytes` bytes of a plain file. Raises OutputError, OSError.

    No other file is opened: the writer of a pipe would notice, and opening a device may have effects.
    """
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise OutputError(f'"{path}" is no plain file')
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):  # replaced since the check
            raise OutputError(f'"{path}" is no plain file')
        begin = max(0, status.st_size - max_bytes)
        data = os.pread(descriptor, min(max_bytes, status.st_size), begin)
    finally:
        os.close(descriptor)
    skipped = next((number for number, byte in enumerate(data[:4]) if byte not in _REST_OF_CHARACTER), 0) if begin else 0
    text = data[skipped:].decode(errors="replace")
    return {"path": path, "size": status.st_size, "begin": begin + skipped, "text": text}


def read(directory: Path, expected_owner: str, stream: str, max_bytes: int) -> dict[str, object]:
    """Become the task's owner, and read. `expected_owner`: the task must belong to this user."""
    try:
        config = task_file.decode(task_file.read_stored_config(lambda name: (directory / name).read_bytes()))
        if config.owner != expected_owner:
            raise OutputError(f'the task here belongs to "{config.owner}"')
        become(owner(replace(config, groups=None)))  # the present groups
        path = find_file(config, stream)
    except (OutputError, IdentityError, TaskFileError) as fault:
        return {"fault": str(fault)}
    except OSError:
        return {"fault": "the task has ended"}
    try:
        return read_end(path, max_bytes)
    except OutputError as fault:
        return {"path": path, "fault": str(fault)}
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        return {"path": path, "fault": f'cannot read "{path}": {reason}'}


def main(arguments: list[str]) -> None:
    """Command line."""
    directory, expected_owner, stream, max_bytes = arguments
    signal.alarm(_LONGEST_S)
    answer = json.dumps(read(Path(directory), expected_owner, stream, int(max_bytes)), ensure_ascii=False)
    sys.stdout.buffer.write(answer.encode(errors="replace"))


if __name__ == "__main__":
    main(sys.argv[1:])
