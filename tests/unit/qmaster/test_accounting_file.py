"""The accounting file follows the index in the spool, despite any interruption: each record is in it, once and in order."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from daemons.qmaster.spooling import text_file
from daemons.qmaster.spooling.followed_file import NOTE_S
from gridengine.protocols.delivery import Load
from tests.harness import LOAD, Cell


@pytest.fixture
def file(cell: Cell) -> Path:
    return cell.directory / "accounting"


def jobs_in(file: Path) -> list[int]:
    """The job numbers of the records in a file, in its order."""
    return [int(line.split(":")[5]) for line in file.read_text().splitlines() if not line.startswith("#")]


def run_job(cell: Cell) -> int:
    cell.report("h1", Load(cell.now, dict(LOAD), full=True, incarnation="boot1"))  # it is heard after a restart, too
    job = cell.submit()
    cell.cycle()
    cell.end(job)
    return job


def end_just_before_death(cell: Cell) -> int:
    """A job with its end on disk when the master dies, before any consequence of the end."""
    job = cell.submit()
    cell.cycle()
    cell.master.publish = lambda transactions: None  # type: ignore[method-assign]
    cell.end(job)
    return job


def refusing(monkeypatch: pytest.MonkeyPatch, code: int, written: int = 0) -> Callable[[], None]:
    """Have the disk take so many bytes and no more (ENOSPC), or no file be opened (EMFILE). Returns the function that ends the
    fault."""
    real = os.write

    def write(descriptor: int, data: bytes) -> int:
        nonlocal written
        if not written:
            raise OSError(code, os.strerror(code))
        size, written = real(descriptor, data[:written]), 0
        return size

    def open_none(*_arguments: object) -> int:
        raise OSError(code, os.strerror(code))

    with_name = "open" if code == errno.EMFILE else "write"
    monkeypatch.setattr(text_file.os, with_name, open_none if code == errno.EMFILE else write)
    return monkeypatch.undo


@pytest.mark.statement("AC-1")
def test_records_lost_between_commit_and_file_are_caught_up_at_the_start(cell: Cell, file: Path) -> None:
    first, lost = run_job(cell), end_just_before_death(cell)
    assert jobs_in(file) == [first]
    cell.restart()
    assert jobs_in(file) == [first, lost]


@pytest.mark.parametrize("noted", [False, True])
def test_no_record_is_written_twice(cell: Cell, file: Path, noted: bool) -> None:
    """Neither a record after the note of the file's length, nor a record before it."""
    jobs = [run_job(cell), run_job(cell)]
    if noted:
        cell.pass_time(NOTE_S + 1)
    for _ in range(3):
        cell.restart()
        assert jobs_in(file) == jobs
        jobs.append(run_job(cell))


def test_a_torn_line_is_written_again(cell: Cell, file: Path) -> None:
    jobs = [run_job(cell), run_job(cell)]
    with file.open("r+b") as torn:
        torn.truncate(file.stat().st_size - 20)
    cell.restart()
    assert jobs_in(file) == jobs
    assert {line.count(":") for line in file.read_text().splitlines()[4:]} == {44}


def test_a_renamed_file_is_begun_anew_and_gets_only_what_is_new(cell: Cell, file: Path) -> None:
    run_job(cell)
    cell.pass_time(NOTE_S + 1)
    file.rename(file.with_name("accounting.1"))
    job = run_job(cell)
    cell.restart()
    assert jobs_in(file) == [job]
    assert file.read_text().startswith("# Version")


@pytest.mark.parametrize(("code", "written"), [(errno.ENOSPC, 0), (errno.ENOSPC, 100), (errno.EMFILE, 0)])
def test_a_full_disk_or_no_descriptor_ends_nothing_and_loses_nothing(
    cell: Cell, file: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, code: int, written: int
) -> None:
    jobs = [run_job(cell)]
    before = file.read_text()
    again = refusing(monkeypatch, code, written)
    jobs += [run_job(cell), run_job(cell)]
    cell.pass_time(1)
    assert file.read_text() == before, "half a record is in it"
    assert caplog.text.count("cannot be written") == 1
    again()
    cell.pass_time(1)
    assert jobs_in(file) == jobs
    assert caplog.text.count("can be written again") == 1


def test_records_unwritten_at_the_end_are_written_after_the_next_start(
    cell: Cell, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    again = refusing(monkeypatch, errno.ENOSPC)
    jobs = [run_job(cell), run_job(cell)]
    cell.pass_time(NOTE_S + 1)
    again()
    cell.restart()
    assert jobs_in(file) == jobs


def test_a_spool_of_a_version_without_notes_is_believed(cell: Cell, file: Path) -> None:
    job = run_job(cell)
    cell.master.spool._db.execute("delete from meta where key='accounting_row'")
    cell.restart()
    assert jobs_in(file) == [job]


@pytest.mark.statement("RP-2")
def test_jobs_that_end_while_accounting_is_off_are_never_in_the_file(cell: Cell, file: Path) -> None:
    jobs = []
    for setting in ("true", "false", "true"):
        cell.configure("configuration", "global", reporting_params=f"accounting={setting}")
        jobs.append(run_job(cell))
    cell.restart()
    assert jobs_in(file) == [jobs[0], jobs[2]]
    assert cell.records(jobs[1]), "the index has it"


@pytest.mark.statement("AC-4")
@pytest.mark.parametrize("parameters", ["accounting_flush_time=0", "flush_time=0:0:0", "flush_time=1:0:0"])
def test_a_record_is_in_the_file_at_once(cell: Cell, file: Path, parameters: str) -> None:
    cell.configure("configuration", "global", reporting_params=f"accounting=true reporting=true {parameters}")
    job = run_job(cell)
    assert jobs_in(file) == [job]
    assert f":acct:{cell.records(job)[0].qname}:" in (cell.directory / "reporting").read_text()


def test_reporting_records_wait_for_the_disk(cell: Cell, monkeypatch: pytest.MonkeyPatch) -> None:
    cell.configure("configuration", "global", reporting_params="reporting=true")
    again = refusing(monkeypatch, errno.ENOSPC)
    job = run_job(cell)
    again()
    cell.pass_time(1)
    lines = (cell.directory / "reporting").read_text().splitlines()
    assert [line.split(":")[7] for line in lines if ":acct:" in line] == [str(job)]
