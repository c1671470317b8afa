"""Fixtures of the web server's unit tests: a cell in this process, with a mirror of it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import CookieJar
from aiohttp.test_utils import TestClient, TestServer

from daemons.qmaster.serve.requests import forecasting
from daemons.web.access import guard as guards
from daemons.web.app import build_app
from gridengine.protocols.gdi.requests import Caller
from tests.forecasts import ask_thread
from tests.harness import Cell
from tests.unit.web.access_server import AccessServer, Play
from tests.unit.web.browsing import Visitor, visiting
from tests.unit.web.followed import ALICE, Followed, web_of


@pytest.fixture
def cell(tmp_path: Path) -> Cell:
    return Cell(tmp_path)


@pytest.fixture
def followed(cell: Cell) -> Followed:
    return Followed(cell)


@pytest.fixture
def access_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AccessServer:
    made = AccessServer(tmp_path)
    monkeypatch.setattr(guards, "is_user", lambda caller: caller.user in made.users)
    return made


@pytest.fixture
def at(access_server: AccessServer, followed: Followed, tmp_path: Path) -> Callable[[Play], Any]:
    async def run(play: Play, tls: bool) -> Any:
        app = build_app(web_of(followed, tmp_path)[0])
        access_server.access(tls).add_to(app)
        async with TestClient(TestServer(app), cookie_jar=CookieJar(unsafe=True)) as client:
            return await play(client)

    return lambda play, tls=False: asyncio.run(run(play, tls))


@pytest.fixture
def browse(followed: Followed, tmp_path: Path) -> Callable[..., Any]:
    """Run the actions of a visitor who is logged in as `caller`, and return their result."""

    def run(play: Callable[[Visitor], Awaitable[Any]], caller: Caller = ALICE) -> Any:
        async def playing() -> Any:
            async with visiting(followed, tmp_path, caller) as visitor:
                return await play(visitor)

        followed.take()
        return asyncio.run(playing())

    return run


@pytest.fixture
def forecasts_in_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forecasts are made in this process, without ended tasks to learn from."""
    monkeypatch.setattr(forecasting, "ask_process", ask_thread)
