"""The wire between a client and the qmaster: where its sockets are, and one request in HTTP/1.1.

Owns the cell's files that a client needs, the form of a request and of an answer's head. Timeouts and retries are the
client's. Must import next to nothing: every q* command pays for it. Called by `clients.gdi` and by the
transports and connections of this package. Source: docs/architecture.md sections 3 and 4.
"""

import os

# the C part alone: `socket` itself adds 3 ms of names that nothing here needs
from _socket import AF_UNIX, SOCK_STREAM
from _socket import socket as Socket

from gridengine import json_text
from gridengine.cell_files import parse_master_name, parse_settings
from gridengine.errors import GridEngineError, InvalidValueError, UnavailableError

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from collections.abc import Generator, Iterator
    from typing import Any

_KEY_BYTES = 16
#: received at once at most
RECEIVED_BYTES = 262144
_GATEWAY = "/gateway.sock"
_MAY_CONFIGURE = "may_configure"
"""A request that a working qmaster answers at once."""
_GOES_ON = "Running jobs go on; pending ones wait until it is back"


class GridError(GridEngineError):
    """A request of a program failed; the text is for people."""


class Unreachable(GridError):
    """The qmaster cannot be asked; the text is one line for the user."""


class AnswerLost(Unreachable):
    """The request was sent and its answer was lost: the request may have been carried out."""


class RetryLaterError(UnavailableError):
    """Nothing was done: the qmaster is unavailable or overloaded. To be retried; the text is the reason, or ""."""


class Answer:
    """Answer of the qmaster: exit status of the command, texts by level in order, and data."""

    __slots__ = ("answers", "data", "status")

    def __init__(self, status: int, answers: list[list[str]], data: "Any") -> None:
        self.status = status
        self.answers = answers
        self.data = data


def common_directory(root: str = "", cell: str = "") -> str:
    """`ROOT/CELL/common`, by default of $SGE_ROOT and $SGE_CELL. Raises Unreachable when SGE_ROOT is not set."""
    root = root or os.environ.get("SGE_ROOT", "")
    if not root:
        raise Unreachable("SGE_ROOT is not set: load the settings.sh of a cell first")
    return f"{root}/{cell or os.environ.get('SGE_CELL') or 'default'}/common"


def run_directory(common: str) -> str:
    """The directory of a cell's sockets on this host. Raises Unreachable."""
    path = f"{common}/bootstrap"
    try:
        with open(path) as file:
            return parse_settings(file.read(), path, ("run_dir",))["run_dir"]
    except OSError as error:
        raise Unreachable(f"no cell there: cannot read {path}: {error.strerror}") from None
    except InvalidValueError as fault:
        raise Unreachable(str(fault)) from None
    except UnicodeDecodeError:
        raise Unreachable(f"{path} is not a text file") from None


def has_shadows(common: str) -> bool:
    """Whether another host takes over from a master that is lost."""
    try:
        os.stat(f"{common}/shadow_masters")
    except OSError:
        return False
    return True


def master_host(common: str) -> str:
    """The master host by the cell's files; "unknown" if they do not name it."""
    try:
        with open(f"{common}/act_qmaster", errors="replace") as file:
            return file.readline().strip() or "unknown"
    except OSError:
        return "unknown"


def no_qmaster(common: str) -> str:
    """The sentence for a host on which no socket answers."""
    on_host = f'on host "{master_host(common)}"'
    if fault := _act_qmaster_fault(common):
        on_host = f"({fault})"
    return f"unable to contact the qmaster {on_host}: neither it nor a gateway answers on this host. {_GOES_ON}"


def _act_qmaster_fault(common: str) -> str:
    """The reason for which the cell's file does not name the master, or ""."""
    path = f"{common}/act_qmaster"
    try:
        with open(path) as file:
            parse_master_name(file.read(), path)
    except OSError as error:
        return f"cannot read {path}: {error.strerror}"
    except InvalidValueError as fault:
        return str(fault)
    except UnicodeDecodeError:
        return f"{path} is not a text file"
    return ""


def explain_refusal(reply: str, common: str) -> str:
    """The sentence for a request that the gateway could not forward in time. `reply`: the reason, or ""."""
    return f"{reply}. {_GOES_ON}" if reply.startswith("unable to contact") else reply or no_qmaster(common)


def sockets(directory: str) -> tuple[str, ...]:
    """The sockets at which the qmaster of this host, and its gateway, may answer."""
    return f"{directory}/gdi.sock", f"{directory}{_GATEWAY}"


def connect(directory: str, answer_s: float | None) -> tuple[Socket | None, bool]:
    """A connection to the qmaster of this host or to its gateway, or None; and whether a socket exists at all."""
    exists = False
    for path in sockets(directory):
        connection = Socket(AF_UNIX, SOCK_STREAM)
        try:
            connection.connect(path)
            connection.settimeout(answer_s)
            return connection, True
        except OSError as error:
            connection.close()
            exists = exists or not isinstance(error, FileNotFoundError)
    return None, exists


def master_reached(connection: Socket, patience_s: float) -> bool:
    """Whether the qmaster at the other end of a connection answers a small question, or the gateway there reaches the master.

    patience_s: for this answer; a gateway of an earlier release forwards the request, and waits itself.
    """
    from gridengine.protocols.protocol import MASTER_REACHED  # only a command that waits pays for it

    path = str(connection.getpeername())
    question = MASTER_REACHED if path.endswith(_GATEWAY) else _MAY_CONFIGURE
    probe = Socket(AF_UNIX, SOCK_STREAM)
    try:
        probe.settimeout(patience_s)
        probe.connect(path)
        probe.sendall(request_head(f"/v1/{question}", 2) + b"{}")
        reply = read_body(probe, read_head(probe))
        return question == _MAY_CONFIGURE or answer_of(question, reply).data is not False
    except (OSError, Unreachable):
        return False
    finally:
        probe.close()


class AnswerParser:
    """An answer in HTTP/1.1 from the bytes of its connection, without I/O (adr/0186).

    `status` (0 if it is not HTTP), `reason` and `headers` are known once `has_head`; the body ends when `is_complete`.
    """

    def __init__(self) -> None:
        self.status, self.reason = 0, "no HTTP"
        self.headers: dict[bytes, bytes] = {}
        self.has_head = self.is_complete = False
        self._data = b""
        self._pieces: list[bytes] = []
        self._steps = self._parse()

    def feed(self, received: bytes) -> None:
        """Parse further bytes. Raises AnswerLost for none: the connection has ended too early."""
        if not received:
            raise AnswerLost("the qmaster closed the connection before it had answered")
        self._data += received
        next(self._steps, None)

    def body(self) -> bytes:
        """The body as it has come since the last call."""
        body, self._pieces = b"".join(self._pieces), []
        return body

    def lines(self) -> list[bytes]:
        """The lines of the body that have come since the last call; blank lines keep a connection alive."""
        *lines, rest = self.body().split(b"\n")
        self._pieces.append(rest)
        return [line for line in lines if line.strip()]

    def _parse(self) -> "Iterator[None]":
        """Parse what has been received; a step for each time that more is needed."""
        lines = [(yield from self._line())]
        while line := (yield from self._line()):
            lines.append(line)
        self._parse_head(*lines)
        if self.headers.get(b"transfer-encoding", b"").lower() == b"chunked":
            while size := int((yield from self._line()).partition(b";")[0], 16):
                piece = yield from self._take(size)
                self._pieces.append(piece)
                yield from self._line()
            while (yield from self._line()):
                pass  # trailers
        else:
            piece = yield from self._take(int(self.headers.get(b"content-length", b"0")))
            self._pieces.append(piece)
        self.is_complete = True

    def _parse_head(self, first: bytes, *rest: bytes) -> None:
        tokens = first.split(None, 2)
        if len(tokens) > 1 and tokens[1].isdigit():
            self.status = int(tokens[1])
        if len(tokens) > 2:
            self.reason = tokens[2].decode("ascii", "replace")
        fields = (line.partition(b":") for line in rest)
        self.headers = {field.strip().lower(): value.strip() for field, _, value in fields}
        self.has_head = True

    def _line(self) -> "Generator[None, None, bytes]":
        while b"\n" not in self._data:
            yield
        line, _, self._data = self._data.partition(b"\n")
        return line.rstrip(b"\r")

    def _take(self, size: int) -> "Generator[None, None, bytes]":
        parts = []
        while len(self._data) < size:
            parts.append(self._data)
            size -= len(self._data)
            self._data = b""
            yield
        parts.append(self._data[:size])
        self._data = self._data[size:]
        return b"".join(parts)


def new_key() -> str:
    """A key under which the qmaster carries a change out once (adr/0143)."""
    return os.urandom(_KEY_BYTES).hex()


def request_head(path: str, length: int, key: str = "", headers: str = "Host: qmaster\r\n", kept: bool = False) -> bytes:
    """The head of a request, up to its body. `headers`: further lines; `kept`: the connection is used again."""
    under = f"Idempotency-Key: {key}\r\n" if key else ""
    close = "" if kept else "Connection: close\r\n"
    return (
        f"POST {path} HTTP/1.1\r\n{headers}Content-Type: application/json\r\nContent-Length: {length}\r\n{under}{close}\r\n"
    ).encode()


def receive(connection: Socket) -> bytes:
    """Bytes of an answer, b"" at the end of the connection. Raises AnswerLost."""
    try:
        return connection.recv(RECEIVED_BYTES)
    except OSError as error:
        raise answer_lost(error, connection.gettimeout()) from None


def answer_lost(error: OSError, timeout_s: float | None) -> AnswerLost:
    """The exception for a connection that failed after the request was sent."""
    if isinstance(error, TimeoutError) and timeout_s is not None:
        return AnswerLost(f"the qmaster has not answered within {timeout_s:.0f} seconds")
    return AnswerLost(f"the connection to the qmaster broke: {error.strerror or error}")


def read_head(connection: Socket) -> AnswerParser:
    """The parser of an answer, which has its head. Raises AnswerLost."""
    parser = AnswerParser()
    while not parser.has_head:
        parser.feed(receive(connection))
    return parser


def read_body(connection: Socket, parser: AnswerParser) -> bytes:
    """The whole body of an answer. Raises AnswerLost."""
    while not parser.is_complete:
        parser.feed(receive(connection))
    return parser.body()


def fault_of(name: str, status: int, reason: str, body: bytes) -> Exception:
    """The exception for a status other than 200: RetryLaterError, AnswerLost or Unreachable."""
    if status in (502, 503):
        return RetryLaterError(_text_of(body))
    if status == 504:
        return AnswerLost(_text_of(body) or "the qmaster's answer was lost")
    return Unreachable(f"the qmaster answered the request {name} with: {reason}")


def _text_of(body: bytes) -> str:
    try:
        return "; ".join(text for _, text in json_text.decode(body)["answers"])
    except (ValueError, KeyError, TypeError):
        return ""


def decode_value(name: str, text: bytes) -> "Any":
    """A value of an answer. Raises Unreachable."""
    try:
        return json_text.decode(text)
    except ValueError:
        raise Unreachable(f"the qmaster gave no readable answer to the request {name}") from None


def answer_of(name: str, text: bytes) -> Answer:
    """The answer that a body is. Raises Unreachable."""
    answer = decode_value(name, text)
    try:
        return Answer(answer["status"], answer["answers"], answer.get("data"))
    except (KeyError, TypeError, AttributeError):
        raise Unreachable(f"the qmaster gave no readable answer to the request {name}") from None


def values(name: str, connection: Socket, parser: AnswerParser) -> "Iterator[Any]":
    """The values of a stream, one JSON line each, as they come. Raises AnswerLost, Unreachable."""
    while True:
        for line in parser.lines():
            yield decode_value(name, line)
        if parser.is_complete:
            return check_end(name, parser)
        parser.feed(receive(connection))


def check_end(name: str, parser: AnswerParser) -> None:
    """Raise Unreachable for an answer that is not a stream: it is a single line, and holds the reason."""
    if (rest := parser.body()).strip():
        raise Unreachable("; ".join(text for _, text in decode_value(name, rest)["answers"]))
