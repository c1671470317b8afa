"""Live pages: `GET /live?page=ADDRESS`, a stream of server-sent events for one open page.

Owns when a page is sent again: its `main`, when a change concerned it and it looks otherwise, at once and then no more than once
in `PAUSE_S`, seldomer when all pages together take too much of a processor (`pacing.py`). Pages that show the same to the same
user are rendered once, whatever his sessions. Events: `main` (HTML) and `age` (seconds since the qmaster was heard, empty
while it is). Called by `app.py`; the other end is `static/live.js`.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Callable, Sequence
from urllib.parse import urlsplit

from aiohttp import web
from multidict import MultiDict
from yarl import URL

from daemons.runtime.qmaster_client import NoQmaster
from daemons.web.mirror import MirroredChange, StateMirror
from daemons.web.pacing import Metered, Pace
from daemons.web.pages.page import Missing, Page, Visit, find_page, render
from daemons.web.sending import EventStream
from daemons.web.shared import CSRF, STILL_IN, WEB, caller_of

PAUSE_S = 0.4
"""Seconds between two sendings of a page; a change is visible within a second."""
_LOOK_S = 1.0
LONGEST_S = 600.0
"""Seconds after which a stream ends; the page opens another, and is asked again who it is."""
MOST_KEPT = 200
_CSRF = f"csrf-{secrets.token_hex(16)}"
"""Stands in what is kept for the word that each session has of its own; nobody can write it into a page."""


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
        self._rendered: dict[tuple[str, str], tuple[int, float, str]] = {}
        self._pace = Pace()

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
                await self._pace.turn()
                if not stream.still_in():
                    break
                stream.dirty.clear()
                shown = Metered(self._show(events, stream, page, visit, sent))
                try:
                    sent = await shown
                finally:
                    self._pace.spend(shown.work_s)
                await asyncio.sleep(PAUSE_S)
            try:
                async with asyncio.timeout(_LOOK_S):
                    await stream.dirty.wait()
            except TimeoutError:
                pass

    async def _show(self, events: EventStream, stream: _Stream, page: Page, visit: Visit, sent: str) -> str:
        """Send the page if it looks otherwise than what was `sent`; what is there now. Raises ConnectionError."""
        main, fresh = await self._main(page, visit)
        if not fresh:
            stream.dirty.set()
        if main != sent:
            await events.send("main", main)
        return main

    async def _main(self, page: Page, visit: Visit) -> tuple[str, bool]:
        """The page's `main`, rendered once for all that show the same, and whether it is as of now, or of a moment ago."""
        key = (visit.here, visit.caller.user)
        revision, begin = self._mirror.state.revision, time.monotonic()
        known = self._rendered.get(key)
        if known is not None and begin - known[1] < PAUSE_S:
            return known[2].replace(_CSRF, visit.csrf), known[0] == revision
        try:
            main = render(page, visit._replace(csrf=_CSRF), await page.data(visit), alone=True)
        except (Missing, NoQmaster):
            raise ConnectionError("there is nothing to be followed any more") from None
        if len(self._rendered) >= MOST_KEPT:
            self._rendered.clear()
        self._rendered[key] = (revision, begin, main)
        return main.replace(_CSRF, visit.csrf), True
