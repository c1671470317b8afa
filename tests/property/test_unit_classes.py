"""Units with attributes, slices and places under a thousand random jobs (adr/0340): each job gets units that fit its
requests, no unit and slice of it are in use together, none is given while its device fails, and none is idle while a job that
fits waits.

The world of `test_named_units`, whose GPUs have properties; free units are counted by name here, not by class.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from gridengine.placement.unit_choice import free_shares
from gridengine.protocols.delivery import Load
from gridengine.protocols.devices import Device
from gridengine.state.invariants import invariants
from tests.harness import LOAD
from tests.property.test_named_units import JOBS, MAPS, SLOTS, World

WHOLES = {str(number): (40 if number < 4 else 80, "a100" if number < 4 else "h100", number % 2) for number in range(8)}
SLICES = {f"{whole}{part}": (20, "h100", int(whole) % 2) for whole in "67" for part in "abc"}
UNITS = WHOLES | SLICES
LISTED = " ".join(
    f"gpu/{unit}(gpu_mem={memory}G gpu_type={kind} numa_node={node} identifier=GPU-{unit}"
    f"{f' parent={unit[0]}' if unit in SLICES else ''})"
    for unit, (memory, kind, node) in UNITS.items()
)
MAP = f"gpu={len(UNITS)}({' '.join(UNITS)})"
COMPLEXES = {"gpu_mem": ("MEMORY", "<="), "gpu_type": ("RESTRING", "=="), "gpu_near": ("BOOL", "==")}


class UnitsWorld(World):
    """The same with properties of GPUs, and requests for them."""

    def __init__(self, directory: Path, seed: int) -> None:
        super().__init__(directory, seed)
        for name, (kind, relop) in COMPLEXES.items():
            row = {"name": name, "shortcut": name, "type": kind, "relop": relop, "requestable": "YES", "consumable": "NO"}
            row |= {"default": "NONE" if kind == "RESTRING" else "0", "urgency": "0"}
            attributes = [(*pair, 1) for pair in row.items()]
            self._must(self.cell.admin("config_add", kind="complex", name=name, attributes=attributes))
        self._must(self.cell.configure("scheduler", "", max_reservation="5", default_duration="1:0:0"))
        for host in self.cell.names:
            self._must(self.cell.configure("exec_host", host, complex_values=f"{MAP},card={MAPS['card']},nic={MAPS['nic']}"))
            self._must(self.cell.add("host_units", host, units=LISTED))

        self.failing = {host: set[str]() for host in self.cell.names}
        self.known = set[tuple[int, int, int]]()

    def fail_device(self) -> None:
        """A GPU fails with its slices, or all GPUs of a host are healthy again."""
        host = self.dice.choice(self.cell.names)
        if self.failing[host] and self.dice.random() < 0.4:
            self.failing[host].clear()
            self.seen["opened"] += 1
        else:
            self.failing[host].add(self.dice.choice(sorted(WHOLES)))
            self.seen["closed"] += 1
        self._report_devices(host)

    def restart(self) -> None:
        """Hosts report their devices to a new master at once."""
        super().restart()
        for host in self.cell.names:
            self._report_devices(host)

    def _report_devices(self, host: str) -> None:
        devices = [
            Device("nvidia", number, f"GPU-{unit}", fault="XID 79" if unit[0] in self.failing[host] else "")
            for number, unit in enumerate(UNITS)
        ]
        self.cell.report(host, Load(self.cell.now, dict(LOAD), devices=devices))

    def submit(self) -> None:
        dice, fields = self.dice, dict[str, Any]()
        hard = [f"gpu={dice.choice((1, 1, 1, 2, 3))}"]
        hard += [f"gpu_mem={dice.choice(('10G', '30G', '60G'))}"] * dice.randint(0, 1)
        hard += [f"gpu_type={dice.choice(('a100', 'h*', 'a100|h100'))}"] * (not dice.randint(0, 2))
        hard += ["gpu_near=TRUE"] * (not dice.randint(0, 3))
        kind = dice.choices(("single", "array", "parallel"), (6, 2, 3))[0]
        if kind == "array":
            fields |= {"tasks": f"1-{dice.randint(2, 4)}"}
        elif kind == "parallel":
            fields |= {"pe": dice.choice(("fill", "pair")), "pe_range": dice.choice(("2", "4", "2-6"))}
        self.seen[kind] += 1
        soft = ["gpu_type=h100"] * (not dice.randint(0, 4))
        self.cell.submit(hard=hard, soft=soft, reserve=not dice.randint(0, 20), **fields)

    def check(self) -> None:
        """No unit is with two tasks or together with its slices; each satisfies the requests of its job."""
        state, given = self.cell.state, Counter[tuple[str, str]]()
        for job in state.jobs.values():
            for task in job.placed:
                slots = Counter[str]()
                for grant in task.granted:
                    slots[grant.host] += grant.slots
                for units in task.units:
                    assert len(units.units) == int(job.hard["gpu"]) * slots[units.host]
                    assert set(units.units) <= suiting(job.hard), (job.hard, units)
                    if "gpu_near" in job.hard and slots[units.host] == 1:
                        assert len({UNITS[unit][2] for unit in units.units}) == 1, units
                    given.update((units.host, unit) for unit in units.units)
                    if (job.id, task.id, task.attempt) not in self.known:
                        assert not self.failing[units.host] & {unit[0] for unit in units.units}, (units, self.failing[units.host])
        self.known |= {(job.id, task.id, task.attempt) for job in state.jobs.values() for task in job.placed}
        assert all(number == 1 for number in given.values()), given.most_common(3)
        assert not [pair for pair in given if pair[1] in SLICES and (pair[0], pair[1][0]) in given]

    def check_idle(self) -> None:
        state = self.cell.state
        if state.job_reservations:
            return  # a unit may be kept for a job of -R y
        free = {
            host: {unit for unit in free_shares(state, host, "gpu") if unit[0] not in self.failing[host]}
            for host in self.cell.names
            if state.hosts[host].up and state.slots_used(f"all.q@{host}") < SLOTS
        }
        for job in state.jobs.values():
            if job.pe or not (job.pending or any(task.waits and not task.paused_until for task in job.tasks.values())):
                continue
            fitting = [host for host, units in free.items() if most(units & suiting(job.hard), job.hard) >= int(job.hard["gpu"])]
            assert not fitting, f"job {job.id} ({job.hard}) waits, and fits on {fitting}: {free[fitting[0]]}"


def suiting(hard: dict[str, str]) -> set[str]:
    """The units that satisfy the requests of a job."""
    memory = int(hard.get("gpu_mem", "0G")[:-1])
    kinds = {"a100": {"a100"}, "h*": {"h100"}}.get(hard.get("gpu_type", ""), {"a100", "h100"})
    return {unit for unit, (size, kind, _) in UNITS.items() if size >= memory and kind in kinds}


def most(units: set[str], hard: dict[str, str]) -> int:
    """The greatest number of these units that one task can have, on one NUMA node if the job demands that."""
    sums = Counter[int]()
    for whole, (_, _, node) in WHOLES.items():
        slices = sum(unit in units for unit in SLICES if unit[0] == whole)
        sums[node] += max(slices, whole in units)
    return max(sums.values()) if "gpu_near" in hard else sum(sums.values())


@pytest.mark.parametrize("seed", [1, 2])
def test_jobs_get_units_that_satisfy_them_and_none_is_idle_while_a_job_that_fits_waits(tmp_path: Path, seed: int) -> None:
    world = UnitsWorld(tmp_path, seed)
    actions = (world.end, world.end, world.end, world.give_up, world.lose_host, world.restart, world.fail_device)
    weights = (30, 30, 30, 6, 2, 1, 4)
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
    assert not invariants(world.cell.state)
    kinds = ("single", "array", "parallel", "exit 99", "given up", "host lost", "closed", "opened")
    assert min(world.seen[name] for name in kinds) > 2
