"""The road of a command to the qmaster: finds the cell, sends one request, reads the answer.

Owns the cell's files that a client needs, the choice of socket and a small HTTP/1.1. Must import next to nothing, since
every command pays for it: the whole of a command has 28 ms. Called by `clients.program` and the commands.
Source: docs/architecture.md sections 3 and 4.
"""

import os
import time

# the C part alone: `socket` itself adds 3 ms of names that nothing here needs
from _socket import AF_UNIX, SOCK_STREAM
from _socket import socket as Socket

from clients import json_text
from gridengine.cell_files import parse_settings
from gridengine.errors import SyntaxFault

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

#: how long a command waits for a qmaster that is being restarted, and for sockets that are not there at all
PATIENCE_S = 4.0
PATIENCE_TAKE_OVER_S = 30.0
PATIENCE_ABSENT_S = 1.0
_PAUSE_S = 0.1
#: after which it is said on a terminal that the command waits
SAID_AFTER_S = 1.5
_said_that_it_waits = False
#: an answer that does not begin within this time will not come
ANSWER_S = 60.0
#: how long a change whose answer was lost is asked for again, under its key
PATIENCE_LOST_S = 30.0
_KEY_BYTES = 16


class Unreachable(Exception):
    """The qmaster cannot be asked; the text is one line for the user."""


class _Lost(Unreachable):
    """The request was sent and its answer was lost: it may have been carried out."""


class Answer:
    """Answer of the qmaster: exit status of the command, texts by level in order, and data."""

    __slots__ = ("answers", "data", "status")

    def __init__(self, status: int, answers: list[list[str]], data: "Any") -> None:
        self.status = status
        self.answers = answers
        self.data = data


def common_directory() -> str:
    """`$SGE_ROOT/$SGE_CELL/common`. Raises Unreachable when SGE_ROOT is not set."""
    root = os.environ.get("SGE_ROOT")
    if not root:
        raise Unreachable("SGE_ROOT is not set: load the settings.sh of a cell first")
    return f"{root}/{os.environ.get('SGE_CELL') or 'default'}/common"


def _run_directory() -> str:
    path = f"{common_directory()}/bootstrap"
    try:
        with open(path) as file:
            return parse_settings(file.read(), path, ("run_dir",))["run_dir"]
    except OSError as error:
        raise Unreachable(f"no cell there: cannot read {path}: {error.strerror}") from None
    except SyntaxFault as fault:
        raise Unreachable(str(fault)) from None


def _connect(answer_s: float) -> Socket:
    """A connection to the qmaster of this host or to the gateway of this host. Raises Unreachable after a while."""
    directory = _run_directory()
    begin = time.monotonic()
    while True:
        patience = PATIENCE_ABSENT_S
        for name in ("gdi.sock", "gateway.sock"):
            connection = Socket(AF_UNIX, SOCK_STREAM)
            try:
                connection.connect(f"{directory}/{name}")
                connection.settimeout(answer_s)
                return connection
            except OSError as error:
                connection.close()
                if not isinstance(error, FileNotFoundError):
                    patience = _patience_s()
        if time.monotonic() - begin > patience:
            raise Unreachable(_no_qmaster())
        _say_that_it_waits(begin)
        time.sleep(_PAUSE_S)


def _say_that_it_waits(begin: float) -> None:
    """A line on a terminal, once, when nobody has answered for a while: it is not the command that hangs."""
    global _said_that_it_waits
    if not _said_that_it_waits and time.monotonic() - begin > SAID_AFTER_S and os.isatty(2):
        _said_that_it_waits = True
        os.write(2, b"waiting for the qmaster, which does not answer; running jobs go on\n")


def _patience_s() -> float:
    """Where another host takes over from a master that is lost, that is waited for."""
    try:
        os.stat(f"{common_directory()}/shadow_masters")
    except OSError:
        return PATIENCE_S
    return PATIENCE_TAKE_OVER_S


def _no_qmaster() -> str:
    host = "unknown"
    try:
        with open(f"{common_directory()}/act_qmaster") as file:
            host = file.readline().strip() or host
    except OSError:
        pass
    away = f'unable to contact the qmaster on host "{host}": neither it nor a gateway answers on this host'
    return f"{away}. Running jobs go on; pending ones wait until it is back"


class _Reader:
    """Lines and lengths of bytes out of a connection. Raises _Lost when it ends too early."""

    def __init__(self, connection: Socket) -> None:
        self.connection = connection
        self.data = b""

    def more(self) -> None:
        try:
            got = self.connection.recv(262144)
        except TimeoutError:
            raise _Lost(f"the qmaster has not answered within {self.connection.gettimeout():.0f} seconds") from None
        except OSError as error:
            raise _Lost(f"the connection to the qmaster broke: {error.strerror}") from None
        if not got:
            raise _Lost("the qmaster closed the connection before it had answered")
        self.data += got

    def line(self) -> bytes:
        while b"\n" not in self.data:
            self.more()
        line, _, self.data = self.data.partition(b"\n")
        return line.rstrip(b"\r")

    def take(self, length: int) -> bytes:
        if len(self.data) < length:
            parts, size = [self.data], len(self.data)
            while size < length:
                self.data = b""
                self.more()
                parts.append(self.data)
                size += len(self.data)
            self.data = b"".join(parts)
        taken, self.data = self.data[:length], self.data[length:]
        return taken


class _Refused(Exception):
    """Nothing was done: the qmaster is away, or has too much to do. To be tried again; the text says why, or is ""."""


def _exchange(name: str, body: bytes, key: str, answer_s: float) -> "tuple[Socket, Iterator[bytes]]":
    """Send a request; the connection, and the pieces of the answer's body as they come."""
    connection = _connect(answer_s)
    under = f"Idempotency-Key: {key}\r\n" if key else ""
    head = (
        f"POST /v1/{name} HTTP/1.1\r\nHost: qmaster\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n{under}Connection: close\r\n\r\n"
    )
    try:
        connection.sendall(head.encode() + body)
    except OSError as error:
        if not isinstance(error, ConnectionError):
            raise Unreachable(f"the connection to the qmaster broke: {error.strerror}") from None
        # who does not want all of it may have said why
    reader = _Reader(connection)
    status = reader.line().split(None, 2)
    headers = {}
    while line := reader.line():
        field, _, value = line.partition(b":")
        headers[field.strip().lower()] = value.strip()
    if len(status) < 2 or status[1] != b"200":
        if status[1:2] in ([b"502"], [b"503"]):
            raise _Refused(_said(b"".join(_pieces(reader, headers))))
        if status[1:2] == [b"504"]:
            raise _Lost(_said(b"".join(_pieces(reader, headers))) or _no_qmaster())
        reason = status[2].decode("ascii", "replace") if len(status) > 2 else "no HTTP"
        raise Unreachable(f"the qmaster answered the request {name} with: {reason}")
    return connection, _pieces(reader, headers)


def _pieces(reader: _Reader, headers: dict[bytes, bytes]) -> "Iterator[bytes]":
    if headers.get(b"transfer-encoding", b"").lower() == b"chunked":
        while size := int(reader.line().partition(b";")[0], 16):
            yield reader.take(size)
            reader.line()
    else:
        yield reader.take(int(headers.get(b"content-length", b"0")))


def _patiently(
    name: str, body: bytes, key: str = "", answer_s: float = ANSWER_S
) -> "tuple[Socket, Iterator[bytes]]":
    """`_exchange`, repeated for a while when only the gateway answers."""
    begin = time.monotonic()
    while True:
        try:
            return _exchange(name, body, key, answer_s)
        except _Refused as refused:
            if time.monotonic() - begin > _patience_s():
                raise Unreachable(str(refused) or _no_qmaster()) from None
            _say_that_it_waits(begin)
            time.sleep(_PAUSE_S)


def _said(body: bytes) -> str:
    try:
        return "; ".join(text for _, text in json_text.decode(body)["answers"])
    except (ValueError, KeyError, TypeError):
        return ""


def call(name: str, body: object) -> Answer:
    """Send a request and return its answer. Raises Unreachable."""
    return _call(name, json_text.encode(body))


def change(name: str, body: object) -> Answer:
    """Send a request that changes something and return its answer. Raises Unreachable.

    If the answer is lost it is asked again for a while, under a key with which the qmaster carries it out once (adr/0143).
    """
    text, key = json_text.encode(body), os.urandom(_KEY_BYTES).hex()
    answer_s, lost = ANSWER_S, None
    while True:
        try:
            return _call(name, text, key, answer_s)
        except Unreachable as error:
            if lost is None:
                if not isinstance(error, _Lost):
                    raise
                answer_s, lost = PATIENCE_LOST_S, time.monotonic()
            if time.monotonic() - lost > PATIENCE_LOST_S:
                raise Unreachable(f"{error}; it is not known whether the request was carried out") from None
        time.sleep(_PAUSE_S)


def _call(name: str, body: bytes, key: str = "", answer_s: float = ANSWER_S) -> Answer:
    connection, pieces = _patiently(name, body, key, answer_s)
    text = b"".join(pieces)
    connection.close()
    try:
        answer = _decoded(name, text)
        return Answer(answer["status"], answer["answers"], answer.get("data"))
    except (KeyError, TypeError):
        raise Unreachable(f"the qmaster gave no readable answer to the request {name}") from None


def _decoded(name: str, text: bytes) -> "Any":
    try:
        return json_text.decode(text)
    except ValueError:
        raise Unreachable(f"the qmaster gave no readable answer to the request {name}") from None


def stream(name: str, body: object, patience: float | None = None) -> "Iterator[Any]":
    """Send a request and yield the values of its answer, one JSON line each, as they come. Raises Unreachable.

    `patience`: s to wait for the next piece, for ever if None. A broken connection is not mended here: whoever waits for a
    job asks again.
    """
    connection, pieces = _patiently(name, json_text.encode(body))
    connection.settimeout(patience)
    held = b""
    try:
        for piece in pieces:
            *lines, held = (held + piece).split(b"\n")
            for line in lines:
                if line.strip():
                    yield _decoded(name, line)
        if held.strip():
            # an answer that is no stream: the qmaster says why
            raise Unreachable("; ".join(text for _, text in _decoded(name, held)["answers"]))
    finally:
        connection.close()
