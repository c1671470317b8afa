"""Signals of a command that waits for the job that it has submitted: qsub -sync, -now, qsh.

Owns the deletion of the job. `terminal` is the counterpart for qrsh and its family. Source: SO-34; O.
"""

import signal

from clients import program

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_EXIT_TERMINATED = 1
_ENDING_SIGNALS = (signal.SIGINT, signal.SIGTERM)
#: a closed terminal and the quit key have no effect on the job and this command, as in 8.1.9
_IGNORED_SIGNALS = (signal.SIGHUP, signal.SIGQUIT)


class WaitingCommand:
    """In this context SIGTERM and SIGINT raise KeyboardInterrupt, also where SIGINT was ignored at the start; further signals
    are ignored.

    The first signal takes effect when the number of the job is known, so that the job can be deleted. A second signal takes
    effect at once. `job_id`: 0 until the job is submitted; `terminated`: SIGTERM was received.
    """

    def __init__(self) -> None:
        self.job_id = 0
        self.terminated = False
        self._pending = False
        self._handlers: dict[int, Any] = {}

    def submitted(self, job_id: int) -> None:
        """Note the number of the job. Raises KeyboardInterrupt if a signal was received before."""
        self.job_id = job_id
        if self._pending:
            self._end()

    def __enter__(self) -> "WaitingCommand":
        for number in _ENDING_SIGNALS:
            self._handlers[number] = signal.signal(number, self._interrupt)
        for number in _IGNORED_SIGNALS:
            self._handlers[number] = signal.signal(number, signal.SIG_IGN)
        return self

    def _interrupt(self, number: int, frame: object) -> None:
        self.terminated = number == signal.SIGTERM
        if self.job_id or self._pending:
            self._end()
        self._pending = True

    def _end(self) -> None:
        for number in self._handlers:
            signal.signal(number, signal.SIG_IGN)
        raise KeyboardInterrupt

    def __exit__(self, *failure: object) -> None:
        if failure[0] is not KeyboardInterrupt:
            for number, handler in self._handlers.items():
                signal.signal(number, handler)


def run_interruptible(work: "Callable[[WaitingCommand], int]") -> int:
    """The exit status of `work`, which submits a job and waits for it; a signal deletes the job.

    Deviation: 130 after SIGINT, as shells have it; 8.1.9 exits with 1.
    """
    waiting = WaitingCommand()
    try:
        with waiting:
            return work(waiting)
    except KeyboardInterrupt:
        program.print_error("\nInterrupted!")
        if waiting.job_id:
            program.request("delete_jobs", {"targets": [str(waiting.job_id)]})
        else:
            program.print_error("it is not known whether the job was submitted")
        return _EXIT_TERMINATED if waiting.terminated else program.EXIT_INTERRUPTED
