"""Charges: the amounts of consumables that a job is charged with while it holds slots.

Owns that rule. Called by `daemons.qmaster.admit` when a task is dispatched; the task keeps the amounts, so exactly these
are released even if the configuration changes (CX-46, CX-17).
"""

from __future__ import annotations

from gridengine.placement.values import EXCLUSIVE, STRING_TYPES, requested_amount
from gridengine.state.jobs import Job
from gridengine.state.state import State


def charges(state: State, job: Job) -> dict[str, str]:
    """Complex name -> amount in base units (seconds, bytes) for each slot, or once for JOB consumables; no slots.

    Defaults count for resources without a request (CX-40); an exclusive request is charged as 1 (CX-49).
    """
    found: dict[str, str] = {}
    for name in state.complexes:
        entry = state.complexes[name]
        if not entry.is_consumable or name == "slots" or entry.type in STRING_TYPES:
            continue
        text = job.hard.get(name, "0" if entry.relop == EXCLUSIVE else entry.default)
        amount = requested_amount(entry, text) if text.upper() != "NONE" else 0.0
        if amount:
            found[name] = f"{amount:.17g}"
    return found
