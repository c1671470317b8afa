"""The web server before login, and the requests of a client."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from aiohttp.test_utils import TestClient

from daemons.web.access.guard import Guard
from daemons.web.access.links import Links
from daemons.web.access.logins import Logins
from daemons.web.access.routes import Access
from tests.unit.web.followed import ALICE, BOB


class AccessServer:
    """The web server before login. `now`: its clock; `users`: of this host."""

    def __init__(self, directory: Path) -> None:
        self.now = 1_800_000_000.0
        self.users = {ALICE.user, BOB.user}
        self.path = directory / "sessions.json"
        self.open()

    def open(self) -> None:
        """Start the server, or start it again."""
        self.sessions, self.links = Logins(self.path, lambda: self.now), Links(lambda: self.now)

    def access(self, tls: bool = False) -> Access:
        guard = Guard(self.sessions, frozenset(("localhost", "127.0.0.1", "fd88::1")), tls)
        return Access(self.links, self.sessions, guard)


Client = TestClient[Any, Any]
Play = Callable[[Client], Awaitable[Any]]



async def log_in(client: Client, access_server: AccessServer, caller: Any = ALICE) -> None:
    async with client.post(f"/login/{access_server.links.make(caller)}", allow_redirects=False) as response:
        assert response.status == 303, await response.text()


async def status(client: Client, path: str, method: str = "GET", **more: Any) -> int:
    async with client.request(method, path, allow_redirects=False, **more) as response:
        return response.status


def csrf(access_server: AccessServer, caller: Any = ALICE) -> str:
    return next(access_server.sessions.of(caller.user)).csrf
