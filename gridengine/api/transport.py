"""The two transports to a cell: the sockets of a host of the cell, and the REST API of its web server from anywhere.

Owns the address of a connection, the head of a request, and the meaning of answers. Knows no request. Called by
`connection` and the channels. Source: docs/architecture.md section 4; docs/api.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gridengine import json_text
from gridengine.addresses import is_loopback
from gridengine.api import wire
from gridengine.api.wire import Answer, Unreachable

if TYPE_CHECKING:
    from ssl import SSLContext

#: seconds: a request whose answer does not begin within this time is repeated; the timeout of a TLS connection
ANSWER_S, _CONNECT_S = 60.0, 10.0


class LocalTransport:
    """The qmaster, or its gateway, on this host. `root`, `cell`: of SGE_ROOT and SGE_CELL if they are "". Raises Unreachable."""

    def __init__(self, root: str, cell: str) -> None:
        self._common = wire.common_directory(root, cell)
        self._directory = wire.run_directory(self._common)

    def __str__(self) -> str:
        return f"the cell {self._common.removesuffix('/common')}"

    @property
    def sockets(self) -> tuple[str, ...]:
        """The sockets at which the qmaster or the gateway may answer."""
        return wire.sockets(self._directory)

    def connect(self) -> Any:
        """A connection. Raises OSError."""
        connection, exists = wire.connect(self._directory, ANSWER_S)
        if connection is None:
            raise ConnectionRefusedError if exists else FileNotFoundError
        return connection

    def explain_no_answer(self, error: OSError) -> str:
        """The sentence for a failed connection."""
        return wire.no_qmaster(self._common)

    def may_come_back(self, error: OSError) -> bool:
        """Whether a retry after this error may succeed."""
        return not isinstance(error, FileNotFoundError)

    def head(self, name: str, length: int, key: str, kept: bool) -> bytes:
        """See `wire.request_head`. `kept`: false for a stream, which has a connection of its own."""
        return wire.request_head(f"/v1/{name}", length, key, kept=kept)

    def answer(self, name: str, status: int, reason: str, body: bytes) -> Answer:
        """The answer of an HTTP response. Raises RetryLaterError, AnswerLost, Unreachable."""
        if status != 200:
            raise wire.fault_of(name, status, reason, body)
        return wire.answer_of(name, body)


class RestTransport:
    """The web server of a cell. `url`: `https://host:8646`; `ca`: file of trusted certificates, "" for the system's.

    Raises ValueError for an invalid address, or for a token that would be sent unencrypted.
    """

    def __init__(self, url: str, token: str, ca: str) -> None:
        from urllib.parse import urlsplit

        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"{url!r} is not a valid address: https://HOST:8646 is expected")
        self.tls, self.host = parts.scheme == "https", parts.hostname
        self.port = parts.port or (443 if self.tls else 80)
        if not self.tls and self.host != "localhost" and not is_loopback(self.host):
            raise ValueError(f"{url}: a token is sent only over https, except to this host")
        if not token.isascii() or not token.isprintable() or not token:
            raise ValueError("a token is expected: gridengine web --token prints one")
        self._headers = f"Host: {parts.netloc.rpartition('@')[2]}\r\nAuthorization: Bearer {token}\r\n"
        self._path, self._ca, self._url = f"{parts.path.rstrip('/')}/api/v1", ca, url

    def __str__(self) -> str:
        return f"the cell at {self._url}"

    def context(self) -> SSLContext | None:
        """The TLS context; None without TLS. Raises OSError for a file of certificates that cannot be read."""
        if not self.tls:
            return None
        import ssl

        return ssl.create_default_context(cafile=self._ca or None)

    def connect(self) -> Any:
        """As `LocalTransport.connect`."""
        import socket

        context = self.context()
        connection = socket.create_connection((self.host, self.port), timeout=_CONNECT_S)
        try:
            connection.settimeout(ANSWER_S)
            return context.wrap_socket(connection, server_hostname=self.host) if context else connection
        except OSError:
            connection.close()
            raise

    def explain_no_answer(self, error: OSError) -> str:
        """As `LocalTransport.explain_no_answer`."""
        return f"unable to contact the web server at {self._url}: {error.strerror or str(error) or 'timed out'}"

    def may_come_back(self, error: OSError) -> bool:
        """As `LocalTransport.may_come_back`: errors of names and certificates persist."""
        return isinstance(error, (ConnectionError, TimeoutError))

    def head(self, name: str, length: int, key: str, kept: bool) -> bytes:
        """As `LocalTransport.head`; a connection that is not kept is a stream."""
        path = f"{self._path}/{'requests' if kept else 'streams'}/{name}"
        return wire.request_head(path, length, key, self._headers, kept)

    def answer(self, name: str, status: int, reason: str, body: bytes) -> Answer:
        """As `LocalTransport.answer`: a problem document is an answer with status 1, unless it concerns the connection."""
        try:
            reply = json_text.decode(body)
        except ValueError:
            reply = {}
        if status == 200:
            return Answer(0, reply["answers"], reply.get("data")) if "answers" in reply else wire.answer_of(name, body)
        text = str(reply.get("detail") or reply.get("title") or reason) if isinstance(reply, dict) else reason
        if status in (502, 503):
            raise wire.RetryLaterError(text)
        if status == 504:
            raise wire.AnswerLost(text)
        if status in (401, 421) or not reply:
            raise Unreachable(f"{self._url} answered with {status}: {text}")
        return Answer(1, [["error", text]], None)


Transport = LocalTransport | RestTransport


def select_transport(root: str, cell: str, url: str, token: str, ca: str) -> Transport:
    """The transport for the arguments of a cell. Raises Unreachable, ValueError."""
    if url:
        return RestTransport(url, token, ca)
    return LocalTransport(root, cell)
