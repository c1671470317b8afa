"""Random reservations, jobs, failures and repairs: no resource is ever overbooked at any moment.

The check uses no time lines or ledgers: it adds up, for each moment at which anything starts, the use of running jobs and
reservations, and compares the sum with the configuration.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from gridengine.placement import timeline
from gridengine.placement.config_snapshot import Capacity, PlacementConfig
from gridengine.placement.granting import Granting
from gridengine.placement.timeline import Timeline
from gridengine.placement.use import UseWithReservations
from gridengine.protocols.delivery import Load
from gridengine.state.bookings import CLUSTER, Holder
from gridengine.state.jobs import Job
from gridengine.state.reservations import AdvanceReservation
from tests.harness import LOAD
from tests.unit.reservations.conftest import ReservingCell

FOREVER = float("inf")
SLOTS, LICENSES, DISK, PE_SLOTS = 3, 7, 5, 8
CLOSED = ((8 * 3600 + 1200, 8 * 3600 + 1500), (8 * 3600 + 2400, 8 * 3600 + 2460))
"""When the calendar of h3 is off, in seconds of the day; the clock begins at eight."""
Holding = tuple[float, float, str, float]
"""(begin, end, resource at an object, amount)"""


class World:
    """A cell and the dice that play its users, its hosts and its clock."""

    def __init__(self, directory: Path, seed: int) -> None:
        self.dice = random.Random(seed)
        self.latest = 0.0
        self.cell = ReservingCell(directory, hosts=3, slots=SLOTS)
        for line in ("lic INT <= YES YES 0", "disk INT <= YES JOB 0", "alone BOOL EXCL YES YES 0"):
            self.cell.complex(line)
        self.cell.configure("exec_host", "global", complex_values=f"lic={LICENSES}")
        for name in self.cell.names:
            self.cell.configure("exec_host", name, complex_values=f"disk={DISK},alone=true")
        self.cell.configure("parallel_environment", "mpi", slots=str(PE_SLOTS))
        self.cell.configure("scheduler", "", params="DURATION_OFFSET=0", max_reservation="4")
        self.cell.add("calendar", "lunch", week="mon-sun=8:20-8:25,8:40-8:41=off")
        self.cell.configure("cluster_queue", "all.q", calendar="NONE,[h3=lunch]")

    def step(self) -> None:
        dice, cell = self.dice, self.cell
        often = (self.reserve, self.submit, self.submit)
        dice.choice((*often, *often, self.delete, self.delete, self.trouble, self.alter))()
        self.check()
        cell.cycle()
        self.check()
        if dice.random() < 0.5:
            cell.now += dice.choice((1, 7, 30, 100))
            if dice.random() < 0.1:
                cell.set_clock(dice.choice((-100, -20, 50)))
            self.end_what_is_over()
            cell.wait(0)
            self.end_what_is_over()
            cell.cycle()
            self.check()

    def check(self) -> None:
        self.latest = max(self.latest, self.cell.now)
        check(self.cell, self.latest)

    def request(self) -> dict[str, object]:
        dice = self.dice
        fields: dict[str, object] = {}
        if dice.random() < 0.5:
            low = dice.randint(1, 4)
            fields |= {"pe": dice.choice(("mpi", "smp")), "pe_range": f"{low}-{low + dice.randint(0, 3)}"}
        hard = [f"{name}={dice.randint(1, 3)}" for name in ("lic", "disk") if dice.random() < 0.3]
        if dice.random() < 0.1:
            hard.append("alone=true")
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
        numbers = [number] if number % 3 else sorted(cell.state.reservations)[-3:]
        cell.ask("alter_reservations", targets=[str(each) for each in numbers], changes=changes)

    def submit(self) -> None:
        fields = self.request()
        live = [number for number, one in self.cell.state.reservations.items() if not one.ending]
        if live and self.dice.random() < 0.4:
            fields["ar"] = self.dice.choice(live)
            fields["verify"] = self.dice.choice(("n", "e"))
        fields["reserve"] = self.dice.random() < 0.4
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
        """Tasks at their run time limit, and tasks that are to be killed."""
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
    """All bookings from now on, by jobs and reservations."""
    state = cell.state
    for job in state.jobs.values():
        for task in job.tasks.values():
            if task.granted and job.ar not in state.reservations:
                yield from _of(task, task.start_time, task.start_time + limit_of(job))
    for one in state.reservations.values():
        if not one.ending:
            yield from _of(one, 0.0 if one.started else one.start_time, one.end_time)
    for promise in state.job_reservations:
        if promise.job_id in state.jobs and promise.task_id in state.jobs[promise.job_id].pending:
            yield from _of(promise, promise.start_time, promise.end_time)


def _of(holder: object, begin: float, end: float) -> Iterator[Holding]:
    granted, resources = holder.granted, holder.resources  # type: ignore[attr-defined]
    pe = holder.granted_pe if isinstance(holder, AdvanceReservation) else holder.pe  # type: ignore[attr-defined]
    for position, grant in enumerate(granted):
        yield begin, end, f"slots of {grant.instance}", grant.slots
        yield begin, end, "licenses", float(resources.get("lic", 0)) * grant.slots
        if pe:
            yield begin, end, f"slots of {pe}", grant.slots
        if not position:
            yield begin, end, f"disk of {grant.host}", float(resources.get("disk", 0))
        # an exclusive job counts a thousand of a capacity of a thousand: any other job exceeds it
        yield begin, end, f"solitude of {grant.host}", 1000.0 if "alone" in resources else 1.0


def capacity(what: str) -> float:
    if what == "licenses":
        return LICENSES
    if what.startswith("disk"):
        return DISK
    if what.startswith("solitude"):
        return 1000
    return SLOTS if "@" in what else PE_SLOTS if what.endswith("mpi") else 999


def check(cell: ReservingCell, latest: float) -> None:
    """No moment from now on is booked twice, the jobs of a reservation stay within it, closed queues are closed.

    latest: the latest time so far; a healed reservation had to be open from then on only.
    """
    held = [holding for holding in holdings(cell) if holding[1] > cell.now]
    for moment in {max(cell.now, begin) for begin, _, _, _ in held}:
        totals: Counter[str] = Counter()
        for begin, end, what, amount in held:
            if begin <= moment < end:
                totals[what] += amount  # type: ignore[assignment]
        for what, total in totals.items():
            assert total <= capacity(what), (what, total, moment - cell.now)
    for number, one in cell.state.reservations.items():
        check_inside(cell, number, one)
        if any(grant.host == "h3" for grant in one.granted):
            start = max(latest, one.start_time) if one.started else one.start_time
            day = start // 86400 * 86400
            assert not any(start < day + over and one.end_time > day + begin for begin, over in CLOSED), one


def check_inside(cell: ReservingCell, number: int, one: AdvanceReservation) -> None:
    inside: Counter[str] = Counter()
    for job_id in cell.state.reserved.jobs[number]:
        for task in cell.state.jobs[job_id].tasks.values():
            if task.granted:
                assert one.started
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


_READ = PlacementConfig.read


def _total_capacity(config_snapshot: PlacementConfig, holder: Holder) -> Capacity:
    capacity = _READ(config_snapshot, holder)
    shared = capacity.with_amounts(capacity.consumables)
    shared.exclusives = []
    return shared


#: bug -> a seed whose history shows it, and the bug; after a change of the world another seed may be needed
BUGS: dict[str, tuple[int, object, str, object]] = {
    "jobs ignore reservations": (0, UseWithReservations, "reserved_ahead", lambda *_: 0.0),
    "reservations ignore jobs": (4, Timeline, "_running", lambda self, holder: ()),
    "reservations ignore what waiting jobs are promised": (1, timeline, "is_still_waiting", lambda *_: False),
    "calendars are not asked": (1, Granting, "_calendar", lambda *_: None),
    "a clock that is set back takes away what has begun": (
        5, AdvanceReservation, "holds_from",
        property(lambda self: self.start_time),
    ),
    "nobody is alone": (0, PlacementConfig, "read", _total_capacity),
}


@pytest.mark.parametrize("bug", BUGS)
def test_the_check_finds_a_planted_bug(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bug: str) -> None:
    seed, *planted = BUGS[bug]
    monkeypatch.setattr(*planted)
    with pytest.raises(AssertionError):
        play(tmp_path, seed)


@pytest.mark.statement("AR-64", "AR-65")
def test_a_restart_at_any_moment_gives_the_same_state(tmp_path: Path) -> None:
    world = World(tmp_path, 77)
    for _ in range(25):
        world.step()
        before = world.cell.state
        world.cell.restart()
        after = world.cell.state
        assert after.reservations == before.reservations
        assert {n: held.at(CLUSTER) for n, held in after.reserved.used.items()} == {
            n: held.at(CLUSTER) for n, held in before.reserved.used.items()
        }
        assert after.reserved.jobs == before.reserved.jobs
        assert dict(after.bookings.at(CLUSTER)) == dict(before.bookings.at(CLUSTER))
        for name in world.cell.names:
            world.cell.report(name, Load(world.cell.now, dict(LOAD), full=True, incarnation="boot1"))
