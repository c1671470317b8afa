"""The program itself, killed with -9 while it writes, a server that goes away, a full disk: each record is there once. DB-12."""

from __future__ import annotations

import random
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from daemons.dbwriter.opening import open_database
from tests import needs
from tests.integration.cells import COMMAND_S, eventually
from tests.integration.dbwriter.conftest import PostgresqlServer
from tests.integration.dbwriter.plays import Cell, Play
from tests.integration.dbwriter.reporting_lines import DAY, acct, new_job
from tests.integration.dbwriter.test_asking import ask

JOBS = 3000
KILLS = 6


def jobs(first: int, last: int) -> Iterator[str]:
    """The records of jobs, the last one left out."""
    for job in range(first, last):
        yield new_job(job, DAY)
        yield acct(job, DAY + 1, DAY + 2, submission_time=DAY)


@pytest.fixture
def cell(tmp_path: Path, address: str) -> Cell:
    return Cell(tmp_path, address)


@pytest.fixture
def appending(cell: Cell) -> Iterator[threading.Thread]:
    """A thread that appends JOBS jobs to the reporting file, piece by piece; line ends do not coincide with piece ends."""
    text = "".join(f"{line}\n" for line in jobs(1, JOBS + 1))

    def append() -> None:
        with cell.reporting.open("w") as file:
            for begin in range(0, len(text), 10_007):
                file.write(text[begin : begin + 10_007])
                file.flush()
                time.sleep(0.02)

    thread = threading.Thread(target=append)
    thread.start()
    yield thread
    thread.join()


def counts(address: str) -> tuple[int, int, int]:
    """Records of tasks, different jobs among them, and rows of jobs."""
    database = open_database(address)
    tasks = "SELECT count(*), count(DISTINCT j_job_number) FROM sge_job JOIN sge_job_usage ON ju_parent = j_id"
    found = *database.rows(tasks)[0], database.rows("SELECT count(*) FROM sge_job")[0][0]
    database.close()
    return found[0], found[1], found[2]


@pytest.mark.statement("DB-12")
def test_a_writer_that_is_killed_again_and_again(cell: Cell, address: str, appending: threading.Thread) -> None:
    chance = random.Random(20261123)
    for _ in range(KILLS):
        writer = cell.writer()
        eventually("it serves", cell.socket.exists)
        time.sleep(chance.random() * 0.8)
        writer.send_signal(signal.SIGKILL)
        writer.communicate()
    appending.join()
    last = cell.writer("--once")
    output, errors = last.communicate(timeout=COMMAND_S)
    assert (last.returncode, errors) == (0, "")
    assert counts(address) == (JOBS, JOBS, 2 * JOBS)


@pytest.mark.statement("DB-12")
def test_a_server_that_goes_away_is_waited_for(tmp_path: Path, postgresql: PostgresqlServer) -> None:
    address = postgresql.new_database()
    cell = Cell(tmp_path, address)
    play = Play(cell.common, address)
    writer = cell.writer()
    try:
        play.append(jobs(1, 11))

        def written() -> int:
            with psycopg.connect(address) as connection:
                row = connection.execute("SELECT count(*) FROM sge_job_usage").fetchone()
                return int(row[0]) if row else 0

        eventually("the first jobs are written", lambda: "version 100" in cell.messages and written() == 10)
        postgresql.stop("immediate")
        try:
            play.append(jobs(11, 21))
            eventually("the fault is said", lambda: "the database cannot be written now" in cell.messages)
            assert writer.poll() is None
        finally:
            postgresql.start()
        eventually("the rest is written", lambda: written() == 20)
        eventually("it is said", lambda: "the database can be written again" in cell.messages)
    finally:
        writer.terminate()
        writer.communicate()
    assert counts(address) == (20, 20, 40)


def test_a_disk_that_fills_is_waited_for(tmp_path: Path) -> None:
    needs.need_mounts()
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(disk)], check=True)
    try:
        cell = Cell(tmp_path, f"duckdb:{disk / 'arco.duckdb'}")
        play = Play(cell.common, "")
        writer = cell.writer()
        try:
            play.append(jobs(1, JOBS + 1))
            eventually("the fault is said", lambda: "the database cannot be written now" in cell.messages)
            assert writer.poll() is None
            subprocess.run(["mount", "-o", "remount,size=300m", str(disk)], check=True)
            eventually("it goes on", lambda: "the database can be written again" in cell.messages)
        finally:
            writer.terminate()
            writer.communicate()
        last = cell.writer("--once")
        last.communicate(timeout=COMMAND_S)
        assert counts(f"duckdb:{disk / 'arco.duckdb'}") == (JOBS, JOBS, 2 * JOBS)
        assert "refused" not in cell.messages
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_a_second_writer_is_refused_and_the_first_one_goes_on(tmp_path: Path) -> None:
    cell = Cell(tmp_path, f"duckdb:{tmp_path / 'arco.duckdb'}")
    first = cell.writer()
    try:
        eventually("it serves", lambda: cell.socket.exists() and ask(cell, "status", {}))
        second = cell.writer()
        _, errors = second.communicate(timeout=COMMAND_S)
        assert second.returncode == 1
        assert f"sge_dbwriter runs already, as process {first.pid}" in errors
        assert cell.socket.exists()
    finally:
        first.terminate()
        first.communicate()
    assert first.returncode == 0


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ("database mysql:x\n", 'database "mysql:…": it must begin with duckdb: or postgresql:'),
        ("keep_days 3\n", "does not set database"),
        ("database duckdb:/x\nkeep_days many\n", 'keep_days "many" is no number of days'),
        ("database duckdb:/x\nuser root\n", "user is no setting of it"),
        ("database duckdb:/dev/null/x\n", "/dev/null"),
    ],
)
def test_wrong_settings_are_refused_with_their_reason(tmp_path: Path, settings: str, reason: str) -> None:
    cell = Cell(tmp_path, "")
    (cell.common / "arco").write_text(settings)
    writer = cell.writer("--once")
    output, errors = writer.communicate(timeout=COMMAND_S)
    assert writer.returncode == 1
    assert output == ""
    assert reason in errors
    assert errors.startswith("sge_dbwriter: ") and errors.count("\n") == 1


def test_the_lock_of_a_writer_that_has_just_gone_is_waited_for(postgresql: PostgresqlServer) -> None:
    """The server ends the connection of a client a while after that has closed it."""
    address = postgresql.new_database()
    before = open_database(address)
    closing = threading.Timer(0.5, before.close)
    closing.start()
    open_database(address).close()
    closing.join()
