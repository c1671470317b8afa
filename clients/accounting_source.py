"""Where qacct has its records from: the qmaster's index in pages, or a file, line by line.

Owns both ways; neither holds more records than a page. A file may be packed by gzip, be as old as the first versions, and have
lines in it that are no records: these are counted and said. Called by qacct. Source: QA-5, QA-8; docs/gdi.md `accounting`.
"""

import sys

from clients import program
from clients.gdi import Unreachable
from gridengine.accounting import AccountingRecord, Sums, fields_getter, is_valid_record, parse_line, record_filter
from gridengine.errors import plain_fault

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any, BinaryIO

    Fields = dict[str, Any]

_GZIP = b"\x1f\x8b"
LONGEST_LINE = 1 << 20
#: so many lines that are no records are named
_NAMED = 5


class Index:
    """The index of the qmaster, where a job is from the moment of its end."""

    def records(self, wanted: "Fields") -> "Iterator[AccountingRecord]":
        """Those that the filter means (`gridengine.accounting.record_filter`), in the order of their end."""
        for page in _pages(wanted):
            yield from map(AccountingRecord, page["records"])

    def fields(self, wanted: "Fields", names: "Sequence[str]") -> "Iterator[Sequence[str]]":
        """These fields of those records, of two or more names; no others are sent."""
        for page in _pages({**wanted, "fields": list(names)}):
            yield from page["records"]

    def sums(self, wanted: "Fields", group_by: "Sequence[str]") -> Sums:
        """What those records have used, by these fields of them."""
        found = Sums(group_by)
        for page in _pages({**wanted, "group_by": list(group_by)}):
            for key, row in page["sums"]:
                found.add_row(key, row)
        return found


def _pages(body: "Fields") -> "Iterator[Fields]":
    after = 0
    while after is not None:
        try:
            page = program.read("accounting", {**body, "after": after} if after else body)
        except Unreachable as error:
            if not after:
                raise
            # what was printed must not come again from the file
            raise program.Failure(f"error: {error}", 1) from None
        yield page
        after = page["next"]


class File:
    """An accounting file, `-` for the standard input; what cannot be read ends the command.

    `faults`: lines that are no records, as far as it was read; `first_faults`: the numbers of the first of them.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.faults = 0
        self.first_faults: list[int] = []

    def records(self, wanted: "Fields") -> "Iterator[AccountingRecord]":
        """As of the index. Raises SyntaxFault before the file is touched, Failure when it cannot be read."""
        return filter(record_filter(wanted), self._all())

    def fields(self, wanted: "Fields", names: "Sequence[str]") -> "Iterator[Sequence[str]]":
        """As of the index."""
        return map(fields_getter(names), self.records(wanted))

    def sums(self, wanted: "Fields", group_by: "Sequence[str]") -> Sums:
        """As of the index."""
        found = Sums(group_by)
        for record in self.records(wanted):
            found.add(record)
        return found

    def complain(self) -> None:
        """Say on stderr how many lines were no records, and which."""
        if self.faults:
            more = ", …" if self.faults > len(self.first_faults) else ""
            places = ", ".join(map(str, self.first_faults)) + more
            program.complain(f"{self.path}: {self.faults} lines are no accounting records and were left out: line {places}")

    def _all(self) -> "Iterator[AccountingRecord]":
        number = 0
        try:
            with opened(self.path) as file:
                for number, line in enumerate(iter(lambda: file.readline(LONGEST_LINE), b""), 1):
                    record = parse_line(line.decode(errors="replace"))
                    if record is not None and is_valid_record(record):
                        yield record
                    elif record is not None or (line[:1] != b"#" and line.strip()):
                        self._fault(number)
        except (OSError, EOFError) as error:
            if not number and isinstance(error, OSError) and error.strerror:
                raise program.Failure(f"{self.path}: {error.strerror}\nno jobs running since startup", 1) from None
            raise program.Failure(f"{self.path}: cannot be read behind line {number}: {plain_fault(error)}", 1) from None

    def _fault(self, number: int) -> None:
        self.faults += 1
        if len(self.first_faults) < _NAMED:
            self.first_faults.append(number)


def opened(path: str) -> "BinaryIO":
    """The bytes of a file, unpacked if they are packed. Raises OSError."""
    file: Any = sys.stdin.buffer if path == "-" else open(path, "rb")  # noqa: SIM115
    if file.peek(2)[:2] != _GZIP:
        return file  # type: ignore[no-any-return]
    import gzip
    import zlib

    class Unpacked(gzip.GzipFile):
        def readline(self, size: "int | None" = -1) -> bytes:
            try:
                return super().readline(size)
            except zlib.error as error:
                raise OSError(str(error)) from None

    return Unpacked(fileobj=file)  # type: ignore[return-value]
