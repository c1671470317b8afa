"""A transaction is all or none, in memory and on disk: a transaction that cannot be applied, by a bug, leaves nothing behind."""

from __future__ import annotations

import pytest

from daemons.qmaster.decide.configuration.proposal import Proposal
from daemons.qmaster.decision import Decision
from daemons.qmaster.master import DAEMON
from gridengine.config import KINDS
from gridengine.protocols.delivery import UsageReport
from gridengine.state.events import AnyEvent
from gridengine.state.jobs import Tickets, Usage
from gridengine.state.machines.event import InvalidTransitionError
from gridengine.state.machines.job import HoldsChanged, PrioritiesSet
from gridengine.values.ranges import Ranges
from tests.harness import Cell


def broken(job: int) -> list[AnyEvent]:
    """Events of which the second cannot be applied: there is no such job."""
    return [HoldsChanged(job, Ranges.of([1]), set_holds=1), HoldsChanged(99, Ranges.of([1]), set_holds=1)]


def derived(cell: Cell) -> dict[str, object]:
    """Data derived from the state, and data in no snapshot."""
    state = cell.state
    used = {name: state.slots_used(name) for name in state.instances}
    return {
        "used": used,
        "where": {host: keys for host, keys in state.tasks_on.items() if keys},
        "waiting": {job: others for job, others in state.dependents.items() if others},
        "priorities": state.priorities,
        "tickets": state.tickets,
    }


def busy(cell: Cell) -> int:
    """A running job with usage, and a job that waits for it, which is returned; load and priorities are known."""
    running = cell.submit(name="running")
    cell.cycle()
    key = next(iter(cell.running))
    cell.report(cell.running[key], UsageReport(key, Usage(cpu=12.0)))
    waiting = cell.submit(hold_jid=[str(running)])
    orders = PrioritiesSet({waiting: (0.5, 0.5, 0.0, 0.0)}, {waiting: Tickets(1.0, 2.0, 3.0)})
    cell.master.record(Decision(events=[orders]), DAEMON)
    cell.master.flush()
    return waiting


def test_a_transaction_that_fails_half_way_changes_nothing(cell: Cell, caplog: pytest.LogCaptureFixture) -> None:
    job = busy(cell)
    # what was decided before it and is not written yet stays
    cell.undecided("submit", {"binary": True, "script_file": "/bin/sleep", "name": "before"})
    snapshot, other = cell.state.snapshot(), derived(cell)
    with pytest.raises(InvalidTransitionError):
        cell.master.record(Decision(events=broken(job)), DAEMON)
    assert cell.state.snapshot() == snapshot
    assert derived(cell) == other
    assert "could not be applied" in caplog.text and "InvalidTransitionError" in caplog.text
    cell.master.flush()
    cell.restart()
    assert not cell.state.jobs[job].holds, "some of it is on disk"
    assert cell.state.jobs[job + 1].name == "before"


def test_the_cell_goes_on_after_it(cell: Cell) -> None:
    """The scheduler's mirror, which was told nothing, is still like the state, and the next requests are served."""
    job = busy(cell)
    with pytest.raises(InvalidTransitionError):
        cell.master.record(Decision(events=broken(job)), DAEMON)
    another = cell.submit()
    cell.cycle()
    assert cell.placed(another)
    assert cell.state.snapshot() == cell.mirror.view.state.snapshot()  # type: ignore[union-attr]


def test_consequences_by_rule_belong_to_the_transaction(cell: Cell, monkeypatch: pytest.MonkeyPatch) -> None:
    """A change of the configuration is undone when its consequences cannot be computed."""
    snapshot, revision = cell.state.snapshot(), cell.state.revision

    def fails(*_arguments: object) -> list[AnyEvent]:
        raise ValueError("a bug")

    monkeypatch.setattr("daemons.qmaster.rules.subordination.concerned_hosts", fails)
    with pytest.raises(ValueError, match="a bug"):
        cell.configure("cluster_queue", "all.q", priority="5")
    assert cell.state.snapshot() == snapshot and cell.state.revision == revision
    assert not cell.master.pending


def test_every_change_of_a_configuration_but_the_last_marks_that_more_follow(cell: Cell) -> None:
    proposal = Proposal(cell.state)
    for user in ("alice", "bob"):
        proposal.set_attributes("user", user, KINDS["user"].template(user).attributes())
    assert [(event.name, event.more) for event in proposal.events()] == [("alice", True), ("bob", False)]  # type: ignore[union-attr]
    for queue in ("smp", "mpi"):
        proposal.remove("parallel_environment", queue)
    assert [event.more for event in proposal.events()] == [True, True, True, False]  # type: ignore[union-attr]


def test_an_ended_job_keeps_the_priority_that_it_had(cell: Cell) -> None:
    """The journal does not have it, so a reload would give another state."""
    job = cell.submit()
    cell.cycle()
    cell.end(job)
    (before,) = cell.state.finished
    assert before.priority > 0
    with pytest.raises(InvalidTransitionError):
        cell.master.record(Decision(events=broken(cell.submit())), DAEMON)
    assert [(each.id, each.priority) for each in cell.state.finished] == [(job, before.priority)]
