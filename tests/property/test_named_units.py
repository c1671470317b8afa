"""Named units under a thousand random jobs: no unit has two tasks, and none is idle while a job that fits waits (adr/0320).

The real qmaster, scheduler and instructions on 16 hosts with eight units each; the hosts are stand-ins that fail at random.
"""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from gridengine.placement.unit_choice import free_shares
from gridengine.protocols.delivery import Inventory, Load
from gridengine.state.invariants import invariants
from tests.harness import LOAD, Cell

HOSTS, JOBS = 16, 1000
SLOTS = 6
MAPS = {"gpu": "4(0-3)", "card": "2(a b)", "nic": "2(x y)"}
CONSUMABLE = {"gpu": "YES", "card": "JOB", "nic": "HOST"}


class World:
    """A cell, and the events of its life. `dice`: decides everything."""

    def __init__(self, directory: Path, seed: int) -> None:
        self.dice = random.Random(seed)
        self.cell = Cell(directory, HOSTS, slots=SLOTS)
        self.boots = 1
        self.seen = Counter[str]()
        for name, consumable in CONSUMABLE.items():
            row = {"name": name, "shortcut": name, "type": "RSMAP", "relop": "<=", "requestable": "YES"}
            row |= {"consumable": consumable, "default": "0", "urgency": "0"}
            self._must(self.cell.admin("config_add", kind="complex", name=name, attributes=[(*pair, 1) for pair in row.items()]))
        self._must(self.cell.configure("scheduler", "", job_load_adjustments="NONE"))
        for pe, rule in (("fill", "$fill_up"), ("pair", "2")):
            self._must(self.cell.add("parallel_environment", pe, slots="999", allocation_rule=rule))
        self._must(self.cell.configure("cluster_queue", "all.q", pe_list="fill pair", load_thresholds="NONE", rerun="TRUE"))
        for host in self.cell.names:
            self._set_map(host, MAPS)

    @staticmethod
    def _must(answer: Any) -> None:
        assert answer.status == 0, answer.answers

    def _set_map(self, host: str, maps: dict[str, str]) -> None:
        text = ",".join(f"{name}={text}" for name, text in maps.items())
        self._must(self.cell.configure("exec_host", host, complex_values=text))

    # --- what happens ------------------------------------------------------------------------------------------------

    def submit(self) -> None:
        dice, fields = self.dice, dict[str, Any]()
        asked = dice.sample(sorted(MAPS), dice.choice((1, 1, 2)))
        fields["hard"] = [f"{name}={dice.choice((1, 1, 2))}" for name in asked]
        kind = dice.choices(("single", "array", "parallel"), (6, 2, 3))[0]
        if kind == "array":
            fields |= {"tasks": f"1-{dice.randint(2, 4)}"}
        elif kind == "parallel":
            fields |= {"pe": dice.choice(("fill", "pair")), "pe_range": dice.choice(("2", "4", "2-6"))}
        self.seen[kind] += 1
        self.cell.submit(**fields)

    def end(self) -> None:
        if self.cell.running:
            key = self.dice.choice(sorted(self.cell.running))
            status, failed = self.dice.choice(((0, 0), (0, 0), (1, 0), (99, 25)))
            self.seen[f"exit {status}"] += 1
            self.cell.end(key.job, key.task, exit_status=status, failed=failed)

    def give_up(self) -> None:
        """An operator deletes a task that its host does not report on."""
        if self.cell.running:
            key = self.dice.choice(sorted(self.cell.running))
            self.seen["given up"] += 1
            self.cell.admin("delete_jobs", targets=[f"{key.job}.{key.task}"], force=True)

    def lose_host(self) -> None:
        """A host loses its power, and comes back without its tasks."""
        host = self.dice.choice(self.cell.names)
        self.cell.master.lose_host(host)
        self.cell.master.flush()
        self.seen["host lost"] += 1
        self.cell.running = {key: name for key, name in self.cell.running.items() if name != host}
        self.boots += 1
        boot = f"boot{self.boots}"
        self.cell.report(host, Load(self.cell.now, dict(LOAD), full=True, incarnation=boot), Inventory([], boot))

    def change_map(self) -> None:
        """An administrator takes units away, or gives them back."""
        host = self.dice.choice(self.cell.names)
        self.seen["changed"] += 1
        self._set_map(host, {**MAPS, "gpu": self.dice.choice(("4(0-3)", "4(2-5)", "2(3 0)", "4(0-3)"))})

    def restart(self) -> None:
        self.seen["restart"] += 1
        self.cell.restart()
        for host in self.cell.names:
            self.cell.report(host, Load(self.cell.now, dict(LOAD), full=True, incarnation="boot1"))

    # --- what must hold ----------------------------------------------------------------------------------------------

    def check(self) -> None:
        """No unit is with two tasks, and each task has the units that it is charged with."""
        state, given = self.cell.state, Counter[tuple[str, str, str]]()
        for job in state.jobs.values():
            for task in job.placed:
                expected = Counter[tuple[str, str]]()
                slots = Counter[str]()
                for grant in task.granted:
                    slots[grant.host] += grant.slots
                for name, text in task.resources.items():
                    for host, number in slots.items():
                        times = {"YES": number, "JOB": host == task.host, "HOST": 1}[CONSUMABLE[name]]
                        expected[host, name] = int(text) * times
                assert Counter({(grant.host, grant.resource): len(grant.units) for grant in task.units}) == +expected
                given.update((grant.host, grant.resource, unit) for grant in task.units for unit in grant.units)
        assert all(number == 1 for number in given.values()), given.most_common(3)

    def check_idle(self) -> None:
        """After a run of the scheduler no job of one slot waits for a host that has a slot and the units."""
        state = self.cell.state
        free = {
            host: {name: sum(free_shares(state, host, name).values()) for name in MAPS}
            for host in self.cell.names
            if state.hosts[host].up and state.slots_used(f"all.q@{host}") < SLOTS and self._counts_agree(host)
        }
        for job in state.jobs.values():
            if job.pe or not (job.pending or any(task.waits and not task.paused_until for task in job.tasks.values())):
                continue
            fitting = [host for host, left in free.items() if all(left[name] >= int(text) for name, text in job.hard.items())]
            assert not fitting, f"job {job.id} ({job.hard}) waits, and fits on {fitting}"

    def _counts_agree(self, host: str) -> bool:
        """Whether no task there has a unit that was removed: such a unit counts, and leaves less than the names say."""
        state = self.cell.state
        listed = {name: set(free_shares(state, host, name)) | set(state.units_in_use.of(host, name)) for name in MAPS}
        configured = state.exec_hosts[host].complex_values
        return configured["gpu"] == "4(0-3)" and listed["gpu"] <= {"0", "1", "2", "3"}


@pytest.mark.parametrize("seed", [1, 2])
def test_no_unit_has_two_tasks_and_none_is_idle_while_a_job_that_fits_waits(tmp_path: Path, seed: int) -> None:
    world = World(tmp_path, seed)
    actions = (world.end, world.end, world.end, world.give_up, world.lose_host, world.change_map, world.restart)
    weights = (30, 30, 30, 6, 2, 2, 1)
    submitted = 0
    while submitted < JOBS // 2 or world.cell.running:
        for _ in range(world.dice.randint(1, 12) if submitted < JOBS // 2 else 0):
            world.submit()
            submitted += 1
        for _ in range(world.dice.randint(4, 14)):
            world.dice.choices(actions, weights)[0]()
        world.cell.now += world.dice.choice((1, 20, 100))
        world.cell.place()
        world.check()
        world.check_idle()
        world.cell.deliver()
        world.cell.starts.clear()
    broken = invariants(world.cell.state)
    assert not broken, broken
    assert min(world.seen[name] for name in ("single", "array", "parallel", "exit 99", "given up", "host lost", "changed")) > 2
