"""What the log says of submissions that were refused: who, from where, and why; one line a minute for each user.

Owns that pace. A refusal that nobody can find afterwards cannot be explained. Called by `service`.
"""

from __future__ import annotations

import logging

from gridengine.gdi.requests import Answer, Caller

_log = logging.getLogger(__name__)

PAUSE_S = 60.0
#: requests that add jobs
_SUBMISSIONS = frozenset(("submit", "resubmit_jobs"))


class RefusedSubmissions:
    """Logs refusals. Users of whom nothing is to be remembered any more are forgotten."""

    def __init__(self) -> None:
        self._said: dict[str, float] = {}
        self._unsaid: dict[str, int] = {}

    def note(self, name: str, answer: Answer, caller: Caller, now: float) -> None:
        """Log why a submission was refused, or count it until a line may be said. `name`: of the request; `now`: epoch s."""
        reasons = [text for level, text in answer.answers if level == "error"]
        if name not in _SUBMISSIONS or not answer.status or not reasons:
            return
        if now - self._said.get(caller.user, 0.0) < PAUSE_S:
            self._unsaid[caller.user] = self._unsaid.get(caller.user, 0) + 1
            return
        more = self._unsaid.pop(caller.user, 0)
        self._said = {user: when for user, when in self._said.items() if now - when < PAUSE_S or user in self._unsaid}
        self._said[caller.user] = now
        since = f" ({more} more since the last line)" if more else ""
        _log.warning("a submission of %s@%s was refused: %s%s", caller.user, caller.host, reasons[0], since)
