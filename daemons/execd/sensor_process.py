"""The start of a load sensor's process: takes the admin user's ids, ends with its parent, and executes the sensor.

A program of its own because these steps must not be taken between fork and exec of a process with threads. Started by
`daemons.execd.load_sensor` as `python -m daemons.execd.sensor_process PARENT USER PATH`. Source: sge_execd(8) LOAD SENSORS.
"""

from __future__ import annotations

import os
import signal
import sys

from daemons.runtime import identity
from daemons.runtime.daemon import die_with_parent
from gridengine.files.executables import execute

#: exit status for a program that cannot be executed, as a shell has it
_NOT_EXECUTED = 126


def main(arguments: list[str]) -> None:
    """Execute the program at PATH as USER (where this is root). PARENT: process id; the sensor ends with it."""
    parent, user, path = int(arguments[0]), arguments[1], arguments[2]
    if os.geteuid() == 0:
        identity.named(user).become()
    # after the change of ids, which would forget it
    die_with_parent(parent)
    os.environ.pop("PYTHONPATH", None)  # ours, for this module
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    try:
        execute(path, [path], os.environ)
    except OSError:
        os._exit(_NOT_EXECUTED)


if __name__ == "__main__":
    main(sys.argv[1:])
