"""Events for which the runner and its workers wait: ends of processes, signals, data of other processes, or a time.

Owns the handlers of the signals, and the poll object.
"""

import os
import select
import signal

#: signals that end a runner in order: of qdel, of a soft limit, of -notify
ENDING = (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1, signal.SIGUSR2, signal.SIGXCPU)


class Wakeups:
    """`ended_by`: the signal by which this process shall end, 0 for none."""

    def __init__(self) -> None:
        self._reader, writer = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        for number in (signal.SIGCHLD, *ENDING):
            signal.signal(number, _pass)
        signal.siginterrupt(signal.SIGCHLD, False)
        self._poll = select.poll()
        self.watch(self._reader)
        self.ended_by = 0

    def watch(self, descriptor: int) -> None:
        self._poll.register(descriptor, select.POLLIN)

    def forget(self, descriptor: int) -> None:
        self._poll.unregister(descriptor)

    def wait(self, limit_s: float) -> list[int]:
        """Wait; the watched descriptors that have data or have reached their end."""
        ready = [descriptor for descriptor, _ in self._poll.poll(max(limit_s, 0.0) * 1000)]
        if self._reader in ready:
            ready.remove(self._reader)
            for number in os.read(self._reader, 4096):
                if number in ENDING:
                    self.ended_by = number
        return ready


def _pass(number: int, frame: object) -> None:
    """The number of the signal is in the pipe."""
