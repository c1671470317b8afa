"""The signals that end a command with a job that it has submitted: qsub -sync, -now, qsh, qrsh and its family.

Owns the submission and the deletion of the job, and their continuation in the background if the qmaster hangs. `terminal` has
the other signals of a session. Source: SO-34, IA-6; O.
"""

import os
import signal
import time

from clients import gdi, program
from gridengine.errors import GridEngineError

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

#: seconds for which a signal is deferred: a qmaster that hangs must not hold the user
_DEFERRAL_S = 5
#: seconds for which the deletion of a job is retried after a signal, and between two attempts
_DELETION_S, _PAUSE_S = 600, 1
_EXIT_TERMINATED = 1
_UNKNOWN = "it is not known whether the job was submitted"


class SignalledError(GridEngineError):
    """A signal ends this command. `text`: about the job whose submission or deletion is unfinished, "" if none is."""

    def __init__(self, number: int, text: str = "") -> None:
        self.number, self.text = number, text
        super().__init__(number)


class EndingSignals:
    """From `watch` on, each signal in `numbers` raises SignalledError.

    During a submission or a deletion the first signal is deferred, for some seconds at most; a second signal takes effect at
    once. Then the work goes on in a process in the background, which deletes a job whose number comes later. `ignored`: numbers
    of signals without effect.
    """

    def __init__(self, numbers: "tuple[int, ...]", ignored: "tuple[int, ...]" = ()) -> None:
        self._numbers, self._ignored = numbers, ignored
        #: 0 until the job is submitted
        self.job_id = 0
        self._received = 0
        #: about the work that must be finished before the command may end, "" if there is none
        self._unfinished = ""
        self._earlier: dict[int, Any] = {}

    def watch(self) -> None:
        """Install the handlers."""
        for number in (*self._numbers, signal.SIGALRM):
            self._earlier[number] = signal.signal(number, self._handle)
        for number in self._ignored:
            self._earlier[number] = signal.signal(number, signal.SIG_IGN)

    def restore(self) -> None:
        """Install the earlier handlers again."""
        for number, handler in self._earlier.items():
            signal.signal(number, handler)

    def submit(self, request: "dict[str, Any]") -> gdi.Answer:
        """Submit a job; a deferred signal takes effect at `deliver`. Raises gdi.Unreachable, SignalledError."""
        text = f"{_UNKNOWN}; if it was, it is deleted when the qmaster answers"
        answer = self._finish(lambda: self._submit(request), text)
        if answer.data is not None:
            self.job_id = answer.data["job_id"]
        return answer

    def _submit(self, request: "dict[str, Any]") -> gdi.Answer:
        if gdi.sent_key:  # the native front has blocked the signals, and submitted the job (adr/0261)
            self._unblock()
        return gdi.change("submit", request)

    def adopt(self, job_id: int) -> None:
        """Take over a job that the native front has submitted, with the signals that it has blocked. Raises SignalledError."""
        self.job_id = job_id
        self._unblock()

    def _unblock(self) -> None:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, (*self._numbers, *self._ignored))

    def deliver(self) -> None:
        """Raise SignalledError if a signal was deferred."""
        if self._received:
            raise SignalledError(self._received)

    def delete(self, job_id: int) -> "gdi.Answer | None":
        """Delete the job; the answer, or None if the deletion goes on in the background. Raises gdi.Unreachable."""
        text = f"the qmaster does not answer: job {job_id} is deleted when it does"
        try:
            return self._finish(lambda: self._delete(job_id), text)
        except SignalledError as handed_over:
            program.print_error(handed_over.text)
            return None

    def _delete(self, job_id: int) -> gdi.Answer:
        end = time.monotonic() + (_DELETION_S if self._received else 0)
        while True:
            try:
                return gdi.change("delete_jobs", {"targets": [str(job_id)]})
            except gdi.Unreachable:
                if time.monotonic() > end:
                    raise
            time.sleep(_PAUSE_S)

    def _finish(self, work: "Callable[[], gdi.Answer]", text: str) -> gdi.Answer:
        """The result of work that must be finished. Raises SignalledError with `text` if it goes on in the background."""
        self._unfinished = text
        if self._received:
            signal.alarm(_DEFERRAL_S)
        try:
            return work()
        finally:
            self._unfinished = ""
            signal.alarm(0)

    def _handle(self, number: int, frame: object) -> None:
        if self._received:
            if self._unfinished:
                self._continue_in_background()
        elif number != signal.SIGALRM:
            self._received = number
            if not self._unfinished:
                raise SignalledError(number)
            signal.alarm(_DEFERRAL_S)

    def _continue_in_background(self) -> None:
        """Return in a process of its own, without the terminal and the files of the caller; raise SignalledError in this one."""
        text = self._unfinished
        for number in self._earlier:
            signal.signal(number, signal.SIG_IGN)
        try:
            is_here = os.fork() != 0
        except OSError as error:
            is_here, text = True, f"{text.partition(';')[0]} (no process for the rest: {error.strerror})"
        if is_here:
            raise SignalledError(self._received, text)
        os.setsid()
        os.chdir("/")
        null = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(null, descriptor)
        for descriptor in map(int, os.listdir("/proc/self/fd")):
            try:
                if descriptor > 2 and os.get_inheritable(descriptor):  # the caller's, as a lock: those of this program are not
                    os.close(descriptor)
            except OSError:
                pass  # that of the listing


def run_interruptible(work: "Callable[[EndingSignals], int]") -> int:
    """The exit status of `work`, which submits a job and waits for it. SIGINT or SIGTERM deletes the job, also where SIGINT was
    ignored at the start; a closed terminal and the quit key have no effect, as in 8.1.9.

    Deviation: 130 after SIGINT, as shells have it; 8.1.9 exits with 1.
    """
    signals = EndingSignals((signal.SIGINT, signal.SIGTERM), ignored=(signal.SIGHUP, signal.SIGQUIT))
    signals.watch()
    try:
        return work(signals)
    except SignalledError as interruption:
        program.print_error("\nInterrupted!")
        if interruption.text:
            program.print_error(interruption.text)
        elif signals.job_id and (answer := signals.delete(signals.job_id)):
            program.show_answers(answer)
        return _EXIT_TERMINATED if interruption.number == signal.SIGTERM else program.EXIT_INTERRUPTED
    finally:
        signals.restore()
