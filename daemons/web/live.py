"""Live pages: `GET /live?page=ADDRESS`, a stream of server-sent events for one open page.

Owns when a page is sent again: its `main`, when a change concerned it and it looks otherwise, at once and then no more than once
in `PAUSE_S`. Pages that show the same to the same session are rendered once. Events: `main` (HTML) and `age` (seconds since the
qmaster was heard, empty while it is). Called by `app.py`; the other end is `static/live.js`.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from urllib.parse import urlsplit

from aiohttp import web
from multidict import MultiDict
from yarl import URL

from daemons.runtime.qmaster_link import NoQmaster
from daemons.web.mirror import MirroredChange, StateMirror
from daemons.web.pages.page import Missing, Page, Visit, find_page, render
from daemons.web.sending import EventStream
from daemons.web.shared import CSRF, STILL_IN, WEB, caller_of

PAUSE_S = 0.8
"""Seconds between two sendings of a page; a change is visible within a second."""
_LOOK_S = 1.0
LONGEST_S = 600.0
"""Seconds after which a stream ends; the page opens another, and is asked again who it is."""
MOST_KEPT = 200


class _Stream:
    """An open page that is to be looked at again once `dirty` is set, as long as whoever opened it is let in."""

    def __init__(self, page: Page, still_in: Callable[[], bool]) -> None:
        self._page, self.still_in = page, still_in
        self.dirty = asyncio.Event()
        self.dirty.set()

    def note(self, change: MirroredChange) -> None:
        concerns = self._page.concerns
        if change.whole or (concerns is not None and concerns(change)):
            self.dirty.set()


class Live:
    """The open pages of a server. `pages`: those that there are."""

    def __init__(self, pages: Sequence[Page], mirror: StateMirror) -> None:
        self._pages, self._mirror = pages, mirror
        self._rendered: dict[tuple[str, str, str], tuple[int, float, str]] = {}

    async def stream(self, request: web.Request) -> web.StreamResponse:
        """Send a page again and again, until it is closed."""
        try:
            address = URL(urlsplit(request.query.get("page", ""))._replace(scheme="", netloc="", fragment="").geturl())
        except ValueError:
            address = URL()  # what is no address leads to no page
        meant = find_page(self._pages, address.path)
        if meant is None or meant[0].concerns is None:
            raise web.HTTPNotFound(text="There is no such page.\n")
        page, parts = meant
        visit = Visit(
            *(request.app[WEB], caller_of(request), request.get(CSRF, "")),
            *(str(address), parts, MultiDict(address.query)),
        )
        events = EventStream(request)
        stream = _Stream(page, request[STILL_IN])
        self._mirror.followers.append(stream.note)
        try:
            await events.begin()
            async with asyncio.timeout(LONGEST_S):
                await self._follow(events, stream, page, visit)
        except (ConnectionError, TimeoutError):
            pass
        finally:
            self._mirror.followers.remove(stream.note)
        return events.response

    async def _follow(self, events: EventStream, stream: _Stream, page: Page, visit: Visit) -> None:
        """Until its visitor is logged out. Raises ConnectionError when the page is closed."""
        sent, away = "", False
        while stream.still_in():
            if away != (not self._mirror.connected):
                away = not away
                await events.send("age", f"{self._mirror.age_s:.0f}" if away else "")
            if stream.dirty.is_set():
                stream.dirty.clear()
                main = await self._main(page, visit)
                if main != sent:
                    sent = main
                    await events.send("main", main)
                await asyncio.sleep(PAUSE_S)
            try:
                async with asyncio.timeout(_LOOK_S):
                    await stream.dirty.wait()
            except TimeoutError:
                pass

    async def _main(self, page: Page, visit: Visit) -> str:
        """The page's `main` as it is now, rendered once for all that show the same."""
        key = (visit.here, visit.caller.user, visit.csrf)
        revision, begin = self._mirror.state.revision, time.monotonic()
        known = self._rendered.get(key)
        if known is not None and known[0] == revision and begin - known[1] < PAUSE_S:
            return known[2]
        try:
            main = render(page, visit, await page.data(visit), alone=True)
        except (Missing, NoQmaster):
            raise ConnectionError("there is nothing to be followed any more") from None
        if len(self._rendered) >= MOST_KEPT:
            self._rendered.clear()
        self._rendered[key] = (revision, begin, main)
        return main
