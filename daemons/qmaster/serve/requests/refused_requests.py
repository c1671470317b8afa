"""Logs refused changes: user, host and reason; one line a minute for each user and request; at level info each answer.

Without the log a refusal could not be explained later. Called by `service` and `endpoints`.
"""

from __future__ import annotations

import logging

from daemons.runtime.log_throttle import LogThrottle
from daemons.runtime.messages import about
from gridengine.protocols.gdi.requests import REQUESTS, Answer, Caller

_log = logging.getLogger(__name__)
_SUBMISSIONS = frozenset(("submit", "resubmit_jobs"))
#: requests that change something -> their names in the log; requests of users only, so without the daemons' hello
_CALLED = {
    name: "a submission" if name in _SUBMISSIONS else f"the request {name}" for name in REQUESTS if name != "execd_hello"
}


def note_refusal(log_throttle: LogThrottle, name: str, answer: Answer, caller: Caller) -> None:
    """Log why a change was refused, or count it until the next line is due. `name`: of the request."""
    reasons = [text for level, text in answer.answers if level == "error"]
    if name in _CALLED and answer.status and reasons:
        called = _CALLED[name]
        text = f"{called} of {caller.user}@{caller.host} was refused: {reasons[0]}"
        log_throttle.note(f"{called} of {caller.user}", text)


def log_answer(answer: Answer, caller: Caller) -> None:
    """Log a refusal at level info, with the user. Deviation: 8.1.9 logs it as an error of the daemon."""
    client = f"{caller.user}@{caller.host}"
    for level, text in answer.answers:
        if event := {"error": "refused", "warning": "warned"}.get(level):
            _log.info("answer to %s: %s", client, text, extra=about(event, by=client))
