"""A seeded simulation of the whole: lost and doubled messages, dead hosts, a master killed between any two steps.

The real decide, admit, apply and schedule run against simulated hosts and a clock of their own; the seed replays a run.
Promises checked: no acknowledged job is lost, no attempt runs twice, bookings equal what runs, the mirror equals the
master, and everything ends.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from daemons.qmaster.decide.slaves import SLAVE_KEY, live_slave
from daemons.qmaster.effects import pending_effects
from gridengine.delivery import Load
from gridengine.state import apply as apply_module
from gridengine.state import events as ev
from gridengine.state.bookings import Bookings
from gridengine.state.jobs import Job, Task, TaskKey, try_of
from gridengine.state.state import State
from tests.harness import LOAD, Cell
from tests.simulation.simulated_host import SimulatedHost

STEPS = 120


class Simulation:
    """One run. `accepted`: jobs that a client was told of, with their number of tasks."""

    def __init__(self, directory: Path, seed: int) -> None:
        self.random = random.Random(seed)
        self.cell = Cell(directory, hosts=3, slots=3)
        self.hosts = {name: SimulatedHost(name) for name in self.cell.names}
        self.cell.configure("parallel_environment", "mpi", control_slaves="TRUE")
        self.cell.configure("configuration", "global", reschedule_unknown="0:0:3")
        self.accepted: dict[int, int] = {}
        self.deleted: set[int] = set()

    def run(self, steps: int = STEPS) -> None:
        actions = [
            (self.submit, 6), (self.place, 8), (self.deliver, 10), (self.report, 10), (self.finish, 8),
            (self.delete, 2), (self.suspend, 2), (self.kill_master, 2), (self.power_off, 1), (self.toggle_queue, 1),
            (self.inherit, 6), (self.lose, 1),
        ]  # fmt: skip
        choices, weights = zip(*actions, strict=True)
        for _ in range(steps):
            self.cell.now += self.random.choice((0.0, 0.1, 5.0))
            self.random.choices(choices, weights)[0]()
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

    def deliver(self) -> None:
        host = self.random.choice(list(self.hosts.values()))
        if host.inventory_due:
            return  # a host takes no instruction before its inventory was answered
        instructions = pending_effects(self.cell.state, host.name, self.cell.master.spool.payload)
        answers = host.obey(instructions, self.cell.now)
        if self.random.random() < 0.8:
            self.cell.master.acknowledgements(host.name, instructions, answers)
            self.cell.master.flush()

    def report(self, lossless: bool = False) -> None:
        host = self.random.choice(list(self.hosts.values()))
        self._report(host, lossless)

    def _report(self, host: SimulatedHost, lossless: bool = False) -> None:
        reports = [Load(self.cell.now, dict(LOAD), full=True, incarnation=f"boot{host.boot}"), *host.reports()]
        fate = 1.0 if lossless else self.random.random()
        if fate < 0.1:
            return
        verdicts = self.cell.report(host.name, *reports)
        if fate < 0.2:
            verdicts = self.cell.report(host.name, *reports)
        if fate >= 0.3:
            host.acknowledged(reports, verdicts)

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
        action = self.random.choice(("disable", "enable", "suspend", "unsuspend"))
        self.cell.admin("change_states", action=action, what="queue", targets=[self.random.choice(("all.q@h1", "*"))])

    def kill_master(self) -> None:
        if self.random.random() < 0.5:
            # decided, but not written: the client gets no answer, and nothing of it may remain
            request = {"binary": True, "script_file": "lost"}
            self.cell.undecided("submit", request)
        self.cell.restart()
        for host in self.hosts.values():
            host.inventory_due = True

    def power_off(self) -> None:
        host = self.random.choice(list(self.hosts.values()))
        host.power_off()

    # --- what must hold ------------------------------------------------------------------------------------

    def check(self) -> None:
        state = self.cell.state
        assert all(job.name != "lost" for job in state.jobs.values())
        assert_bookings(state)
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
        for _ in range(400):
            self.cell.now += 1
            for host in self.hosts.values():
                self._report(host, lossless=True)
                instructions = pending_effects(self.cell.state, host.name, self.cell.master.spool.payload)
                self.cell.master.acknowledgements(host.name, instructions, host.obey(instructions, self.cell.now))
                self.cell.master.flush()
                for key in sorted(host.running):
                    assert self.known(key), f"{key} was left behind on {host.name}"
                    host.end(key, 0, self.cell.now)
            self.cell.place()
            self.check()
            if not self.cell.state.jobs:
                break
        assert self.cell.state.jobs == {}
        for job, tasks in self.accepted.items():
            ended = {record[35] for record in self.cell.records(job) if record[41] == "NONE"}
            assert len(ended) == tasks or job in self.deleted, f"job {job}: {len(ended)} of {tasks} tasks accounted for"


    def known(self, key: TaskKey) -> bool:
        """Whether the master knows of what a host runs."""
        state = self.cell.state
        return (state.task(*try_of(key)) if len(key) < SLAVE_KEY else live_slave(state, key)) is not None


def assert_bookings(state: State) -> None:
    """The sums that are kept equal the sums over the tasks that are there."""
    fresh = Bookings()
    for job in state.jobs.values():
        for task in job.tasks.values():
            fresh.charge(task, state.per_job)
    assert {name: sums for name, sums in state.bookings.instances.items() if sums} == dict(fresh.instances)
    assert state.bookings.cluster == fresh.cluster


@pytest.mark.statement("SP-3", "EX-9", "EX-10", "EX-11", "CX-46", "TI-5")
@pytest.mark.parametrize("seed", range(25))
def test_nothing_is_lost_and_nothing_runs_twice(tmp_path: Path, seed: int) -> None:
    Simulation(tmp_path, seed).run()


def test_the_simulation_catches_a_planted_bug(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A master that forgets to raise the attempt lets an attempt run twice; one that releases nothing leaks slots."""

    def leak(state: State, event: ev.TaskRequeued) -> None:
        task = state.jobs[event.job_id].tasks[event.task_id]
        task.status, task.granted = "pending", []

    monkeypatch.setitem(apply_module.HANDLERS, ev.TaskRequeued, leak)
    with pytest.raises(AssertionError):
        for seed in range(10):
            Simulation(tmp_path / str(seed), seed).run()


def test_the_simulation_sees_what_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An end of a try that forgets its slave tasks leaves them running on their hosts."""

    def forget(state: State, job: Job, task: Task) -> None:
        task.slaves = {}

    monkeypatch.setattr(apply_module, "abandon_slaves", forget)
    with pytest.raises(AssertionError, match="left behind"):
        for seed in (0, 17, *range(100, 120)):
            Simulation(tmp_path / str(seed), seed).run()
