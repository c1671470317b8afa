"""A visitor of the pages without a browser: logged in as a given user, reading HTML."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import lxml.html
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer
from lxml.etree import strip_tags

from daemons.web.alarms.alarm_settings import AlarmSettings
from daemons.web.alarms.book import AlarmBook
from daemons.web.alarms.view import Thresholds
from daemons.web.alarms.watch import AlarmWatch
from daemons.web.app import build_app
from daemons.web.shared import CALLER, CSRF, IS_LOGGED_IN, WEB
from gridengine.protocols.gdi.requests import Caller
from tests.unit.web.followed import ALICE, Followed, Link, web_of


def guard(caller: Caller) -> Any:
    """A guard that accepts the given caller."""

    @web.middleware
    async def let_in(
        request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        request[CALLER], request[CSRF], request[IS_LOGGED_IN] = caller, "token", lambda: True
        return await handler(request)

    return let_in


class Visitor:
    """`status`: of the last answer."""

    def __init__(self, client: TestClient[Any, Any], link: Link) -> None:
        self.client, self.link = client, link
        self.status = 0

    async def get(self, address: str) -> Any:
        """A page as an element tree."""
        async with self.client.get(address) as response:
            self.status = response.status
            return lxml.html.document_fromstring(await response.text())

    async def json(self, address: str) -> tuple[int, Any]:
        """Status and JSON of an answer."""
        async with self.client.get(address) as response:
            return response.status, await response.json(content_type=None)

    async def post(self, address: str, **fields: Any) -> list[str]:
        """The answers of the qmaster to a form, confirmed where the server asks."""
        form = _pairs({"confirmed": "1", **fields})
        async with self.client.post(address, data=form, headers={"HX-Request": "true"}) as response:
            self.status = response.status
            tree = lxml.html.fragment_fromstring(await response.text(), create_parent="div")
            return [text_of(note) for note in tree.iter("li")]

    async def send(self, address: str, fields: Mapping[str, Any], headers: dict[str, str] | None = None) -> Any:
        """The page after a form, confirmed where the server asks."""
        async with self.client.post(address, data=_pairs({"confirmed": "1", **fields}), headers=headers) as response:
            self.status = response.status
            return lxml.html.document_fromstring(await response.text())

    async def events(self, address: str) -> AsyncIterator[tuple[str, str]]:
        """The events in the stream of a page: event, data."""
        async with self.client.get("/live", params={"page": address}) as response:
            self.status = response.status
            event, lines = "", []
            async for line in response.content:
                text = line.decode().rstrip("\n")
                if text.startswith("event: "):
                    event = text[7:]
                elif text.startswith("data:"):
                    lines.append(text[6:])
                elif not text and lines:
                    yield event, "\n".join(lines)
                    lines = []


@asynccontextmanager
async def visiting(followed: Followed, directory: Path, caller: Caller = ALICE) -> AsyncIterator[Visitor]:
    """A visitor of the pages of a followed cell."""
    shared, link = web_of(followed, directory)
    async with TestClient(TestServer(build_app(shared, [guard(caller)]))) as client:
        yield Visitor(client, link)


async def begin_alarms(visitor: Visitor) -> None:
    """Let the alarms of the present state begin."""
    app: Any = visitor.client.app
    shared = app[WEB]
    shared.alarms = AlarmBook(hold_s=0.0)
    await AlarmWatch(shared, AlarmSettings(Thresholds(host_away_s=0.0))).evaluate(shared.mirror.now)


def _pairs(fields: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The fields of a form; a list is a repeated field."""
    return [(name, one) for name, value in fields.items() for one in (value if isinstance(value, list) else [value])]


def text_of(element: Any) -> str:
    """The text of an element, with single blanks."""
    strip_tags(element, "wbr")  # a name that may be broken is one word
    return " ".join(" ".join(element.itertext()).split())


def rows(page: Any, table: int = 0) -> list[list[str]]:
    """The cells of a table's body."""
    bodies = page.findall(".//table/tbody")
    return [[text_of(cell) for cell in row if cell.tag in ("th", "td")] for row in bodies[table]] if bodies else []


def page(address: str) -> Callable[[Visitor], Awaitable[Any]]:
    """A function that reads the page at this address."""
    return lambda visitor: visitor.get(address)
