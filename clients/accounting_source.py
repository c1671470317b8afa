"""The two sources of qacct's records: the qmaster's index in pages, or a file, line by line.

Owns the reading of both; neither holds more records in memory than a page. A file may be packed by gzip, be as old as the
first versions, and contain lines that are no records: those lines are counted and reported. Called by qacct.
Source: QA-5, QA-8; docs/gdi.md `accounting`.
"""

import sys

from clients import program
from clients.gdi import Unreachable
from gridengine.errors import plain_fault
from gridengine.usage.accounting import AccountingRecord, Sums, fields_getter, is_valid_record, parse_line, record_filter

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any, BinaryIO

    Fields = dict[str, Any]

_GZIP = b"\x1f\x8b"
MAX_LINE_BYTES = 1 << 20
#: so many of the lines that are no records are reported by number
_MAX_NAMED_LINES = 5


class Index:
    """The index of the qmaster, which contains a job from the moment of its end."""

    def records(self, criteria: "Fields") -> "Iterator[AccountingRecord]":
        """Records that match the criteria (`gridengine.usage.accounting.record_filter`), in the order of their end."""
        for page in _pages(criteria):
            yield from map(AccountingRecord, page["records"])

    def fields(self, criteria: "Fields", names: "Sequence[str]") -> "Iterator[Sequence[str]]":
        """The named fields, at least two, of the matching records; the qmaster sends only these fields."""
        for page in _pages({**criteria, "fields": list(names)}):
            yield from page["records"]

    def sums(self, criteria: "Fields", group_by: "Sequence[str]") -> Sums:
        """The usage of the matching records, summed by the fields `group_by`."""
        sums = Sums(group_by)
        for page in _pages({**criteria, "group_by": list(group_by)}):
            for key, row in page["sums"]:
                sums.add_row(key, row)
        return sums


def _pages(body: "Fields") -> "Iterator[Fields]":
    after = 0
    while after is not None:
        try:
            page = program.read("accounting", {**body, "after": after} if after else body)
        except Unreachable as error:
            if not after:
                raise
            # records that were printed must not be repeated from the file
            raise program.CommandError(f"error: {error}", 1) from None
        yield page
        after = page["next"]


class File:
    """An accounting file, `-` for the standard input; a read error ends the command.

    `faults`: number of lines read so far that are no records; `first_faults`: the numbers of the first such lines.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.faults = 0
        self.first_faults: list[int] = []

    def records(self, criteria: "Fields") -> "Iterator[AccountingRecord]":
        """As of the index. Raises InvalidValueError before the file is opened, CommandError when it cannot be read."""
        return filter(record_filter(criteria), self._parse_records())

    def fields(self, criteria: "Fields", names: "Sequence[str]") -> "Iterator[Sequence[str]]":
        """As of the index."""
        return map(fields_getter(names), self.records(criteria))

    def sums(self, criteria: "Fields", group_by: "Sequence[str]") -> Sums:
        """As of the index."""
        sums = Sums(group_by)
        for record in self.records(criteria):
            sums.add(record)
        return sums

    def report_faults(self) -> None:
        """Report on stderr the number of lines that were no records, and the numbers of the first such lines."""
        if self.faults:
            more = ", …" if self.faults > len(self.first_faults) else ""
            numbers = ", ".join(map(str, self.first_faults)) + more
            program.print_error(f"{self.path}: {self.faults} lines are no accounting records and were left out: line {numbers}")

    def _parse_records(self) -> "Iterator[AccountingRecord]":
        number = 0
        try:
            with open_unpacked(self.path) as file:
                for number, line in enumerate(iter(lambda: file.readline(MAX_LINE_BYTES), b""), 1):
                    record = parse_line(line.decode(errors="replace"))
                    if record is not None and is_valid_record(record):
                        yield record
                    elif record is not None or (line[:1] != b"#" and line.strip()):
                        self._note_fault(number)
        except (OSError, EOFError) as error:
            if not number and isinstance(error, OSError) and error.strerror:
                raise program.CommandError(f"{self.path}: {error.strerror}\nno jobs running since startup", 1) from None
            raise program.CommandError(f"{self.path}: cannot be read behind line {number}: {plain_fault(error)}", 1) from None

    def _note_fault(self, number: int) -> None:
        self.faults += 1
        if len(self.first_faults) < _MAX_NAMED_LINES:
            self.first_faults.append(number)


def open_unpacked(path: str) -> "BinaryIO":
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
