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
    from collections.abc import Iterator
    from typing import Any

_KEY_BYTES = 16
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
        reader = AnswerReader(probe)
        _, _, headers = read_head(reader)
        reply = b"".join(pieces(reader, headers))
        return question == _MAY_CONFIGURE or answer_of(question, reply).data is not False
    except (OSError, Unreachable):
        return False
    finally:
        probe.close()


class AnswerReader:
    """Lines and lengths of bytes out of a connection. Raises AnswerLost when it ends too early."""

    def __init__(self, connection: Socket) -> None:
        self.connection = connection
        self.data = b""

    def receive(self) -> None:
        try:
            received = self.connection.recv(262144)
        except TimeoutError:
            raise AnswerLost(f"the qmaster has not answered within {self.connection.gettimeout():.0f} seconds") from None
        except OSError as error:
            raise AnswerLost(f"the connection to the qmaster broke: {error.strerror}") from None
        if not received:
            raise AnswerLost("the qmaster closed the connection before it had answered")
        self.data += received

    def line(self) -> bytes:
        while b"\n" not in self.data:
            self.receive()
        line, _, self.data = self.data.partition(b"\n")
        return line.rstrip(b"\r")

    def take(self, length: int) -> bytes:
        if len(self.data) < length:
            parts, size = [self.data], len(self.data)
            while size < length:
                self.data = b""
                self.receive()
                parts.append(self.data)
                size += len(self.data)
            self.data = b"".join(parts)
        taken, self.data = self.data[:length], self.data[length:]
        return taken


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


def read_head(reader: AnswerReader) -> tuple[int, str, dict[bytes, bytes]]:
    """Status (0 if it is not HTTP), reason and fields of an answer's head. Raises AnswerLost."""
    lines = [reader.line()]
    while line := reader.line():
        lines.append(line)
    return parse_head(lines)


def parse_head(lines: list[bytes]) -> tuple[int, str, dict[bytes, bytes]]:
    """As `read_head`, of lines that were read."""
    tokens = lines[0].split(None, 2)
    fields = (line.partition(b":") for line in lines[1:])
    headers = {field.strip().lower(): value.strip() for field, _, value in fields}
    status = int(tokens[1]) if len(tokens) > 1 and tokens[1].isdigit() else 0
    return status, tokens[2].decode("ascii", "replace") if len(tokens) > 2 else "no HTTP", headers


def fault_of(name: str, status: int, reason: str, body: bytes) -> Exception:
    """The exception for a status other than 200: RetryLaterError, AnswerLost or Unreachable."""
    if status in (502, 503):
        return RetryLaterError(_text_of(body))
    if status == 504:
        return AnswerLost(_text_of(body) or "the qmaster's answer was lost")
    return Unreachable(f"the qmaster answered the request {name} with: {reason}")


def pieces(reader: AnswerReader, headers: dict[bytes, bytes]) -> "Iterator[bytes]":
    """The body of an answer as it arrives."""
    if headers.get(b"transfer-encoding", b"").lower() == b"chunked":
        while size := int(reader.line().partition(b";")[0], 16):
            yield reader.take(size)
            reader.line()
        while reader.line():
            pass  # trailers
    else:
        yield reader.take(int(headers.get(b"content-length", b"0")))


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


def values(name: str, pieces: "Iterator[bytes]") -> "Iterator[Any]":
    """The values of a stream, one JSON line each. Raises Unreachable."""
    rest = b""
    for piece in pieces:
        *lines, rest = (rest + piece).split(b"\n")
        for line in lines:
            if line.strip():
                yield decode_value(name, line)
    if rest.strip():
        # an answer that is not a stream: it holds the reason
        raise Unreachable("; ".join(text for _, text in decode_value(name, rest)["answers"]))
