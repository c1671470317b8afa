"""The socket at which users of this host get links and tokens: the kernel authenticates them, not the request."""

from __future__ import annotations

import asyncio
import os
import pwd
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from daemons.runtime.connection_limiter import ConnectionLimiter
from daemons.web.access.links import LinkServer
from daemons.web.alarms.book import AlarmBook
from gridengine.files.unix_sockets import unix_listener
from gridengine.protocols.web import LINK_MINUTES
from tests.unit.web.access_server import AccessServer
from tests.unit.web.followed import ALICE

Ask = Callable[..., Awaitable[dict[str, Any]]]
_STATED = {"user": "root", "uid": 0, "gid": 0, "caller": {"user": "root", "uid": 0}}
_HEADERS = {"X-GE-User": "root", "X-GE-Uid": "0", "X-GE-Group": "root", "X-GE-Gid": "0", "Authorization": "Bearer root"}


@pytest.fixture
def asked(access_server: AccessServer, tmp_path: Path) -> Callable[[Callable[[Ask], Awaitable[Any]]], Any]:
    """A client of a server at a socket."""
    path = tmp_path / "web.sock"

    async def run(play: Callable[[Ask], Awaitable[Any]]) -> Any:
        base, alarms = "http://localhost:8646", AlarmBook()
        server = LinkServer("h1", access_server.links, access_server.sessions, base, ConnectionLimiter(), alarms)
        server.open(unix_listener(path, 0o666))

        async def ask(name: str, body: str = "{}", **headers: str) -> dict[str, Any]:
            async with session.post(f"http://localhost/v1/{name}", data=body, headers=headers) as response:
                return dict(await response.json())

        try:
            async with aiohttp.ClientSession(connector=aiohttp.UnixConnector(str(path))) as session:
                return await play(ask)
        finally:
            await server.close()

    return lambda play: asyncio.run(run(play))


@pytest.fixture
def stranger(monkeypatch: pytest.MonkeyPatch) -> str:
    """The kernel says that the user `nobody` is at the other end."""
    known = pwd.getpwnam("nobody")
    monkeypatch.setattr("daemons.web.access.links.peer_credentials", lambda socket: (1, known.pw_uid, known.pw_gid))
    return "nobody"


def test_a_link_and_a_token_are_of_the_caller(access_server: AccessServer, asked: Any) -> None:
    async def play(ask: Ask) -> Any:
        return await ask("login"), await ask("token", '{"days": 3}')

    login, token = asked(play)
    base, _, secret = login["link"].rpartition("/login/")
    assert (base, login["minutes"]) == ("http://localhost:8646", LINK_MINUTES)
    assert access_server.links.find_caller(secret).uid == os.getuid()
    assert access_server.sessions.find("token", token["token"]).caller.uid == os.getuid()
    assert token["until"] == access_server.now + 3 * 86_400


@pytest.mark.statement("DM-5")
def test_a_token_has_a_scope_and_a_label_and_is_listed(access_server: AccessServer, asked: Any) -> None:
    async def play(ask: Ask) -> Any:
        first, second = await ask("token"), await ask("token", '{"days": 3, "scope": "read", "label": "nightly build"}')
        access_server.sessions.find("token", second["token"], "10.0.0.9")
        return first, second, await ask("tokens")

    first, second, listed = asked(play)
    times = {"made": access_server.now, "used": access_server.now}
    assert sorted(listed["tokens"], key=lambda one: one["label"]) == [
        {"label": "", "scope": "all", **times, "address": "", "until": first["until"]},
        {"label": "nightly build", "scope": "read", **times, "address": "10.0.0.9", "until": second["until"]},
    ]


def test_tokens_of_others_are_not_listed(access_server: AccessServer, asked: Any, stranger: str) -> None:
    access_server.sessions.grant(ALICE, 1)
    assert asked(lambda ask: ask("tokens")) == {"tokens": []}


def test_the_kernel_authenticates_users(access_server: AccessServer, asked: Any, stranger: str) -> None:
    async def play(ask: Ask) -> Any:
        stated = str(_STATED).replace("'", '"')
        return await ask("login", stated, **_HEADERS), await ask("token", stated, **_HEADERS)

    login, token = asked(play)
    assert access_server.links.find_caller(login["link"].rpartition("/")[2]).user == stranger
    assert access_server.sessions.find("token", token["token"]).caller.user == stranger


@pytest.mark.parametrize(
    ("name", "body", "error"),
    [
        ("token", '{"days": 0}', "a token is good for 1 to 366 days"),
        ("token", '{"days": 367}', "a token is good for 1 to 366 days"),
        ("token", '{"days": true}', "a token is good for 1 to 366 days"),
        ("token", '{"days": "9"}', "a token is good for 1 to 366 days"),
        ("token", '{"scope": "write"}', "the scope of a token is one of read, submit, all"),
        ("token", '{"scope": []}', "the scope of a token is one of read, submit, all"),
        ("token", '{"label": "a\\n"}', "the label of a token has at most 60 printable characters"),
        ("token", '{"label": 3}', "the label of a token has at most 60 printable characters"),
        ("login", "{", "a request is a JSON object"),
        ("login", "[" * 4000, "a request is a JSON object"),
        ("login", "[]", "a request is a JSON object"),
        ("login", "\udcff", "a request is a JSON object"),
        ("become", "{}", "there is no request become"),
    ],
)
def test_errors_are_reported(access_server: AccessServer, asked: Any, name: str, body: str, error: str) -> None:
    async def play(ask: Ask) -> Any:
        return await ask(name, body.encode("utf-8", "surrogateescape"))

    assert asked(play) == {"error": error}
    assert not any(access_server.sessions.of(pwd.getpwuid(os.getuid()).pw_name))
