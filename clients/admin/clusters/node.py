"""A host's part of a cluster in a parallel job: a process, started by `qrsh -inherit`, that starts the given command.

A separate program of the standard library alone, run as `python -I node.py`. Input: one line of JSON, {"files": {name: text},
"environment", "command", "returns": whether the command ends once its daemons are up, "tries": attempts, "closed": directories
that the user alone may enter, "remove": directories}. The program prints `ready`, and at the end of its input ends the command
and itself. `{private}` in the texts stands for its own directory. Called by `head`.
"""

from __future__ import annotations

import errno
import json
import os
import shlex
import shutil
import stat
import subprocess
import sys
import tempfile
from contextlib import suppress
from typing import Any

_END_S = 5.0
#: characters shown of the output of a failed command
_OUTPUT_CHARACTERS = 4000


def private_directory() -> str:
    """A directory of the user alone, within the task's directory, which is removed with the task."""
    return tempfile.mkdtemp(prefix="cluster-", dir=os.environ.get("TMPDIR") or "/tmp")


def write_files(directory: str, files: dict[str, str]) -> None:
    """Write files that only the user may read."""
    for name, text in files.items():
        descriptor = os.open(os.path.join(directory, name), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(text)


def make_closed(directory: str) -> None:
    """Make a directory of the user alone, or check that it is. Raises OSError if it is another user's: its name is known to all.

    The same for its parent, which is the job's scratch directory on the first host and may not exist on other hosts.
    """
    above = os.path.dirname(directory)
    if not os.path.lexists(above):
        make_closed(above)
    if os.lstat(above).st_uid not in (os.geteuid(), 0):
        raise PermissionError(errno.EPERM, "is a directory of another user", above)
    with suppress(FileExistsError):
        os.mkdir(directory, 0o700)
    status = os.lstat(directory)
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid() or stat.S_IMODE(status.st_mode) & 0o077:
        raise PermissionError(errno.EPERM, "is no closed directory of this user", directory)


def start_part(part: dict[str, Any], directory: str) -> subprocess.Popen[bytes]:
    """Start the part's command, and wait for its end if it `returns`. Raises OSError, and ChildProcessError with its output."""
    for each in part["closed"]:
        make_closed(each)
    write_files(directory, part["files"])
    environment = {name: value.replace("{private}", directory) for name, value in part["environment"].items()}
    command = [argument.replace("{private}", directory) for argument in part["command"]]
    log = os.path.join(directory, "log")
    for _ in range(part["tries"]):
        with open(log, "wb") as output:
            child = subprocess.Popen(
                command, env={**os.environ, **environment}, stdin=subprocess.DEVNULL, stdout=output, stderr=output
            )
        if not part["returns"] or child.wait() == 0:
            return child
    with open(log, errors="replace") as text:
        output_end = text.read()[-_OUTPUT_CHARACTERS:]
        raise ChildProcessError(f"{shlex.join(command)} has ended with status {child.returncode}:\n{output_end}")


def end(child: subprocess.Popen[bytes] | None, directories: list[str]) -> None:
    """End a running command, and remove directories."""
    if child is not None and child.poll() is None:
        child.terminate()
        try:
            child.wait(_END_S)
        except subprocess.TimeoutExpired:
            child.kill()
    for directory in directories:
        shutil.rmtree(directory, ignore_errors=True)


def main() -> int:
    """Run the part of a host; the exit status."""
    directory, child, part = private_directory(), None, json.loads(sys.stdin.readline())
    try:
        child = start_part(part, directory)
        print("ready", flush=True)
        while sys.stdin.readline():
            pass
        return 0
    except (OSError, ChildProcessError) as error:
        print(f"{os.uname().nodename}: {getattr(error, 'strerror', None) or error}", file=sys.stderr)
        return 1
    finally:
        end(child, [directory, *part["remove"]])


if __name__ == "__main__":
    sys.exit(main())
