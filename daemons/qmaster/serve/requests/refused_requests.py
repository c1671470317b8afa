"""Logs refused changes: user, host and reason; one line a minute for each user and request.

Owns that rate limit, against loops of refusals. Without the log a refusal could not be explained later.
Called by `service`.
"""

from __future__ import annotations

import logging

from gridengine.protocols.gdi.requests import REQUESTS, Answer, Caller

_log = logging.getLogger(__name__)

PAUSE_S = 60.0
_SUBMISSIONS = frozenset(("submit", "resubmit_jobs"))
#: requests that change something -> their names in the log; requests of users only, so without the daemons' hello
_CALLED = {
    name: "a submission" if name in _SUBMISSIONS else f"the request {name}" for name in REQUESTS if name != "execd_hello"
}


class RefusedRequests:
    """Logs refusals. Forgets users whose last line is old enough."""

    def __init__(self) -> None:
        self._logged: dict[tuple[str, str], float] = {}
        self._suppressed: dict[tuple[str, str], int] = {}

    def note(self, name: str, answer: Answer, caller: Caller, now: float) -> None:
        """Log why a change was refused, or count it until the next line is due. `name`: of the request; `now`: epoch s."""
        reasons = [text for level, text in answer.answers if level == "error"]
        if name not in _CALLED or not answer.status or not reasons:
            return
        key = (caller.user, _CALLED[name])
        if now - self._logged.get(key, 0.0) < PAUSE_S:
            self._suppressed[key] = self._suppressed.get(key, 0) + 1
            return
        more = self._suppressed.pop(key, 0)
        self._logged = {known: when for known, when in self._logged.items() if now - when < PAUSE_S or known in self._suppressed}
        self._logged[key] = now
        since = f" ({more} more since the last line)" if more else ""
        _log.warning("%s of %s@%s was refused: %s%s", key[1], caller.user, caller.host, reasons[0], since)
