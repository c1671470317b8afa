"""A command's client of the qmaster: sends one request, reads the answer, and retries for as long as a user is patient.

Owns the timeouts and retries of a command; the sockets and the HTTP are `gridengine.api.wire`'s. Must import next to
nothing, since every command pays for it: the whole of a command has 28 ms. Called by `clients.program` and the commands.
Source: docs/architecture.md section 4.
"""

import os
import time

from gridengine import json_text
from gridengine.api import wire
from gridengine.api.wire import Answer, Unreachable, common_directory

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from _socket import socket as Socket
    from collections.abc import Iterator
    from typing import Any

__all__ = ("ANSWER_S", "Answer", "Unreachable", "call", "change", "common_directory", "stream")

#: how long a command waits for a qmaster that is being restarted, for a takeover, and for sockets that do not exist
PATIENCE_S = 4.0
PATIENCE_TAKE_OVER_S = 30.0
PATIENCE_ABSENT_S = 1.0
_PAUSE_S = 0.1
#: after which the command reports that it waits
REPORT_AFTER_S = 1.2
#: timeout of the probe: a gateway reports whether it reaches the master, a master answers
_PROBE_S = 0.5
_PEEK = 2  # MSG_PEEK
_has_reported_waiting = False
#: of the change that the native front has sent (adr/0261): the first change of this command is the same request; "" without
sent_key = ""
#: timeout of an answer
ANSWER_S = 60.0
#: how long a change whose answer was lost is repeated, under its key
PATIENCE_LOST_S = 30.0


def _connect(answer_s: float, retry_s: float) -> "Socket":
    """A connection to the qmaster of this host or to the gateway of this host. Raises Unreachable after a while."""
    directory = wire.run_directory(common_directory())
    begin = time.monotonic()
    while True:
        connection, exists = wire.connect(directory, answer_s)
        if connection is not None:
            return connection
        patience = _patience_s() if exists else PATIENCE_ABSENT_S
        if time.monotonic() - begin >= min(patience, retry_s):
            raise Unreachable(wire.no_qmaster(common_directory()))
        _report_waiting(time.monotonic() - begin)
        time.sleep(_PAUSE_S)


def _report_waiting(waited_s: float) -> None:
    """Print a line on stderr, once, when there was no answer for a while: not the command hangs, the qmaster does (adr/0167).

    Deviation: 8.1.9 prints the errors of its communication library.
    """
    global _has_reported_waiting
    if not _has_reported_waiting and waited_s > REPORT_AFTER_S:
        _has_reported_waiting = True
        text = f'waiting for the qmaster on host "{wire.master_host(common_directory())}", which does not answer'
        try:
            os.write(2, f"{text}; running jobs go on\n".encode())
        except OSError:
            pass  # a closed stderr is no reason to fail


def _await_answer(connection: "Socket", answer_s: float) -> None:
    """Wait for the start of an answer; report a delay if the master hangs or is not reached."""
    connection.settimeout(REPORT_AFTER_S)
    try:
        connection.recv(1, _PEEK)
    except TimeoutError:
        if not wire.master_reached(connection, _PROBE_S):
            _report_waiting(REPORT_AFTER_S + _PROBE_S)
    except OSError:
        pass  # the reader reports it
    connection.settimeout(answer_s)


def _patience_s() -> float:
    """Longer where another host takes over from a lost master."""
    return PATIENCE_TAKE_OVER_S if wire.has_shadows(common_directory()) else PATIENCE_S


def _exchange(
    name: str, body: bytes, key: str, answer_s: float, retry_s: float
) -> "tuple[Socket, wire.AnswerParser]":
    """Send a request; the connection, and the parser that has the head of the answer."""
    connection = _connect(answer_s, retry_s)
    try:
        connection.sendall(wire.request_head(f"/v1/{name}", len(body), key) + body)
    except OSError as error:
        if not isinstance(error, ConnectionError):
            raise Unreachable(f"the connection to the qmaster broke: {error.strerror}") from None
        # a peer that refuses the rest may have sent the reason
    _await_answer(connection, answer_s)
    parser = wire.read_head(connection)
    if parser.status != 200:
        raise wire.fault_of(name, parser.status, parser.reason, wire.read_body(connection, parser))
    return connection, parser


def _exchange_with_retries(
    name: str, body: bytes, key: str = "", answer_s: float = ANSWER_S, retry_s: float = PATIENCE_TAKE_OVER_S
) -> "tuple[Socket, wire.AnswerParser]":
    """`_exchange`, repeated for a while when only the gateway answers."""
    begin = time.monotonic()
    while True:
        try:
            return _exchange(name, body, key, answer_s, retry_s)
        except wire.RetryLaterError as refused:
            if time.monotonic() - begin >= min(_patience_s(), retry_s):
                raise Unreachable(wire.explain_refusal(str(refused), common_directory())) from None
            _report_waiting(time.monotonic() - begin)
            time.sleep(_PAUSE_S)


def call(name: str, body: object, answer_s: float = ANSWER_S, retry_s: float = PATIENCE_TAKE_OVER_S) -> Answer:
    """Send a request and return its answer, which must begin within `answer_s` seconds. Raises Unreachable.

    `retry_s`: seconds of retries without a qmaster, if fewer than usual; 0 for one attempt.
    """
    return _call(name, json_text.encode(body), answer_s=answer_s, retry_s=retry_s)


def change(name: str, body: object) -> Answer:
    """Send a request that changes something and return its answer. Raises Unreachable.

    If the answer is lost the request is repeated for a while, under a key with which the qmaster carries it out once (adr/0143).
    """
    global sent_key
    text, key, sent_key = json_text.encode(body), sent_key or wire.new_key(), ""
    answer_s, lost = ANSWER_S, None
    while True:
        try:
            return _call(name, text, key, answer_s)
        except Unreachable as error:
            if lost is None:
                if not isinstance(error, wire.AnswerLost):
                    raise
                answer_s, lost = PATIENCE_LOST_S, time.monotonic()
            if time.monotonic() - lost > PATIENCE_LOST_S:
                raise Unreachable(f"{error}; it is not known whether the request was carried out") from None
        time.sleep(_PAUSE_S)


def _call(
    name: str, body: bytes, key: str = "", answer_s: float = ANSWER_S, retry_s: float = PATIENCE_TAKE_OVER_S
) -> Answer:
    connection, parser = _exchange_with_retries(name, body, key, answer_s, retry_s)
    text = wire.read_body(connection, parser)
    connection.close()
    return wire.answer_of(name, text)


def stream(name: str, body: object, patience: float | None = None) -> "Iterator[Any]":
    """Send a request and yield the values of its answer, one JSON line each, as they come. Raises Unreachable.

    `patience`: s to wait for the next piece, forever if None. A broken connection is not reopened here: a client that waits
    for a job reopens its stream itself.
    """
    connection, parser = _exchange_with_retries(name, json_text.encode(body))
    connection.settimeout(patience)
    try:
        yield from wire.values(name, connection, parser)
    finally:
        connection.close()
