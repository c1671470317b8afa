"""Changes of the configuration by pages: preview and commit by `config_change`, their effects, and conflicts with other changes.

Owns the texts on effects for queue instances, and the comparison of versions; the qmaster decides. A change carries the version
that it is based on, so the qmaster refuses it after another user's change of the object. Called by the pages of objects and of
history.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from daemons.qmaster.permissions import no_right
from daemons.runtime.qmaster_client import NoQmasterError
from daemons.web.pages.forms import AWAY
from daemons.web.pages.page import Visit
from daemons.web.pages.trial import Trial, try_on_cell
from gridengine.protocols.gdi.requests import Answer

Attributes = dict[str, str]
_STALE = "has been changed since"
_EFFECTS = {
    "appear": ("ok", "are added"),
    "go": ("bad", "are removed"),
    "orphaned": ("bad", "stay orphaned until their jobs have ended"),
    "revived": ("ok", "are no longer orphaned"),
    "ambiguous": ("bad", "become ambiguous"),
    "settled": ("ok", "are no longer ambiguous"),
    "changed": ("warn", "get new values"),
}


class Attempt(NamedTuple):
    """The qmaster's `answers` to changes: (level, text) each, and the texts of its `refusals`.

    `effects`: of an accepted preview, the effects on queue instances: (tone, text, names) each; else None. `trial`: the effects
    on the cell as it is now, if they were asked for.
    """

    answers: list[tuple[str, str]]
    refusals: list[str]
    effects: list[tuple[str, str, list[str]]] | None = None
    trial: Trial | None = None

    @property
    def is_stale(self) -> bool:
        """Whether another user has changed an object in between."""
        return any(_STALE in text for text in self.refusals)


async def try_changes(visit: Visit, changes: list[dict[str, Any]], preview: bool, on_cell: bool = False) -> Attempt:
    """Make these changes, all or none, or plan them for a preview. `on_cell`: with their effects on jobs and reservations."""
    try:
        answer = await visit.shared.ask("config_change", {"changes": changes, "plan": preview}, visit.caller)
    except NoQmasterError as away:
        answer = Answer(1, [("error", str(away))])
    plan: Any = answer.data if preview and isinstance(answer.data, dict) else {}
    refusals = [text for level, text in answer.answers if level == "error"] + [*plan.get("refused", ())]
    answers = answer.answers or [("error", text) for text in refusals]
    answers += [("warning", text) for text in plan.get("warnings", ())]
    if refusals or not preview:
        return Attempt(answers, refusals)
    trial = await try_on_cell(visit, changes) if on_cell else None
    return Attempt(answers, refusals, _effects(plan.get("instances", {})), trial)


def why_not_configure(visit: Visit, operators: bool = False) -> str:
    """The reason why the visitor lacks the rights of a manager, or of an operator with `operators`; "" for none.

    The reason only disables buttons; the qmaster decides.
    """
    shared = visit.shared
    if not shared.mirror.connected:
        return AWAY
    return no_right(shared.mirror.state, visit.caller, shared.source.world(), operators).removeprefix("denied: ")


def versions(
    before: Mapping[str, str] | None, now: Mapping[str, str] | None, after: Mapping[str, str] | None
) -> list[tuple[str, str, str, str]]:
    """(attribute, value before the change, current value, value after the change) for each attribute that differs."""
    before, now, after = before or {}, now or {}, after or {}
    rows = [(name, before.get(name, ""), now.get(name, ""), after.get(name, "")) for name in {**before, **now, **after}]
    return [row for row in rows if len(set(row[1:])) > 1]


def differences(before: Mapping[str, str] | None, after: Mapping[str, str] | None) -> list[tuple[str, str, str]]:
    """(attribute, before, after) for each attribute that differs; all attributes of an added or removed object."""
    before, after = before or {}, after or {}
    rows = [(name, before.get(name, ""), after.get(name, "")) for name in {**before, **after}]
    return [row for row in rows if row[1] != row[2]]


def _effects(instances: Mapping[str, list[Any]]) -> list[tuple[str, str, list[str]]]:
    effects = []
    for outcome, (tone, text) in _EFFECTS.items():
        concerned = instances.get(outcome, ())
        names = [each if isinstance(each, str) else f"{each[0]} ({each[1]}: {', '.join(each[2])})" for each in concerned]
        if names:
            effects.append((tone, text, names))
    return effects
