"""A disk with space for transactions, but not for a snapshot: the journal grows, and a later snapshot replaces it."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Any

import apsw
import pytest

from daemons.qmaster.serve import service
from daemons.qmaster.serve.service import Service
from daemons.qmaster.spooling.spool_file import SpoolError, write_fault
from tests.harness import Cell
from tests.service_callbacks import IdleCallbacks

KEPT, PAGES = 100, 4
"""Transactions in a grown journal, more than the jobs of one row; free pages for the next transactions."""


@contextmanager
def no_space(cell: Cell) -> Iterator[None]:
    """Let a snapshot fail by SQLite's limit of the pages of a file."""
    db = cell.master.spool._db
    [(pages,)] = db.execute("pragma page_count").fetchall()
    db.execute(f"pragma max_page_count={int(pages) + PAGES}")
    yield
    with suppress(apsw.ConnectionClosedError):
        db.execute("pragma max_page_count=1000000")


def rows(cell: Cell, table: str) -> int:
    return int(cell.master.spool._db.execute(f"select count(*) from {table}").fetchall()[0][0])


def stories(cell: Cell) -> list[Any]:
    return [cell.master.spool.job_history(number, 9) for number in cell.state.jobs]


def filled(cell: Cell) -> None:
    """Commit until a snapshot is due."""
    cell.master.spool._keep_journal = cell.master.spool._snapshot_at = KEPT
    while not cell.master.spool.is_snapshot_due:
        cell.submit(holds="u", context={"random": secrets.token_hex(1000)})


@contextmanager
def no_commit(cell: Cell) -> Iterator[None]:
    """Let all writes succeed except the commit."""
    cell.master.spool._db.set_commit_hook(lambda: True)
    yield
    cell.master.spool._db.set_commit_hook(None)


@pytest.mark.statement("SP-3")
@pytest.mark.parametrize("fault", [no_space, no_commit])
def test_nothing_is_lost_and_it_is_tried_again_later(cell: Cell, fault: Callable[[Cell], AbstractContextManager[None]]) -> None:
    filled(cell)
    histories, journalled = stories(cell), rows(cell, "journal")
    with fault(cell), pytest.raises(SpoolError, match="cannot write spool"):
        cell.master.compact()
    assert (rows(cell, "journal"), rows(cell, "snapshot"), stories(cell)) == (journalled, 0, histories)
    assert not cell.master.spool.is_snapshot_due, "not after every turn: requests in between are to be answered"
    while not cell.master.spool.is_snapshot_due:
        last = cell.submit(holds="u")
    histories = stories(cell)
    cell.master.compact()
    assert (rows(cell, "journal"), rows(cell, "snapshot"), stories(cell)) == (0, 1, histories)
    for host in cell.state.hosts.values():
        host.forget()
    state = cell.state.snapshot()
    cell.restart()
    assert last in cell.state.jobs
    assert (cell.state.snapshot(), stories(cell)) == (state, histories)


@pytest.mark.statement("SP-3")
def test_the_qmaster_continues(cell: Cell, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """The qmaster also ends cleanly."""
    monkeypatch.setattr(service, "TICK_S", 0.001)
    ended: list[int] = []
    serving = Service(cell.master, IdleCallbacks(end=ended.append))
    filled(cell)

    def logged() -> list[str]:
        return [line for line in caplog.messages if "snapshot" in line]

    async def played() -> None:
        serving.begin()
        async with asyncio.timeout(60):
            while not logged():
                await asyncio.sleep(0.001)
        await asyncio.sleep(0.05)
        assert len(logged()) == 1
        await serving.stop()

    with no_space(cell):
        asyncio.run(played())
    reason = str(write_fault(cell.master.spool.path, apsw.FullError("database or disk is full")))
    assert (ended, set(logged())) == ([], {f"{reason}; its journal is kept until there is space for a snapshot"})
