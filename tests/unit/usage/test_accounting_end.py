"""The end of an accounting file: no record since the moment is missed, and little before it is read."""

from __future__ import annotations

from pathlib import Path

import pytest

from gridengine.files.accounting_end import AccountingEnd
from gridengine.usage.accounting import parse_line
from tests.accounting_lines import accounting_line

DAY = 86_400.0
BEGIN = 1_795_200_000.0
HOURS = 10_000


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A task each hour. Every other task is followed by a record of months ago, written late; there are invalid lines, too."""
    made = tmp_path_factory.mktemp("common") / "accounting"
    late = accounting_line(BEGIN, 60, job_name="late")
    content = [b"# a comment\n"]
    for hour in range(HOURS):
        content.append(accounting_line(BEGIN + hour * 3600, 60, job_number=hour))
        content.append(late if hour % 2 else b"no record\n" if hour % 77 == 0 else b"")
    made.write_bytes(b"".join(content))
    return made


def hours(end: AccountingEnd) -> list[int]:
    records = [parse_line(line.decode()) for line in end.lines()]
    return [int(record.job_number) for record in records if record is not None and record.job_name == "job"]


@pytest.mark.parametrize("hour", [1, 100, 5000, 9000, HOURS - 1])
def test_all_records_since_a_moment_are_read(path: Path, hour: int) -> None:
    end = AccountingEnd(path, BEGIN + hour * 3600)
    found = hours(end)
    assert found == list(range(found[0], HOURS))
    assert found[0] <= hour
    assert hour - found[0] < 24 + 900, "the years before are not read"
    assert end.reaches_back


def test_a_file_that_begins_later_does_not_reach_back(path: Path) -> None:
    end = AccountingEnd(path, BEGIN - DAY)
    assert not end.reaches_back
    assert end.first == BEGIN + 60
    assert len(hours(end)) == HOURS


def test_the_bytes_that_are_read_are_bounded(path: Path) -> None:
    end = AccountingEnd(path, BEGIN, most_bytes=100_000)
    found = hours(end)
    assert found == list(range(found[0], HOURS))
    assert 0 < len(found) < 1000
    assert not end.reaches_back


def test_a_line_that_is_being_written_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "accounting"
    path.write_bytes(accounting_line(BEGIN, 1))
    end = AccountingEnd(path, BEGIN)
    with path.open("ab") as file:
        file.write(accounting_line(BEGIN, 2))
    assert len(list(end.lines())) == 1


@pytest.mark.parametrize("content", [b"", b"# only a comment\n", b"rubbish\n" * 50_000, b"\0" * 300_000])
def test_a_file_without_records_is_read_as_such(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "accounting"
    path.write_bytes(content)
    end = AccountingEnd(path, BEGIN)
    assert (end.first, end.reaches_back) == (None, False)
    assert b"".join(end.lines()) == content


def test_a_missing_file_raises(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        AccountingEnd(tmp_path / "accounting", BEGIN)
