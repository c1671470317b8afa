"""Import of the accounting file of an old cell: sent to the qmaster page by page, so that qacct finds its jobs.

Owns the pages. The qmaster skips known records, so that an interrupted import can be repeated. The accounting database reads the
file itself (`gridengine arco import`). Called by `command`. Source: QA-5; adr/0159.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from clients.accounting_source import MAX_LINE_BYTES, open_unpacked
from clients.admin.errors import AdminError
from clients.admin.qmaster_requests import change
from gridengine.usage.accounting import parse_line

#: limits of a page; the qmaster accepts bodies of 1 MB
_LINES, _BYTES = 1000, 400_000
#: a longer line is no record, and a longer number no job number
_MOST_CHARACTERS, _DIGITS = 16_000, 7
#: number of rejected lines that are named
_SHOWN = 5

Page = list[tuple[int, str]]
"""Lines with their numbers in the file."""


@dataclass(slots=True)
class Imported:
    """Counts of records. `rejected`: number of lines that are no records; `first_rejected`: line numbers of the first rejected
    lines.
    """

    added: int = 0
    known: int = 0
    clashing: int = 0
    rejected: int = 0
    first_rejected: list[int] = field(default_factory=list)


def import_accounting(file: Path, last_job: int) -> Imported:
    """Send all records of a file, plain or compressed by gzip, to the qmaster.

    `last_job`: new jobs get numbers above this number and above all records. AdminError: the file cannot be read, or the qmaster
    refuses a page; earlier pages stay imported.
    """
    found = Imported()
    try:
        for page in _pages(file):
            last_job = max(last_job, *(_job(line) for _, line in page))
            answer = change("accounting_import", {"lines": [line for _, line in page]})
            found.added += answer["added"]
            found.known += answer["known"]
            found.clashing += answer["clashing"]
            found.rejected += len(answer["rejected"])
            found.first_rejected += [page[at][0] for at in answer["rejected"]][: _SHOWN - len(found.first_rejected)]
    except (OSError, EOFError, zlib.error) as error:
        raise AdminError(f"cannot read {file}: {getattr(error, 'strerror', None) or error}") from None
    raise_job_numbers(last_job)
    return found


def raise_job_numbers(last_job: int) -> None:
    """Raise the next job number above this number. Raises AdminError."""
    change("accounting_import", {"last_job": last_job})


def _pages(file: Path) -> Iterator[Page]:
    page: Page = []
    size = 0
    with open_unpacked(str(file)) as source:
        for number, raw in enumerate(iter(lambda: source.readline(MAX_LINE_BYTES), b""), 1):
            line = raw.decode(errors="replace").rstrip("\n").replace("\0", "?")
            if line.startswith("#") or not line.strip():
                continue
            line = line[:_MOST_CHARACTERS]
            if page and (len(page) == _LINES or size + len(line.encode()) > _BYTES):
                yield page
                page, size = [], 0
            page.append((number, line))
            size += len(line.encode())
    if page:
        yield page


def _job(line: str) -> int:
    record = parse_line(line)
    number = record.job_number if record is not None else ""
    return int(number) if number.isdecimal() and len(number) <= _DIGITS else 0
