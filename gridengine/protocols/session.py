"""The protocol of an interactive session: frames between the client (qrsh …) and the process that holds a task's streams.

Owns the format, and the rule by which nothing is lost or doubled when a connection breaks: both sides number the frames
that carry data, keep them until the other side has acknowledged them, and send at a new connection how many they have received.
Pure and light: the shepherd loads it, and clients when they have a session. Source: docs/interactive.md, adr/0060.

A connection begins with one line of JSON each way: the client's `{"attempt", "client", "received", "size"}` (client and
received null for a new client; the host's daemon adds `origin`, the host of the client), the session's `{"client",
"received", "first", "terminal", "daemon"}`, or `{"refused": reason}`. Then frames follow, each a byte for its kind, four for
the length (big endian), and the data:

    client to session   i  standard input; without data: its end          (numbered)
                        w  rows, columns, pixels: four 16 bit numbers     e  end the task
    session to client   o, s  standard output and error                   x  the outcome, JSON (all numbered)
                        d  another client has taken the session over
    both                a  acknowledgement: number of frames received (64 bit)
"""

from __future__ import annotations

from collections import deque
from struct import Struct

from gridengine.addresses import canonical, is_loopback
from gridengine.errors import CorruptDataError

INPUT, OUTPUT, ERROR, EXIT = b"i", b"o", b"s", b"x"
WINDOW, END, SUPERSEDED, ACKNOWLEDGED = b"w", b"e", b"d", b"a"
NUMBERED = frozenset((INPUT, OUTPUT, ERROR, EXIT))

#: bytes that one side sends ahead of acknowledgements, and after how many it acknowledges
OUTPUT_WINDOW, INPUT_WINDOW = 2**20, 2**18
ACKNOWLEDGE_AFTER = 2**16
#: bytes of one frame; a longer one is a fault of the other side
CHUNK, MAX_FRAME_BYTES = 2**16, 2**20
#: bytes of terminal output that are shown again to a client that attaches later
SCROLLBACK_BYTES = 2**16

_HEADER = Struct("!cI")
_COUNT = Struct("!Q")
_SIZE = Struct("!4H")
WindowSize = tuple[int, int, int, int]
"""rows, columns, width and height in pixels (0 when not known)"""


#: the origin of a client on the same host
LOCALHOST = "localhost"


class BrokenSessionError(CorruptDataError):
    """The other side violated the protocol."""


def encode_frame(kind: bytes, data: bytes = b"") -> bytes:
    return _HEADER.pack(kind, len(data)) + data


def client_origin(peer: str, own: str) -> str:
    """The address of the other end of a connection, or LOCALHOST for any address by which a host reaches itself."""
    address = canonical(peer)
    return LOCALHOST if address == canonical(own) or is_loopback(address) else address


def encode_acknowledgement(count: int) -> bytes:
    """The frame that acknowledges `count` frames in all."""
    return encode_frame(ACKNOWLEDGED, _COUNT.pack(count))


def decode_acknowledgement(data: bytes) -> int:
    if len(data) != _COUNT.size:
        raise BrokenSessionError("an acknowledgement of a wrong length")
    return int(_COUNT.unpack(data)[0])


def encode_window_size(size: WindowSize) -> bytes:
    return encode_frame(WINDOW, _SIZE.pack(*size))


def decode_window_size(data: bytes) -> WindowSize:
    if len(data) != _SIZE.size:
        raise BrokenSessionError("a window size of a wrong length")
    rows, columns, width, height = _SIZE.unpack(data)
    return rows, columns, width, height


class Outbox:
    """Numbered frames that are being sent. `limit`: bytes without acknowledgement at which `has_capacity` is False; `kept`: bytes
    of acknowledged frames that stay, for a new client."""

    def __init__(self, limit: int, kept: int = 0) -> None:
        self._limit, self._kept = limit, kept
        self._frames: deque[bytes] = deque()
        self._first = 0  # number of the first frame in the deque
        self._sent = 0  # number of the next frame to hand out
        self._acknowledged = 0
        self._bytes = 0  # in the deque
        self._open = 0  # of these, not acknowledged

    @property
    def has_capacity(self) -> bool:
        """Whether another frame may be added."""
        return self._open < self._limit

    @property
    def is_acknowledged(self) -> bool:
        """Whether the other side has everything."""
        return self._acknowledged == self._first + len(self._frames)

    def put(self, kind: bytes, data: bytes) -> None:
        encoded = encode_frame(kind, data)
        self._frames.append(encoded)
        self._bytes += len(encoded)
        self._open += len(encoded)

    def number_from(self, count: int) -> None:
        """Number the frames from `count` on: the other side continues a session that another client began."""
        self._first = self._sent = self._acknowledged = count

    def take_unsent(self) -> bytes:
        """The frames that were not yet taken on this connection."""
        start = self._sent - self._first
        self._sent = self._first + len(self._frames)
        return b"".join(self._frames[index] for index in range(start, len(self._frames)))

    def acknowledge(self, count: int) -> None:
        """Note that the other side has received `count` frames. Raises BrokenSessionError for a count that was never sent."""
        if count > self._first + len(self._frames):
            raise BrokenSessionError("an acknowledgement of what was not sent")
        for number in range(self._acknowledged, count):
            self._open -= len(self._frames[number - self._first])
        self._acknowledged = max(self._acknowledged, count)
        while self._first < self._acknowledged and self._bytes - len(self._frames[0]) >= self._kept:
            self._bytes -= len(self._frames.popleft())
            self._first += 1

    def resume(self, count: int | None) -> int:
        """Start a new connection. `count`: frames that the other side has, None for a new client. Returns the number of the first
        frame to be sent. Raises BrokenSessionError when that frame is gone."""
        if count is None:
            self._sent = self._first
        elif self._first <= count <= self._first + len(self._frames):
            self._sent = count
        else:
            raise BrokenSessionError("the missing frames are no longer kept")
        return self._sent


class Inbox:
    """Frames out of the bytes of a connection. `count`: numbered frames received in all, over all connections."""

    def __init__(self) -> None:
        self.count = 0
        self._data = b""

    def begin_connection(self, count: int | None = None) -> None:
        """Start a new connection: an incomplete frame of the last connection is dropped. `count`: frames counted as received."""
        self._data = b""
        if count is not None:
            self.count = count

    def feed(self, data: bytes) -> list[tuple[bytes, bytes]]:
        """Add received bytes. Returns kind and data of every frame that is complete now. Raises BrokenSessionError."""
        data = self._data + data if self._data else data
        found, position = [], 0
        while position + _HEADER.size <= len(data):
            kind, length = _HEADER.unpack_from(data, position)
            if length > MAX_FRAME_BYTES:
                raise BrokenSessionError("a frame that is too long")
            start = position + _HEADER.size
            if start + length > len(data):
                break
            position = start + length
            self.count += kind in NUMBERED
            found.append((kind, data[start:position]))
        self._data = data[position:]
        return found
