"""Routes of forms, and the confirmation of irreversible or disruptive actions.

Every route of a form names its `Ask`, which returns the question to confirm before the form is carried out. The server asks, so
no button can lack the question: in a dialog with scripts (`static/confirm.js`), as a page without. The confirmed form has the
field `confirmed`; nothing is changed before. Called by the modules of pages.
Source: adr/0179.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, NamedTuple

from aiohttp import web
from multidict import MultiMapping

from daemons.qmaster.permissions import is_operator
from daemons.runtime.qmaster_client import NoQmasterError
from daemons.web.pages.page import Visit, html, visit_of, with_error_pages
from daemons.web.pages.templating import templates
from gridengine.protocols.gdi.requests import Answer
from gridengine.values.units import counted

CONFIRMED_FIELD = "confirmed"
"""The field of a confirmed form."""
_MOST_NAMED = 5
AWAY = "The qmaster does not respond: nothing can be changed."
"""The reason for which all buttons of changes are disabled."""


class Question(NamedTuple):
    """`title`: the action, with names and numbers; `button`: the verb; `details`: sentences on the consequences."""

    title: str
    button: str
    details: Sequence[str] = ()


MaybeQuestion = Question | None
Ask = Callable[[Visit, MultiMapping[Any]], MaybeQuestion | Awaitable[MaybeQuestion]]
"""The question before a form is carried out: visit, fields -> question or None; raises NotFoundError, NoQmasterError."""
RunAction = Callable[[Visit, MultiMapping[str]], Awaitable[list[Answer]]]
"""The action of a form: visit, fields -> the qmaster's answers."""
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def no_question(visit: Visit, fields: MultiMapping[Any]) -> None:
    """The `Ask` of harmless forms."""


class Action(NamedTuple):
    """A button. `label`: its text; `always`: whether to confirm the action for a single object, too. `key`: of the keyboard, for
    the focused row of a list.

    `verb`: the start of the question, before the names ("Delete", "Clear the error of"); `result`: a sentence on the consequence.
    """

    label: str
    verb: str = ""
    result: str = ""
    always: bool = False
    key: str = ""

    def question(self, subject: str, count: int, details: Sequence[str] = ()) -> Question | None:
        """The question about `subject`, a text on the objects; `count`: the number of objects."""
        if not self.always and count < 2:
            return None
        verb = self.verb or self.label
        return Question(f"{verb} {subject}?", self.label, [*filter(None, (*details, self.result))])


FORCED = "Forced: the qmaster does not wait for hosts, so tasks on unreachable hosts may keep running."
"""The sentence in the question if `force` is checked."""


def tasks_in(visit: Visit, is_selected: Callable[[str], bool]) -> str:
    """The number of tasks in the selected queue instances: `3 running tasks`, "" for none."""
    running = {task for name, tasks in visit.shared.mirror.state.tasks_in.items() if is_selected(name) for task in tasks}
    return counted(len(running), "running task") if running else ""


def listed(names: Sequence[str], most: int = _MOST_NAMED) -> str:
    """`a, b and 3 more`."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more:,} more" if more > 0 else "")


def form_route(path: str, handler: Handler, ask: Ask) -> web.RouteDef:
    """The route of a form that is shown again with its result."""
    return web.post(path, with_question(ask, handler))


def action_route(path: str, run_action: RunAction, ask: Ask) -> web.RouteDef:
    """The route of a form. Its answers are sent as a part of the page, or as a page for a browser without scripts."""

    async def handle_form(request: web.Request) -> web.Response:
        visit = visit_of(request)
        try:
            answers = await run_action(visit, await request.post())  # type: ignore[arg-type]
        except NoQmasterError as away:
            answers = [Answer(1, [("error", str(away))])]
        lines = [line for answer in answers for line in answer.answers] or [("info", "done")]
        template = templates().get_template("answers.html")
        shown = template.render(lines=lines, alone="HX-Request" in request.headers, cell=visit.shared.cell.name)
        return html(shown)

    return web.post(path, with_question(ask, handle_form))


def with_question(ask: Ask, handler: Handler) -> Handler:
    """A handler of forms that acts after the question is confirmed. NotFoundError and NoQmasterError become error pages."""

    @with_error_pages
    async def handle(request: web.Request) -> web.StreamResponse:
        visit, fields = visit_of(request), await request.post()
        question = None if fields.get(CONFIRMED_FIELD) == "1" else ask(visit, fields)
        if isinstance(question, Awaitable):
            question = await question
        if question is None:
            return await handler(request)
        alone = "HX-Request" in request.headers
        texts = [(name, value) for name, value in fields.items() if isinstance(value, str)]
        kept = [(name, value) for name, value in texts if name not in ("csrf", CONFIRMED_FIELD)]
        shown = {"question": question, "fields": kept, "csrf": visit.csrf, "alone": alone, "cell": visit.shared.cell.name}
        response = html(templates().get_template("confirm.html").render(shown | _confirm_addresses(request)))
        response.headers["X-Confirm"] = "1"
        return response

    return handle


def _confirm_addresses(request: web.Request) -> dict[str, str]:
    """Addresses of the confirmed form, and of Cancel: the page of the form, if the browser sends it."""
    referer = request.headers.get("Referer", "")
    own = referer.startswith(f"{request.scheme}://{request.host}/")
    return {"action": request.path_qs, "back": referer if own else request.path}


def why_not_change(visit: Visit, noun: str, owner: str) -> str:
    """The reason why the visitor may not change a job or a reservation of this owner, "" for none; the qmaster decides."""
    shared, caller = visit.shared, visit.caller
    if not shared.mirror.connected:
        return AWAY
    if caller.user == owner or is_operator(shared.mirror.state, caller, shared.cell.admin_user):
        return ""
    return f"{caller.user} is neither the owner of the {noun} ({owner}) nor an operator."
