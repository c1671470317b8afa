"""The process that answers one request `forecast`; in the qmaster it would hold up other requests.

Reads a `ForecastQuestion` on its standard input and writes the answer's data. Opens the spool only for reading, writes the file
of remembered forecasts alone, and yields the CPU to other processes. Run by `serve.requests.forecasting`:
`python -m daemons.forecast SPOOL`. Source: adr/0310, adr/0330.
"""

from __future__ import annotations

import gc
import os
import sys
from contextlib import closing
from functools import partial
from typing import Any

import apsw
import msgspec
from dateutil.tz import tzlocal

from daemons.forecast import forecast_file
from daemons.forecast.answers import answer, remember
from daemons.forecast.change import ChangeEffects
from daemons.forecast.copies import fork_for
from daemons.forecast.run_times import RunTimes, ended_tasks
from daemons.forecast.start import ForecastBasis
from daemons.qmaster.spooling.accounting_table import AccountingTable
from gridengine.errors import InvalidValueError
from gridengine.protocols.forecasting import ForecastQuestion
from gridengine.state.apply import apply
from gridengine.state.events import decode_events
from gridengine.state.parts import whole_state
from gridengine.usage.accounting import AccountingRecord

MOST_RECORDS = 10_000
"""The newest accounting records, from which run times are learned."""
_NICENESS = 5
_BUSY_MS = 5000


def main() -> int:
    """Answer one question; exit status 1, with a line on stderr, when the spool cannot be read or the question is malformed."""
    os.nice(_NICENESS)
    gc.disable()  # a short process with hundreds of thousands of objects, hardly any of them garbage
    question = msgspec.msgpack.decode(sys.stdin.buffer.read(), type=ForecastQuestion)
    try:
        data = _answer(question, sys.argv[1])
    except apsw.Error as error:
        sys.stderr.write(f"cannot read spool {sys.argv[1]}: {error}\n")
        return 1
    except OSError as error:
        sys.stderr.write(f"cannot write {forecast_file.file_of(sys.argv[1])}: {error.strerror}\n")
        return 1
    except InvalidValueError as fault:
        sys.stderr.write(f"denied: {fault}\n")
        return 1
    sys.stdout.buffer.write(msgspec.json.encode(data))
    return 0


def _answer(question: ForecastQuestion, spool: str) -> dict[str, Any]:
    """The answer's data; `sample` remembers forecasts, and has no data."""
    about, now = question.body["about"], question.now
    events = decode_events(question.events)
    records = newest_records(spool) if about in ("start", "duration", "sample", "change") else []
    calibration = forecast_file.read(forecast_file.file_of(spool))
    basis = ForecastBasis(RunTimes(ended_tasks(records)), calibration, now, tzlocal())
    if about == "change":
        effects = ChangeEffects(partial(whole_state, question.parts), events, basis)
        return effects.all(fork_for if question.body["starts"] else None)
    state = whole_state(question.parts)
    for event in events:
        apply(state, event)
    if about != "sample":
        return answer(state, fork_for(state), basis, question.body)
    forecast_file.note_starts(calibration, state, records, now)
    if calibration.is_due(now):
        remember(state, fork_for(state), basis)
    forecast_file.write(forecast_file.file_of(spool), calibration)
    return {"jobs": [], "unknown": []}


def newest_records(spool: str) -> list[AccountingRecord]:
    """The last MOST_RECORDS records of a spool. Raises apsw.Error."""
    with closing(apsw.Connection(spool, flags=apsw.SQLITE_OPEN_READONLY)) as db:
        db.set_busy_timeout(_BUSY_MS)
        table = AccountingTable(db)
        return [record for _, record in table.records(after=max(0, table.last() - MOST_RECORDS))]


if __name__ == "__main__":
    sys.exit(main())
