"""The reporting file: records of ended jobs and of what advance reservations went through.

Owns the records acct, new_ar, ar_attribute, ar_log and ar_acct, whether they are wanted, and the appending to
`common/reporting`. Called by the master for each transaction, before it is applied (`reporting_records`) and after it is on disk
(`ReportingFile`). Source: sge_reporting(5), sge_conf(5) reporting_params; AR-119 … AR-123.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from daemons.qmaster.decision import Decision
from daemons.qmaster.spooling.text_file import TextFile
from daemons.qmaster.tell import reservation_log as log
from gridengine.accounting import WIDTH
from gridengine.placement.site import EXCLUSIVE
from gridengine.state.reservations import AdvanceReservation
from gridengine.state.state import State

MOST_WAITING = 100_000
"""Records that wait for a disk that is full; the oldest go first."""


def reporting_records(state: State, decision: Decision, now: float) -> list[str]:
    """The records of a transaction that is about to be applied, a line each without its end. now: epoch seconds."""
    found = [pair for entry in log.entries(state, decision.events) for pair in _of_entry(state, entry)]
    # the accounting record of a job, with the number of its reservation in it (AR-118)
    found += [("acct", list[object](fields[:WIDTH])) for _, _, fields in decision.accounting]
    return [":".join([str(int(now)), kind, *map(_plain, fields)]) for kind, fields in found]


def _of_entry(state: State, entry: log.Entry) -> Iterator[tuple[str, list[object]]]:
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
    """`slots=4,lic=8`: everything that it holds, in total; other requests as they were asked for."""
    totals: dict[str, object] = {"slots": one.slots}
    for name, text in one.resources.items():
        entry = state.complexes.get(name)
        exclusive = entry is not None and entry.relop == EXCLUSIVE
        once = state.per_job(name) or exclusive
        totals[name] = f"{float(text) * (1 if once else one.slots):g}"
    totals |= {name: text for name, text in one.hard.items() if name not in totals}
    return ",".join(f"{name}={value}" for name, value in totals.items())


def _plain(field: object) -> str:
    """A field without what divides fields and records."""
    return str(field).replace(":", " ").replace("\n", " ").replace("\r", " ")


class ReportingFile:
    """The file `common/reporting`. What the disk does not take waits in memory, MOST_WAITING records of it at most."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = TextFile(path)
        self._waiting: list[str] = []

    def append(self, lines: list[str]) -> None:
        """Append records, now or as soon as it can be done."""
        self._waiting += lines
        self.tend()

    def tend(self) -> None:
        """Write what waits."""
        if self._waiting and self._file.append(self._waiting):
            self._waiting = []
        del self._waiting[:-MOST_WAITING]
