"""Live pages: `GET /live?page=ADDRESS&alarms=BADGE`, a stream of server-sent events for one open page.

Owns the updates of a page: its `main` is sent after each change that concerns the page and alters its look, at once, then at most
once in `PAUSE_S`, and less often when all pages together exceed their processor budget (`cpu_budget.py`). A page is rendered once
for all sessions of a user. Events: `main` (HTML), `age` (seconds since the last message of the qmaster, empty while it is
connected), and `alarms` (the number in the navigation and its tone, if the page shows another BADGE). Called by `app.py`; the
client is `static/live.js`.
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

from daemons.runtime.qmaster_client import NoQmasterError
from daemons.web.alarms.book import AlarmBook
from daemons.web.cpu_budget import CpuBudget, MeteredCoroutine
from daemons.web.mirror import MirroredChange, StateMirror
from daemons.web.pages.page import NotFoundError, Page, Visit, find_page, render
from daemons.web.sending import EventStream
from daemons.web.shared import CSRF, IS_LOGGED_IN, WEB, caller_of

PAUSE_S = 0.4
"""Seconds between two updates of a page; a change is visible within a second."""
_CHECK_S = 1.0
MAX_STREAM_S = 600.0
"""Seconds after which a stream ends; the page opens a new stream, which is authenticated again."""
MAX_RENDERED = 200
_CSRF_PLACEHOLDER = f"csrf-{secrets.token_hex(16)}"
"""Placeholder for the CSRF token in cached HTML. It is random, so no user can write it into a page."""


class _OpenPage:
    """An open page. It must be updated when `dirty` is set, while its user is logged in."""

    def __init__(self, page: Page, is_logged_in: Callable[[], bool]) -> None:
        self._page, self.is_logged_in = page, is_logged_in
        self.dirty = asyncio.Event()
        self.dirty.set()

    def note(self, change: MirroredChange) -> None:
        concerns = self._page.concerns
        if change.whole or (concerns is not None and concerns(change)):
            self.dirty.set()


class Live:
    """The open pages of a server. `pages`: all pages of the application."""

    def __init__(self, pages: Sequence[Page], mirror: StateMirror) -> None:
        self._pages, self._mirror = pages, mirror
        self._rendered: dict[tuple[str, str, int], tuple[tuple[int, int], float, str]] = {}
        self._cpu_budget = CpuBudget()

    async def stream(self, request: web.Request) -> web.StreamResponse:
        """Send updates of a page until it is closed."""
        try:
            address = URL(urlsplit(request.query.get("page", ""))._replace(scheme="", netloc="", fragment="").geturl())
        except ValueError:
            address = URL()  # an invalid address has no page
        page_match = find_page(self._pages, address.path)
        if page_match is None or page_match[0].concerns is None:
            raise web.HTTPNotFound(text="There is no such page.\n")
        page, parts = page_match
        visit = Visit(
            shared=request.app[WEB], caller=caller_of(request), csrf=request.get(CSRF, ""),
            here=str(address), parts=parts, query=MultiDict(address.query),
        )
        events = EventStream(request)
        stream = _OpenPage(page, request[IS_LOGGED_IN])
        self._mirror.followers.append(stream.note)
        try:
            await events.begin()
            async with asyncio.timeout(MAX_STREAM_S):
                badge = request.query.get("alarms", _badge_text(visit.shared.alarms))
                await self._send_updates(events, stream, page, visit, badge)
        except (ConnectionError, TimeoutError):
            pass
        finally:
            self._mirror.followers.remove(stream.note)
        return events.response

    async def _send_updates(self, events: EventStream, stream: _OpenPage, page: Page, visit: Visit, badge: str) -> None:
        """Send updates until the visitor is logged out. `badge`: as the page shows it. Raises ConnectionError when the page is
        closed."""
        sent, is_disconnected, alarms = "", False, visit.shared.alarms
        version = alarms.version
        while stream.is_logged_in():
            if badge != _badge_text(alarms):
                badge = _badge_text(alarms)
                await events.send("alarms", badge)
            if version != alarms.version:
                version = alarms.version
                if page.has_alarms:
                    stream.dirty.set()
            if is_disconnected != (not self._mirror.connected):
                is_disconnected = not is_disconnected
                await events.send("age", f"{self._mirror.age_s:.0f}" if is_disconnected else "")
            if stream.dirty.is_set():
                await self._cpu_budget.wait_turn()
                if not stream.is_logged_in():
                    break
                stream.dirty.clear()
                shown = MeteredCoroutine(self._send_if_changed(events, stream, page, visit, sent))
                try:
                    sent = await shown
                finally:
                    self._cpu_budget.charge(shown.work_s)
                await asyncio.sleep(PAUSE_S)
            try:
                async with asyncio.timeout(_CHECK_S):
                    await stream.dirty.wait()
            except TimeoutError:
                pass

    async def _send_if_changed(self, events: EventStream, stream: _OpenPage, page: Page, visit: Visit, sent: str) -> str:
        """Send the page if it differs from the last `sent` content; returns its content. Raises ConnectionError."""
        main, is_current = await self._render_main(page, visit)
        if not is_current:
            stream.dirty.set()
        if main != sent:
            await events.send("main", main)
        return main

    async def _render_main(self, page: Page, visit: Visit) -> tuple[str, bool]:
        """The page's `main`, rendered once for equal pages, and whether it shows the present state."""
        key = (visit.here, visit.caller.user, visit.shared.preferences.version)
        revision, begin = (self._mirror.state.revision, visit.shared.alarms.version), time.monotonic()
        known = self._rendered.get(key)
        if known is not None and begin - known[1] < PAUSE_S:
            return known[2].replace(_CSRF_PLACEHOLDER, visit.csrf), known[0] == revision
        try:
            main = render(page, visit._replace(csrf=_CSRF_PLACEHOLDER), await page.data(visit), alone=True)
        except (NotFoundError, NoQmasterError):
            raise ConnectionError("the page has no content to follow") from None
        if len(self._rendered) >= MAX_RENDERED:
            self._rendered.clear()
        self._rendered[key] = (revision, begin, main)
        return main.replace(_CSRF_PLACEHOLDER, visit.csrf), True


def _badge_text(alarms: AlarmBook) -> str:
    """`3 bad`: number and tone."""
    count, tone = alarms.badge
    return f"{count} {tone}"
