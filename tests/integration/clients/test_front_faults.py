"""The native front when anything goes wrong: texts and statuses of the command in Python, and never a second job (adr/0261)."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clients.submission import read_submission, submit_request
from gridengine import json_text
from gridengine.errors import GridEngineError
from tests.integration.cells import COMMAND_S, PATIENCE_S, run
from tests.integration.clients.front_commands import HANDED
from tests.integration.clients.test_front import answer
from tools.front_options import understood

JOB = {"job_id": 7, "tasks": "", "name": "x"}
#: longer than the front waits for an answer
SLOW_S = 2.0
Respond = Callable[[str, bytes], bytes]


def refused(*texts: list[str], status: int = 1) -> bytes:
    """An answer without data."""
    return answer({"status": status, "answers": texts, "data": None})


def of_status(line: bytes, body: bytes = b"{}") -> bytes:
    """A response with another status than 200."""
    return b"HTTP/1.1 %b\r\nContent-Length: %d\r\n\r\n%b" % (line, len(body), body)


GOOD = {"submit": answer({"status": 0, "answers": [], "data": JOB}), "delete_jobs": refused(["info", "done"], status=0)}
#: the first answer, and every answer
FIRST = {
    "busy": of_status(b"503 Service Unavailable"),
    "lost by the gateway": of_status(b"504 Gateway Timeout"),
    "closed": b"",
    "half a head": b"HTTP/1.1 200 OK\r\nContent-",
    "half a body": b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{",
}
EVERY = {
    "refused": refused(["error", "job rejected: why not"], ["hint", "ask nicely"]),
    "limit": refused(["error", "too many"], status=25),
    "info and error": refused(["info", "one is deleted"], ["error", "the other is not"]),
    "warned": answer({"status": 0, "answers": [["warning", "no suitable queues"]], "data": JOB}),
    "hinted": answer({"status": 0, "answers": [["hint", "for people"]], "data": JOB}),
    "odd name": answer({"status": 0, "answers": [["info", "\u00e4\x1b"]], "data": {**JOB, "name": "\u00e4\x1b"}}),
    "no JSON": of_status(b"200 OK", b"nonsense"),
    "not found": of_status(b"404 Not Found"),
    "large": answer({"status": 0, "answers": [["info", "x" * 100_000]], "data": {**JOB, "tasks": "1-10:1"}}),
}


def outcomes(both: Any, server: Any, line: str, start: Callable[[], object] = lambda: None) -> list[tuple[str, str, int, int]]:
    """Output, errors, status and number of keys of a command in Python, and with the front. `start`: called before each."""
    found = []
    for command in (both.python, both.front):
        start()
        server.keys.clear()
        done = command(*line.split())
        found.append((done.stdout, done.stderr, done.returncode, len(set(server.keys))))
    return found


@pytest.mark.parametrize("line", ["qsub -b y /bin/true", "qdel 7"])
@pytest.mark.parametrize("fault", FIRST)
def test_a_request_is_repeated_under_its_key(both, serve, fault: str, line: str) -> None:  # type: ignore[no-untyped-def]
    first = []
    server = serve(lambda name, body: first.pop() if first else GOOD[name])
    python, front = outcomes(both, server, line, lambda: first.append(FIRST[fault]))
    assert front == python and front[2:] == (0, 1)


@pytest.mark.parametrize("line", ["qsub -b y /bin/true", "qsub -terse -t 1-10 -b y /bin/true", "qdel 7"])
@pytest.mark.parametrize("fault", EVERY)
def test_an_answer_that_is_not_plain_is_printed_by_the_command_in_python(both, serve, fault: str, line: str) -> None:  # type: ignore[no-untyped-def]
    python, front = outcomes(both, serve(lambda name, body: EVERY[fault]), line)
    assert front == python and front[3] == 1


@pytest.mark.parametrize("line", ["qstat", "qsub -b y /bin/true"])
def test_an_answer_that_takes_its_time_is_awaited(both, serve, line: str) -> None:  # type: ignore[no-untyped-def]
    first = []

    def respond(name: str, body: bytes) -> bytes:
        if first:
            time.sleep(first.pop())
        rows = answer({"status": 0, "answers": [], "data": {"jobs": {"running": []}}})
        return GOOD.get(name, rows)

    server = serve(respond)
    python, front = outcomes(both, server, line, lambda: first.append(SLOW_S))
    assert front == python and front[2] == 0


@pytest.mark.parametrize("answered", [EVERY["refused"], EVERY["no JSON"], of_status(b"200 OK", b'{"status":0}\n')])
def test_a_job_list_that_is_not_plain_is_asked_again(both, serve, answered: bytes) -> None:  # type: ignore[no-untyped-def]
    python, front = outcomes(both, serve(lambda name, body: answered), "qstat")
    assert front == python and front[2] == 1


ROW = [1, 0.5, "x", "alice", "qw", 1764000000, [], 1, ""]


@pytest.mark.parametrize(
    "column, value", [(2, "\u00e4"), (3, "a\x07"), (6, [["\u00e4@h", 1, 0]]), (8, "1-10:1,20"), (9, {}), (5, 1.9e9)]
)
def test_rows_of_any_kind_are_printed_alike(both, serve, column: int, value: object) -> None:  # type: ignore[no-untyped-def]
    row = [*ROW[:column], value, *ROW[column + 1 :]]
    server = serve(lambda name, body: answer({"status": 0, "answers": [], "data": {"jobs": {"running": [ROW, row]}}}))
    python, front = outcomes(both, server, "qstat -u *")
    assert front == python and front[0].startswith("job-ID")


def _streamed(*records: dict[str, Any]) -> bytes:
    lines = b"".join(json.dumps(record).encode() + b"\n" for record in records)
    return b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%b\r\n0\r\n\r\n" % (len(lines), lines)


def test_a_command_that_waits_for_its_job_submits_it_once(both, serve) -> None:  # type: ignore[no-untyped-def]
    ended = _streamed({"task_id": 1, "exit_status": 3}, {"done": True})
    server = serve(lambda name, body: ended if name == "wait" else GOOD[name])
    python, front = outcomes(both, server, "qsub -sync y -b y /bin/false")
    assert front == python and front[2:] == (3, 1)
    assert {name for name, _ in server.requests} == {"submit", "wait"}


@pytest.mark.parametrize("number, status", [(signal.SIGINT, 130), (signal.SIGTERM, 1)])
def test_a_signal_while_the_front_submits_deletes_the_job(both, serve, number: int, status: int) -> None:  # type: ignore[no-untyped-def]
    asked, signalled = threading.Event(), threading.Event()

    def respond(name: str, body: bytes) -> bytes:
        asked.set()
        signalled.wait(PATIENCE_S)
        return _streamed() if name == "wait" else GOOD[name]

    server = serve(respond)
    command = [str(both.bin / "qsub"), "-sync", "y", "-b", "y", "/bin/true"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert asked.wait(PATIENCE_S)
        process.send_signal(number)
        signalled.set()
        out, err = process.communicate(timeout=COMMAND_S)
    assert (process.returncode, "Interrupted!" in err) == (status, True), out + err
    assert [name for name, _ in server.requests][-1] == "delete_jobs"
    assert "done" in out, "the job is deleted"


def test_a_signal_ends_the_front_as_the_command_in_python(both, serve) -> None:  # type: ignore[no-untyped-def]
    asked = threading.Event()

    def respond(name: str, body: bytes) -> bytes:
        asked.set()
        time.sleep(SLOW_S)
        return GOOD[name]

    serve(respond)
    for directory, key in ((both.bin, []), (both.behind, [""])):
        asked.clear()
        with subprocess.Popen([str(directory / "qsub"), *key, "-b", "y", "/bin/true"]) as process:
            assert asked.wait(PATIENCE_S)
            process.send_signal(signal.SIGINT)
            assert process.wait(COMMAND_S) == 130


#: values with all that may divide, quote or begin something
VALUES = st.one_of(
    st.sampled_from("y n yes 1 5 1-3 1-9:2 4-2 0 a=1 a,b x=1,x=2 /tmp sub a@b -5 e ab smp - -- '' - 1: 1-".split()),
    st.text("ab1,=:/'\"-@.# \t\x01[", max_size=6),
)
QSUB = {name: row[0] for name, row in understood("qsub").items() if name not in ("-sync", "-V")}


@st.composite
def option_lists(draw: st.DrawFn) -> list[str]:
    """Options that the front understands, with values of all kinds."""
    names = draw(st.lists(st.sampled_from(sorted(QSUB)), max_size=4))
    return [token for name in names for token in (name, *(draw(VALUES) for _ in QSUB[name].arguments))]


def test_a_request_of_the_front_is_that_of_the_command_in_python(played, serve, tmp_path: Path, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.chdir(tmp_path)
    server = serve(lambda name, body: GOOD[name])

    @given(option_lists(), option_lists(), st.sampled_from([[], ["--"]]))
    @settings(max_examples=int(os.environ.get("FRONT_EXAMPLES", "60")), deadline=None)
    def check(options: list[str], inside: list[str], end: list[str]) -> None:
        server.requests.clear()
        (tmp_path / "job.sh").write_text(f"#$ {shlex.join(inside)}\ntrue\n")
        arguments = [*options, *end, "job.sh", "-N", "kept"]
        if run([str(played.bin / "qsub"), *arguments]).stdout.startswith(f"{HANDED}\n\n"):
            assert server.requests == []
            return
        try:
            expected = submit_request(read_submission("qsub", arguments))
        except GridEngineError as error:
            pytest.fail(f"the front accepts what the command refuses: {error}")
        assert json_text.decode(server.requests[0][1]) == json_text.decode(json_text.encode(expected))

    check()
