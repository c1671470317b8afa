"""The process that reads the accounting file for one report; the same work would hold up the web server for minutes.

Reads a request on its standard input and writes the figures as JSON. Yields the CPU to other processes. Light: no aiohttp, no
state. Run by `reports.report_source`: `python -m daemons.web.reports.report_reader`. Source: adr/0305.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import msgspec

from gridengine.files.accounting_end import AccountingEnd
from gridengine.usage.periods import Period
from gridengine.usage.report import Tables
from gridengine.usage.user_usage import DAYS, user_usage

_NICENESS = 10


def figures(request: dict[str, Any]) -> dict[str, Any]:
    """Answer `path` with `by` and `periods` (name, begin, end each), or with `user` and `now`. Raises OSError."""
    if "user" in request:
        user, now = request["user"], request["now"]
        end = AccountingEnd(Path(request["path"]), now - max(DAYS) * 86_400)
        return {"usage": user_usage(end.lines(), user, now)}
    periods = [Period(*each) for each in request["periods"]]
    end = AccountingEnd(Path(request["path"]), min(period.begin for period in periods))
    tables = Tables(request["by"], periods)
    tables.add_lines(end.lines())
    return {"tables": tables.tables(), "first": end.first, "reaches_back": end.reaches_back, "faults": tables.faults}


def main() -> int:
    """Answer one request; exit status 1, with a line on stderr, when the file cannot be read."""
    os.nice(_NICENESS)
    request = msgspec.json.decode(sys.stdin.buffer.read())
    try:
        sys.stdout.buffer.write(msgspec.json.encode(figures(request)))
    except OSError as error:
        sys.stderr.write(f"cannot read {request['path']}: {error.strerror}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
