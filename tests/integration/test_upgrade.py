"""A cell that is upgraded in place: its jobs run on and end once; a spool that cannot be read is refused and left as it is."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.integration.cells import DemoCell, eventually, process_state
from tests.integration.test_jobs import record, state
from tests.integration.test_lost_spool import cell, running_job, start_master

__all__ = ["cell"]


@pytest.fixture
def stopped(cell: DemoCell) -> Iterator[tuple[Path, dict[str, Path]]]:
    """The spool of a stopped cell with jobs running, as a program of version 1 leaves it, and where these write who they are."""
    jobs = dict(running_job(cell, f"job{number}") for number in (1, 2, 3))
    cell.must("gridengine", "stop")
    spool = cell.place / "spool" / "qmaster" / "spool.db"
    change(spool, "update meta set value='1' where key='version'")
    tasks = list((cell.place / "spool" / "execd").glob("*/active_jobs/[0-9]*"))
    assert len(tasks) == len(jobs)
    for directory in tasks:
        as_earlier(directory)
    yield spool, jobs


def as_earlier(directory: Path) -> None:
    """The files of a task whose execd had no file for itself: its notes stood in `config` and `origin`."""
    own, config = (json.loads((directory / name).read_text()) for name in ("execd", "config"))
    (directory / "config").write_text(json.dumps(config | {"submit_time": own["submitted"], "cores": [], "confinement": None}))
    (directory / "origin").write_text(json.dumps(own["origin"]))
    (directory / "execd").unlink()


def change(spool: Path, statement: str) -> None:
    with closing(sqlite3.connect(spool)) as db, db:
        assert db.execute(statement).rowcount == 1


@pytest.mark.statement("EX-9")
def test_an_unreadable_spool_is_refused_and_jobs_of_a_readable_spool_go_on(
    cell: DemoCell, stopped: tuple[Path, dict[str, Path]]
) -> None:
    spool, jobs = stopped
    copy = spool.with_name("copy.db")
    shutil.copy(spool, copy)
    for damage, reason in (
        ("update meta set value='99' where key='version'", "has version 99, this program reads versions up to"),
        (
            "update journal set events=substr(events, 1, 30) where revision=(select max(revision) from journal)",
            "of the journal: Input data was truncated",
        ),
    ):
        change(spool, damage)
        before = spool.read_bytes()
        refused = cell.command("gridengine", "start", "--host-name", cell.host)
        assert refused.returncode == 1, (damage, refused.stdout, refused.stderr)
        assert str(spool) in refused.stderr and reason in refused.stderr and "Traceback" not in refused.stderr
        assert spool.read_bytes() == before
        shutil.copy(copy, spool)
    assert "Traceback" not in (spool.parent / "messages").read_text()

    start_master(cell)
    with closing(sqlite3.connect(spool)) as db:
        assert db.execute("select value from meta where key='version'").fetchone() > ("1",)
    for job, note in jobs.items():
        eventually("it is known to run", lambda job=job: state(cell, job) == "r")
        assert process_state(note.read_text().strip()) not in ("", "Z"), "it has run through all of it"
    (cell.work / "go").touch()
    for job in jobs:
        eventually("it ends", lambda job=job: state(cell, job) == "")
        assert record(cell, job)["exit_status"] == "7"
    assert cell.must("qacct", "-j", ",".join(jobs)).count("jobnumber") == len(jobs), "and once"
