"""Random clusters, jobs and events: no instance is overbooked, caches change nothing, refusals and grants agree.

The planted bugs that these catch: a candidate heap that does not get a freed instance; a category that forgets to charge.
"""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from daemons.schedd.candidate_heap import CandidateHeap
from daemons.schedd.cycle import schedule
from daemons.schedd.view import View
from gridengine.placement.config_snapshot import PlacementConfig
from gridengine.placement.ledger import Ledger
from gridengine.placement.match import static_refusal, use_refusal
from gridengine.placement.obstacles import obstacle
from gridengine.placement.placement_request import Request
from gridengine.placement.quotas import bookings_of, limit_value, rule_name, rule_of
from gridengine.placement.spread import grants_fit
from gridengine.placement.verify import verify
from gridengine.protocols.orders import Orders
from gridengine.state.bookings import Holder
from gridengine.state.machines.configuration import ObjectRemoved, ObjectSet
from gridengine.state.machines.host import HostLost
from gridengine.state.machines.instance import InstanceFlagsChanged
from gridengine.state.machines.task import TaskRequeued
from gridengine.state.quotas import Bucket, QuotaBook
from gridengine.state.state import State
from tests.builders import NOW, Cluster

SETTINGS = settings(
    max_examples=150,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)

JOBS = st.fixed_dictionaries(
    {},
    optional={
        "hard": st.sampled_from(
            [{}, {"gpu": "1"}, {"gpu": "2"}, {"lic": "1"}, {"gpu": "1", "lic": "2"}, {"ex": "TRUE"}, {"arch": "sol*"}]
            + [{"mem_free": "6G"}, {"once": "1"}, {"site": "a*"}, {"h_rt": "100"}, {"hostname": "h1"}]
            + [{"h_rt": "10", "mem_free": "6G"}, {"h_rt": "90", "mem_free": "6G"}, {"h_rt": "20", "gpu": "2"}, {"s_rt": "5"}]
        ),
        "soft": st.sampled_from([{"hostname": "h2"}, {"arch": "sol*"}]),
        "hard_queues": st.sampled_from([("b.q",), ("*@h2",), ("*@@grp",)]),
        "array": st.sampled_from(["1-3", "1-8:2"]),
        "priority": st.integers(-5, 5),
        "now": st.booleans(),
        "reserve": st.booleans(),
        "owner": st.sampled_from(["alice", "bob"]),
        "parallel": st.sampled_from([("mpi", "2-5"), ("smp", "2"), ("make", "4"), ("two", "2-6"), ("m*", "1-3")]),
    },
)
RULES = st.sampled_from(
    ["to slots=4", "users {*} to slots=2", "users alice hosts {@grp} to slots=2,gpu=1", "hosts @grp to slots=3"]
    + ["pes * to slots=3", "users !bob queues b.q to slots=1", "hosts {*} to gpu=2,once=1", "to h_rt=50"]
    + ["queues {*} hosts {h1,h2} to lic=1", "pes {*} hosts @grp to slots=4,once=1", "projects !* users bob to slots=0"]
    + ["hosts {h1,h3} to slots=$num_proc*0.5"]
)
ACTIONS = st.lists(
    st.one_of(
        st.tuples(st.just("submit"), JOBS),
        st.tuples(st.just("cycle"), st.none()),
        st.tuples(st.just("end"), st.integers(0, 50)),
        st.tuples(st.just("requeue"), st.integers(0, 50)),
        st.tuples(st.just("load"), st.tuples(st.sampled_from(["h1", "h2", "h3"]), st.floats(0, 2), st.integers(0, 9))),
        st.tuples(st.just("arch"), st.tuples(st.sampled_from(["h1", "h2", "h3"]), st.sampled_from(["sol-x", "lx-y"]))),
        st.tuples(st.just("limit"), st.tuples(st.sampled_from(["h1", "h2", "h3"]), st.sampled_from(["15", "95"]))),
        st.tuples(st.just("reservations"), st.sampled_from([0, 2])),
        st.tuples(st.just("lost"), st.sampled_from(["h1", "h2", "h3"])),
        st.tuples(st.just("flag"), st.tuples(st.sampled_from(["all.q@h1", "b.q@h2"]), st.booleans())),
        st.tuples(st.just("slots"), st.integers(0, 5)),
        st.tuples(st.just("adjust"), st.sampled_from(["NONE", "np_load_avg=1.0"])),
        st.tuples(st.just("formula"), st.sampled_from(["np_load_avg", "gpu", "-slots", "slots*2+np_load_avg"])),
        st.tuples(st.just("quota"), st.sampled_from(["one", "two"]), st.lists(RULES, max_size=3)).map(
            lambda drawn: (drawn[0], drawn[1:])
        ),
    ),
    min_size=5,
    max_size=40,
)


def build() -> Cluster:
    cluster = Cluster(3, slots=3)
    for line in (
        "gpu INT <= YES YES 0 0",
        "lic INT <= YES YES 0 0",
        "once INT <= YES JOB 0 0",
        "ex BOOL EXCL YES YES 0 0",
    ):
        cluster.complex(line)
    cluster.complex("site STRING == YES NO NONE 0")
    cluster.pe("two", "2", slots=4)
    cluster.add("host_group", "@grp", hostlist="h2 h3")
    cluster.add("userset", "staff", entries="alice", type="ACL")
    cluster.values("global", "lic=3")
    cluster.values("h1", "gpu=3,once=1")
    cluster.values("h2", "gpu=4,ex=TRUE,slots=4,site=abc")
    cluster.queue(pe_list="mpi smp make two", load_thresholds="np_load_avg=1.5")
    cluster.queue("b.q", pe_list="mpi smp", slots="2", user_lists="staff", complex_values="gpu=2", h_rt="50")
    return cluster


def job_fields(drawn: dict[str, Any]) -> dict[str, Any]:
    fields = dict(drawn)
    if "parallel" in fields:
        fields["pe"], fields["pe_range"] = fields.pop("parallel")
    return fields


def perform(cluster: Cluster, action: str, value: Any) -> None:
    """One random step; an impossible step is left out."""
    running = [
        (job.id, task.id, task) for job in cluster.state.jobs.values() for task in job.tasks.values() if task.granted
    ]
    if action == "submit":
        cluster.submit(**job_fields(value))
    elif action == "end" and running:
        job_id, task_id, _ = running[value % len(running)]
        cluster.end(job_id, task_id)
    elif action == "requeue" and running:
        job_id, task_id, task = running[value % len(running)]
        cluster.apply(TaskRequeued(job_id, task_id, task.attempt, cluster.now))
    elif action == "load":
        host, load, free = value
        cluster.heard(host, np_load_avg=f"{load:.6f}", mem_free=f"{free}G")
    elif action == "arch":
        cluster.heard(value[0], arch=value[1])
    elif action == "limit":  # of a load sensor with the name of a queue's attribute
        cluster.heard(value[0], h_rt=value[1], s_rt=value[1])
    elif action == "reservations":
        cluster.change("scheduler", "", max_reservation=str(value))
    elif action == "lost":
        cluster.apply(HostLost(value, cluster.now))
    elif action == "flag":
        cluster.apply(InstanceFlagsChanged([value[0]], {"disabled": value[1]}))
    elif action == "slots":
        cluster.queue(slots=str(value))
    elif action == "quota":
        name, rules = value
        text = {"name": name, "description": "NONE", "enabled": "TRUE", "limit": "\n".join(rules)}
        if rules:
            cluster.apply(ObjectSet("resource_quota", name, text))
        elif cluster.state.has("resource_quota", name):
            cluster.apply(ObjectRemoved("resource_quota", name))
    elif action == "adjust":
        cluster.change("scheduler", "", job_load_adjustments=value)
    elif action == "formula":
        cluster.change("scheduler", "", load_formula=value)


def amounts(state: State) -> dict[tuple[str, str], float]:
    """(object, consumable) -> amount of the running tasks, counted again."""
    found: dict[tuple[str, str], float] = {}
    for job in state.jobs.values():
        for task in job.tasks.values():
            for position, grant in enumerate(task.granted):
                for name, amount in [("slots", 1.0), *((n, float(a)) for n, a in task.resources.items())]:
                    times = (0 if position else 1) if state.per_job(name) else grant.slots
                    for where in (grant.instance, grant.host, "global"):
                        found[where, name] = found.get((where, name), 0) + amount * times
    return found


def overbooked(before: dict[tuple[str, str], float], state: State) -> list[str]:
    """Objects and consumables that hold more than their capacity and more than before."""
    config_snapshot, found = PlacementConfig(state), []
    after = amounts(state)
    capacities = [(name, config_snapshot.queue(name)) for name in state.configs]
    capacities += [(host, config_snapshot.host(host)) for host in ("global", "h1", "h2", "h3")]
    for where, configured in capacities:
        for name, capacity in configured.consumables.items():
            used = after.get((where, name), 0)
            if used > capacity + 1e-6 and used > before.get((where, name), 0):
                found.append(f"{where} {name}: {used} of {capacity}")
    return found


def over_quota(before: dict[Bucket, dict[str, float]], state: State) -> list[str]:
    """Rules whose limit is exceeded by more than before; the sums must equal a new count."""
    recounted = QuotaBook(state)
    recounted.rebuild()
    assert {key: pytest.approx(sums) for key, sums in recounted.used.items()} == state.quotas.used
    config_snapshot, ledger, found = PlacementConfig(state), Ledger(state), []
    for bucket, sums in state.quotas.used.items():
        for name, text in rule_of(config_snapshot, bucket).limits.items():
            entry = config_snapshot.entries[name]
            limit = limit_value(config_snapshot, ledger, bucket, entry, text) if entry.is_consumable else 1e9
            if sums.get(name, 0.0) > max(float(limit), before.get(bucket, {}).get(name, 0.0)) + 1e-6:
                found.append(f"{rule_name(config_snapshot, bucket)} {name}: {sums[name]} of {limit}")
    return found


@pytest.mark.statement("RQ-9", "RQ-2", "CX-37", "CX-38", "CX-39", "CX-46", "CX-48", "QC-18", "PE-2")
@SETTINGS
@given(ACTIONS)
def test_no_order_ever_overbooks_anything(actions: list[tuple[str, Any]]) -> None:
    cluster = build()
    for action, value in [*actions, ("cycle", None)]:
        if action != "cycle":
            perform(cluster, action, value)
            continue
        before = amounts(cluster.state)
        under = {bucket: dict(sums) for bucket, sums in cluster.state.quotas.used.items()}
        assert cluster.view is not None
        check_orders(cluster.state, schedule(cluster.view, cluster.now))
        orders = cluster.cycle()
        assert overbooked(before, cluster.state) == []
        assert over_quota(under, cluster.state) == []
        for start in orders.starts:
            job = cluster.state.jobs[start.job_id]
            slots = sum(grant.slots for grant in start.granted)
            assert job.pe or slots == 1
            assert all(obstacle_free(cluster, grant.instance) for grant in start.granted)
        for pe in ("mpi", "smp", "make", "two"):
            held = sum(
                t.slots for j in cluster.state.jobs.values() for t in j.tasks.values() if t.granted and t.pe == pe
            )
            assert held == cluster.state.bookings.of(Holder("pe", pe), "slots") <= cluster.state.pes.get(pe).slots


def check_orders(state: State, orders: Orders) -> None:
    """The check by the receiver of orders: each order still fits after the previous orders."""
    config_snapshot, ledger = PlacementConfig(state), Ledger(state)
    for start in orders.starts:
        request = Request.of(config_snapshot, state.jobs[start.job_id])
        assert grants_fit(config_snapshot, ledger, request, start.granted, start.pe)
        ledger.charge(bookings_of(config_snapshot, request, start.granted, start.pe))


def obstacle_free(cluster: Cluster, instance: str) -> bool:
    found = cluster.state.instances[instance]
    return not found.disabled and cluster.state.hosts[found.host].up


@pytest.mark.statement("CX-62", "CX-63", "CX-64")
@SETTINGS
@given(ACTIONS)
def test_the_cache_changes_nothing(actions: list[tuple[str, Any]]) -> None:
    cluster = build()
    for action, value in [*actions, ("cycle", None)]:
        if action != "cycle":
            perform(cluster, action, value)
            continue
        fresh = schedule(View(cluster.state), cluster.now)
        assert cluster.view is not None
        kept = schedule(cluster.view, cluster.now)
        assert (kept.starts, kept.give_up, kept.priorities) == (fresh.starts, fresh.give_up, fresh.priorities)
        with patch("daemons.schedd.survey._survey_groups", return_value=None):
            by_all = schedule(View(cluster.state), cluster.now)
        assert (kept.starts, kept.give_up, kept.priorities) == (by_all.starts, by_all.give_up, by_all.priorities)
        with patch.object(CandidateHeap, "for_needs", lambda heap, _: heap.copy()):
            apart = schedule(View(cluster.state), cluster.now)
        assert (kept.starts, kept.give_up) == (apart.starts, apart.give_up)
        cluster.cycle()


@pytest.mark.statement("SO-41")
@SETTINGS
@given(ACTIONS, JOBS)
def test_poke_and_the_scheduler_agree(actions: list[tuple[str, Any]], drawn: dict[str, Any]) -> None:
    """A job alone in the queue starts exactly if -w p finds an instance, and reasons are given exactly if not."""
    cluster = build()
    for action, value in actions:
        if action == "cycle":
            cluster.cycle()
        elif action != "adjust":
            perform(cluster, action, value)
    for job in list(cluster.state.jobs.values()):
        cluster.apply_deletion(job.id)
    fields = {**job_fields(drawn), "now": False}
    fields.pop("array", None)
    job = cluster.job(**fields)
    granted, reasons = verify(cluster.state, job, assume_empty=False)
    assert granted or reasons
    cluster.submit(**fields)
    assert bool(granted) == (job.id in {start.job_id for start in cluster.cycle().starts})


@SETTINGS
@given(ACTIONS, JOBS)
def test_a_granted_instance_has_no_refusal(actions: list[tuple[str, Any]], drawn: dict[str, Any]) -> None:
    cluster = build()
    for action, value in actions:
        if action == "cycle":
            cluster.cycle()
        else:
            perform(cluster, action, value)
    job = cluster.job(**job_fields(drawn))
    config_snapshot, ledger = PlacementConfig(cluster.state), Ledger(cluster.state)
    request = Request.of(config_snapshot, job)
    for grant in verify(cluster.state, job, assume_empty=False)[0]:
        instance = cluster.state.instances[grant.instance]
        assert obstacle(config_snapshot, ledger, instance) is None
        assert static_refusal(config_snapshot, ledger, request, grant.instance) is None
        assert request.pe or use_refusal(config_snapshot, ledger, request, grant.instance) is None
    assert cluster.now == NOW
