"""The web application: the routes of all parts, and the middlewares.

Called by `daemons.web.server`, and by tests.
"""

from __future__ import annotations

from collections.abc import Iterable

from aiohttp import web
from aiohttp.typedefs import Middleware

from daemons.web import metrics, static_files
from daemons.web.api import events, handlers, streams
from daemons.web.live import Live
from daemons.web.pages import (
    accounting,
    alarms,
    altering,
    array_tasks,
    bulk,
    complexes,
    configuration,
    failures,
    forecasts,
    history,
    host_groups,
    hosts,
    instances,
    jobs,
    messages,
    overrides,
    overview,
    palette,
    policies,
    preferences,
    queues,
    quotas,
    reports,
    reservations,
    search,
    submitting,
    trends,
)
from daemons.web.pages.page import Page, page_route
from daemons.web.sending import compress_response
from daemons.web.shared import WEB, Web

MAX_BODY = 2**24
"""Maximum bytes of a request body, such as a submission with its script."""

PAGES: list[Page] = [
    *overview.PAGES, *trends.PAGES, *alarms.PAGES, *jobs.PAGES, *array_tasks.PAGES, *forecasts.PAGES, *failures.PAGES,
    *reports.PAGES, *reservations.PAGES,
    *instances.PAGES, *queues.PAGES, *hosts.PAGES, *host_groups.PAGES, *complexes.PAGES, *configuration.PAGES,
    *bulk.PAGES, *quotas.PAGES, *policies.PAGES, *history.PAGES, *messages.PAGES, *accounting.PAGES, *search.PAGES,
]
"""All pages, in the order of the lookup of an address."""


def build_app(shared: Web, middlewares: Iterable[Middleware] = ()) -> web.Application:
    """Build the application. `shared`: the context of all handlers; `middlewares`: outermost first; the guard is the first."""
    app = web.Application(middlewares=(*middlewares, compress_response), client_max_size=MAX_BODY)
    app[WEB] = shared
    app.add_routes([page_route(page) for page in PAGES])
    changing_parts = (
        alarms, jobs, array_tasks, altering, hosts, instances, submitting, reservations, complexes, configuration, overrides,
        bulk, policies, history, accounting, preferences, palette,
    )
    for part in (metrics, static_files, *changing_parts):
        app.add_routes(part.ROUTES)
    app[events.LOG] = events.EventLog(shared.mirror)
    app.router.add_get(f"{handlers.ROOT}/events", events.stream)
    app.router.add_post(f"{handlers.ROOT}/streams/{{name}}", handlers.with_problems(streams.stream))
    app.add_routes(handlers.ROUTES)
    app.router.add_get("/live", Live(PAGES, shared.mirror).stream)
    return app
