"""An interactive task as its shepherd sees it: its streams, the report of its end, and the time limit for that (IA-1, IA-9)."""

from __future__ import annotations

import json
import os
import signal

import pytest

from gridengine.protocols.session import ERROR, OUTPUT
from shepherd.session import Session, closing_deadline
from shepherd.streams import Streams, open_pipes
from tests.unit.shepherd.configuration import config
from tests.unit.shepherd.descriptors import open_descriptors


def made(streams: Streams) -> tuple[Session, int, int]:
    """A session without a process: the client's host is written to it, and the shepherd's last message is read."""
    (gate, opener), (listening, control) = os.pipe(), os.pipe()
    return Session(4711, streams, gate, os.dup(opener), control), opener, listening


@pytest.mark.statement("IA-9", "RL-2")
@pytest.mark.parametrize(
    ("timeout", "h_rt", "now", "expected"),
    [
        (None, None, 100.0, None),
        (30, None, 100.0, 130.0),
        (None, 500, 100.0, 10.0 + 500 + 60),
        (None, 50, 100.0, 160.0),
        (None, 90, 100.0, 160.0),
        (900, 500, 100.0, 570.0),
        (30, 500, 100.0, 130.0),
    ],
)
def test_time_that_a_client_has_to_take_the_end_of_its_job(
    timeout: int | None, h_rt: int | None, now: float, expected: float | None
) -> None:
    found = config(method_timeout_s=timeout, limits={} if h_rt is None else {"h_rt": h_rt})
    assert closing_deadline(found, 10.0, now) == expected


@pytest.mark.statement("IA-1")
def test_pipes_lead_from_the_client_to_the_job_and_back() -> None:
    before = open_descriptors()
    streams = open_pipes()
    stdin, stdout, stderr = streams.job
    os.write(streams.input, b"in")
    os.write(stdout, b"out")
    os.write(stderr, b"err")
    assert os.read(stdin, 10) == b"in"
    assert {kind: os.read(end, 10) for end, kind in streams.outputs.items()} == {OUTPUT: b"out", ERROR: b"err"}
    assert not streams.terminal
    assert not any(os.get_blocking(end) for end in (streams.input, *streams.outputs))
    assert all(os.get_blocking(end) for end in streams.job)
    streams.close_job_ends()
    streams.close_session_ends()
    assert open_descriptors() == before


@pytest.mark.statement("IA-1")
def test_a_job_begins_when_its_client_is_there() -> None:
    before = open_descriptors()
    streams = open_pipes()
    session, opener, listening = made(streams)
    os.write(opener, b"10.0.0.7")
    assert session.enter() == streams.job
    assert session.client == "10.0.0.7"
    session.job_started()
    streams.close_session_ends()
    session.finish(0, 0, "", linger=False)
    for descriptor in (opener, listening):
        os.close(descriptor)
    assert open_descriptors() == before


@pytest.mark.statement("IA-9", "EX-4")
def test_a_job_whose_client_never_came_ends_as_if_it_were_hung_up(monkeypatch: pytest.MonkeyPatch) -> None:
    def leave(status: int) -> None:
        raise SystemExit(status)

    streams = open_pipes()
    session, opener, listening = made(streams)
    os.close(opener)
    monkeypatch.setattr(os, "_exit", leave)
    with pytest.raises(SystemExit) as ended:
        session.enter()
    assert ended.value.code == 128 + signal.SIGHUP
    session.job_started()
    streams.close_session_ends()
    os.close(listening)


@pytest.mark.statement("IA-9")
@pytest.mark.parametrize("linger", [True, False])
def test_the_client_is_sent_the_outcome_of_the_job(linger: bool) -> None:
    session, _, listening = made(open_pipes())
    session.finish(3, 37, "limit h_rt exceeded", linger)
    received = os.read(listening, 1000)
    assert received.endswith(b"\n")
    outcome = {"exit_status": 3, "failed": 37, "reason": "limit h_rt exceeded"}
    assert json.loads(received) == {"outcome": outcome, "linger": linger}
    assert os.read(listening, 1000) == b"", "it is the last word"
    os.close(listening)


@pytest.mark.statement("IA-9")
def test_a_session_that_has_ended_is_not_killed_nor_sent_an_outcome(monkeypatch: pytest.MonkeyPatch) -> None:
    killed: list[tuple[int, int]] = []
    monkeypatch.setattr(os, "kill", lambda *what: killed.append(what))
    session, opener, listening = made(open_pipes())
    os.close(listening)
    session.kill()
    before = open_descriptors()
    session.ended()
    assert session.has_ended and open_descriptors() == before - 1
    session.kill()
    session.finish(0, 0, "", linger=True)
    assert killed == [(4711, signal.SIGKILL)]
    assert open_descriptors() == before - 2
    os.close(opener)
