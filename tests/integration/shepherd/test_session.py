"""The session process of an interactive task, by its socket: the permitted clients, and the effect of its end on the job."""

from __future__ import annotations

import json
import os
import signal
import socket
from contextlib import suppress
from typing import Any

import pytest

from gridengine.protocols import session
from tests.integration.cells import PATIENCE_S
from tests.integration.shepherd.cell import Cell, Task, alive, wait_for

#: in which what has to end within seconds has ended
DEADLINE_S = 60.0


def interactive(cell: Cell, command: str, **config: Any) -> Task:
    settings = {"login": True, "login_shell": "/bin/sh", "command": command, "session": "pipes", "stdout": "/dev/null"}
    task = cell.task(None, **{**settings, "merge": True, "attempt": 1, **config})
    task.start()
    return task


def greet(task: Task, **greeting: Any) -> tuple[socket.socket, dict[str, Any]]:
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(PATIENCE_S)
    wait_for(lambda: connection.connect_ex(str(task.directory / "session")) == 0, "the session's socket")
    connection.sendall(json.dumps({"attempt": 1, "client": None, "received": None, **greeting}).encode() + b"\n")
    line = b""
    while not line.endswith(b"\n"):
        byte = connection.recv(1)
        assert byte, "the session has closed the connection"
        line += byte
    return connection, json.loads(line)


def outcome(connection: socket.socket, received: int = 0) -> tuple[bytes, dict[str, Any]]:
    """Standard output and how the job ended. `received`: frames that came over an earlier connection."""
    inbox, output = session.Inbox(), b""
    inbox.begin_connection(received)
    while data := connection.recv(65536):
        for kind, content in inbox.feed(data):
            if kind == session.OUTPUT:
                output += content
            elif kind == session.EXIT:
                connection.sendall(session.encode_acknowledgement(inbox.count))
                return output, json.loads(content)
    raise AssertionError(f"the session ended without an outcome behind {output!r}")


@pytest.mark.statement("IA-1", "EX-1")
def test_prolog_and_epilog_are_around_a_job_whose_outcome_the_client_gets(cell: Cell) -> None:
    log = cell.home / "log"
    hook = cell.file("hook", f'#!/bin/sh\necho "$1" >>{log}\n')
    hook.chmod(0o755)
    task = interactive(cell, f"echo job >>{log}; echo said; exit 3", prolog=f"{hook} prolog", epilog=f"{hook} epilog")
    connection, answer = greet(task)
    assert answer["received"] == answer["first"] == 0
    output, ended = outcome(connection)
    assert (output, ended["exit_status"], ended["failed"]) == (b"said\n", 3, 0)
    task.wait()
    assert log.read_text().split() == ["prolog", "job", "epilog"]


@pytest.mark.statement("IA-1", "EX-4")
def test_the_client_of_a_job_that_cannot_start_gets_the_reason(cell: Cell) -> None:
    task = interactive(cell, "true", no_shell=True, cwd="/nowhere")
    connection, _ = greet(task)
    _, ended = outcome(connection)
    assert ended["failed"] == 28 and "/nowhere" in ended["reason"]
    task.wait()


@pytest.mark.statement("IA-8")
@pytest.mark.parametrize("status", [99, 100])
def test_no_exit_status_of_an_interactive_job_runs_it_again(cell: Cell, status: int) -> None:
    task = interactive(cell, f"exit {status}")
    assert outcome(greet(task)[0])[1]["exit_status"] == status
    task.wait()
    assert task.exit["failed"] == 0


@pytest.mark.statement("IA-6")
def test_a_job_without_a_client_ends(cell: Cell) -> None:
    task = interactive(cell, "sleep 1000", session_grace_s=0.2)
    task.wait()
    assert (task.exit["failed"], task.exit["exit_status"]) == (100, 137)
    assert "no client was connected" in task.exit["reason"]


@pytest.mark.statement("IA-6")
def test_the_client_can_end_the_job(cell: Cell) -> None:
    task = interactive(cell, "sleep 1000")
    connection, _ = greet(task)
    task.job_pid()
    connection.sendall(session.encode_frame(session.END))
    task.wait()
    assert task.exit["exit_status"] == 137 and "the client ended" in task.exit["reason"]


@pytest.mark.statement("IA-6")
def test_a_deleted_job_does_not_wait_for_a_client_that_is_gone(cell: Cell) -> None:
    task = interactive(cell, "sleep 1000")
    greet(task)[0].close()
    task.job_pid()
    task.command("kill")
    task.wait()
    assert task.exit["exit_status"] == 137


@pytest.mark.statement("IA-9", "IA-10")
def test_only_the_client_of_the_session_may_reconnect(cell: Cell) -> None:
    task = interactive(cell, "echo one; read line; echo two")
    first, answer = greet(task)
    assert first.recv(65536) == session.encode_frame(session.OUTPUT, b"one\n")
    assert "refused" in greet(task, attempt=2)[1]
    assert "refused" in greet(task, client=answer["client"] + 1, received=0)[1]
    again, resumed = greet(task, client=answer["client"], received=1)
    assert (resumed["client"], resumed["first"]) == (answer["client"], 1)
    again.sendall(session.encode_frame(session.INPUT, b"go\n"))
    assert outcome(again, received=1)[0] == b"two\n"
    task.wait()


def port_of_daemon(connection: socket.socket) -> int:
    """The port at which the task's configured daemon waits for the client that its session has let in."""
    frames, head = b"", len(session.encode_frame(session.OUTPUT))
    while not frames[head:].endswith(b"\n"):
        byte = connection.recv(1)
        assert byte, "the session has closed the connection"
        frames += byte
    return int(frames[head:].split()[0])


@pytest.mark.statement("IA-5")
def test_a_configured_daemon_takes_the_connection_of_its_client(cell: Cell) -> None:
    task = interactive(cell, "true", remote_daemon="/bin/cat")
    connection, _ = greet(task, origin=session.LOCALHOST)
    with socket.create_connection(("127.0.0.1", port_of_daemon(connection)), PATIENCE_S) as client:
        client.sendall(b"hello")
        assert client.recv(5) == b"hello"
    assert outcome(connection, received=1)[1]["exit_status"] == 0
    task.wait()


def test_a_configured_daemon_refuses_all_other_clients(cell: Cell) -> None:
    task = interactive(cell, "true", remote_daemon="/bin/cat")
    connection, _ = greet(task, origin="192.0.2.7")
    port = port_of_daemon(connection)
    for _ in range(2):
        with socket.create_connection(("127.0.0.1", port), PATIENCE_S) as stranger:
            with suppress(ConnectionError):  # of what was said and not read
                stranger.sendall(b"x")
                assert stranger.recv(1) == b"", "the daemon has answered"
    task.command("kill")
    assert outcome(connection, received=1)[1]["exit_status"] == 137
    task.wait()


@pytest.mark.statement("RL-2", "IA-6")
@pytest.mark.parametrize("config", [{"limits": {"h_rt": 5}, "session_grace_s": 5}, {"method_timeout_s": 1}])
def test_a_session_that_its_owner_has_stopped_does_not_keep_the_slot(cell: Cell, config: dict[str, Any]) -> None:
    task = interactive(cell, "sleep 1000", **config)
    connection, _ = greet(task)
    wait_for(lambda: "session is process " in task.trace, "the number of the session, which may answer before it is written")
    session_pid = int(task.trace.partition("session is process ")[2].split()[0])
    os.kill(session_pid, signal.SIGSTOP)
    if "limits" not in config:
        os.kill(task.job_pid(), signal.SIGKILL)
    try:
        end = task.wait(DEADLINE_S)
    finally:
        if alive(session_pid):
            os.kill(session_pid, signal.SIGKILL)
    assert (end["exit_status"], "does not take the end of its job" in task.trace) == (137, True)
    assert not alive(session_pid)
    connection.close()
