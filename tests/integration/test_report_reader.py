"""The process that reads the accounting file for reports: its figures, and the sentences of its failures."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from daemons.web.reports.report_source import ReportError, run_reader
from tests.accounting_lines import accounting_line

BEGIN = 1_795_200_000.0
DAY = 86_400.0


def run(path: Path, **request: Any) -> Any:
    return asyncio.run(run_reader({"path": str(path), **request}))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    made = tmp_path / "accounting"
    made.write_bytes(b"no record\n" + accounting_line(BEGIN + 60, 120, slots=2) + accounting_line(BEGIN - 60, 30, exit_status=1))
    return made


def test_the_process_answers_with_the_tables_of_both_periods(path: Path) -> None:
    answer = run(path, by="user", periods=[("p", BEGIN, BEGIN + DAY), ("", BEGIN - DAY, BEGIN)])
    totals = [table[1] for table in answer["tables"]]
    assert [(total[1], total[4]) for total in totals] == [(1, 240), (1, 30)]
    assert (answer["reaches_back"], answer["faults"]) == (False, 1)


def test_the_process_answers_with_the_usage_of_a_user(path: Path) -> None:
    rows, failures, hints = run(path, user="alice", now=BEGIN + DAY)["usage"]
    assert [row[1] for row in rows] == [2, 2]
    assert [failure[4] for failure in failures] == [1]
    assert hints == []


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(ReportError, match=f"^cannot read {tmp_path}/accounting: No such file or directory$"):
        run(tmp_path / "accounting", user="alice", now=BEGIN)


def test_a_process_that_is_cancelled_ends(tmp_path: Path) -> None:
    async def play() -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.0):
                await run_reader({"path": str(tmp_path), "user": "alice", "now": BEGIN})

    asyncio.run(play())
