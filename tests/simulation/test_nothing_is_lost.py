"""A seeded simulation of the whole: lost and doubled messages, dead hosts, a master killed between any two steps.

The real decide, admit, apply and schedule run against simulated hosts and a clock of their own; the seed replays a run.
Promises checked: no acknowledged job is lost, no attempt runs twice, bookings equal what runs, the mirror equals the
master, and everything ends.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from daemons.execd.tries import Tries
from daemons.qmaster.decide.hosts import reports
from daemons.qmaster.decide.hosts.strays import Standing, standing
from daemons.qmaster.effects import pending_effects
from daemons.qmaster.serve import batches
from daemons.qmaster.serve.batches import Batches
from daemons.qmaster.serve.correspondence import Correspondence
from gridengine.delivery import Batch, Forget, OnTask
from gridengine.state import apply as apply_module
from gridengine.state.invariants import invariants
from gridengine.state.machines.task import TaskRequeued
from gridengine.state.state import State
from gridengine.task_key import SlaveKey, TaskKey
from tests.harness import Cell
from tests.simulation.simulated_host import SimulatedHost
from tests.simulation.simulated_network import Network

STEPS = 400
BREAKS, RUNS = 1000, 20
MASTER = "qmaster"


class Simulation:
    """One run. `accepted`: jobs that a client was told of, with their number of tasks."""

    def __init__(self, directory: Path, seed: int) -> None:
        self.random = random.Random(seed)
        self.cell = Cell(directory, hosts=3, slots=3)
        self.hosts = {name: SimulatedHost(name, directory) for name in self.cell.names}
        self.network = Network(self.random)
        self.begin_master()
        self.cell.configure("parallel_environment", "mpi", control_slaves="TRUE")
        self.cell.configure("configuration", "global", reschedule_unknown="0:0:3")
        self.accepted: dict[int, int] = {}
        self.deleted: set[int] = set()

    def run(self, steps: int = STEPS, without: tuple[str, ...] = ()) -> None:
        actions = [
            (self.submit, 12), (self.place, 16), (self.deliver, 30), (self.report, 30), (self.finish, 20),
            (self.delete, 3), (self.suspend, 3), (self.kill_master, 2), (self.kill_actor, 2), (self.power_off, 1),
            (self.toggle_queue, 2), (self.inherit, 10), (self.lose, 1),
        ]  # fmt: skip
        choices, weights = zip(*(each for each in actions if each[0].__name__ not in without), strict=True)
        for _ in range(steps):
            self.cell.now += self.random.choice((0.0, 0.1, 5.0))
            self.random.choices(choices, weights)[0]()
            for _ in range(self.random.randrange(6)):
                self.network.arrive()
            self.check()
        self.drain()

    # --- what happens --------------------------------------------------------------------------------------

    def submit(self) -> None:
        tasks = self.random.choice(("", "", "1-4", "2-6:2"))
        parallel = self.random.random() < 0.2
        fields = {"pe": "mpi", "pe_range": "2-4"} if parallel else {}
        rerun = self.random.choice((None, True, False))
        job = self.cell.submit(tasks=tasks, rerun=rerun, **fields)
        self.accepted[job] = {"": 1, "1-4": 4, "2-6:2": 3}[tasks]

    def place(self) -> None:
        self.cell.place()

    def begin_master(self) -> None:
        """What the memory of a qmaster that starts is: empty."""
        self.correspondence = Correspondence(self.cell.master.incarnation)
        self.batches = Batches(self.cell.master, self.correspondence.inventoried)

    def any_host(self) -> SimulatedHost:
        return self.random.choice(list(self.hosts.values()))

    def deliver(self, host: SimulatedHost | None = None, lossless: bool = False) -> None:
        """The qmaster tells a host what is pending, unless a call to it is open; some calls it takes for failed."""
        host = host or self.any_host()
        if (MASTER, host.name) in self.network.open and not lossless:
            if self.random.random() < 0.2:
                del self.network.open[MASTER, host.name]
            return
        batch = self.batches.compose(host.name)
        if batch.instructions:
            call = self.network.exchange if lossless else self.network.call
            call(MASTER, host.name, batch, lambda batch: host.obey(batch, self.cell.now), self.answered(host))

    def answered(self, host: SimulatedHost) -> Callable[[Batch, Batch], None]:
        def take(batch: Batch, answer: Batch) -> None:
            if not answer.refused:
                self.batches.answered(host.name, batch, answer.acknowledgements)
                self.cell.master.flush()

        return take

    def report(self, host: SimulatedHost | None = None, lossless: bool = False) -> None:
        """A host reports, unless a call of it is open."""
        host = host or self.any_host()
        if (host.name, MASTER) in self.network.open:
            if self.random.random() < 0.2 or lossless:
                del self.network.open[host.name, MASTER]
                host.failed()
            return
        call = self.network.exchange if lossless else self.network.call
        call(host.name, MASTER, host.letter(self.cell.now), lambda letter: self.hear(host.name, letter), host.heard)

    def hear(self, host: str, letter: Batch) -> Batch:
        """Reports arrive at the qmaster that is there now, as `Service.reports` takes them."""
        if not self.correspondence.takes(host, letter):
            return Batch(refused=True, master=self.cell.master.stamp, host=self.correspondence.last(host))
        verdicts = self.cell.report(host, *letter.reports)
        self.correspondence.taken(host, letter)
        return Batch(verdicts=verdicts, master=self.cell.master.stamp)

    def finish(self) -> None:
        host = self.random.choice(list(self.hosts.values()))
        if host.running:
            key = self.random.choice(sorted(host.running))
            status = self.random.choice((0, 0, 0, 1, 99))
            host.end(key, status, self.cell.now, failed=25 if status == 99 else 0)

    def delete(self) -> None:
        if self.cell.state.jobs:
            job = self.random.choice(sorted(self.cell.state.jobs))
            assert self.cell.ask("delete_jobs", targets=[str(job)]).status == 0
            self.deleted.add(job)

    def inherit(self) -> None:
        """The master of a parallel job starts a task on one of its hosts, as far as it may."""
        parallel = [job for job in self.cell.state.jobs.values() if any(task.pe for task in job.tasks.values())]
        if parallel:
            job = self.random.choice(sorted(parallel, key=lambda job: job.id))
            task = self.random.choice([task for task in job.tasks.values() if task.pe])
            host = self.random.choice(task.granted).host
            self.cell.ask("start_slave", job_id=job.id, task_id=task.id, host=host, command="work")

    def lose(self) -> None:
        """The qmaster thinks that a host is gone, and after a while gives up what ran there."""
        self.cell.master.lose_host(self.random.choice(list(self.hosts)))
        self.cell.pass_time(self.random.choice((0.0, 4.0)))

    def suspend(self) -> None:
        if self.cell.state.jobs:
            job = self.random.choice(sorted(self.cell.state.jobs))
            action = self.random.choice(("suspend", "unsuspend"))
            self.cell.ask("change_states", action=action, what="job", targets=[str(job)])

    def toggle_queue(self) -> None:
        action = self.random.choice(("disable", "enable", "enable", "suspend", "unsuspend", "unsuspend"))
        self.cell.admin("change_states", action=action, what="queue", targets=[self.random.choice(("all.q@h1", "*"))])

    def kill_master(self) -> None:
        if self.random.random() < 0.5:
            # decided, but not written: the client gets no answer, and nothing of it may remain
            request = {"binary": True, "script_file": "lost"}
            self.cell.undecided("submit", request)
        self.cell.restart()
        self.network.end(MASTER)
        self.begin_master()

    def kill_actor(self) -> None:
        host = self.any_host()
        host.restart()
        self.network.end(host.name)

    def power_off(self) -> None:
        host = self.any_host()
        host.power_off()
        self.network.end(host.name)

    # --- what must hold ------------------------------------------------------------------------------------

    def check(self) -> None:
        state = self.cell.state
        assert all(job.name != "lost" for job in state.jobs.values())
        assert invariants(state) == []
        for name, instance_config in state.configs.items():
            assert state.bookings.slots(name) <= instance_config.slots
        view = self.cell.mirror.view
        assert view is not None
        assert view.state.snapshot() == state.snapshot()
        executions = [key for host in self.hosts.values() for key in host.executions]
        assert len(executions) == len(set(executions)), "an attempt began twice"

    def drain(self) -> None:
        """With a world that works again, everything comes to its end."""
        self.cell.admin("change_states", action="enable", what="queue", targets=["*"])
        self.cell.admin("change_states", action="unsuspend", what="queue", targets=["*"])
        while self.network.under_way:
            self.network.arrive(lossless=True)
        for _ in range(400):
            self.cell.now += 1
            for host in self.hosts.values():
                for _ in range(2):
                    self.report(host, lossless=True)
                    self.deliver(host, lossless=True)
                for key in sorted(host.running):
                    assert self.known(key), f"{key} was left behind on {host.name}"
                    host.end(key, 0, self.cell.now)
            self.cell.place()
            self.check()
            if not self.cell.state.jobs:
                break
        assert self.cell.state.jobs == {}
        for job, tasks in self.accepted.items():
            ended = {record.task_number for record in self.cell.records(job) if record.pe_taskid == "NONE"}
            assert len(ended) == tasks or job in self.deleted, f"job {job}: {len(ended)} of {tasks} tasks accounted for"

    def known(self, key: TaskKey) -> bool:
        """Whether the master knows of what a host runs."""
        state = self.cell.state
        return (state.live_slave(key) if isinstance(key, SlaveKey) else state.task(*key.master)) is not None


@pytest.fixture(autouse=True)
def hosts_lose_no_writes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their disks are not waited for: a simulated power failure leaves whole files."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)
    monkeypatch.setattr(os, "fdatasync", lambda descriptor: None)


def simulate(directory: Path, seed: int, without: tuple[str, ...] = ()) -> int:
    """One run; how many messages came late, doubled or mixed up in it."""
    simulation = Simulation(directory / str(seed), seed)
    try:
        simulation.run(without=without)
    except AssertionError as error:
        error.add_note(f"seed {seed}")
        raise
    return simulation.network.breaks


@pytest.mark.statement("SP-3", "EX-9", "EX-10", "EX-11", "CX-46", "TI-5")
def test_nothing_is_lost_and_nothing_runs_twice(tmp_path: Path) -> None:
    """Through a thousand messages that come late, doubled or mixed up, and what else befalls both sides."""
    breaks, seed = 0, 0
    while breaks < BREAKS or seed < RUNS:
        breaks += simulate(tmp_path, seed)
        seed += 1


def test_the_simulation_catches_a_planted_bug(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A master that forgets to raise the attempt lets an attempt run twice; one that releases nothing leaks slots."""

    def leak(state: State, event: TaskRequeued) -> None:
        task = state.jobs[event.job_id].tasks[event.task_id]
        task.status, task.granted = "pending", []

    monkeypatch.setitem(apply_module.HANDLERS, TaskRequeued, leak)
    with pytest.raises(AssertionError):
        for seed in range(10):
            simulate(tmp_path, seed)


def test_the_simulation_sees_what_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A host hears by two ways that a try is over which it still runs: it is told to forget it, and its inventory is answered.
    Each makes good what the other misses; without both the try runs on, though nobody knows of it."""

    def not_told(*arguments: Any) -> Iterator[OnTask]:
        return (each for each in pending_effects(*arguments) if not isinstance(each, Forget))

    def not_answered(*arguments: Any, **named: Any) -> Standing:
        found = standing(*arguments, **named)
        return Standing.UNKNOWN if found is Standing.OVER else found

    monkeypatch.setattr(batches, "pending_effects", not_told)
    monkeypatch.setattr(reports, "standing", not_answered)
    with pytest.raises(AssertionError, match="was left behind on"):
        for seed in range(100, 110):
            # a try that ends by itself before the end of the run is nothing that is left
            simulate(tmp_path, seed, without=("finish",))


@pytest.mark.parametrize(
    ("owner", "defence", "off"),
    [
        pytest.param(Tries, "had", lambda *_: False, id="no record of tries"),
        pytest.param(Tries, "is_current", lambda *_: True, id="instructions in any order, of any master"),
        pytest.param(Correspondence, "takes", lambda *_: True, id="reports in any order, to any master"),
    ],
)
def test_the_simulation_sees_when_a_defence_is_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, owner: type, defence: str, off: Callable[..., bool]
) -> None:
    monkeypatch.setattr(owner, defence, off)
    with pytest.raises(AssertionError):
        for seed in range(60):
            simulate(tmp_path, seed)
