"""The process that answers one request `forecast`; in the qmaster it would hold up other requests.

Reads a `ForecastQuestion` on its standard input and writes the answer's data. Opens the spool only for reading, and yields the
CPU to other processes. Run by `serve.requests.forecasting`: `python -m daemons.forecast SPOOL`. Source: adr/0310.
"""

from __future__ import annotations

import gc
import os
import sys
from contextlib import closing
from functools import partial

import apsw
import msgspec
from dateutil.tz import tzlocal

from daemons.forecast.answers import answer
from daemons.forecast.run_times import RunTimes, ended_tasks
from daemons.qmaster.spooling.accounting_table import AccountingTable
from gridengine.errors import InvalidValueError
from gridengine.protocols.forecasting import ForecastQuestion
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
    make_state = partial(whole_state, question.parts)
    try:
        records = newest_records(sys.argv[1]) if question.body["about"] != "order" else []
        events = decode_events(question.events)
        data = answer(make_state, RunTimes(ended_tasks(records)), question.body, question.now, tzlocal(), events)
    except apsw.Error as error:
        sys.stderr.write(f"cannot read spool {sys.argv[1]}: {error}\n")
        return 1
    except InvalidValueError as fault:
        sys.stderr.write(f"denied: {fault}\n")
        return 1
    sys.stdout.buffer.write(msgspec.json.encode(data))
    return 0


def newest_records(spool: str) -> list[AccountingRecord]:
    """The last MOST_RECORDS records of a spool. Raises apsw.Error."""
    with closing(apsw.Connection(spool, flags=apsw.SQLITE_OPEN_READONLY)) as db:
        db.set_busy_timeout(_BUSY_MS)
        table = AccountingTable(db)
        return [record for _, record in table.records(after=max(0, table.last() - MOST_RECORDS))]


if __name__ == "__main__":
    sys.exit(main())
