"""Whatever is reserved, submitted, broken and mended: no moment of any resource is ever given away twice.

The check knows nothing of time lines or ledgers: it adds up, for each moment at which anything begins, what running jobs
and reservations hold there, and compares with what is configured.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from gridengine.delivery import Load
from gridengine.placement.ledger import Ledger
from gridengine.placement.timeline import Timeline
from gridengine.state.jobs import Job, Task
from tests.harness import LOAD
from tests.unit.reservations.conftest import ReservingCell

FOREVER = float("inf")
SLOTS, LICENSES, DISK, PE_SLOTS = 3, 7, 5, 8
Holding = tuple[float, float, str, float]
"""(begin, end, resource at an object, amount)"""


class World:
    """A cell and the dice that play its users, its hosts and its clock."""

    def __init__(self, directory: Path, seed: int) -> None:
        self.dice = random.Random(seed)
        self.cell = ReservingCell(directory, hosts=3, slots=SLOTS)
        for line in ("lic INT <= YES YES 0", "disk INT <= YES JOB 0"):
            self.cell.complex(line)
        self.cell.configure("exec_host", "global", complex_values=f"lic={LICENSES}")
        for name in self.cell.names:
            self.cell.configure("exec_host", name, complex_values=f"disk={DISK}")
        self.cell.configure("parallel_environment", "mpi", slots=str(PE_SLOTS))

    def step(self) -> None:
        dice, cell = self.dice, self.cell
        often = (self.reserve, self.submit, self.submit)
        dice.choice((*often, *often, self.delete, self.delete, self.trouble, self.alter))()
        cell.cycle()
        check(cell)
        if dice.random() < 0.5:
            cell.now += dice.choice((1, 7, 30, 100))
            self.end_what_is_over()
            cell.wait(0)
            self.end_what_is_over()
            cell.cycle()
            check(cell)

    def request(self) -> dict[str, object]:
        dice = self.dice
        fields: dict[str, object] = {}
        if dice.random() < 0.5:
            low = dice.randint(1, 4)
            fields |= {"pe": dice.choice(("mpi", "smp")), "pe_range": f"{low}-{low + dice.randint(0, 3)}"}
        hard = [f"{name}={dice.randint(1, 3)}" for name in ("lic", "disk") if dice.random() < 0.3]
        return fields | {"hard": hard}

    def reserve(self) -> None:
        fields, dice = self.request(), self.dice
        if dice.random() < 0.3:
            fields["latest"] = self.cell.now + 500
        if dice.random() < 0.1:
            fields["rule"] = "FREQ=MINUTELY;INTERVAL=6;COUNT=3"
        fields |= {"heal": dice.random() < 0.5, "idle_limit": dice.choice((0, 0, 30))}
        self.cell.request(at=dice.choice((0, 5, 50, 200)), duration=dice.choice((10, 60, 300)), **fields)

    def alter(self) -> None:
        dice, cell = self.dice, self.cell
        if not cell.state.reservations:
            return
        changes = dice.choice(({"end_time": cell.now + dice.randint(1, 500)}, {"duration": 100}, self.request()))
        if dice.random() < 0.3:
            changes["start_time"] = cell.now + dice.randint(0, 100)
        number = dice.choice(list(cell.state.reservations))
        cell.ask("alter_reservations", targets=[str(number)], changes=changes)

    def submit(self) -> None:
        fields = self.request()
        live = [number for number, one in self.cell.state.reservations.items() if not one.ending]
        if live and self.dice.random() < 0.4:
            fields["ar"] = self.dice.choice(live)
            fields["verify"] = self.dice.choice(("n", "e"))
        if self.dice.random() < 0.8:
            fields["hard"] = [*fields["hard"], f"h_rt={self.dice.choice((3, 20, 120))}"]  # type: ignore[misc]
        self.cell.ask("submit", binary=True, script_file="/bin/true", **fields)

    def delete(self) -> None:
        if self.cell.state.reservations and self.dice.random() < 0.3:
            self.cell.qdel_ar(self.dice.choice(list(self.cell.state.reservations)))
        elif self.cell.running and self.dice.random() < 0.7:
            self.cell.end(*self.dice.choice(list(self.cell.running))[:2])

    def trouble(self) -> None:
        host = self.dice.choice(self.cell.names)
        if self.cell.state.hosts[host].up and self.dice.random() < 0.5:
            self.cell.master.lose_host(host)
        else:
            self.cell.report(host, Load(self.cell.now, dict(LOAD), full=True))
        action = self.dice.choice(("enable", "enable", "disable", "suspend", "unsuspend"))
        self.cell.admin("change_states", action=action, what="queue", targets=[f"all.q@{host}"])

    def end_what_is_over(self) -> None:
        """Tasks at their run time limit, and those that are to be killed."""
        state = self.cell.state
        limits = {start.key: start.time_limit or FOREVER for start in self.cell.starts}
        for key in list(self.cell.running):
            task = state.task(*key)
            if task is None:
                continue
            limit = min(limits[key], limit_of(state.jobs[key[0]]))
            if task.deleted_by or task.start_time + limit <= self.cell.now:
                self.cell.end(*key[:2])


def limit_of(job: Job) -> float:
    return float(job.hard.get("h_rt", "inf"))


def holdings(cell: ReservingCell) -> Iterator[Holding]:
    """What is held, by whom ever, from now on."""
    state = cell.state
    for job in state.jobs.values():
        for task in job.tasks.values():
            if task.granted and job.ar not in state.reservations:
                yield from _of(task, task.start_time, task.start_time + limit_of(job))
    for one in state.reservations.values():
        if not one.ending:
            yield from _of(one, one.start_time, one.end_time)


def _of(holder: object, begin: float, end: float) -> Iterator[Holding]:
    granted, resources = holder.granted, holder.resources  # type: ignore[attr-defined]
    pe = holder.pe if isinstance(holder, Task) else holder.granted_pe  # type: ignore[attr-defined]
    for position, grant in enumerate(granted):
        yield begin, end, f"slots of {grant.instance}", grant.slots
        yield begin, end, "licenses", float(resources.get("lic", 0)) * grant.slots
        if pe:
            yield begin, end, f"slots of {pe}", grant.slots
        if not position:
            yield begin, end, f"disk of {grant.host}", float(resources.get("disk", 0))


def capacity(what: str) -> float:
    if what == "licenses":
        return LICENSES
    if what.startswith("disk"):
        return DISK
    return SLOTS if "@" in what else PE_SLOTS if what.endswith("mpi") else 999


def check(cell: ReservingCell) -> None:
    """No moment from now on is given away twice, and the jobs of a reservation keep to what it holds."""
    held = [holding for holding in holdings(cell) if holding[1] > cell.now]
    for moment in {max(cell.now, begin) for begin, _, _, _ in held}:
        totals: Counter[str] = Counter()
        for begin, end, what, amount in held:
            if begin <= moment < end:
                totals[what] += amount  # type: ignore[assignment]
        for what, total in totals.items():
            assert total <= capacity(what), (what, total, moment - cell.now)
    for number, one in cell.state.reservations.items():
        inside: Counter[str] = Counter()
        for job_id in cell.state.reserved.jobs[number]:
            for task in cell.state.jobs[job_id].tasks.values():
                if task.granted:
                    assert one.started and task.start_time >= one.start_time
                    for grant in task.granted:
                        inside[grant.instance] += grant.slots
        for grant in one.granted:
            assert inside.pop(grant.instance, 0) <= grant.slots
        assert not inside


def play(directory: Path, seed: int, steps: int = 150) -> World:
    world = World(directory, seed)
    for _ in range(steps):
        world.step()
    return world


@pytest.mark.statement("AR-38", "AR-39", "AR-40", "AR-41", "AR-42", "AR-47", "AR-49", "AR-92")
@pytest.mark.parametrize("seed", range(10))
def test_no_moment_is_given_away_twice(tmp_path: Path, seed: int) -> None:
    world = play(tmp_path, seed)
    assert world.cell.state.next_ar_id > 5, "the dice must have reserved something"
    assert len(world.cell.starts) > 5


@pytest.mark.parametrize("bug", ["jobs ignore reservations", "reservations ignore jobs"])
def test_the_check_finds_a_planted_bug(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bug: str) -> None:
    if bug == "jobs ignore reservations":
        monkeypatch.setattr(Ledger, "ahead", lambda *_: 0.0)
    else:
        monkeypatch.setattr(Timeline, "_running", lambda self, where: iter(()))
    with pytest.raises(AssertionError):
        for seed in range(10):
            directory = tmp_path / str(seed)
            directory.mkdir()
            play(directory, seed)


@pytest.mark.statement("AR-64", "AR-65")
def test_a_restart_at_any_moment_gives_the_same_state(tmp_path: Path) -> None:
    world = World(tmp_path, 77)
    for _ in range(25):
        world.step()
        before = world.cell.state
        world.cell.restart()
        after = world.cell.state
        assert after.reservations == before.reservations
        assert {n: held.cluster for n, held in after.reserved.used.items()} == {
            n: held.cluster for n, held in before.reserved.used.items()
        }
        assert after.reserved.jobs == before.reserved.jobs
        assert dict(after.bookings.cluster) == dict(before.bookings.cluster)
        for name in world.cell.names:
            world.cell.report(name, Load(world.cell.now, dict(LOAD), full=True, incarnation="boot1"))
