"""Changes of the configuration as pages make them: tried or made by `config_change`, what would follow, and who came in between.

Owns the words for what would become of queue instances, and the comparison of versions; the qmaster decides. A change bears what
it was made of, so that it is refused once somebody else has changed the object. Called by the pages of objects and of history.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from daemons.qmaster.permissions import no_right
from daemons.runtime.qmaster_client import NoQmaster
from daemons.web.pages.page import Visit
from gridengine.gdi.requests import Answer

Attributes = dict[str, str]
_STALE = "has been changed since"
_EFFECTS = {
    "appear": ("ok", "appear"),
    "go": ("bad", "go"),
    "orphaned": ("bad", "stay as orphans until their jobs have ended"),
    "revived": ("ok", "are orphans no more"),
    "ambiguous": ("bad", "become ambiguous"),
    "settled": ("ok", "are ambiguous no more"),
    "changed": ("warn", "have other values"),
}


class Attempt(NamedTuple):
    """What the qmaster says to changes: (level, text) each, and the texts of its refusals.

    `effects`: of a preview that is not refused, what would become of queue instances: tone, words, names each; else None.
    """

    answers: list[tuple[str, str]]
    refusals: list[str]
    effects: list[tuple[str, str, list[str]]] | None = None

    @property
    def is_stale(self) -> bool:
        """Whether somebody else has changed an object in between."""
        return any(_STALE in text for text in self.refusals)


async def try_changes(visit: Visit, changes: list[dict[str, Any]], preview: bool) -> Attempt:
    """Make these changes, all or none, or have them planned."""
    try:
        answer = await visit.shared.ask("config_change", {"changes": changes, "plan": preview}, visit.caller)
    except NoQmaster as away:
        answer = Answer(1, [("error", str(away))])
    plan: Any = answer.data if preview and isinstance(answer.data, dict) else {}
    refusals = [text for level, text in answer.answers if level == "error"] + [*plan.get("refused", ())]
    answers = answer.answers or [("error", text) for text in refusals]
    answers += [("warning", text) for text in plan.get("warnings", ())]
    return Attempt(answers, refusals, _effects(plan.get("instances", {})) if preview and not refusals else None)


def why_not_configure(visit: Visit, operators: bool = False) -> str:
    """Why the visitor may change no configuration, or with `operators` do what they may; "" if he may. The qmaster decides."""
    shared = visit.shared
    if not shared.mirror.connected:
        return "The qmaster does not respond: nothing can be changed."
    return no_right(shared.mirror.state, visit.caller, shared.source.world(), operators).removeprefix("denied: ")


def versions(
    before: Mapping[str, str] | None, now: Mapping[str, str] | None, after: Mapping[str, str] | None
) -> list[tuple[str, str, str, str]]:
    """Attribute, as a change found it, as it is now, as the change would leave it: where these differ."""
    before, now, after = before or {}, now or {}, after or {}
    rows = [(name, before.get(name, ""), now.get(name, ""), after.get(name, "")) for name in {**before, **now, **after}]
    return [row for row in rows if len(set(row[1:])) > 1]


def _effects(instances: Mapping[str, list[Any]]) -> list[tuple[str, str, list[str]]]:
    found = []
    for what, (tone, words) in _EFFECTS.items():
        concerned = instances.get(what, ())
        names = [each if isinstance(each, str) else f"{each[0]} ({each[1]}: {', '.join(each[2])})" for each in concerned]
        if names:
            found.append((tone, words, names))
    return found
