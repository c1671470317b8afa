"""The acknowledgement of alarms by operators, from the page and from the REST API.

Owns rights and limits. The answers have the form of the qmaster's. Source: adr/0280.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from daemons.qmaster.permissions import is_operator, not_operator
from daemons.web.shared import Web
from gridengine.protocols.gdi.requests import Answer, Caller
from gridengine.values.units import counted

MAX_NOTE = 200
"""Characters of the remark in an acknowledgement."""


async def acknowledge(shared: Web, caller: Caller, numbers: Sequence[int], note: object) -> Answer:
    """Acknowledge the active alarms of these numbers, with a remark of 1 to `MAX_NOTE` printable characters."""
    if not is_operator(shared.mirror.state, caller, shared.cell.admin_user):
        return _refusal(not_operator(caller))
    if not isinstance(note, str) or not note.strip():
        return _refusal("an acknowledgement needs a word: what is known, or who looks at it")
    if len(note) > MAX_NOTE or not note.isprintable():
        return _refusal(f"the word of an acknowledgement has at most {MAX_NOTE} printable characters")
    entries = []
    for number in numbers:
        entry = shared.alarms.find(number)
        if entry is None:
            return _refusal(f"alarm {number} does not exist, or is over")
        entries.append(entry)
    if not entries:
        return _refusal("no alarm is selected")
    try:
        await shared.alarms.acknowledge(entries, caller.user, note.strip(), time.time())
    except OSError as error:
        return _refusal(f"the web server cannot save it: {error.strerror}")
    return Answer(0, [("info", f"{caller.user} has acknowledged {counted(len(entries), 'alarm')}")])


def _refusal(text: str) -> Answer:
    return Answer(1, [("error", text)])
