"""The instances that match a job: levels, overriding, consumables, access. The worked examples of the two seeds."""

from __future__ import annotations

import pytest

from gridengine.placement.config_snapshot import PlacementConfig
from gridengine.placement.ledger import Ledger
from gridengine.placement.resources import available
from gridengine.placement.verify import verify
from gridengine.state.machines.configuration import ObjectSet
from tests.builders import Cluster, why


def left(cluster: Cluster, instance: str, name: str) -> str:
    offer = available(PlacementConfig(cluster.state), Ledger(cluster.state), instance, name)
    return offer.text() if offer is not None else ""


@pytest.mark.statement("CX-25", "X-4")
def test_example_e1_a_fixed_value_is_not_used_up() -> None:
    cluster = Cluster(1, slots=5)
    cluster.complex("t01 INT <= YES NO 0 0")
    cluster.queue(complex_values="t01=20", pe_list="smp")
    job = cluster.submit(hard={"t01": "10"}, pe="smp", pe_range="4")
    cluster.cycle()
    assert cluster.spread(job) == {"all.q@h1": 4}
    assert left(cluster, "all.q@h1", "slots") == "qc:slots=1"
    assert left(cluster, "all.q@h1", "t01") == "qf:t01=20"


@pytest.mark.statement("CX-26", "CX-37", "PE-14")
def test_example_e2_a_consumable_is_spread_over_three_queues() -> None:
    cluster = Cluster(1, slots=0)
    cluster.complex("t02 INT <= YES YES 0 0")
    for number, slots in ((2, 5), (3, 1), (4, 3)):
        values = {"complex_values": "t02=40", "pe_list": "mpi", "seq_no": str(number)}
        cluster.queue(f"q{number}", slots=str(slots), **values)
    job = cluster.submit(hard={"t02": "20"}, pe="mpi", pe_range="4")
    cluster.cycle()
    assert cluster.spread(job) == {"q2@h1": 2, "q3@h1": 1, "q4@h1": 1}
    assert [left(cluster, f"q{n}@h1", "t02") for n in (2, 3, 4)] == ["qc:t02=0", "qc:t02=20", "qc:t02=20"]
    assert [left(cluster, f"q{n}@h1", "slots") for n in (2, 3, 4)] == ["qc:slots=3", "qc:slots=0", "qc:slots=2"]


@pytest.mark.statement("CX-31", "CX-32")
@pytest.mark.parametrize(("load", "result"), [("4G", "hf:mem_free=1.000G"), ("0.9G", "hl:mem_free=921.600M")])
def test_mem_free_table(load: str, result: str) -> None:
    cluster = Cluster(1)
    cluster.values("h1", "mem_free=1G")
    cluster.heard("h1", mem_free=load)
    assert left(cluster, "all.q@h1", "mem_free") == result
    small, big = cluster.submit(hard={"mem_free": "0.95G"}), cluster.submit(hard={"mem_free": "1.5G"})
    cluster.cycle()
    assert cluster.runs(small) is (load == "4G")
    assert not cluster.runs(big)


@pytest.mark.statement("CX-29", "CX-30", "CX-33")
def test_arch_may_be_overridden_on_the_host_not_in_the_queue() -> None:
    cluster = Cluster(2)
    cluster.values("h1", "arch=special")
    cluster.queue(complex_values="arch=other")
    assert left(cluster, "all.q@h1", "arch") == "hf:arch=special"
    assert left(cluster, "all.q@h2", "arch") == "hl:arch=lx-amd64"
    cluster.queue(complex_values="NONE")
    special, usual = cluster.submit(hard={"arch": "special"}), cluster.submit(hard={"arch": "lx-*"})
    cluster.cycle()
    assert cluster.spread(special) == {"all.q@h1": 1}
    assert cluster.spread(usual) == {"all.q@h2": 1}


@pytest.mark.statement("CX-27", "CX-29")
def test_every_level_that_has_an_equality_attribute_must_match() -> None:
    cluster = Cluster(2)
    cluster.complex("site STRING == YES NO NONE 0")
    cluster.values("global", "site=north")
    cluster.values("h1", "site=south")
    job = cluster.submit(hard={"site": "south"})
    cluster.cycle()
    assert not cluster.runs(job)
    assert "cannot run globally because it offers only gf:site=north" in why(cluster, job)


@pytest.mark.statement("CX-19", "CX-28", "CX-43")
def test_an_attribute_exists_only_where_it_is_attached() -> None:
    cluster = Cluster(2)
    cluster.complex("scratch MEMORY <= YES NO 0 0")
    cluster.values("h2", "scratch=10G")
    job = cluster.submit(hard={"scratch": "1G"})
    orders = cluster.cycle()
    assert [start.granted[0].host for start in orders.starts] == ["h2"]
    cluster.queue("other.q", hostlist="h1", complex_values="scratch=5G")
    in_queue = cluster.submit(hard={"scratch": "1G"}, hard_queues=("*@h1",))
    cluster.cycle()
    assert cluster.runs(job) and cluster.spread(in_queue) == {"other.q@h1": 1}
    nowhere = cluster.submit(hard={"scratch": "1G"}, hard_queues=("all.q@h1",))
    assert "unknown resource (scratch)" in why(cluster, nowhere)


@pytest.mark.statement("CX-20", "CX-21", "QC-37", "QC-39", "RL-12")
def test_queue_attributes_can_be_requested() -> None:
    cluster = Cluster(2)
    cluster.queue("short.q", h_rt="1:00:00", hostlist="h1")
    cluster.queue("all.q", slots="0")
    fits, too_long = cluster.submit(hard={"h_rt": "3600"}), cluster.submit(hard={"h_rt": "3601"})
    by_name, on_host = cluster.submit(hard={"qname": "sh*"}), cluster.submit(hard={"hostname": "h2"})
    cluster.cycle()
    assert cluster.spread(fits) == {"short.q@h1": 1} == cluster.spread(by_name)
    assert not cluster.runs(too_long) and not cluster.runs(on_host)
    assert "qf:h_rt=01:00:00" in why(cluster, too_long)
    assert verify(cluster.state, cluster.state.jobs[too_long], assume_empty=True)[0] == []
    assert 'cannot run at host "h1"' in why(cluster, on_host)


@pytest.mark.statement("CX-21", "QC-37")
@pytest.mark.parametrize(
    ("attribute", "of_all", "of_other"),
    [
        ("calendar", "NONE", "night"), ("tmpdir", "/tmp", "/scratch"), ("seq_no", "0", "7"), ("rerun", "FALSE", "TRUE"),
        ("min_cpu_interval", "00:05:00", "00:07:00"), ("notify", "00:00:60", "00:00:05"),
    ],
)
def test_a_queue_is_found_by_each_requestable_attribute(attribute: str, of_all: str, of_other: str) -> None:
    cluster = Cluster(1)
    cluster.add("calendar", "night", week="NONE")
    row = {"name": attribute, "shortcut": attribute, "type": "TIME", "default": "0:0:0"}
    row |= cluster.state.kind("complex").get(attribute, {})
    row |= {"relop": "==", "requestable": "YES", "consumable": "NO", "urgency": "0"}
    cluster.apply(ObjectSet("complex", attribute, row))
    cluster.queue("all.q", **{attribute: of_all})
    requested = cluster.submit(hard={attribute: of_other})
    cluster.cycle()
    assert not cluster.runs(requested), "no queue has it yet"
    cluster.queue("other.q", hostlist="h1", **{attribute: of_other})
    cluster.cycle()
    assert cluster.spread(requested) == {"other.q@h1": 1}


@pytest.mark.statement("CQ-3")
def test_each_queue_instance_counts_for_itself() -> None:
    cluster = Cluster(2)
    cluster.complex("lic INT <= YES YES 0 0")
    cluster.queue(complex_values="lic=1")
    jobs = [cluster.submit(hard={"lic": "1"}) for _ in range(3)]
    cluster.cycle()
    assert [cluster.runs(job) for job in jobs] == [True, True, False]
    assert cluster.spread(jobs[0]) != cluster.spread(jobs[1])


@pytest.mark.statement("CX-22", "CX-23")
def test_slots_and_memory_on_host_and_queue_at_once_the_smaller_counts() -> None:
    cluster = Cluster(1, slots=4)
    cluster.values("h1", "slots=3")
    jobs = [cluster.submit() for _ in range(4)]
    cluster.cycle()
    assert sum(map(cluster.runs, jobs)) == 3
    assert left(cluster, "all.q@h1", "slots") == "hc:slots=0"
    assert "hc:slots=0.000000" in why(cluster, jobs[3])


@pytest.mark.statement("CX-34", "QC-35")
def test_a_consumable_with_load_sensor_gives_the_stricter() -> None:
    cluster = Cluster(1, slots=10)
    cluster.complex("disk INT <= YES YES 0 0")
    cluster.values("h1", "disk=8")
    cluster.heard("h1", disk="20")
    first = cluster.submit(hard={"disk": "5"})
    cluster.cycle()
    assert cluster.runs(first) and left(cluster, "all.q@h1", "disk") == "hc:disk=3"
    cluster.heard("h1", disk="2")
    assert left(cluster, "all.q@h1", "disk") == "hl:disk=2"
    second = cluster.submit(hard={"disk": "3"})
    cluster.cycle()
    assert not cluster.runs(second)


@pytest.mark.statement("QC-35", "CX-34")
@pytest.mark.parametrize("place", ["queue", "host"])
@pytest.mark.parametrize(("amount", "slots"), [("2", 2), ("1", 5), ("6", 0)])
def test_a_stricter_load_value_replaces_a_capacity_for_parallel_jobs(place: str, amount: str, slots: int) -> None:
    cluster = Cluster(1, slots=8)
    cluster.complex("disk INT <= YES YES 0 0")
    if place == "queue":
        cluster.queue(complex_values="disk=100")
    else:
        cluster.values("h1", "disk=100")
    cluster.heard("h1", disk="5")
    job = cluster.submit(hard={"disk": amount}, pe="smp", pe_range="1-8")
    cluster.cycle()
    assert sum(cluster.spread(job).values()) == slots


@pytest.mark.statement("CX-34", "CX-37")
def test_the_reason_is_the_stricter_load_value() -> None:
    cluster = Cluster(1)
    cluster.complex("disk INT <= YES YES 4 0")
    cluster.queue(complex_values="disk=100")
    cluster.heard("h1", disk="3")
    assert 'cannot run in queue "all.q@h1" because it offers only qc:disk=3' in why(cluster, cluster.submit())


@pytest.mark.statement("CX-36")
def test_a_fixed_value_in_place_of_a_load_value_is_compared_once() -> None:
    cluster = Cluster(1)
    cluster.values("h1", "mem_free=1G")
    job = cluster.submit(hard={"mem_free": "0.8G"}, pe="smp", pe_range="4")
    cluster.cycle()
    assert cluster.spread(job) == {"all.q@h1": 4}


@pytest.mark.statement("CX-39", "CX-46")
def test_global_consumables_limit_the_cluster() -> None:
    cluster = Cluster(3)
    cluster.complex("licence INT <= YES YES 0 0")
    cluster.values("global", "licence=2")
    jobs = [cluster.submit(hard={"licence": "1"}) for _ in range(3)]
    cluster.cycle()
    assert [cluster.runs(job) for job in jobs] == [True, True, False]
    assert "gc:licence=0.000000" in why(cluster, jobs[2])
    cluster.end(jobs[0])
    cluster.cycle()
    assert cluster.runs(jobs[2])


@pytest.mark.statement("CX-40", "QC-36")
def test_the_default_counts_for_jobs_that_do_not_ask() -> None:
    cluster = Cluster(3)
    cluster.complex("d INT <= YES YES 1 0")
    cluster.values("global", "d=2")
    jobs = [cluster.submit(), cluster.submit(), cluster.submit(), cluster.submit(hard={"d": "0"})]
    cluster.cycle()
    assert [cluster.runs(job) for job in jobs] == [True, True, False, True]


@pytest.mark.statement("CX-38")
def test_a_job_consumable_is_booked_once_with_the_master() -> None:
    cluster = Cluster(3, slots=2)
    cluster.complex("token INT <= YES JOB 0 0")
    cluster.values("h3", "token=1")
    job = cluster.submit(hard={"token": "1"}, pe="mpi", pe_range="5")
    cluster.cycle()
    spread = cluster.spread(job)
    assert next(iter(spread)) == "all.q@h3" and sum(spread.values()) == 5
    assert left(cluster, "all.q@h3", "token") == "hc:token=0"
    other = cluster.submit(hard={"token": "1"})
    cluster.cycle()
    assert not cluster.runs(other)


@pytest.mark.statement("CX-38")
def test_the_places_of_slaves_need_nothing_of_a_job_consumable() -> None:
    cluster = Cluster(2, slots=2)
    cluster.complex("token INT <= YES JOB 0 0")
    cluster.values("h1", "token=1")
    cluster.values("h2", "token=0")
    job = cluster.submit(hard={"token": "1"}, pe="mpi", pe_range="4")
    cluster.cycle()
    assert cluster.spread(job) == {"all.q@h1": 2, "all.q@h2": 2}


@pytest.mark.statement("CX-41", "OB-5")
def test_forced_attributes_keep_jobs_away_that_do_not_ask() -> None:
    cluster = Cluster(1, slots=0)
    cluster.complex("f BOOL == FORCED NO 0 0")
    cluster.queue("t.q", complex_values="f=TRUE")
    silent, asking = cluster.submit(), cluster.submit(hard={"f": "TRUE"})
    cluster.cycle()
    assert cluster.spread(asking) == {"t.q@h1": 1} and not cluster.runs(silent)
    assert "does not request 'forced' resource \"f\"" in why(cluster, silent)


@pytest.mark.statement("CX-48", "QC-18", "QC-41")
def test_capacity_lowered_below_use() -> None:
    cluster = Cluster(1)
    cluster.complex("c INT <= YES YES 0 0")
    cluster.values("h1", "c=10")
    first = cluster.submit(hard={"c": "8"})
    cluster.cycle()
    cluster.values("h1", "c=5")
    assert left(cluster, "all.q@h1", "c") == "hc:c=-3"
    second, nothing, none = cluster.submit(hard={"c": "1"}), cluster.submit(hard={"c": "0"}), cluster.submit()
    cluster.cycle()
    assert [cluster.runs(job) for job in (second, nothing, none)] == [False, False, True]
    assert "only hc:c=-3" in why(cluster, nothing)
    cluster.end(first)
    cluster.cycle()
    assert cluster.runs(second) and cluster.runs(nothing)


@pytest.mark.statement("CX-48")
def test_fractions_add_up_without_rounding_faults() -> None:
    cluster = Cluster(1)
    cluster.complex("share DOUBLE <= YES YES 0 0")
    cluster.values("h1", "share=0.3")
    jobs = [cluster.submit(hard={"share": "0.1"}) for _ in range(4)]
    cluster.cycle()
    assert [cluster.runs(job) for job in jobs] == [True, True, True, False]


@pytest.mark.statement("QC-31", "US-3")
def test_user_lists_of_queue_host_and_cluster() -> None:
    cluster = Cluster(1)
    cluster.add("userset", "staff", entries="alice,@wheel", type="ACL")
    cluster.add("userset", "banned", entries="carol", type="ACL")
    cluster.queue(user_lists="staff", xuser_lists="banned")
    jobs = [
        cluster.submit(owner="alice"),
        cluster.submit(owner="bob"),
        cluster.submit(owner="bob", group="wheel"),
        cluster.submit(owner="carol", group="wheel"),
    ]
    cluster.cycle()
    assert [cluster.runs(job) for job in jobs] == [True, False, True, False]
    assert 'has no permission for cluster queue "all.q"' in why(cluster, jobs[1])
    cluster.queue(user_lists="NONE", xuser_lists="NONE")
    cluster.change("exec_host", "h1", user_lists="staff")
    assert 'has no permission for host "h1"' in why(cluster, jobs[1])
    cluster.change("exec_host", "h1", user_lists="NONE")
    cluster.change("exec_host", "global", xuser_lists="banned")
    cluster.cycle()
    assert cluster.runs(jobs[1]) and not cluster.runs(jobs[3])


@pytest.mark.statement("QC-32")
def test_projects() -> None:
    cluster = Cluster(1)
    cluster.queue(projects="p1 p2", xprojects="p2")
    jobs = [cluster.submit(project=project) for project in ("p1", "p2", "p3", "")]
    cluster.cycle()
    assert [cluster.runs(job) for job in jobs] == [True, False, False, False]
    assert "not assigned to a project" in why(cluster, jobs[3])


@pytest.mark.statement("QC-13", "QC-14", "OB-4")
def test_queue_types() -> None:
    cluster = Cluster(1, slots=0)
    for name, qtype, pe_list in (("b.q", "BATCH", "NONE"), ("i.q", "INTERACTIVE", "NONE"), ("n.q", "NONE", "smp")):
        cluster.queue(name, qtype=qtype, pe_list=pe_list)
    batch, now = cluster.submit(), cluster.submit(now=True)
    parallel, wrong = cluster.submit(pe="smp", pe_range="2"), cluster.submit(hard_queues=("n.q",))
    parallel_now = cluster.submit(pe="smp", pe_range="1", now=True)
    orders = cluster.cycle()
    assert cluster.spread(batch) == {"b.q@h1": 1} and cluster.spread(now) == {"i.q@h1": 1}
    assert cluster.spread(parallel) == {"n.q@h1": 2} and not cluster.runs(wrong)
    assert orders.give_up == [parallel_now]
    assert "not of type batch" in why(cluster, wrong)


@pytest.mark.statement("QC-16")
def test_checkpointing_needs_a_queue_that_lists_it() -> None:
    cluster = Cluster(2)
    cluster.add("checkpoint", "ck")
    cluster.queue("ck.q", ckpt_list="ck", qtype="NONE")
    job = cluster.submit(checkpoint="ck")
    cluster.cycle()
    assert [name.partition("@")[0] for name in cluster.spread(job)] == ["ck.q"]


@pytest.mark.statement("CX-59", "QN-1", "QN-2", "QN-3")
@pytest.mark.parametrize(
    ("expression", "instance"), [("b*", "b.q@h1"), ("*@h3", "all.q@h3"), ("*@@g*", "all.q@h2"), ("!all.q", "b.q@h1")]
)
def test_queue_requests(expression: str, instance: str) -> None:
    cluster = Cluster(3)
    cluster.add("host_group", "@grp", hostlist="h2")
    cluster.queue("b.q", hostlist="h1")
    job = cluster.submit(hard_queues=(expression,))
    cluster.cycle()
    assert cluster.spread(job) == {instance: 1}


def test_verify_names_each_refusal_once() -> None:
    cluster = Cluster(3)
    job = cluster.job(hard_queues=("nosuch",))
    granted, reasons = verify(cluster.state, job, assume_empty=True)
    assert granted == [] and [reason.code for reason in reasons] == ["not_requested"]
