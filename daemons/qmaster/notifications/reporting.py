"""The reporting file: records of the progress of jobs and advance reservations, and of ended jobs.

Owns the choice of records of a transaction, the records of reservations, and their form. `job_log` makes the records of jobs,
`use_log` the records of queues and hosts, `share_log` the records of the share tree. Called by the master for each transaction,
before and after it is applied; its records are written to the spool with it, and `common/reporting` follows. Source:
sge_reporting(5), sge_conf(5) reporting_params; AR-119 … AR-123, RP-1, RP-2.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from daemons.qmaster.decision import Decision, Record
from daemons.qmaster.notifications import reservation_log as log
from daemons.qmaster.notifications.accounting import intermediate_record, unreported_part
from daemons.qmaster.notifications.job_log import Occasion, job_records
from daemons.qmaster.notifications.use_log import UseLog
from gridengine.placement.values import EXCLUSIVE
from gridengine.state.affected import Affected
from gridengine.state.machines.slave import SlaveUsageRecorded
from gridengine.state.machines.task import TaskUsageRecorded
from gridengine.state.reported import Reported
from gridengine.state.reservations import AdvanceReservation
from gridengine.state.state import State
from gridengine.usage.accounting import WIDTH, AccountingRecord

_JOB_FIELDS = (
    "submission_time job_number task_number pe_taskid job_name owner group project department account priority".split()
)
"""Fields of an accounting record in the order of a record of a new job."""
_MASTER = 0
"""The number of a master task; slave tasks have numbers from 1 on."""


class Records:
    """Makes the records of transactions, a line each without its end; none unless reporting_params requests them."""

    def __init__(self) -> None:
        self._use = UseLog()

    def before(self, occasion: Occasion, decision: Decision) -> list[str]:
        """The records of a transaction that is about to be applied."""
        state = occasion.state
        reporting_params = state.configuration().reporting_params
        if not reporting_params.reporting:
            return []
        records = [*job_records(occasion, decision.events, reporting_params.joblog)]
        records += [record for entry in log.entries(state, decision.events) for record in _of_entry(state, entry)]
        for fields in _accounting(state, decision):
            records.append(("acct", list[object](fields[:WIDTH])))
            records += _units_of(fields)
        return _lines([*records, *decision.records], occasion.world.now)

    def after(self, state: State, affected: Affected, now: float) -> list[str]:
        """The records of the same transaction after it was applied. now: epoch seconds."""
        reporting_params = state.configuration().reporting_params
        if not reporting_params.reporting:
            return []
        return _lines(self._use.records(state, affected, reporting_params.log_consumables, now), now)


def _lines(records: Iterable[Record], now: float) -> list[str]:
    return [":".join([str(int(now)), kind, *map(_plain, fields)]) for kind, fields in records]


def _accounting(state: State, decision: Decision) -> Iterator[AccountingRecord]:
    """The accounting records, each with the number of its reservation (AR-118): of running tasks, and of ended attempts the
    part that the file lacks (RP-3)."""
    reported: dict[tuple[int, int, int], Reported | None] = {}
    for event in decision.events:
        if isinstance(event, TaskUsageRecorded | SlaveUsageRecorded):
            number = event.number if isinstance(event, SlaveUsageRecorded) else _MASTER
            job = state.jobs[event.job_id]
            task = job.tasks[event.task_id]
            reported[job.id, task.id, number] = event.reported
            yield intermediate_record(state, job, task, task.slaves.get(number), event.reported)
    for job_id, task_id, record in decision.accounting:
        number = int(record.pe_taskid.partition(".")[0]) if record.pe_taskid != "NONE" else _MASTER
        ended = state.task(job_id, task_id)
        known = ended.slaves.get(number) if ended is not None and number else ended
        yield unreported_part(record, reported.get((job_id, task_id, number), known.reported if known is not None else None))


def _units_of(record: AccountingRecord) -> Iterator[Record]:
    """A record for each device of an ended task. Deviation: 8.1.9 has no such records (adr/0355)."""
    if len(record) <= WIDTH:
        return
    job = [getattr(record, name) for name in _JOB_FIELDS]
    for each in record.unit_usage:
        figures = [each.seconds, each.measured, each.utilisation, each.memory, each.energy]
        known = ["" if figure is None else f"{figure:f}" for figure in figures]
        names = [each.host, each.resource, each.unit, each.identifier]
        yield "unit_usage", [*job, record.start_time, record.end_time, *names, *known, int(each.shared)]


def _of_entry(state: State, entry: log.Entry) -> Iterator[Record]:
    one, moment = entry.reservation, int(entry.time)
    known = [int(one.submit_time), one.id]
    if entry.name == log.CREATED:
        yield "new_ar", [*known, one.owner]
    if entry.name in (log.CREATED, log.CHANGED):
        times = [int(one.start_time), int(one.end_time)]
        resources = granted_resources(state, one)
        yield "ar_attribute", [moment, *known, one.name, one.account, *times, one.granted_pe, resources]
    yield "ar_log", [moment, *known, one.state, entry.name, entry.message]
    if entry.name == log.TERMINATED:
        for grant in one.granted:
            yield "ar_acct", [moment, *known, grant.queue, grant.host, grant.slots]


def granted_resources(state: State, one: AdvanceReservation) -> str:
    """`slots=4,lic=8`: all resources that it holds, in total; other requests as given."""
    totals: dict[str, object] = {"slots": one.slots}
    for name, text in one.resources.items():
        entry = state.complexes.get(name)
        exclusive = entry is not None and entry.relop == EXCLUSIVE
        times = {"": one.slots, "JOB": 1, "HOST": len({grant.host for grant in one.granted})}
        totals[name] = f"{float(text) * (1 if exclusive else times[state.once(name)]):g}"
    totals |= {name: text for name, text in one.hard.items() if name not in totals}
    return ",".join(f"{name}={value}" for name, value in totals.items())


def _plain(field: object) -> str:
    """A field without the separators of fields and records."""
    return str(field).replace(":", " ").replace("\n", " ").replace("\r", " ")
