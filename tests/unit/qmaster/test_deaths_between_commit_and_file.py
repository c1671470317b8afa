"""After any death of the qmaster, anywhere between the commit of a record and its line on the disk: each line is there once."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest

from daemons.qmaster.notifications.accounting import line
from daemons.qmaster.spooling import followed_file, text_file
from daemons.qmaster.spooling.followed_file import NOTE_S
from daemons.qmaster.spooling.spool import Spool
from daemons.qmaster.transaction import Transaction
from gridengine.protocols.delivery import Load
from tests.harness import LOAD, Cell

PLAYS = 30
AGAIN = 5
"""So many steps after a death comes the next."""


class Death(BaseException):
    """The qmaster dies."""


class Disk:
    """Stands in for the module os: each call is a step, after which the qmaster may die; in a write also in the middle of it."""

    STEPS = frozenset("open write ftruncate fsync close".split())

    def __init__(self, deaths: Iterable[int] = ()) -> None:
        self.steps, self._deaths = 0, frozenset(deaths)

    def step(self) -> None:
        """One more thing was done."""
        self.steps += 1
        if self.steps in self._deaths:
            raise Death

    def __getattr__(self, name: str) -> Any:
        real = getattr(os, name)
        return self._stepping(real) if name in self.STEPS else real

    def _stepping(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            if real is os.write:
                descriptor, data = arguments
                half = (len(data) + 1) // 2
                written = real(descriptor, data[:half])
                self.step()
                return written
            result = real(*arguments)
            self.step()
            return result

        return call


class Committed:
    """The lines that each file should have: the lines of all committed transactions."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.lines: dict[str, list[str]] = {"accounting": [], "reporting": []}
        commit = Spool.commit

        def noting(spool: Spool, transactions: list[Transaction], *more: Any) -> None:
            commit(spool, transactions, *more)
            for each in transactions:
                self.lines["accounting"] += [line(record) for _, _, record in each.accounting]
                self.lines["reporting"] += each.records

        monkeypatch.setattr(Spool, "commit", noting)

    def assert_written(self, directory: Path) -> None:
        for name, lines in self.lines.items():
            path = directory / name
            written = path.read_text().splitlines() if path.exists() else []
            there = [text for text in written if not text.startswith("#")]
            assert there == lines, name


def begin(directory: Path) -> Cell:
    directory.mkdir()
    cell = Cell(directory, hosts=1)
    cell.configure("configuration", "global", reporting_params="reporting=true joblog=true")
    return cell


def run_job(cell: Cell) -> None:
    cell.report("h1", Load(cell.now, dict(LOAD), full=True, incarnation="boot1"))  # it is heard after a restart, too
    cell.running.clear()
    job = cell.submit()
    cell.cycle()
    if any(key.job == job for key in cell.running):
        cell.end(job)


def finish(cell: Cell) -> None:
    """Only timers run from here on."""
    for _ in range(3):
        cell.pass_time(NOTE_S + 1)


@pytest.mark.statement("AC-1", "RP-1")
def test_death_at_each_step_and_again_soon_after(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps are the calls of the file system, and the writing of notes into the spool."""

    def play(directory: Path, deaths: Iterable[int]) -> int:
        committed, disk = Committed(context), Disk(deaths)
        cell = begin(directory)
        for module in (text_file, followed_file):
            context.setattr(module, "os", disk)
        for name in ("remember", "forget_records"):
            context.setattr(Spool, name, _then(getattr(Spool, name), disk.step))
        for act in (run_job, lambda cell: cell.pass_time(NOTE_S + 1), run_job, run_job, finish):
            _until_done(cell, partial(act, cell))
        committed.assert_written(directory)
        return disk.steps

    step, steps = 0, 1
    while step < steps:
        with monkeypatch.context() as context:
            taken = play(tmp_path / str(step), [step, step + AGAIN] if step else [])
        steps = steps if step else taken
        step += 1
    assert steps > 50


def _then(real: Callable[..., Any], after: Callable[[], None]) -> Callable[..., Any]:
    def call(*arguments: Any) -> Any:
        result = real(*arguments)
        after()
        return result

    return call


def _until_done(cell: Cell, act: Callable[[], None]) -> None:
    """Do it; start the qmaster again each time that it dies, and go on with the next act then."""
    try:
        act()
        return
    except Death:
        pass
    while True:
        try:
            cell.restart()
            return
        except Death:
            continue


class Elsewhere:
    """Carries things out when the test says so: `do` the work, then `report_written` the result, in order."""

    def __init__(self) -> None:
        self.asked: list[tuple[Callable[[], Any], Callable[[Any], None]]] = []
        self.done: list[tuple[Callable[[Any], None], Any]] = []

    def carry_out(self, work: Callable[[], Any], then: Callable[[Any], None]) -> None:
        self.asked.append((work, then))

    def do(self) -> None:
        if self.asked:
            work, then = self.asked.pop(0)
            self.done.append((then, work()))

    def report_written(self) -> None:
        if self.done:
            then, result = self.done.pop(0)
            then(result)


def test_a_disk_that_does_not_answer_is_logged_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    cell, elsewhere = begin(tmp_path / "cell"), Elsewhere()
    cell.pass_time(1)
    cell.master.write_by(elsewhere.carry_out)
    run_job(cell)
    for _ in range(5):
        cell.pass_time(followed_file.HANGS_S / 2)
    assert [caplog.text.count(f"{name} has waited for its disk for 10 s") for name in ("accounting", "reporting")] == [1, 1]
    while elsewhere.asked:
        elsewhere.do()
        elsewhere.report_written()
    cell.pass_time(0.1)
    assert caplog.text.count("its disk answers again") == 2


@pytest.mark.statement("AC-1", "RP-1")
@pytest.mark.parametrize("seed", range(PLAYS))
def test_death_while_the_files_are_written_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """Commits go on while the disk is slow, and the qmaster may die before it learns that lines were written."""
    random, committed = Random(seed), Committed(monkeypatch)
    monkeypatch.setattr(followed_file, "MOST_ROWS", 7)
    cell, elsewhere = begin(tmp_path / "cell"), Elsewhere()
    cell.master.write_by(elsewhere.carry_out)

    def die() -> None:
        nonlocal elsewhere
        cell.restart()
        elsewhere = Elsewhere()
        cell.master.write_by(elsewhere.carry_out)

    acts: list[tuple[int, Callable[[], None]]] = [
        (10, lambda: run_job(cell)),
        (5, lambda: cell.pass_time(random.choice([1, NOTE_S + 1]))),
        (30, lambda: elsewhere.do()),
        (30, lambda: elsewhere.report_written()),
        (4, die),
    ]
    for _ in range(60):
        (act,) = random.choices([act for _, act in acts], [weight for weight, _ in acts])
        act()
        assert len(elsewhere.asked) + len(elsewhere.done) <= 2, "one thing at a time for each file"
    for _ in range(100):
        elsewhere.do()
        elsewhere.report_written()
        if not elsewhere.asked:
            cell.pass_time(1)
    committed.assert_written(tmp_path / "cell")
