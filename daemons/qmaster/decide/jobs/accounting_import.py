"""Accounting records of another cell, imported into the index that qacct reads.

Owns the choice of records. Known records are skipped, so an interrupted import can simply be restarted. Records are skipped as
well if a job of this cell has their number. Called through `decide`. Source: AC-1, QA-1; adr/0159.
"""

from __future__ import annotations

from daemons.qmaster.decision import Accounted, Decision, World
from daemons.qmaster.permissions import no_right
from gridengine.protocols.gdi.requests import Caller, ImportAccounting
from gridengine.state.machines.job import JobNumbersRaised
from gridengine.state.state import State
from gridengine.usage.accounting import AccountingRecord, is_valid_record, parse_line

_NO_SLAVE = "NONE"


def import_accounting(state: State, request: ImportAccounting, caller: Caller, world: World) -> Decision:
    """Import the new records. Later jobs get numbers after `last_job`.

    Data: `added`, `known`, `clashing` (of jobs that this cell has under the number): counts; `rejected`: positions of lines
    that are no records.
    """
    decision = Decision()
    if refusal := no_right(state, caller, world):
        return decision.refuse(refusal)
    known = clashing = 0
    rejected: list[int] = []
    added: dict[Accounted, None] = {}
    for position, line in enumerate(request.lines):
        record = parse_line(line)
        if record is None or not _is_whole(record):
            rejected.append(position)
            continue
        job, task = int(record.job_number), int(record.task_number) or 1
        if job in state.jobs:
            clashing += 1
        elif (job, task, record) in added or record in world.accounted(job, task):
            known += 1
        else:
            added[job, task, record] = None
    decision.accounting.extend(added)
    if request.last_job >= state.next_job_id:
        decision.events.append(JobNumbersRaised(request.last_job + 1))
    decision.answer.data = {"added": len(added), "known": known, "clashing": clashing, "rejected": rejected}
    return decision


def _is_whole(record: AccountingRecord) -> bool:
    """Whether all numeric fields are numbers."""
    return is_valid_record(record) and (record.pe_taskid == _NO_SLAVE or record.pe_taskid.partition(".")[0].isdecimal())
