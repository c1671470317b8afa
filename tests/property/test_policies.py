"""Laws of the policies, over random cells on virtual time: reservations, shares, decay of usage, work of resource quotas."""

from __future__ import annotations

import sys
from collections import Counter
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from daemons.simulator.replay import Replay
from daemons.simulator.trace import TracedJob, TraceFaults, in_order
from daemons.simulator.virtual_cell import VirtualCell
from daemons.simulator.virtual_master import Started
from gridengine.config import KINDS
from gridengine.placement.share_tree import ShareTree
from gridengine.state.configured.scheduler import SchedulerConfiguration
from gridengine.state.jobs import Usage
from gridengine.state.machines.configuration import ObjectSet
from gridengine.state.machines.usage import UsageCharged
from gridengine.state.share_usage import ShareUsage
from tests.builders import Cluster
from tests.unit.simulator.small_cell import BEGIN, Objects, configuration, job, replay

SETTINGS = settings(max_examples=25, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
WEEK_S = 7 * 86_400.0


class Promised(VirtualCell):
    """A cell that notes the reserved starts of the first waiting job in each run of the scheduler: job -> epoch s each."""

    def __init__(self, objects: Objects, now: float) -> None:
        self.promises: dict[int, list[float]] = {}
        super().__init__(objects, now)

    def cycle(self) -> list[Started]:
        started = super().cycle()
        waiting = [number for number, each in self.state.jobs.items() if each.pending]
        for reservation in self.state.job_reservations:
            if waiting and reservation.job_id == min(waiting):
                self.promises.setdefault(reservation.job_id, []).append(reservation.start_time)
        return started


JOBS = st.lists(
    st.tuples(
        st.integers(0, 300),  # submission
        st.integers(1, 6),  # slots
        st.integers(1, 200),  # run time
        st.sampled_from((1.0, 1.0, 1.5, 4.0)),  # caution of the estimate
        st.sampled_from((True, True, False)),  # asks for a reservation
    ),
    min_size=2,
    max_size=12,
)


def limited(number: int, at: int, slots: int, run_s: int, caution: float, reserve: bool) -> TracedJob:
    """A job that keeps its limit."""
    wide = {"pe": "mpi", "pe_range": str(slots)} if slots > 1 else {}
    return job(number, at, run_s, hard=[f"h_rt={int(run_s * caution)}"], reserve=reserve, **wide)


@pytest.mark.statement("SC-7", "SC-8")
@given(hosts=st.integers(1, 3), jobs=JOBS)
@SETTINGS
def test_no_reservation_of_the_first_job_is_delayed_by_jobs_that_keep_their_limits(
    hosts: int, jobs: list[tuple[int, int, int, float, bool]]
) -> None:
    cell = Promised(configuration(hosts, 2, max_reservation="50", weight_urgency="0"), BEGIN)
    ordered = sorted(jobs)
    trace = in_order([limited(number, *each) for number, each in enumerate(ordered, 1)], TraceFaults())
    outcome = Replay(cell, trace).run()
    starts = {run.number: run.start_time for run in outcome.runs}
    numbers = dict(enumerate((each.number for each in trace.jobs if each.number in starts), 1))
    for number, promised in cell.promises.items():
        assert promised == sorted(promised, reverse=True), (number, promised)
        assert starts[numbers[number]] <= promised[-1]


def shared(**scheduler: str) -> Objects:
    """One host with four slots, and two projects with shares 3:1."""
    objects = configuration(1, 4, weight_tickets_share="10000", weight_ticket="10", **scheduler)
    objects["project"] = {name: KINDS["project"].template(name).attributes() | {"name": name} for name in ("p1", "p2")}
    nodes = (("Root", 0, 1, "1,2"), ("p1", 1, 75, "NONE"), ("p2", 1, 25, "NONE"))
    tree = "\n".join(
        f"id={number}\nname={name}\ntype={kind}\nshares={shares}\nchildnodes={below}"
        for number, (name, kind, shares, below) in enumerate(nodes)
    )
    objects["share_tree"] = {"": {"nodes": tree}}
    return objects


@pytest.mark.statement("PR-14", "PR-6")
def test_two_projects_with_shares_of_three_to_one_use_the_cell_so_in_a_week() -> None:
    # enough for more than a week of both, in jobs of one to three hours
    jobs = [job(number, 0, 3600.0 * (1 + number % 3), project="p2" if number % 4 == 0 else "p1") for number in range(1, 481)]
    outcome = replay(shared(), *jobs)
    used: Counter[str] = Counter()
    for run in outcome.runs:
        used[run.project] += max(0.0, min(run.end_time, BEGIN + WEEK_S) - run.start_time)  # type: ignore[assignment]
    assert used["p1"] / (used["p1"] + used["p2"]) == pytest.approx(0.75, abs=0.02)


@pytest.mark.statement("PR-6", "PR-7")
@given(
    halftime=st.integers(0, 1000),
    listed=st.dictionaries(st.sampled_from(("cpu", "mem", "io")), st.integers(-1, 10_000)),
    ages=st.tuples(st.floats(0, 1e6), st.floats(0, 1e6)),
)
def test_usage_halves_with_each_half_life_of_its_kind(halftime: int, listed: dict[str, int], ages: tuple[float, float]) -> None:
    text = ":".join(f"{name}={value}" for name, value in listed.items()) or "none"
    attributes = KINDS["scheduler"].template().attributes()
    lives = SchedulerConfiguration.of({**attributes, "halftime": str(halftime), "halflife_decay_list": text}).half_lives_s
    whole = ShareUsage(0.0, 1000.0, 1000.0, 1000.0)
    at_once, in_steps = whole.at(sum(ages), lives), whole.at(ages[0], lives).at(sum(ages), lives)
    for name in ("cpu", "mem", "io"):
        life = 60 * listed[name] if name in listed else 3600 * halftime
        expected = 1000.0 if life == 0 else 0.0 if life < 0 else 1000.0 * 0.5 ** (sum(ages) / life)
        assert getattr(at_once, name) == pytest.approx(expected, abs=1e-6)
        assert getattr(in_steps, name) == pytest.approx(expected, abs=1e-6)


@pytest.mark.statement("PR-6")
@given(
    nodes=st.lists(st.tuples(st.integers(1, 100), st.floats(0, 1e6)), min_size=2, max_size=5),
    factor=st.sampled_from(("1", "1.5", "2", "5", "100")),
)
@SETTINGS
def test_a_node_gets_its_share_times_share_by_usage_up_to_the_compensation_factor(
    nodes: list[tuple[int, float]], factor: str
) -> None:
    users = [f"user{number}" for number in range(1, len(nodes) + 1)]
    cluster = Cluster(hosts=1)
    cluster.change("scheduler", "", halftime="0", compensation_factor=factor, weight_tickets_share="1000")
    below = ",".join(str(number) for number in range(1, len(nodes) + 1))
    rows = [("Root", 1, below), *((user, shares, "NONE") for user, (shares, _) in zip(users, nodes, strict=True))]
    tree = "\n".join(f"id={n}\nname={name}\ntype=0\nshares={s}\nchildnodes={c}" for n, (name, s, c) in enumerate(rows))
    for user, (_, used) in zip(users, nodes, strict=True):
        cluster.add("user", user)
        cluster.apply(UsageCharged([(user, "", Usage(cpu=used), cluster.now)]))
    cluster.apply(ObjectSet("share_tree", "", {"nodes": tree}))
    top = ShareTree(cluster.state, [cluster.job(owner=user) for user in users], cluster.now).top
    all_shares, all_used = (sum(column) for column in zip(*nodes, strict=True))
    expected = []
    for shares, used in nodes:
        part, part_used = shares / all_shares, used / all_used if all_used else 0.0
        expected.append(part * min(float(factor), part / part_used) if part_used else part * float(factor))
    for user, target in zip(users, expected, strict=True):
        assert top.below[user].short_target == pytest.approx(target / sum(expected), rel=1e-6)


def work_of_a_cycle(rules: int) -> int:
    """Calls of functions in a run of the scheduler that starts 60 jobs of 30 users and leaves others waiting."""
    objects = configuration(10, 6)
    if rules:
        limits = "\n".join(f"users user{number} to slots=1000" for number in range(rules))
        objects["resource_quota"] = {"by_user": KINDS["resource_quota"].template("by_user").attributes() | {"limit": limits}}
        objects["resource_quota"]["by_user"]["enabled"] = "TRUE"
    cell = VirtualCell(objects, BEGIN)
    jobs = [job(number, 0, 100, owner=f"user{70 + number % 30}") for number in range(1, 91)]
    calls = 0

    def count(frame: Any, event: str, argument: object) -> None:
        nonlocal calls
        calls += event == "call"

    original = cell.cycle

    def counted() -> list[Started]:
        sys.setprofile(count)
        try:
            return original()
        finally:
            sys.setprofile(None)

    cell.cycle = counted  # type: ignore[method-assign]
    outcome = Replay(cell, in_order(jobs, TraceFaults())).run()
    assert len(outcome.runs) == 90
    return calls


@pytest.mark.statement("RQ-1", "RQ-2")
def test_a_hundred_rules_of_quotas_at_most_double_the_work_of_the_scheduler() -> None:
    assert work_of_a_cycle(rules=100) <= 2 * work_of_a_cycle(rules=0)
