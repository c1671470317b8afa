"""The process that searches the accounting records of years; the same search would block the qmaster.

Reads one request on its standard input and writes the answer's data. Opens the spool only for reading, and yields the CPU to
other processes. Run by `serve.accounting_reading`: `python -m daemons.qmaster.spooling.accounting_reader SPOOL`.
Source: adr/0126.
"""

from __future__ import annotations

import os
import sys
from contextlib import closing

import apsw
import msgspec

from daemons.qmaster.spooling.accounting_table import AccountingTable

_NICENESS = 10
_BUSY_MS = 5000


def main() -> int:
    """Answer one search; exit status 1, with a line on stderr, when the spool cannot be read."""
    os.nice(_NICENESS)
    body = msgspec.json.decode(sys.stdin.buffer.read())
    try:
        with closing(apsw.Connection(sys.argv[1], flags=apsw.SQLITE_OPEN_READONLY)) as db:
            db.set_busy_timeout(_BUSY_MS)
            sys.stdout.buffer.write(msgspec.json.encode(AccountingTable(db).search(body)))
    except apsw.Error as error:
        sys.stderr.write(f"cannot read spool {sys.argv[1]}: {error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
