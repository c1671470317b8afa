"""Where forms are sent to, and the confirmation of what is irreversible or disruptive.

Every route of a form names its `Ask`: what must be confirmed before the form is carried out. The server asks, so no button can
lack it: a form that needs confirmation is answered with the question, in a dialog with scripts (`static/confirm.js`), as a page
without. The confirmed form has the field `confirmed`; nothing is changed before. Called by the modules of pages.
Source: adr/0179.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, NamedTuple

from aiohttp import web
from multidict import MultiMapping

from daemons.runtime.qmaster_client import NoQmaster
from daemons.web.pages.page import Visit, answered, html, visit_of
from daemons.web.pages.templating import templates
from gridengine.gdi.requests import Answer
from gridengine.units import counted

CONFIRMED = "confirmed"
"""The field of a form whose question was answered with yes."""
_MOST_NAMED = 5


class Question(NamedTuple):
    """`title`: what would be done, with names and numbers; `button`: the verb; `details`: sentences on the consequences."""

    title: str
    button: str
    details: Sequence[str] = ()


Asked = Question | None
Ask = Callable[[Visit, MultiMapping[Any]], Asked | Awaitable[Asked]]
"""What must be confirmed before a form is carried out: visit, fields -> question, None for nothing. Raises Missing, NoQmaster."""
Act = Callable[[Visit, MultiMapping[str]], Awaitable[list[Answer]]]
"""What a form does that was sent: visit, fields -> the qmaster's answers."""
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def never(visit: Visit, fields: MultiMapping[Any]) -> None:
    """The `Ask` of forms that nothing is lost by."""


class Action(NamedTuple):
    """A button: its label, and how it is confirmed: always, or when it concerns more than one thing.

    `verb`: how the question begins, before the names ("Delete", "Clear the error of"); `result`: what follows, a sentence.
    """

    label: str
    verb: str = ""
    result: str = ""
    always: bool = False

    def question(self, what: str, count: int, details: Sequence[str] = ()) -> Question | None:
        """The question about `what`, in words; `count`: how many things it is."""
        if not self.always and count < 2:
            return None
        verb = self.verb or self.label
        return Question(f"{verb} {what}?", self.label, [*filter(None, (*details, self.result))])


FORCED = "Forced: hosts are not waited for, so tasks on hosts that do not answer may keep running."
"""What the question says of the box `force`."""


def tasks_in(visit: Visit, means: Callable[[str], bool]) -> str:
    """How many tasks are in the queue instances whose names are meant: `3 running tasks`, "" for none."""
    found = {task for name, tasks in visit.shared.mirror.state.tasks_in.items() if means(name) for task in tasks}
    return counted(len(found), "running task") if found else ""


def listed(names: Sequence[str], most: int = _MOST_NAMED) -> str:
    """`a, b and 3 more`."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more:,} more" if more > 0 else "")


def form_route(path: str, handler: Handler, ask: Ask) -> web.RouteDef:
    """Where a form is sent to that is shown again with what came of it."""
    return web.post(path, asking(ask, handler))


def act_route(path: str, act: Act, ask: Ask) -> web.RouteDef:
    """Where a form is sent to; the answers come as a part of the page, or as a page for a browser without scripts."""

    async def do(request: web.Request) -> web.Response:
        visit = visit_of(request)
        try:
            answers = await act(visit, await request.post())  # type: ignore[arg-type]
        except NoQmaster as away:
            answers = [Answer(1, [("error", str(away))])]
        lines = [line for answer in answers for line in answer.answers] or [("info", "done")]
        template = templates().get_template("answers.html")
        shown = template.render(lines=lines, alone="HX-Request" in request.headers, cell=visit.shared.cell.name)
        return html(shown)

    return web.post(path, asking(ask, do))


def asking(ask: Ask, handler: Handler) -> Handler:
    """A handler of forms that carries nothing out before its question is answered. What is not there, or away, has a page."""

    @answered
    async def handle(request: web.Request) -> web.StreamResponse:
        visit, fields = visit_of(request), await request.post()
        question = None if fields.get(CONFIRMED) == "1" else ask(visit, fields)
        if isinstance(question, Awaitable):
            question = await question
        if question is None:
            return await handler(request)
        alone = "HX-Request" in request.headers
        kept = [(name, value) for name, value in fields.items() if isinstance(value, str) and name not in ("csrf", CONFIRMED)]
        response = html(
            templates()
            .get_template("confirm.html")
            .render(question=question, fields=kept, csrf=visit.csrf, alone=alone, cell=visit.shared.cell.name, **_ways(request))
        )
        response.headers["X-Confirm"] = "1"
        return response

    return handle


def _ways(request: web.Request) -> dict[str, str]:
    """Where the confirmed form goes, and where Cancel leads: the page that the form was on, if the browser says so."""
    referer = request.headers.get("Referer", "")
    own = referer.startswith(f"{request.scheme}://{request.host}/")
    return {"place": request.path_qs, "back": referer if own else request.path}
