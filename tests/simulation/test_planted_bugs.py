"""The sight of the simulation: each of these bugs is planted in the program, and a rule is broken within few seeds.

A bug that is planted here and not found any more says that the simulation has become blind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw
import pytest

from daemons.execd.attempt_log import AttemptLog
from daemons.qmaster import effects
from daemons.qmaster.decide.hosts import reports
from daemons.qmaster.decide.hosts.orphans import Standing, find_standing
from daemons.qmaster.master import Master
from daemons.qmaster.rules import task_ends
from daemons.qmaster.serve.hosts import batches
from daemons.qmaster.serve.hosts.dispatch import Dispatcher
from daemons.qmaster.serve.hosts.report_sequencer import ReportSequencer
from daemons.qmaster.serve.requests.idempotent_requests import IdempotentRequest
from daemons.qmaster.serve.service import Service
from daemons.qmaster.spooling import spool_file
from daemons.qmaster.spooling.accounting_table import AccountingTable
from daemons.qmaster.spooling.followed_file import FollowedFile
from daemons.schedd import dispatch, job_groups, survey
from gridengine.protocols.delivery import Forget
from gridengine.state import apply as apply_module
from gridengine.state.jobs import Hold, Job, Task
from gridengine.state.machines import configuration, job, reservation, task
from gridengine.state.state import State
from tests.simulation.seeds import run_seed
from tests.simulation.simulation import first_spool

Plant = Callable[[pytest.MonkeyPatch], None]
SEEDS = 25
"""The number of seeds in which a bug is searched, from the seed on that is known to show it."""


def _puts(owner: Any, name: str, value: Any) -> Plant:
    return lambda patch: patch.setattr(owner, name, value)


def _leaks(patch: pytest.MonkeyPatch) -> None:
    def leak(state: State, event: Any) -> None:
        known = state.jobs[event.job_id].tasks[event.task_id]
        known.status, known.granted = "pending", []

    patch.setitem(apply_module.HANDLERS, task.TaskRequeued, leak)


def _leaves_behind(patch: pytest.MonkeyPatch) -> None:
    """A host learns by two messages that an attempt is over which it still runs; each makes up for the loss of the other."""
    original = effects.pending_effects
    patch.setattr(batches, "pending_effects", lambda *all: (each for each in original(*all) if not isinstance(each, Forget)))

    def unanswered(*arguments: Any, **named: Any) -> Standing:
        found = find_standing(*arguments, **named)
        return Standing.UNKNOWN if found is Standing.OVER else found

    patch.setattr(reports, "find_standing", unanswered)


def _does_not_sync(patch: pytest.MonkeyPatch) -> None:
    connect = spool_file.connect

    def careless(path: Path) -> apsw.Connection:
        db = connect(path)
        db.execute("pragma synchronous=off")
        return db

    patch.setattr(spool_file, "connect", careless)


def _commits_piecemeal(patch: pytest.MonkeyPatch) -> None:
    @contextmanager
    def each_by_itself(db: apsw.Connection) -> Iterator[None]:
        yield

    patch.setattr(spool_file, "transaction", each_by_itself)


def _goes_on_with_a_full_disk(patch: pytest.MonkeyPatch) -> None:
    write = Master.write

    def careless(self: Master, transactions: list[Any]) -> bool:
        try:
            return write(self, transactions)
        except spool_file.SpoolError:
            return False

    patch.setattr(Master, "write", careless)


async def _at_once(*_: Any) -> None:
    return None


def _forgets_an_account(patch: pytest.MonkeyPatch) -> None:
    add = AccountingTable.add
    patch.setattr(AccountingTable, "add", lambda self, records: add(self, [each for each in records if each[0] % 3]))


def _ignores_holds(patch: pytest.MonkeyPatch) -> None:
    def ready(state: State, of: Job, now: float) -> Iterator[tuple[int, Task | None]]:
        yield from [(each.id, each) for each in of.tasks.values() if each.waits and not each.error and not each.deleted_by]
        yield from [(number, None) for number in of.pending]

    patch.setattr(Job, "held", lambda *_: Hold(0))
    patch.setattr(job_groups, "_wholly_held", lambda _: False)
    for module in (survey, dispatch):
        patch.setattr(module, "ready_tasks", ready)


def _ignores_dependencies(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(State, "waits_for", lambda *_: ())
    patch.setattr(survey, "job_waits", lambda *_: None)


def _differs_in_a_mirror(patch: pytest.MonkeyPatch) -> None:
    """A handler that asks for more than the event: here whether it was here before."""
    handler = apply_module.HANDLERS[task.TaskStarted]
    seen: set[int] = set()

    def moody(state: State, event: Any) -> None:
        handler(state, event)
        state.jobs[event.job_id].tasks[event.task_id].restarts += id(state) in seen
        seen.add(id(state))

    patch.setitem(apply_module.HANDLERS, task.TaskStarted, moody)


@pytest.fixture(autouse=True)
def sound() -> None:
    """The common start of all runs is made before any bug is planted."""
    first_spool()


@pytest.mark.parametrize(
    ("plant", "rules", "seed"),
    [
        pytest.param(_leaks, "invariants", 0, id="a requeued task keeps its slots booked"),
        pytest.param(_puts(AttemptLog, "is_current", lambda *_: True), "attempts|once", 5, id="instructions in any order"),
        pytest.param(_puts(ReportSequencer, "accept", lambda *_: True), "calm|once", 0, id="reports in any order"),
        pytest.param(_leaves_behind, "left over", 5, id="a host gets no instruction to forget"),
        pytest.param(_does_not_sync, "restored|lost|doubled", 2, id="the spool is not synced"),
        pytest.param(_goes_on_with_a_full_disk, "restored|lost|window|doubled", 3, id="a full disk"),
        pytest.param(_commits_piecemeal, "doubled|restored|lost", 0, id="a commit in pieces"),
        pytest.param(_puts(Service, "durable", _at_once), "lost|restored|configuration", 0, id="answers before the commit"),
        pytest.param(_puts(IdempotentRequest, "answer", None), "doubled", 0, id="a request that comes again is done again"),
        pytest.param(_forgets_an_account, "lost|accounting", 0, id="a record is not written"),
        pytest.param(_puts(FollowedFile, "_last_row", lambda self: 0), "file", 0, id="the file has a record twice"),
        pytest.param(_puts(task_ends, "is_lost", lambda host, *_: not host.up), "slaves", 0, id="a new master waits for no host"),
        pytest.param(_ignores_holds, "hold", 0, id="holds are ignored"),
        pytest.param(_ignores_dependencies, "order", 0, id="dependencies are ignored"),
        pytest.param(_puts(dispatch, "task_limit", lambda *_: 0), "concurrency", 0, id="-tc is ignored"),
        pytest.param(_puts(job.JobChanged, "durable", False), "alteration|restored", 0, id="qalter is not in the journal"),
        pytest.param(_puts(configuration.ObjectSet, "durable", False), "configuration|restored", 0, id="a queue is not"),
        pytest.param(_puts(job.PendingTasksDeleted, "durable", False), "deleted|restored|doubled", 0, id="a deletion is not"),
        pytest.param(_puts(reservation.ReservationGranted, "durable", False), "window|restored|ends", 0, id="no reservation is"),
        pytest.param(_differs_in_a_mirror, "mirror|restored", 2, id="a mirror is not what the master is"),
        pytest.param(_puts(Dispatcher, "wake", lambda *_: None), "ends", 0, id="a host gets no instructions"),
        pytest.param(
            _puts(ReportSequencer, "is_first_of_life", lambda *_: True), "calm", 0, id="a host is configured again and again"
        ),
    ],
)  # fmt: skip
def test_a_planted_bug_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, plant: Plant, rules: str, seed: int) -> None:
    plant(monkeypatch)
    for each in range(seed, seed + SEEDS):
        _, broken = run_seed(tmp_path / "cell", each)
        if broken:
            assert broken.split(": ")[1] in rules.split("|"), broken
            return
    raise AssertionError(f"{SEEDS} seeds show nothing")
