"""Forms for the preferences of the visitor: saved views of lists, and the density of lists.

A form leads back to its list. The submit page saves templates of jobs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from aiohttp import hdrs, web
from msgspec import structs
from multidict import MultiMapping

from daemons.web.pages.forms import form_route, no_question
from daemons.web.pages.page import Visit, problem, visit_of
from daemons.web.preferences import PreferenceError, SavedView, UserPreferences

Change = Callable[[UserPreferences, MultiMapping[Any]], UserPreferences]
"""The change of a form: preferences, fields -> the new preferences. Raises PreferenceError."""


def own_address(text: str) -> str:
    """An address within this server, as a form sends it: path and query. Raises PreferenceError."""
    if not text.startswith("/") or text.startswith(("//", "/\\")) or not text.isprintable():
        raise PreferenceError("the form does not come from these pages")
    return text


def _view(fields: MultiMapping[Any]) -> SavedView:
    return SavedView(str(fields.get("name", "")).strip(), own_address(str(fields.get("address", ""))))


def save_view(kept: UserPreferences, fields: MultiMapping[Any]) -> UserPreferences:
    """Save the list at `address` under a `name`."""
    return kept.with_view(_view(fields))


def delete_view(kept: UserPreferences, fields: MultiMapping[Any]) -> UserPreferences:
    """Delete the view `name` of the list at `address`."""
    return kept.without_view(_view(fields))


def set_density(kept: UserPreferences, fields: MultiMapping[Any]) -> UserPreferences:
    """Show lists with low rows or with high rows."""
    return structs.replace(kept, is_compact=fields.get("density") == "compact")


def _route(path: str, change: Change) -> web.RouteDef:
    async def handle(request: web.Request) -> web.Response:
        visit, fields = visit_of(request), await request.post()
        try:
            back = own_address(str(fields.get("address", "")))
            await keep(visit, change(visit.shared.preferences.of(visit.caller), fields))
        except PreferenceError as refusal:
            return problem(visit, 422, "This is not saved.", f"{refusal}.")
        return web.Response(status=303, headers={hdrs.LOCATION: back})

    return form_route(path, handle, no_question)


async def keep(visit: Visit, changed: UserPreferences) -> None:
    """Replace the preferences of the visitor. Raises PreferenceError."""
    await visit.shared.preferences.keep(visit.caller, changed)


ROUTES = [
    _route("/preferences/views", save_view),
    _route("/preferences/views/delete", delete_view),
    _route("/preferences/density", set_density),
]
