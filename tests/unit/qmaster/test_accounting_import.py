"""The request `accounting_import`: records of another cell."""

from __future__ import annotations

from pathlib import Path

import pytest

from gridengine.usage.accounting import FIELDS
from tests.harness import Cell

LINES = [
    line
    for line in (Path(__file__).parents[2] / "data" / "sge-8.1.9" / "cell" / "accounting").read_text().splitlines()
    if not line.startswith("#")
]


def with_field(line: str, name: str, value: str) -> str:
    fields = line.split(":")
    fields[FIELDS.index(name)] = value
    return ":".join(fields)


def test_records_are_kept_each_once_and_survive_a_crash(cell: Cell) -> None:
    answer = cell.admin("accounting_import", lines=[*LINES, LINES[0]])
    assert answer.data == {"added": 6, "known": 1, "clashing": 0, "rejected": []}
    cell.restart()
    assert cell.admin("accounting_import", lines=LINES).data == {"added": 0, "known": 6, "clashing": 0, "rejected": []}
    assert [":".join(record) for _, record in cell.master.spool.accounted.records([12])] == LINES[:3]


def test_imported_records_are_in_the_text_file_too(cell: Cell) -> None:
    cell.admin("accounting_import", lines=LINES)
    assert (cell.directory / "accounting").read_text().splitlines()[-6:] == LINES


@pytest.mark.parametrize(
    ("field", "value"), [("job_number", "x"), ("end_time", "soon"), ("ru_wallclock", "nan"), ("pe_taskid", "past.node1")]
)
def test_malformed_records_are_skipped_and_reported(cell: Cell, field: str, value: str) -> None:
    answer = cell.admin("accounting_import", lines=[LINES[0], with_field(LINES[1], field, value), "no record"])
    assert answer.data == {"added": 1, "known": 0, "clashing": 0, "rejected": [1, 2]}


def test_no_record_is_of_a_job_of_this_cell(cell: Cell) -> None:
    job = cell.submit()
    answer = cell.admin("accounting_import", lines=[with_field(LINES[0], "job_number", str(job)), LINES[1]])
    assert answer.data == {"added": 1, "known": 0, "clashing": 1, "rejected": []}
    assert list(cell.master.spool.accounted.records([job])) == []


def test_jobs_get_numbers_behind_those_that_were(cell: Cell) -> None:
    cell.admin("accounting_import", last_job=4711)
    assert cell.submit() == 4712
    cell.admin("accounting_import", last_job=12)
    assert cell.submit() == 4713


def test_managers_alone_may_do_it(cell: Cell) -> None:
    answer = cell.ask("accounting_import", "alice", "h1", lines=LINES, last_job=9)
    assert answer.status == 1 and cell.master.spool.accounted.last() == 0 and cell.state.next_job_id == 1
