"""A host's part of a cluster that is made of a parallel job: a process, started by `qrsh -inherit`, that starts what it is told.

A program of its own, of the standard library alone, run as `python -I node.py`. It reads one line of JSON, {"files": {name:
text}, "environment", "command", "returns": whether the command ends once its daemons are up, "tries": how often it may fail,
"closed": directories that the user alone may enter, "remove": directories}, says `ready`, and ends when its input does: with it
ends all that it has started. `{private}` stands for its own directory in the texts. Called by `head`.
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
#: letters of what a command said that failed
_SAID = 4000


def private_directory() -> str:
    """A directory of the user alone, within the task's own, which goes with the task."""
    return tempfile.mkdtemp(prefix="cluster-", dir=os.environ.get("TMPDIR") or "/tmp")


def write_files(directory: str, files: dict[str, str]) -> None:
    """Write what nobody else may read."""
    for name, text in files.items():
        descriptor = os.open(os.path.join(directory, name), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(text)


def make_closed(directory: str) -> None:
    """Make a directory of the user alone, or find it so. Raises OSError where it is another user's: its name is known to all.

    So is the one above, which on the first host is the job's scratch directory and on others need not exist.
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


def started(part: dict[str, Any], directory: str) -> subprocess.Popen[bytes]:
    """Start the part's command; it has ended if it `returns`. Raises OSError, and ChildProcessError with what it said."""
    for each in part["closed"]:
        make_closed(each)
    write_files(directory, part["files"])
    environment = {name: value.replace("{private}", directory) for name, value in part["environment"].items()}
    command = [word.replace("{private}", directory) for word in part["command"]]
    log = os.path.join(directory, "log")
    for _ in range(part["tries"]):
        with open(log, "wb") as said:
            child = subprocess.Popen(
                command, env={**os.environ, **environment}, stdin=subprocess.DEVNULL, stdout=said, stderr=said
            )
        if not part["returns"] or child.wait() == 0:
            return child
    with open(log, errors="replace") as text:
        raise ChildProcessError(f"{shlex.join(command)} has ended with status {child.returncode}:\n{text.read()[-_SAID:]}")


def end(child: subprocess.Popen[bytes] | None, directories: list[str]) -> None:
    """End a command that runs, and remove directories."""
    if child is not None and child.poll() is None:
        child.terminate()
        try:
            child.wait(_END_S)
        except subprocess.TimeoutExpired:
            child.kill()
    for directory in directories:
        shutil.rmtree(directory, ignore_errors=True)


def main() -> int:
    """Be a host's part; the exit status."""
    directory, child, part = private_directory(), None, json.loads(sys.stdin.readline())
    try:
        child = started(part, directory)
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
