"""Pages: rows that say where a page is, which template shows it and which data that gets; and what is made of such rows.

Owns the frame around all pages (who is logged in, how old the figures are) and the two ways in which a page is sent: whole, and
its `main` alone, when it has changed. What forms do is in `forms.py`. Called by `app.py`; the rows are the pages' own.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import wraps
from typing import Any, NamedTuple

from aiohttp import web
from multidict import MultiMapping

from daemons.qmaster.permissions import is_manager, is_operator
from daemons.runtime.qmaster_client import NoQmaster
from daemons.web.mirror import MirroredChange
from daemons.web.pages.templating import templates
from daemons.web.shared import CSRF, WEB, Web, caller_of
from gridengine.gdi.requests import Caller

Data = dict[str, Any]


class Visit(NamedTuple):
    """Somebody looks at a page. `here`: its path and query; `parts`: of the path, by the names in the page's row."""

    shared: Web
    caller: Caller
    csrf: str
    here: str
    parts: Mapping[str, str]
    query: MultiMapping[str]

    @property
    def role(self) -> str:
        """What the caller may: `manager`, `operator` or `user`."""
        state, admin_user = self.shared.mirror.state, self.shared.cell.admin_user
        if is_manager(state, self.caller, admin_user):
            return "manager"
        return "operator" if is_operator(state, self.caller, admin_user) else "user"

    def said(self, name: str) -> str:
        """A query parameter without the blanks around it, "" if it is not given."""
        return self.query.get(name, "").strip()

    def number(self, name: str, least: int = 1) -> int:
        """A query parameter that is a number; `least` if it is none or smaller."""
        text = self.said(name)
        return max(least, int(text)) if text.isascii() and text.isdigit() and len(text) < 12 else least


class Page(NamedTuple):
    """`path`: as aiohttp's, with `{name}` for a part. `data(visit)`: what the template gets; raises `Missing`, NoQmaster.

    `concerns(change)`: whether the page may look otherwise after a change; None for a page that is not followed.
    """

    path: str
    template: str
    data: Callable[[Visit], Awaitable[Data]]
    concerns: Callable[[MirroredChange], bool] | None = None

    @property
    def pattern(self) -> re.Pattern[str]:
        """What addresses of this page look like."""
        return re.compile(re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", self.path))


class Missing(Exception):
    """There is nothing at this address; the text says what."""


def render(page: Page, visit: Visit, data: Data, alone: bool = False) -> str:
    """The page as HTML, or its `main` alone."""
    mirror = visit.shared.mirror
    frame: Data = {
        "here": visit.here,
        "cell": visit.shared.cell.name,
        "csrf": visit.csrf,
        "user": visit.caller.user,
        "role": visit.role,
        "live": page.concerns is not None,
        "age_s": None if mirror.connected else mirror.age_s,
        "alone": alone,
    }
    return templates().get_template(page.template).render(frame | data)


def visit_of(request: web.Request) -> Visit:
    """The visit that a request is."""
    return Visit(
        request.app[WEB], caller_of(request), request.get(CSRF, ""), request.path_qs, request.match_info, request.query
    )


Answered = Callable[[web.Request], Awaitable[web.StreamResponse]]


def page_route(page: Page) -> web.RouteDef:
    """Where a page is read; by another page, its `main` alone."""

    async def read(request: web.Request) -> web.Response:
        visit = visit_of(request)
        return html(render(page, visit, await page.data(visit), alone="HX-Request" in request.headers))

    return web.get(page.path, answered(read))


def answered(handler: Answered) -> Answered:
    """With pages for what is not there, and for a qmaster that is away."""

    @wraps(handler)
    async def handle(request: web.Request) -> web.StreamResponse:
        try:
            return await handler(request)
        except Missing as missing:
            return problem(visit_of(request), 404, str(missing), "It may have ended or been removed.")
        except NoQmaster as away:
            return problem(visit_of(request), 503, "The qmaster does not respond.", str(away))

    return handle


def problem(visit: Visit, status: int, text: str, advice: str = "") -> web.Response:
    """A page for what went wrong."""
    shown = templates().get_template("error.html").render(
        status=status, problem=text, advice=advice, here=visit.here, cell=visit.shared.cell.name
    )
    return html(shown, status)


def html(text: str, status: int = 200) -> web.Response:
    """A page, or a part of one, as it is sent."""
    return web.Response(text=text, status=status, content_type="text/html")


def find_page(pages: Iterable[Page], path: str) -> tuple[Page, dict[str, str]] | None:
    """The page at a path, and the parts of it."""
    for page in pages:
        if found := page.pattern.fullmatch(path):
            return page, found.groupdict()
    return None
