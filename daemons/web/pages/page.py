"""Pages: a row with path, template and data for each page; and the routes and responses for such rows.

Owns the frame around all pages (user, age of the data) and the two ways to send a page: whole, and only its `main` after a
change. Forms are in `forms.py`. Called by `app.py`; the modules of pages define the rows.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import wraps
from typing import Any, NamedTuple, TypeVar

from aiohttp import web
from multidict import MultiMapping

from daemons.qmaster.permissions import is_manager, is_operator
from daemons.runtime.qmaster_client import NoQmasterError
from daemons.web.mirror import MirroredChange
from daemons.web.pages.templating import templates
from daemons.web.preferences import SavedView
from daemons.web.shared import CSRF, WEB, Web, caller_of
from gridengine.errors import RefusalError
from gridengine.protocols.arco_rows import csv_text
from gridengine.protocols.gdi.requests import Caller

Data = dict[str, Any]
T = TypeVar("T")


class Visit(NamedTuple):
    """A request for a page by `caller`. `shared`: the web server; `csrf`: the token that changes of this session carry; `query`:
    of the address. `here`: its path and query; `parts`: of the path, by the names in the page's row."""

    shared: Web
    caller: Caller
    csrf: str
    here: str
    parts: Mapping[str, str]
    query: MultiMapping[str]

    @property
    def role(self) -> str:
        """The role of the caller: `manager`, `operator` or `user`."""
        state, admin_user = self.shared.mirror.state, self.shared.cell.admin_user
        if is_manager(state, self.caller, admin_user):
            return "manager"
        return "operator" if is_operator(state, self.caller, admin_user) else "user"

    def parameter(self, name: str) -> str:
        """A query parameter without the blanks around it, "" if it is not given."""
        return self.query.get(name, "").strip()

    def number(self, name: str, least: int = 1) -> int:
        """A query parameter that is a number; `least` for other texts and smaller numbers."""
        text = self.parameter(name)
        return max(least, int(text)) if text.isascii() and text.isdigit() and len(text) < 12 else least


def rows_of_page(visit: Visit, rows: Sequence[T], size: int) -> tuple[Sequence[T], Data]:
    """The rows of the requested page of `size` rows, or of the last one; and the data of the pager, which the template shows."""
    number = min(visit.number("page"), max(1, -(-len(rows) // size)))
    return rows[(number - 1) * size : number * size], {"total": len(rows), "page": number, "size": size}


class CsvTable(NamedTuple):
    """The content of a file `name`.csv: the names of its `columns`, and its `rows`."""

    name: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]


class Page(NamedTuple):
    """`path`: as in aiohttp, with `{name}` for a part. `template`: its file. `data(visit)`: the template's data. Raises
    NotFoundError, NoQmasterError.

    `concerns(change)`: whether a change may alter the page; None for a page without live updates. `has_alarms`: so may a change
    of the alarms. `csv(visit)`: all rows of its list, for `format=csv` in the address; None for a page without such a file.
    """

    path: str
    template: str
    data: Callable[[Visit], Awaitable[Data]]
    concerns: Callable[[MirroredChange], bool] | None = None
    has_alarms: bool = False
    csv: Callable[[Visit], Awaitable[CsvTable]] | None = None

    @property
    def pattern(self) -> re.Pattern[str]:
        """The pattern of this page's paths."""
        return re.compile(re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", self.path))


class ListSettings(NamedTuple):
    """The settings of the list at `here`: the visitor's saved `views` of it; `is_compact`: rows are low. `csrf`: the token that
    changes of these settings carry."""

    here: str
    csrf: str
    views: Sequence[SavedView]
    is_compact: bool


class NotFoundError(RefusalError):
    """The object at this address does not exist; the text names it."""


def render(page: Page, visit: Visit, data: Data, alone: bool = False) -> str:
    """The page as HTML, or only its `main`."""
    mirror = visit.shared.mirror
    frame: Data = {
        "here": visit.here,
        "cell": visit.shared.cell.name,
        "csrf": visit.csrf,
        "user": visit.caller.user,
        "role": visit.role,
        "badge": visit.shared.alarms.badge,
        "settings": _list_settings(visit),
        "live": page.concerns is not None,
        "age_s": None if mirror.connected else mirror.age_s,
        "alone": alone,
    }
    return templates().get_template(page.template).render(frame | data)


def _list_settings(visit: Visit) -> ListSettings:
    kept = visit.shared.preferences.of(visit.caller)
    return ListSettings(visit.here, visit.csrf, kept.views_of(visit.here.partition("?")[0]), kept.is_compact)


def visit_of(request: web.Request) -> Visit:
    """The visit for an HTTP request."""
    return Visit(
        request.app[WEB], caller_of(request), request.get(CSRF, ""), request.path_qs, request.match_info, request.query
    )


Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def page_route(page: Page) -> web.RouteDef:
    """The route that reads a page; requests by htmx get only its `main`."""

    async def read(request: web.Request) -> web.Response:
        visit = visit_of(request)
        if page.csv is not None and visit.parameter("format") == "csv":
            return await csv_response(await page.csv(visit))
        return html(render(page, visit, await page.data(visit), alone="HX-Request" in request.headers))

    return web.get(page.path, with_error_pages(read))


async def csv_response(table: CsvTable) -> web.Response:
    """A file with the rows of a table."""
    headers = {"Content-Disposition": f'attachment; filename="{table.name}.csv"'}
    text = await asyncio.to_thread(csv_text, table.columns, table.rows)  # the event loop serves other requests meanwhile
    return web.Response(text=text, content_type="text/csv", headers=headers)


def with_error_pages(handler: Handler) -> Handler:
    """A handler with error pages for missing objects, and for an unreachable qmaster."""

    @wraps(handler)
    async def handle(request: web.Request) -> web.StreamResponse:
        try:
            return await handler(request)
        except NotFoundError as missing:
            return problem(visit_of(request), 404, str(missing), "It may have ended or been removed.")
        except NoQmasterError as away:
            return problem(visit_of(request), 503, "The qmaster does not respond.", str(away))

    return handle


def problem(visit: Visit, status: int, text: str, advice: str = "") -> web.Response:
    """A page for an error."""
    shown = templates().get_template("error.html").render(
        status=status, problem=text, advice=advice, here=visit.here, cell=visit.shared.cell.name
    )
    return html(shown, status)


def html(text: str, status: int = 200) -> web.Response:
    """The response with a page, or with a part of a page."""
    return web.Response(text=text, status=status, content_type="text/html")


def find_page(pages: Iterable[Page], path: str) -> tuple[Page, dict[str, str]] | None:
    """The page at a path, and the parts of the path."""
    for page in pages:
        if match := page.pattern.fullmatch(path):
            return page, match.groupdict()
    return None
