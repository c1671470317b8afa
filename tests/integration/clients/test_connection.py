"""The road of a command: sockets, HTTP in its varieties, a qmaster that is away, and no traceback ever."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from clients import gdi
from gridengine import json_text
from tests.integration.cells import PATIENCE_S, without_waits
from tools.launchers import start_of

ROOT = Path(__file__).parents[3]
OK = b'{"status":0,"answers":[["info","done"]],"data":{"x":[1]}}'


def plain(body: bytes, status: bytes = b"200 OK") -> bytes:
    return b"HTTP/1.1 %b\r\nContent-Length: %d\r\n\r\n%b" % (status, len(body), body)


def chunked(*pieces: bytes) -> bytes:
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Type: application/json\r\n\r\n"
    return head + b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"


def command(name: str, *arguments: str, **keywords):  # type: ignore[no-untyped-def]
    """A command as its launcher starts it, and its output without the line about waiting."""
    start = f"import sys; sys.path.append({str(ROOT)!r})\n{start_of(f'clients.{name}')}"
    done = subprocess.run([sys.executable, "-IS", "-c", start, *arguments], capture_output=True, text=True, **keywords)
    done.stderr = without_waits(done.stderr)
    return done


def accepted(listener: socket.socket, name: str) -> tuple[socket.socket, bytes]:
    """The next connection with a request of this name, and the request; requests of BY_THE_WAY get no answer."""
    while True:
        connection, _ = listener.accept()
        request = connection.recv(65536)
        if request.startswith(f"POST /v1/{name} ".encode()):
            return connection, request
        connection.close()


@pytest.mark.parametrize("answer", [plain(OK), chunked(OK), chunked(OK[:10], OK[10:11], OK[11:])])
@pytest.mark.parametrize("name", ["gdi.sock", "gateway.sock"])
def test_an_answer_is_read(serve, answer: bytes, name: str) -> None:  # type: ignore[no-untyped-def]
    server = serve(lambda request, body: answer, name)
    found = gdi.call("status", {"a": "\u00e4\n", "b": [1, 2.5, None, True]})
    assert (found.status, found.answers, found.data) == (0, [["info", "done"]], {"x": [1]})
    assert server.requests == [("status", b'{"a":"\\u00e4\\n","b":[1,2.5,null,true]}')]


def test_a_large_answer(serve) -> None:  # type: ignore[no-untyped-def]
    rows = b",".join(b'[%d,"name"]' % number for number in range(200_000))
    serve(lambda request, body: plain(b'{"status":0,"answers":[],"data":[' + rows + b"]}"))
    assert len(gdi.call("status", {}).data) == 200_000


def test_a_stream_is_read_line_by_line(serve) -> None:  # type: ignore[no-untyped-def]
    serve(lambda request, body: chunked(b'{"task_id":1}\n{"ta', b'sk_id":2}\n', b'{"done":true}\n'))
    assert list(gdi.stream("wait", {"job_id": 1})) == [{"task_id": 1}, {"task_id": 2}, {"done": True}]


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (b"", "closed the connection before"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{", "closed the connection before"),
        (plain(b"no json"), "no readable answer"),
        (plain(b'{"status":0}'), "no readable answer"),
        (plain(b"{}", b"404 Not Found"), "Not Found"),
        (b"what is this\r\n\r\n", "answered the request status"),
    ],
)
def test_a_broken_answer_is_one_clear_line(serve, answer: bytes, reason: str) -> None:  # type: ignore[no-untyped-def]
    serve(lambda request, body: answer)
    with pytest.raises(gdi.Unreachable, match=reason):
        gdi.call("status", {})


class Clock:
    """Stands in for the module `time`: pauses advance the clock, and then run the due function."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.due: list[tuple[float, Callable[[], object]]] = []

    def monotonic(self) -> float:
        return self.now_s

    def sleep(self, pause_s: float) -> None:
        self.now_s += pause_s
        while self.due and self.due[0][0] <= self.now_s:
            self.due.pop(0)[1]()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr(gdi, "time", found)
    return found


def test_a_gateway_without_its_qmaster_is_asked_again(serve, clock: Clock) -> None:  # type: ignore[no-untyped-def]
    answers = iter([plain(b"", b"503 Service Unavailable")] * 2 + [plain(OK)])
    server = serve(lambda request, body: next(answers), "gateway.sock")
    assert gdi.call("status", {}).status == 0
    assert len(server.requests) == 3


def test_a_qmaster_that_comes_back_is_waited_for(serve, clock: Clock) -> None:  # type: ignore[no-untyped-def]
    clock.due.append((0.4, lambda: serve(lambda request, body: plain(OK))))
    assert gdi.call("status", {}).status == 0


def test_a_qmaster_that_stays_away(serve, clock: Clock) -> None:  # type: ignore[no-untyped-def]
    serve(lambda request, body: b"").close()  # leaves a socket at which nobody listens
    with pytest.raises(gdi.Unreachable, match='unable to contact the qmaster on host "master"'):
        gdi.call("status", {})
    assert 4 <= clock.now_s < 5


WAITS = 'waiting for the qmaster on host "master", which does not answer; running jobs go on\n'


@pytest.fixture
def nothing_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """A command that has said nothing yet."""
    monkeypatch.setattr(gdi, "_has_reported_waiting", False)


@pytest.mark.usefixtures("nothing_reported")
def test_a_waiting_command_reports_it_once(serve, clock: Clock, capfd) -> None:  # type: ignore[no-untyped-def]
    serve(lambda name, body: b"").close()
    for _ in range(2):
        with pytest.raises(gdi.Unreachable, match="Running jobs go on"):
            gdi.call("status", {})
    assert capfd.readouterr() == ("", WAITS)


def test_a_gateway_that_has_no_master_for_long(serve, clock: Clock) -> None:  # type: ignore[no-untyped-def]
    why = b'{"status":1,"answers":[["error","unable to contact qmaster on host \\"m\\" port 6444: no answer in time"]]}'
    serve(lambda request, body: plain(why, b"503 Service Unavailable"), "gateway.sock")
    with pytest.raises(gdi.Unreachable, match="port 6444: no answer in time. Running jobs go on; pending ones wait"):
        gdi.call("status", {})


@pytest.mark.usefixtures("nothing_reported")
@pytest.mark.parametrize(("reached", "output"), [(b"true", ""), (b"false", WAITS), (None, WAITS)])
def test_a_gateway_distinguishes_a_slow_answer_from_an_absent_master(  # type: ignore[no-untyped-def]
    serve, capfd, monkeypatch: pytest.MonkeyPatch, reached: bytes | None, output: str
) -> None:
    monkeypatch.setattr(gdi, "REPORT_AFTER_S", 0.1)
    if reached == b"true":
        monkeypatch.setattr(gdi, "_PROBE_S", PATIENCE_S)
    asked = threading.Event()

    def answer(name: str, body: bytes) -> bytes:
        if name == "master_reached":
            asked.set()
            return plain(b'{"status":0,"answers":[],"data":%b}' % reached) if reached is not None else b""
        assert asked.wait(PATIENCE_S)  # the slow answer of a master that works, or is back
        return plain(OK)

    serve(answer, "gateway.sock", all_of_them=True)
    assert gdi.call("status", {}).status == 0
    assert capfd.readouterr() == ("", output)


@pytest.mark.usefixtures("nothing_reported")
@pytest.mark.parametrize(("hangs", "output"), [(False, ""), (True, WAITS)])
def test_a_qmaster_on_this_host_that_is_slow_is_distinguished_from_a_hanging_qmaster(  # type: ignore[no-untyped-def]
    serve, capfd, monkeypatch: pytest.MonkeyPatch, hangs: bool, output: str
) -> None:
    monkeypatch.setattr(gdi, "REPORT_AFTER_S", 0.05)
    if not hangs:
        monkeypatch.setattr(gdi, "_PROBE_S", PATIENCE_S)
    asked, over = threading.Event(), threading.Event()

    def answer(name: str, body: bytes) -> bytes:
        if name == "status":
            assert asked.wait(PATIENCE_S)
        else:
            asked.set()
            assert not hangs or over.wait(PATIENCE_S)
        return plain(OK)

    server = serve(answer, all_of_them=True)
    assert gdi.call("status", {}).status == 0
    over.set()
    assert capfd.readouterr() == ("", output)
    assert [name for name, _ in server.requests] == ["status", "may_configure"]


def test_no_socket_at_all_ends_soon(run_dir: Path, clock: Clock) -> None:
    with pytest.raises(gdi.Unreachable, match='unable to contact the qmaster on host "master"'):
        gdi.call("status", {})
    assert 1 <= clock.now_s < 2
    outcome = command("qstat")
    assert (outcome.stdout, outcome.returncode) == ("", 1)
    assert outcome.stderr.startswith('error: unable to contact the qmaster on host "master"')
    assert outcome.stderr.count("\n") == 1


@pytest.mark.parametrize("name", ["qsub", "qstat", "qdel", "qhost", "qacct", "qmod", "qselect", "qconf", "qhold", "qrls"])
def test_without_a_cell(name: str, tmp_path: Path) -> None:
    arguments = {"qsub": ["-b", "y", "true"], "qmod": ["-d", "x"], "qconf": ["-sql"]}.get(name, ["1"])
    arguments = [] if name in ("qhost", "qselect", "qstat", "qacct") else arguments
    for environment, reason in (({}, "SGE_ROOT is not set"), ({"SGE_ROOT": str(tmp_path)}, "cannot read")):
        outcome = command(name, *arguments, env=environment)
        assert (outcome.stdout, outcome.returncode) == ("", 1)
        assert reason in outcome.stderr
        assert "Traceback" not in outcome.stderr


SUBMITTED = plain(b'{"status":0,"answers":[],"data":{"job_id":7,"tasks":"","name":"true"}}')


@pytest.mark.parametrize(
    "lost",
    [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{", b"HTTP/1.1 200", plain(b"", b"504 Gateway Timeout")],
)
def test_a_submission_whose_answer_is_lost_is_asked_again_under_its_key(serve, clock: Clock, lost: bytes) -> None:  # type: ignore[no-untyped-def]
    answers = iter([lost, plain(b"", b"503 Service Unavailable"), lost, SUBMITTED])
    server = serve(lambda request, body: next(answers))
    assert gdi.change("submit", {"script_file": "true"}).data["job_id"] == 7
    assert server.requests == server.requests[:1] * 4
    assert (len(server.keys), len(set(server.keys))) == (4, 1)
    assert len(server.keys[0]) == 32


def test_each_change_has_a_key_of_its_own_and_a_question_has_none(serve) -> None:  # type: ignore[no-untyped-def]
    server = serve(lambda request, body: SUBMITTED)
    gdi.change("submit", {})
    gdi.call("status", {})
    gdi.change("submit", {})
    assert len(set(server.keys)) == len(server.keys) == 2


def test_a_change_whose_answer_never_comes_ends_with_what_is_not_known(serve, clock: Clock) -> None:  # type: ignore[no-untyped-def]
    server = serve(lambda request, body: b"")
    with pytest.raises(gdi.Unreachable, match="before it had answered; it is not known whether the request was carried out"):
        gdi.change("submit", {})
    assert 30 <= clock.now_s < 31
    assert len(set(server.keys)) == 1


def test_a_qmaster_that_comes_back_later_than_its_absence_is_waited_for(serve, clock: Clock) -> None:  # type: ignore[no-untyped-def]
    """The answer was lost with it: that is worth more patience than a request that was never sent."""
    first = serve(lambda request, body: b"")
    clock.due.append((0.05, first.close))
    clock.due.append((20.0, lambda: serve(lambda request, body: SUBMITTED, "gateway.sock")))
    assert gdi.change("submit", {}).data["job_id"] == 7


def test_a_shutdown_is_never_asked_twice(serve) -> None:  # type: ignore[no-untyped-def]
    server = serve(lambda request, body: b"")
    assert command("qconf", "-km").returncode == 1
    assert (len(server.requests), server.keys) == (1, [])


NO_JOB_RUNS = b'{"status":0,"answers":[],"data":{"jobs":{"running":[],"pending":[]}}}\n'


def pending_rows(*numbers: int) -> bytes:
    """A line of rows of pending jobs."""
    rows = [[number, 0.5, "n", "alice", "qw", 1.0, [], 1, ""] for number in numbers]
    return json_text.encode(["pending", rows]) + b"\n"


@pytest.mark.statement("ST-1")
def test_a_list_of_jobs_is_printed_while_it_comes(serve) -> None:  # type: ignore[no-untyped-def]
    """The lines before the broken connection are printed, and then the error."""
    serve(lambda request, body: chunked(NO_JOB_RUNS, pending_rows(1, 2), pending_rows(3), pending_rows(4))[:-9])
    outcome = command("qstat")
    assert [line.split()[0] for line in outcome.stdout.splitlines()[2:]] == ["1", "2", "3"]
    assert (outcome.stderr.count("\n"), "closed the connection before" in outcome.stderr) == (1, True)
    assert outcome.returncode == 1


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (plain(b'{"status":1,"answers":[["error","denied: who are you"]],"data":null}'), "error: denied: who are you"),
        (chunked(b'{"status":1,"answers":[["error","no such"]],"data":null}\n'), "no such"),
        (chunked(), "no readable answer"),
        (chunked(b"what\n"), "no readable answer"),
        (plain(b"what"), "no readable answer"),
    ],
)
def test_a_refused_list_of_jobs_is_one_clear_line(serve, answer: bytes, reason: str) -> None:  # type: ignore[no-untyped-def]
    serve(lambda request, body: answer)
    outcome = command("qstat")
    assert (outcome.stdout, outcome.returncode, outcome.stderr.count("\n")) == ("", 1, 1)
    assert reason in outcome.stderr


def test_a_reader_that_goes_away(serve) -> None:  # type: ignore[no-untyped-def]
    rows = pending_rows(*range(1, 20_000))
    serve(lambda request, body: chunked(NO_JOB_RUNS, rows))
    start = f"import sys; sys.path.append({str(ROOT)!r})\n{start_of('clients.qstat')}"
    process = subprocess.Popen([sys.executable, "-IS", "-c", start], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None and process.stderr is not None
    process.stdout.readline()
    process.stdout.close()
    assert process.wait(PATIENCE_S) == 141
    assert without_waits(process.stderr.read()) == b""
    process.stderr.close()


@pytest.mark.statement("SO-34")
def test_a_waiting_qsub_survives_a_restart_of_the_qmaster(serve) -> None:  # type: ignore[no-untyped-def]
    """The stream breaks after the first task; the second stream has both ends, and each is printed once."""
    first, second = b'{"task_id":1,"exit_status":0,"failed":0}\n', b'{"task_id":2,"exit_status":3,"failed":0}\n'
    broken = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%b\r\n" % (len(first), first)
    waits = iter([broken, chunked(first, second, b'{"done":true}\n')])

    def respond(request: str, body: bytes) -> bytes:
        if request == "submit":
            return plain(b'{"status":0,"answers":[],"data":{"job_id":7,"tasks":"1-2:1","name":"true"}}')
        return next(waits)

    server = serve(respond)
    outcome = command("qsub", "-sync", "y", "-t", "1-2", "-b", "y", "true")
    assert outcome.stdout == 'Your job-array 7.1-2:1 ("true") has been submitted\nJob 7.1 exited with exit code 0.\n'
    assert outcome.stderr == "Job 7.2 exited with exit code 3.\n"
    assert outcome.returncode == 3
    assert [name for name, _ in server.requests] == ["submit", "wait", "wait"]
