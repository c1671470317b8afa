"""The progress of a list in the context of its job, where `qstat -j`, the pages and programs show it.

Owns the variables: tasks, tasks_done, tasks_failed, tasks_running, and tasks_dir, the directory of the list. A failure has no
effect: the records count.
"""

import os
import time
from collections.abc import Callable

#: pauses, in s: before the first report, so that a short job costs none, and between two
_FIRST_S, _BETWEEN_S = 1.0, 10.0
#: characters that divide the list of variables
_DIVIDERS = frozenset(", =")


class ProgressReport:
    """Runs `qalter -ac` of this installation. `job`: number of the job, "" outside a job; `start`: starts a process."""

    def __init__(self, job: str, command: str, directory: str, start: Callable[[list[str]], object]) -> None:
        self._job, self._command, self._start = job, command, start
        self._place = [] if _DIVIDERS & set(directory) else [f"tasks_dir={directory}"]
        self._next = time.monotonic() + _FIRST_S
        self._last = ""

    def update(self, counts: dict[str, int]) -> None:
        """Report the numbers of commands by state if it is time, and they have changed."""
        now = time.monotonic()
        if not self._job or now < self._next:
            return
        self._next = now + _BETWEEN_S
        total, skipped = sum(counts.values()), counts["skipped"]
        numbers = [f"tasks={total}", *(f"tasks_{state}={counts[state]}" for state in ("done", "failed", "running"))]
        variables = ",".join([*numbers, *([f"tasks_skipped={skipped}"] if skipped else []), *self._place])
        if variables == self._last:
            return
        self._last = variables
        try:
            self._start([self._command, "-ac", variables, self._job])
        except OSError:
            return


def quiet_process(argv: list[str]) -> int:
    """Start a program without streams; the runner reaps it among its commands."""
    null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    try:
        return os.posix_spawn(
            argv[0], argv, os.environ, file_actions=[(os.POSIX_SPAWN_DUP2, null, stream) for stream in (0, 1, 2)], setpgroup=0
        )
    finally:
        os.close(null)
