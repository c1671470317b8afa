"""The port of the master while hosts may join: a host without a certificate may make only that request, and only then."""

from __future__ import annotations

import asyncio
import hashlib
import http.client
import json
import os
import socket
import ssl
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from clients.admin.certificate import make_authority, make_certificate, utc_now
from clients.admin.errors import AdminError
from clients.admin.join import request_admission
from daemons.qmaster.serve.hosts.joining import LARGEST, JoinRequests
from daemons.qmaster.serve.requests.gdi_server import GdiServer
from daemons.runtime.cell import USUAL_LIMITS
from daemons.runtime.keys import Keys
from daemons.runtime.listener import open_tcp_socket
from gridengine.protocols.gdi.requests import Answer, Caller
from gridengine.protocols.joining import JoinRecord, JoinToken, encode_record, join_directory, new_token
from tests import needs

RANDOM = bytes(range(24))


class Admitting(JoinRequests):
    """Notes the hosts that it would admit, and starts no process."""

    def __init__(self, authority: Path) -> None:
        self.replaced: list[tuple[str, str]] = []
        super().__init__(authority, {}, lambda host, address: self.replaced.append((host, address)), root_only=os.geteuid() == 0)
        self.asked: list[dict[str, Any]] = []
        self.has_keys = False

    async def _run_admission(self, fields: bytes, host: str) -> Answer:
        self.asked.append(json.loads(fields))
        return Answer(data={"host": "h9", "replaced": self.has_keys})


class Master:
    """A master's port; `token` is the only valid token."""

    def __init__(self, directory: Path) -> None:
        authority = make_authority("a cell", utc_now())
        signed = make_certificate(authority, "localhost", [], utc_now())
        for name, content in (("ca.crt", authority.certificate), ("tls.key", signed.key), ("tls.crt", signed.certificate)):
            (directory / name).write_bytes(content)
        self.keys = Keys(directory, directory / "ca.crt", "")
        self.shown = ssl.PEM_cert_to_DER_cert(signed.certificate.decode())
        self.join_requests, self._directory = Admitting(directory), directory
        self.served: list[str] = []
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = int(free.getsockname()[1])

    def token(self, until: float, fingerprint: bytes) -> JoinToken:
        made = new_token(RANDOM, fingerprint)
        join_directory(self._directory).mkdir(exist_ok=True)
        path = join_directory(self._directory) / f"{made.number}.json"
        path.write_text(encode_record(JoinRecord(made.number, made.digest, until)))
        return made

    async def _handle(self, name: str, body: bytes, caller: Caller, key: str) -> Answer:
        self.served.append(name)
        return Answer()

    def while_open(self, visit: Callable[[], Any]) -> Any:
        async def play() -> Any:
            server = GdiServer(self._handle, {}, (), "master", lambda host: "key", USUAL_LIMITS, join_requests=self.join_requests)
            closed, ajar = self.keys.server_context(callers_need_keys=True), self.keys.joining_context()
            admits = self.join_requests.has_open_token
            await server.start(self._directory / "s", ["127.0.0.1"], self.port, lambda: ajar if admits() else closed)
            try:
                return await asyncio.to_thread(visit)
            finally:
                await server.stop()

        return asyncio.run(play())

    def asks(self, token: JoinToken, **fields: Any) -> dict[str, Any]:
        body = {"token": str(token), "host": "h9", "request": "pem", **fields}
        return request_admission(f"127.0.0.1:{self.port}", token, body)

    def post(self, name: str, keys: Keys | None = None, body: bytes = b"{}") -> tuple[int, str]:
        """The answer to a caller with the key of a host, and with or without a certificate."""
        context = keys.client_context() if keys is not None else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        tls = context.wrap_socket(socket.create_connection(("127.0.0.1", self.port), 60), server_hostname="localhost")
        connection = http.client.HTTPConnection("localhost")
        connection.sock = tls
        headers = {"X-GE-Host": "h1", "X-GE-User": "root", "X-GE-Uid": "0", "X-GE-Group": "root", "X-GE-Gid": "0"}
        connection.request("POST", f"/v1/{name}", body, {"Authorization": "Bearer key", **headers})
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer.status, text


@pytest.fixture
def master(tmp_path: Path) -> Master:
    return Master(tmp_path)


@pytest.fixture
def fingerprint(master: Master) -> bytes:
    return hashlib.sha256(master.shown).digest()


def test_a_host_without_a_certificate_joins_by_a_good_token(master: Master, fingerprint: bytes) -> None:
    token = master.token(time.time() + 60, fingerprint)
    assert master.while_open(lambda: master.asks(token, processors=4)) == {"host": "h9"}
    assert master.join_requests.asked == [
        {"token": token.number, "host": "h9", "request": "pem", "processors": 4, "memory": 0, "gpus": 0, "address": "127.0.0.1"}
    ]


def test_administrators_are_written_when_a_host_that_has_keys_gets_others(
    master: Master, fingerprint: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    token = master.token(time.time() + 60, fingerprint)
    master.while_open(lambda: master.asks(token))
    assert master.join_requests.replaced == []
    master.join_requests.has_keys = True
    assert master.while_open(lambda: master.asks(token)) == {"host": "h9"}
    assert master.join_requests.replaced == [("h9", "127.0.0.1")]
    assert f"host h9 got new keys by token {token.number}, from 127.0.0.1" in caplog.text


@needs.root
def test_only_root_of_a_host_joins_it(master: Master, fingerprint: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    token = master.token(time.time() + 60, fingerprint)
    monkeypatch.setattr("clients.admin.join.ROOT_PORTS", range(0))
    with pytest.raises(AdminError, match="only root may join a host to this cell, and any user can send requests from port"):
        master.while_open(lambda: master.asks(token))
    assert master.join_requests.asked == []
    master.join_requests._root_only = False
    assert master.while_open(lambda: master.asks(token)) == {"host": "h9"}, "in the cell of a plain user"


def test_a_lost_answer_is_asked_for_again(master: Master, fingerprint: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """The answer is lost once; the second request has the same public key."""
    token, lost = master.token(time.time() + 60, fingerprint), ["once"]
    real = http.client.HTTPConnection.getresponse

    def answer(connection: http.client.HTTPConnection) -> http.client.HTTPResponse:
        response = real(connection)
        if lost:
            lost.pop()
            raise http.client.RemoteDisconnected("lost")
        return response

    monkeypatch.setattr(http.client.HTTPConnection, "getresponse", answer)
    assert master.while_open(lambda: master.asks(token)) == {"host": "h9"}
    assert len(master.join_requests.asked) == 2 and master.join_requests.asked[0] == master.join_requests.asked[1]


def test_a_host_with_neither_a_certificate_nor_a_valid_token_is_refused(master: Master, fingerprint: bytes) -> None:
    token = master.token(time.time() - 1, fingerprint)
    with pytest.raises(AdminError, match="the token has expired, is used up, or was revoked"):
        master.while_open(lambda: master.asks(token))
    assert master.join_requests.asked == []


def test_while_one_is_good_the_key_of_a_host_alone_opens_nothing(master: Master, fingerprint: bytes) -> None:
    master.token(time.time() + 60, fingerprint)
    status, outcome = master.while_open(lambda: master.post("status"))
    assert status == 200 and "denied: the caller's host has no keys" in outcome and master.served == []
    assert master.while_open(lambda: master.post("status", master.keys))[0] == 200
    assert master.served == ["status"]


def test_a_wrong_secret_and_a_malformed_request_admit_no_host(master: Master, fingerprint: bytes) -> None:
    token = master.token(time.time() + 60, fingerprint)
    for wrong, fields in (
        (token._replace(secret=bytes(18)), {}),
        (token._replace(number="00" * 6), {}),
        (token, {"host": 5}),
        (token, {"host": "h" * 600}),
        (token, {"more": 1}),
    ):
        with pytest.raises(AdminError):
            master.while_open(lambda wrong=wrong, fields=fields: master.asks(wrong, **fields))
    assert "admits no new hosts" in master.while_open(lambda: master.post("join", body=b" " * (LARGEST + 1)))[1]
    assert master.join_requests.asked == []


def test_another_master_receives_nothing(master: Master) -> None:
    token = master.token(time.time() + 60, bytes(32))
    with pytest.raises(AdminError, match="is not the master that made this token: nothing was sent to it"):
        master.while_open(lambda: master.asks(token))
    assert master.join_requests.asked == []


def test_a_refused_connection_is_reported(master: Master) -> None:
    assert open_tcp_socket("127.0.0.1", 0).fileno() >= 0
    with pytest.raises(AdminError, match="does not answer: Connection refused"):
        master.asks(new_token(RANDOM, bytes(32)))
