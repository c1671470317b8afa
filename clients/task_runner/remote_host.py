"""The commands that run on a further host of the job: a worker there, started by `qrsh -inherit`, is spoken to in lines of JSON.

    to the worker    {"begin": NUMBER, "attempt": N, "command": TEXT}, {"signal": NUMBER}; the end of the stream ends it
    from the worker  {"output": NUMBER, "stream": 1|2, "data": BASE64}, {"end": NUMBER, "attempt": N, "exit": N, "signal": N,
                     "start": S, "until": S}

Owns this protocol, on both sides: `RemoteHost` for the runner, `work` for the worker. Lines that are no JSON, as of a login
script, are ignored.
"""

import binascii
import os
import signal
import time
from typing import Any

from clients.task_runner.capture import Capture, write_all
from clients.task_runner.local_host import AttemptEnd, LocalHost
from clients.task_runner.wakeups import Wakeups
from gridengine import json_text
from gridengine.files.executables import start
from gridengine.task_lists.task_states import records_in

#: s; while the last command took less, the runner sends one more for each slot, so that no slot waits for the network
_SHORT_S = 0.2
_PIECE = 1 << 16
_IDLE_S = 600.0
#: pause after which a host that could start no process tries again
BUSY_S = 0.3


class RemoteHost:
    """A worker on another host. `argv`: starts it and connects its streams; `is_one`: whether both streams go into one file."""

    def __init__(self, name: str, slots: int, argv: list[str], is_one: bool) -> None:
        self.name = name
        self._slots, self._is_one = slots, is_one
        self._is_short = self.is_lost = False
        self._given: dict[int, tuple[int, float]] = {}
        self._captures: dict[int, Capture] = {}
        self._rest = b""
        self._to, self.descriptor = _connect(argv)

    @property
    def has_free(self) -> bool:
        return not self.is_lost and len(self._given) < self._slots * (2 if self._is_short else 1)

    @property
    def is_busy(self) -> bool:
        return bool(self._given)

    def running(self) -> list[tuple[int, int, float]]:
        """The commands that were sent: (number, attempt, time of sending)."""
        return [(number, attempt, sent) for number, (attempt, sent) in self._given.items()]

    def begin(self, number: int, attempt: int, command: str) -> None:
        self._given[number] = attempt, time.time()
        self._send({"begin": number, "attempt": attempt, "command": command})

    def signal(self, number: int) -> None:
        self._send({"signal": number})

    def _send(self, message: dict[str, Any]) -> None:
        try:
            write_all(self._to, json_text.encode(message) + b"\n")
        except OSError:  # its end is seen where the worker's output ends
            return

    def ends(self) -> list[AttemptEnd]:
        """The attempts that have ended; to be called when there is data. Sets `is_lost` at the end of the stream."""
        try:
            data = os.read(self.descriptor, 1 << 20)
        except OSError:
            data = b""
        if not data:
            self.is_lost = True
        lines, newline, self._rest = (self._rest + data).rpartition(b"\n")
        return [end for message in records_in(lines) if (end := self._receive(message)) is not None]

    def _receive(self, message: dict[str, Any]) -> AttemptEnd | None:
        number: int = message.get("output") or message.get("end") or 0
        if number not in self._given:
            return None
        capture = self._captures.get(number)
        if capture is None:
            capture = self._captures[number] = Capture(self._is_one)
        if "output" in message:
            capture.add(message["stream"], binascii.a2b_base64(message["data"]))
            return None
        times = message["start"], message["until"]
        del self._given[number], self._captures[number]
        self._is_short = times[1] - times[0] < _SHORT_S
        return AttemptEnd(number, message["attempt"], times, message["exit"], message["signal"], capture)

    def free(self, end: AttemptEnd) -> None:
        end.capture.close()

    def forget_all(self) -> None:
        """Forget the commands of a lost worker."""
        self._given.clear()
        for capture in self._captures.values():
            capture.close()
        self._captures.clear()

    def close(self) -> None:
        os.close(self._to)
        os.close(self.descriptor)


def _connect(argv: list[str]) -> tuple[int, int]:
    """Start a program; the descriptors of its input and its output."""
    (input_end, to), (from_, output_end) = os.pipe2(os.O_CLOEXEC), os.pipe2(os.O_CLOEXEC)
    actions = [(os.POSIX_SPAWN_DUP2, input_end, 0), (os.POSIX_SPAWN_DUP2, output_end, 1)]
    try:
        start(lambda command: os.posix_spawnp(command[0], command, os.environ, file_actions=actions, setpgroup=0), argv)
    finally:
        os.close(input_end)
        os.close(output_end)
    return to, from_


def work(name: str, slots: int, output: str) -> int:
    """Serve a runner at the standard streams with the slots of this host, until it closes its stream. `output`: of OUTPUTS."""
    wakeups = Wakeups()
    host = LocalHost(name, slots, os.environ, keeps_output=output != "none")
    wakeups.watch(0)
    waiting: list[dict[str, Any]] = []
    rest = b""
    pause_s = _IDLE_S
    while True:
        if 0 in wakeups.wait(pause_s):
            data = os.read(0, 1 << 20)
            if not data:
                break
            lines, _, rest = (rest + data).rpartition(b"\n")
            for message in records_in(lines):
                if "signal" in message:
                    host.signal(message["signal"])
                else:
                    waiting.append(message)
        for end in host.ends():
            _report(end)
            host.free(end)
        pause_s = _IDLE_S if _begin_all(host, waiting) else BUSY_S
    host.signal(signal.SIGKILL)
    return 0


def _begin_all(host: LocalHost, waiting: list[dict[str, Any]]) -> bool:
    """Begin commands while there are free slots; False if a moment must pass before the next look."""
    while waiting and host.has_free:
        try:
            host.begin(waiting[0]["begin"], waiting[0]["attempt"], waiting[0]["command"])
        except BlockingIOError:
            return False
        del waiting[0]
    return not host.has_unstarted


def _report(end: AttemptEnd) -> None:
    """Send the output and the end of an attempt."""
    for stream, size in end.capture.sizes():
        for piece in end.capture.pieces(stream, size):
            for position in range(0, len(piece), _PIECE):
                data = binascii.b2a_base64(piece[position : position + _PIECE], newline=False).decode()
                _write({"output": end.number, "stream": stream, "data": data})
    end.capture.empty()
    _write(
        {
            "end": end.number, "attempt": end.attempt, "exit": end.exit_status, "signal": end.signal,
            "start": end.start, "until": end.end,
        }
    )


def _write(message: dict[str, Any]) -> None:
    write_all(1, json_text.encode(message) + b"\n")
