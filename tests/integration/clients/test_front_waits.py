"""qsub -sync y with the native front: ends, signals and faults as in the command in Python, and one job a call (adr/0261)."""

from __future__ import annotations

import json
import os
import shlex
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.integration.cells import COMMAND_S, PATIENCE_S, eventually, without_waits
from tests.integration.clients.conftest import THERE
from tests.integration.clients.front_commands import HANDED, FrontCommands
from tests.integration.clients.test_connection import plain

Record = dict[str, Any]
#: longer than the front waits for an answer
SLOW_S = 2.0
INT, TERM, HUP, QUIT = signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT
HEAD = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
DONE = {"done": True}
STARTED = [{"task_id": 1, "started": True, "host": "node1"}]
ARRAY = "-t 1-4:1"


def end(task: int, status: int, failed: int = 0) -> Record:
    """The record of a task's end."""
    return {"task_id": task, "exit_status": status, "failed": failed}


#: what the stream says before it is done
ENDS: dict[str, list[Record]] = {
    "ends with 0": [*STARTED, end(1, 0)],
    "ends with 3": [*STARTED, end(1, 3)],
    "ends with 137 of its own": [end(1, 137)],
    "is deleted": [{"task_id": 1, "deleted": True}],
    "is deleted while it runs": [*STARTED, {"task_id": 1, "deleting": True}, end(1, 137, 100)],
    "dies by a signal": [*STARTED, end(1, 139, 100)],
    "exceeds a limit": [*STARTED, end(1, 137, 37)],
    "exceeds a limit and ends with 1": [end(1, 1, 37)],
    "dies by a named signal": [{**end(1, 0), "signal": 15}],
    "dies by a signal without a name": [*STARTED, end(1, 128 + 50, 100)],
    "has no shell": [end(1, 0, 27)],
    "fails for an unknown reason": [end(1, 0, 99)],
    "waits in error state": [*STARTED, {"task_id": 1, "error": "no \u00e4"}, {"task_id": 0, "error": ""}, end(1, 0)],
    "is on a host that is lost and back": [*STARTED, {"task_id": 1, "host": "node1", "lost": True}, end(1, 0)],
    "ends before anything is said": [],
    "has tasks that fail": [end(2, 0), end(1, 4), {"task_id": 4, "deleted": True}, end(3, 139, 100)],
    "has a task that fails rarely": [end(2, 0), end(1, 4), end(4, 0, 27), end(3, 0)],
    "has a task that ends twice": [end(2, 0), end(2, 5), end(1, 0)],
    "has many tasks": [end(task, int(task % 7 == 3)) for task in range(1, 500)],
}
#: ends that the front leaves to the command in Python
RARE = {
    "dies by a signal without a name", "has no shell", "fails for an unknown reason", "exceeds a limit and ends with 1",
    "has a task that fails rarely",
}  # fmt: skip


def chunked(*records: Record, between: bytes = b"") -> bytes:
    """Lines of a stream, a chunk each."""
    lines = [json.dumps(record).encode() + b"\n" + between for record in records]
    return b"".join(b"%x\r\n%b\r\n" % (len(line), line) for line in lines)


def streamed(*records: Record, between: bytes = b"") -> bytes:
    """A whole stream."""
    return HEAD + chunked(*records, DONE, between=between) + b"0\r\n\r\n"


def submitted(body: bytes) -> bytes:
    """The answer to the submission of job 7."""
    job = {"job_id": 7, "tasks": json.loads(body).get("tasks", ""), "name": "x"}
    return plain(json.dumps({"status": 0, "answers": [], "data": job}).encode())


DELETED = plain(b'{"status":0,"answers":[["info","done"]],"data":null}')


def agree(stream: Callable[[], bytes]) -> Callable[[str, bytes], bytes]:
    """A qmaster that submits and deletes; `stream`: its records of the job."""

    def respond(name: str, body: bytes) -> bytes:
        if name == "wait":
            assert json.loads(body) == {"job_id": 7}
            return stream()
        return submitted(body) if name == "submit" else DELETED

    return respond


def outcomes(both: FrontCommands, server: Any, line: str, before: Callable[[], object] = lambda: None) -> list[tuple[Any, ...]]:
    """Output, status, requests and number of keys of the command in Python, and with the front. `before`: called before each."""
    found = []
    for run in (both.python, both.front):
        before()
        server.requests.clear()
        server.keys.clear()
        done = run(*shlex.split(line))
        requests = [(name, json.loads(body)) for name, body in server.requests]
        found.append((done.stdout, done.stderr, done.returncode, requests, len(set(server.keys))))
    return found


def are_alike(python: tuple[Any, ...], front: tuple[Any, ...]) -> bool:
    """Output, status and requests are equal, and a job is submitted once, under one key."""
    return front[:3] == python[:3] and all(request in python[3] for request in front[3]) and front[4] == python[4] == 1


def line_of(job: str, options: str = "") -> str:
    """The call for a job of `ENDS`."""
    return f"qsub -sync y {options} {ARRAY if 'task' in job else ''} -b y /bin/true"


CASES = [(job, options) for job in ENDS for options in ("", "-terse")]
AT_ONCE = [(job, "-now y") for job in ("ends with 3", "is deleted", "ends before anything is said", "has tasks that fail")]


@pytest.mark.statement("SO-34")
@pytest.mark.parametrize("job, options", [*CASES, *AT_ONCE, ("ends before anything is said", ARRAY)])
def test_an_end_is_reported_as_by_the_command_in_python(both, serve, job: str, options: str) -> None:  # type: ignore[no-untyped-def]
    server = serve(agree(lambda: streamed(*ENDS[job])))
    python, front = outcomes(both, server, line_of(job, options))
    assert are_alike(python, front)


@pytest.mark.statement("SO-34")
@pytest.mark.parametrize("job", ENDS)
def test_the_front_waits_itself_unless_the_end_is_rare(played, serve, job: str) -> None:  # type: ignore[no-untyped-def]
    serve(agree(lambda: streamed(*ENDS[job], between=b"\n \n")))

    def is_handed() -> bool:
        return HANDED in played.front(*shlex.split(line_of(job))).stdout

    if job in RARE:
        assert is_handed()
    else:  # an answer is late when this machine stalls
        eventually("the front has waited itself", lambda: not is_handed())


TASKS = [end(2, 0), end(1, 4), end(4, 0), end(3, 139, 100)]
LINE = json.dumps(TASKS[0]).encode() + b"\n"
#: the first answer to `wait`; the next one is complete
BREAKS = {
    "busy": b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 2\r\n\r\n{}",
    "lost by the gateway": b"HTTP/1.1 504 Gateway Timeout\r\nContent-Length: 2\r\n\r\n{}",
    "closed": b"",
    "half a head": b"HTTP/1.1 200 OK\r\nTransfer-",
    "nothing reported": HEAD,
    "half a line": HEAD + b"%x\r\n%b" % (len(LINE), LINE[:5]),
    "broken behind ends": HEAD + chunked(*TASKS[:2]),
    "broken behind all ends": HEAD + chunked(*TASKS),
    "ended without being done": HEAD + chunked(*TASKS[:3]) + b"0\r\n\r\n",
}


@pytest.mark.statement("SO-34")
@pytest.mark.parametrize("options", [ARRAY, f"{ARRAY} -terse"])
@pytest.mark.parametrize("fault", BREAKS)
def test_a_stream_that_breaks_is_continued_by_the_command_in_python(both, serve, fault: str, options: str) -> None:  # type: ignore[no-untyped-def]
    first: list[bytes] = []
    server = serve(agree(lambda: first.pop() if first else streamed(*TASKS[::-1])))
    python, front = outcomes(both, server, line_of("", options), lambda: first.append(BREAKS[fault]))
    assert are_alike(python, front)


@pytest.mark.parametrize("refusal", [b'{"status":1,"answers":[["error","no"]],"data":null}', b"nonsense"])
def test_an_answer_that_is_no_stream_is_explained_alike(both, serve, refusal: bytes) -> None:  # type: ignore[no-untyped-def]
    """Once: the command in Python repeats the request for a minute, so the second answer is a stream."""
    first: list[bytes] = []
    server = serve(agree(lambda: first.pop() if first else streamed(*TASKS)))
    python, front = outcomes(both, server, line_of("", ARRAY), lambda: first.append(plain(refusal)))
    assert are_alike(python, front)


def test_a_stream_that_begins_late_is_awaited(both, serve) -> None:  # type: ignore[no-untyped-def]
    def late() -> bytes:
        time.sleep(SLOW_S)
        return streamed(*TASKS)

    python, front = outcomes(both, serve(agree(late)), line_of("", ARRAY))
    assert are_alike(python, front)


class Waiting:
    """A qsub -sync y in the stream of its job. A stream that is opened again, also since this machine stalled, says all again.

    `names`: of the requests so far.
    """

    def __init__(self, program: list[str], run_dir: Path, **options: Any) -> None:
        self.names: list[str] = []
        self._records, self._streams = HEAD, list[socket.socket]()
        self._lock, self._opened = threading.Lock(), threading.Event()
        (run_dir / "gdi.sock").unlink(missing_ok=True)
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(run_dir / "gdi.sock"))
        self._listener.listen(4)
        threading.Thread(target=self._serve, daemon=True).start()
        command = [*program, "-sync", "y", "-b", "y", "/bin/true"]
        self.process = subprocess.Popen(command, **{"stdout": -1, "stderr": -1, "text": True, **options})
        assert self._opened.wait(PATIENCE_S)

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            name = connection.recv(65536).split()[1].decode().rpartition("/")[2]
            with self._lock:
                self.names.append(name)
                if name == "wait":
                    self._streams.append(connection)
                    self._send(connection, self._records)
                    self._opened.set()
                else:
                    self._send(connection, {"submit": submitted(b"{}"), "delete_jobs": DELETED}.get(name, plain(THERE)))
                    connection.close()

    @staticmethod
    def _send(connection: socket.socket, piece: bytes) -> None:
        with suppress(OSError):  # it was opened again
            connection.sendall(piece)

    def say(self, piece: bytes) -> None:
        """Say something of the job."""
        with self._lock:
            self._records += piece
            for stream in self._streams:
                self._send(stream, piece)

    def drop(self) -> None:
        """Break the stream, and wait until it is opened again."""
        with self._lock:
            self._opened.clear()
            while self._streams:
                self._streams.pop().close()
        assert self._opened.wait(PATIENCE_S)

    def end(self) -> tuple[str, str, int]:
        """Output and status."""
        out, err = self.process.communicate(timeout=COMMAND_S)
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        return out, without_waits(err), self.process.returncode


def programs(both: FrontCommands) -> list[list[str]]:
    """qsub in Python, and with the front."""
    return [[str(both.behind / "qsub"), ""], [str(both.bin / "qsub")]]


@pytest.mark.statement("SO-34")
@pytest.mark.parametrize("handler", [signal.SIG_DFL, signal.SIG_IGN])
@pytest.mark.parametrize("number, status", [(INT, 130), (TERM, 1)])
def test_a_signal_during_the_wait_deletes_the_job(both, run_dir: Path, number: int, status: int, handler: Any) -> None:  # type: ignore[no-untyped-def]
    found = []
    for program in programs(both):
        waiting = Waiting(program, run_dir, preexec_fn=lambda: signal.signal(INT, handler))  # noqa: PLW1509
        waiting.say(chunked(*STARTED))
        waiting.process.send_signal(number)
        found.append(waiting.end())
        assert waiting.names[-1] == "delete_jobs"
    assert found[0] == found[1] == ('Your job 7 ("x") has been submitted\ndone\n', "\nInterrupted!\n", status)


@pytest.mark.statement("SO-34")
def test_a_closed_terminal_and_the_quit_key_do_not_end_the_wait(both, run_dir: Path) -> None:  # type: ignore[no-untyped-def]
    found = []
    for program in programs(both):
        waiting = Waiting(program, run_dir)
        for number in (HUP, QUIT):
            waiting.process.send_signal(number)
        waiting.drop()
        waiting.process.send_signal(HUP)
        waiting.say(chunked(*STARTED, end(1, 3), DONE) + b"0\r\n\r\n")
        found.append(waiting.end())
    assert found[0] == found[1] and found[1][1:] == ("Job 7 exited with exit code 3.\n", 3)


@pytest.mark.statement("SO-34")
def test_a_job_that_does_not_start_is_mentioned_once(both, run_dir: Path) -> None:  # type: ignore[no-untyped-def]
    waiting = Waiting(programs(both)[1], run_dir)
    assert waiting.process.stderr
    line = next(line for line in waiting.process.stderr if without_waits(line))
    assert line == "job 7 is still pending: qexplain 7 says why\n"
    waiting.drop()
    waiting.say(chunked(*STARTED, end(1, 0), DONE) + b"0\r\n\r\n")
    out, err, status = waiting.end()
    assert (out.splitlines()[1:], err, status) == (["Job 7 exited with exit code 0."], "", 0)


@pytest.mark.parametrize("record", [end(1, 0), end(1, 1)])
def test_an_output_that_cannot_be_written_ends_the_wait_alike(both, run_dir: Path, record: Record) -> None:  # type: ignore[no-untyped-def]
    found = []
    for program in programs(both):
        receiving, sending = os.pipe()
        waiting = Waiting(program, run_dir, **{"stderr" if record["exit_status"] else "stdout": sending})
        os.close(sending)
        os.close(receiving)
        waiting.say(chunked(record))
        waiting.process.communicate(timeout=COMMAND_S)
        found.append(waiting.process.returncode)
    assert found == [141, 141]
