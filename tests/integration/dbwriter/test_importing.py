"""The import of accounting files on both databases: beside existing records, interrupted and continued. DB-12."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from daemons.dbwriter.opening import open_database
from daemons.dbwriter.writer import Writer
from tests.integration.dbwriter.plays import DyingDatabase, Play
from tests.integration.dbwriter.reporting_lines import DAY, accounting_line, acct


@pytest.fixture
def play(tmp_path: Path, address: str) -> Play:
    return Play(tmp_path, address)


@pytest.mark.statement("DB-12", "AC-1")
def test_an_accounting_file_is_imported_beside_what_is_there(play: Play, tmp_path: Path) -> None:
    play.append(acct(number, DAY + 10, DAY + 20, submission_time=DAY) for number in range(1, 3))
    file = tmp_path / "accounting.old"
    old = [accounting_line(number, DAY + 10, DAY + 20, submission_time=DAY) for number in range(1, 5)]
    file.write_text("\n".join(["# a comment", *old, "rubbish", "", old[3]]) + "\n")
    writer = play.writer()
    requested = writer.request(file)
    writer.run(once=True)
    # 1 and 2 are known from the reporting file; the second record of 4 is of the same try as the first
    assert play.rows("SELECT job_number FROM view_accounting ORDER BY 1") == [(1,), (2,), (3,), (4,)]
    assert (requested.state, requested.records, requested.known) == ("done", 2, 3)
    assert requested.rejected == [(6, "an accounting record has 45 fields; this one has 1")]
    again = play.writer()
    repeated = again.request(file)
    again.run(once=True)
    assert (repeated.state, repeated.records) == ("done", 0)


@pytest.mark.statement("DB-12")
@pytest.mark.parametrize("after", [False, True])
def test_an_import_that_dies_goes_on(play: Play, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, after: bool) -> None:
    monkeypatch.setattr("daemons.dbwriter.rotated_file.CHUNK_BYTES", 700)  # some three records
    file = tmp_path / "accounting.old"
    file.write_text("".join(f"{accounting_line(number, DAY + 10, DAY + 20)}\n" for number in range(1, 21)))
    play.write()
    for step in range(1, 30, 4):
        real = open_database(play.address)
        writer = Writer(play.settings, partial(DyingDatabase, real, step, after), lambda: play.now)  # type: ignore[arg-type]
        writer.request(file)
        with suppress(KeyboardInterrupt):
            writer.run(once=True)
        real.close()
    writer = play.writer()
    requested = writer.request(file)
    writer.run(once=True)
    assert requested.state == "done"
    assert requested.records < 20  # those before had come somewhere
    records = play.rows("SELECT job_number, count(*) FROM view_accounting GROUP BY 1 ORDER BY 1")
    assert records == [(job, 1) for job in range(1, 21)]
    ended = "SELECT num_value FROM view_user_values WHERE variable = 'h_jobs_finished'"
    assert play.rows(ended) == [(20,)]


def test_a_file_that_cannot_be_imported_is_refused_with_the_reason(play: Play, tmp_path: Path) -> None:
    writer = play.writer()
    requested = writer.request(tmp_path / "nothing")
    writer.run(once=True)
    assert requested.state == f"cannot read {tmp_path / 'nothing'}: No such file or directory"
