"""The accounting file of an old cell, sent to the qmaster page by page, so that qacct finds its jobs.

Owns the pages. What is there already the qmaster leaves out, so that an import which was broken off is begun again. The
database of what is used reads the file by itself (`gridengine arco import`). Called by `import_sge`. Source: QA-5; adr/0159.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from clients.accounting_source import LONGEST_LINE, opened
from clients.admin.asking import change
from clients.admin.refusal import Refusal
from gridengine.accounting import parse_line

#: of a page; the door takes bodies of 1 MB
_LINES, _BYTES = 1000, 400_000
#: a line that is longer is no record, nor is a longer number one of a job
_MOST_CHARACTERS, _DIGITS = 16_000, 7
#: so many lines that are no records are named
_SHOWN = 5

Page = list[tuple[int, str]]
"""Lines with their numbers in the file."""


@dataclass(slots=True)
class Imported:
    """Counts of records. `rejected`: how many lines are no records; `first_rejected`: the numbers of the first of them."""

    added: int = 0
    known: int = 0
    clashing: int = 0
    rejected: int = 0
    first_rejected: list[int] = field(default_factory=list)


def import_accounting(file: Path, last_job: int) -> Imported:
    """Have the qmaster take all records of a file, plain or packed by gzip.

    last_job: jobs get numbers behind this one, and behind those of all records. Refusal: the file cannot be read, or the qmaster
    does not take a page; the pages before it are there.
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
        raise Refusal(f"cannot read {file}: {getattr(error, 'strerror', None) or error}") from None
    raise_job_numbers(last_job)
    return found


def raise_job_numbers(last_job: int) -> None:
    """Have jobs get numbers behind this one, if they do not already. Refusal."""
    change("accounting_import", {"last_job": last_job})


def _pages(file: Path) -> Iterator[Page]:
    page: Page = []
    size = 0
    with opened(str(file)) as source:
        for number, raw in enumerate(iter(lambda: source.readline(LONGEST_LINE), b""), 1):
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
