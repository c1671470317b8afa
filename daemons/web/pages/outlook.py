"""The outlook of a job that is not submitted yet: whether it would start now and where, or why it would wait, and until when.

The decision of the qmaster and the placement of the scheduler are applied to the mirror; nothing is sent. Changes by a job
submission verifier (JSV) are not known here. Source: GU-5; `qexplain`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from daemons.qmaster.decide.errors import RefusedError
from daemons.qmaster.decide.jobs.submission import make_job, next_job_id
from daemons.qmaster.permissions import is_operator
from daemons.web.pages.page import Visit
from gridengine.placement.causes import Cause
from gridengine.placement.explanation import Explanation, explanation
from gridengine.placement.verify import verify
from gridengine.protocols.gdi.requests import Submit

_NEVER = "never"


class Outlook(NamedTuple):
    """`tone`: of the style sheet; `title`: the verdict; `causes`: why not now; `expected_start`: epoch s, 0 if unknown.
    `changes`: the smallest helpful change."""

    tone: str
    title: str
    causes: list[Cause]
    expected_start: float
    changes: list[str]


def outlook(visit: Visit, body: Mapping[str, Any]) -> Outlook | None:
    """The outlook of a request `submit`; None if the request is refused or the mirror is behind."""
    mirror, caller = visit.shared.mirror, visit.caller
    if not mirror.ready or not mirror.connected:
        return None
    world = visit.shared.source.world()
    try:
        request = msgspec.convert(dict(body), Submit)
        job = make_job(mirror.state, request, caller, world, next_job_id(mirror.state))
    except (RefusedError, msgspec.ValidationError):
        return None
    is_trusted = is_operator(mirror.state, caller, visit.shared.cell.admin_user)
    explained = explanation(mirror.state, job, world.now, world.zone, "operator" if is_trusted else "owner")
    changes = explained.change.texts if explained.change is not None else []
    granted, _ = verify(mirror.state, job, False, world.now, world.zone)
    if explained.causes or not granted:
        tone, title = ("bad", "Cannot run") if _is_hopeless(explained) else ("warn", "Would wait")
        return Outlook(tone, title, explained.causes, explained.expected_start, changes)
    places = ", ".join(f"{grant.instance} ({grant.slots} slots)" if grant.slots > 1 else grant.instance for grant in granted)
    ahead = any(other.waits for other in mirror.state.jobs.values())
    condition = ", unless a waiting job of higher priority takes the place" if ahead else ""
    return Outlook("ok", f"Would start now, on {places}{condition}", [], 0.0, [])


def _is_hopeless(explained: Explanation) -> bool:
    return any(cause.kind == _NEVER for cause in explained.causes)
