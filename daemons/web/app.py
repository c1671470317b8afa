"""The web application: the routes of all parts, and what stands before each of them.

Called by `daemons.web.__main__`, and by tests.
"""

from __future__ import annotations

from collections.abc import Iterable

from aiohttp import web
from aiohttp.typedefs import Middleware

from daemons.web import metrics
from daemons.web.shared import WEB, Web

MAX_BODY = 2**24
"""Bytes of a body: those of a submission with its script."""


def build_app(shared: Web, middlewares: Iterable[Middleware] = ()) -> web.Application:
    """The application over what all handlers share. `middlewares`: outermost first; the guard is the first of them."""
    app = web.Application(middlewares=tuple(middlewares), client_max_size=MAX_BODY)
    app[WEB] = shared
    app.add_routes(metrics.ROUTES)
    return app
