"""Parallel jobs among several PEs, queues and possible masters: their grants, and whether these still fit."""

from __future__ import annotations

import pytest

from gridengine.placement.config_snapshot import PlacementConfig
from gridengine.placement.ledger import Ledger
from gridengine.placement.placement_request import Request
from gridengine.placement.spread import Candidates, grants_fit, least_slots
from gridengine.placement.verify import verify
from gridengine.state.jobs import Grant
from gridengine.state.machines.reservation import ReservationGranted
from gridengine.state.reservations import AdvanceReservation
from tests.builders import NOW, Cluster, why


def cell(*slots: int, rule: str = "$fill_up", size: int = 999) -> Cluster:
    """Hosts with so many slots each, in this order, and a PE `par`."""
    cluster = Cluster(len(slots))
    cluster.pe("par", rule, slots=size)
    each = (f"[{host}={count}]" for host, count in zip(cluster.hosts, slots, strict=True))
    cluster.queue(pe_list="par", slots=",".join(("0", *each)))
    return cluster


def spread(cluster: Cluster, demand: str, master: str = "", **fields: object) -> str:
    """The grants of such a job, the master's first."""
    queues = {"master_queues": (master,)} if master else {}
    job = cluster.submit(**{"pe": "par", "pe_range": demand, **queues, **fields})
    cluster.cycle()
    return " ".join(f"{name}={slots}" for name, slots in cluster.spread(job).items())


@pytest.mark.statement("PE-16")
def test_only_a_pe_that_has_an_order_of_its_own_is_asked_for_it() -> None:
    cluster = Cluster(1)
    cluster.pe("own", "$fill_up", qsort_args="/lib function")
    own, plain = cluster.state.pes["own"], cluster.state.pes["mpi"]
    request = Request.of(PlacementConfig.of(cluster.state), cluster.job())
    without = Candidates.of(["a@h1", "b@h2"])
    ordered = Candidates(without.order, without.of_host, lambda pe, request, names: names[::-1])
    assert without.for_pe(own, request) is without and ordered.for_pe(plain, request) is ordered
    assert list(ordered.for_pe(own, request).order()) == ["b@h2", "a@h1"]


@pytest.mark.statement("PE-8")
def test_of_pes_that_give_as_many_slots_the_one_with_most_free_counts() -> None:
    cluster = Cluster(1)
    cluster.pe("a_x", "$fill_up", slots=50)
    cluster.pe("b_x", "$fill_up", slots=100)
    cluster.queue(pe_list="a_x b_x")
    job = cluster.submit(pe="[ab]_x", pe_range="1-9")
    cluster.cycle()
    assert cluster.state.jobs[job].tasks[1].pe == "b_x" and sum(cluster.spread(job).values()) == 4


@pytest.mark.statement("PE-8", "RQ-2")
def test_a_pe_from_which_nothing_is_to_be_had_does_not_hide_another() -> None:
    cluster = Cluster(1)
    cluster.pe("a_x", "$fill_up", slots=100)
    cluster.pe("b_x", "$fill_up", slots=50)
    cluster.queue(pe_list="a_x b_x")
    cluster.add("resource_quota", "none", enabled="TRUE", limit="pes a_x to slots=0")
    job = cluster.job(pe="[ab]_x", pe_range="2")
    assert verify(cluster.state, job, False, NOW) == ([Grant("all.q@h1", 2)], []), "a job that has a place has no reasons"
    number = cluster.submit(pe="[ab]_x", pe_range="2")
    cluster.cycle()
    assert cluster.state.jobs[number].tasks[1].pe == "b_x"


@pytest.mark.statement("PE-1", "PE-8", "QC-15")
@pytest.mark.parametrize(("slots", "master", "demand"), [("2", "", ""), ("4", "a.q", ""), ("4", "", "b.q@h1=3")])
def test_queues_of_different_pes_are_not_put_together(slots: str, master: str, demand: str) -> None:
    cluster = Cluster(1, slots=0)
    for name in ("a", "b"):
        cluster.pe(f"{name}_x", "$fill_up")
        cluster.queue(f"{name}.q", pe_list=f"{name}_x", slots="2")
    cluster.queue("b.q", slots=slots)
    assert spread(cluster, "3", master, pe="[ab]_x") == demand


@pytest.mark.statement("PE-2")
def test_a_pe_that_is_used_up_offers_nothing() -> None:
    cluster = cell(4, size=2)
    assert spread(cluster, "2") == "all.q@h1=2"
    assert why(cluster, cluster.submit(pe="par", pe_range="1")) == 'cannot run in PE "par" because it only offers 0 slots'
    assert not verify(cluster.state, cluster.job(pe="par", pe_range="1", master_queues=("all.q",)), False, NOW)[0]


@pytest.mark.statement("ST-18", "AR-41")
def test_a_parallel_job_learns_of_reserved_and_not_of_full_instances() -> None:
    cluster = cell(2, 2)
    assert spread(cluster, "2") == "all.q@h1=2"
    granted = [Grant("all.q@h2", 2)]
    cluster.apply(ReservationGranted(AdvanceReservation(1, "bob", "users", NOW, NOW + 600, NOW + 7200, granted=granted)))
    assert why(cluster, cluster.submit(pe="par", pe_range="2")).splitlines() == [
        'cannot run in PE "par" because it only offers 0 slots',
        'cannot run in queue instance "all.q@h2" because needed resources are reserved for advance reservation 1, '
        "which is to begin in 00:10:00",
    ]


def fits(cluster: Cluster, granted: dict[str, int], pe: str = "", **fields: object) -> bool:
    config_snapshot = PlacementConfig.of(cluster.state)
    request = Request.of(config_snapshot, cluster.job(pe=pe, pe_range="1-99", **fields))
    grants = [Grant(name, slots) for name, slots in granted.items()]
    return grants_fit(config_snapshot, Ledger(cluster.state), request, grants, pe)


@pytest.mark.statement("PE-2", "CX-37", "AR-38")
def test_grants_fit_as_long_as_pe_host_and_queues_have_slots_for_all_of_them() -> None:
    cluster = cell(4, 4, size=5)
    cluster.queue("b.q", pe_list="par")
    cluster.values("h1", "slots=6")
    a, b, c = "all.q@h1", "b.q@h1", "all.q@h2"
    assert fits(cluster, {a: 4, c: 1}, "par") and not fits(cluster, {a: 4, c: 2}, "par"), "the PE has five"
    assert fits(cluster, {a: 3, b: 3}) and not fits(cluster, {a: 3, b: 4}) and not fits(cluster, {a: 4, b: 3}), "the host six"
    assert fits(cluster, {a: 4, c: 4}) and not fits(cluster, {a: 4, c: 5}) and not fits(cluster, {a: 5, c: 1})


@pytest.mark.statement("CX-38", "RQ-9")
def test_grants_fit_where_the_place_of_the_master_has_what_is_needed_once() -> None:
    cluster = cell(4, 4)
    cluster.complex("lic INT <= YES JOB 0 0")
    cluster.values("h1", "lic=1")
    cluster.values("h2", "lic=0")
    lic = {"lic": "1"}
    assert fits(cluster, {"all.q@h1": 1, "all.q@h2": 2}, "par", hard=lic)
    assert not fits(cluster, {"all.q@h2": 2, "all.q@h1": 1}, "par", hard=lic)
    cluster.add("resource_quota", "set", enabled="TRUE", limit="hosts h1 to slots=1")
    assert fits(cluster, {"all.q@h1": 1, "all.q@h2": 2}, "par", hard=lic)
    assert not fits(cluster, {"all.q@h1": 2}, "par", hard=lic)


@pytest.mark.statement("SO-21", "PE-3")
def test_a_host_that_lacks_a_share_of_the_rule_has_no_master() -> None:
    cluster = cell(4, 1, 4, rule="2")
    assert spread(cluster, "4", master="*@h2") == ""
    assert spread(cell(1, 2, 2, rule="2"), "4", master="all.q") == "all.q@h2=2 all.q@h3=2", "the next that has it is taken"


@pytest.mark.statement("SO-21", "PE-4", "PE-7")
@pytest.mark.parametrize(("slots", "demand"), [((3, 2, 3), "h1=3"), ((2, 3, 1), "h2=3"), ((1, 4, 5), "h2=4"), ((0, 1), "h2=1")])
def test_all_slots_are_on_the_first_host_with_a_master_that_has_most(slots: tuple[int, ...], demand: str) -> None:
    assert spread(cell(*slots, rule="$pe_slots"), "1-4", master="all.q") == f"all.q@{demand}"


@pytest.mark.statement("SO-21", "PE-14")
def test_a_second_queue_of_a_host_that_is_too_small_does_not_end_the_search() -> None:
    cluster = cell(2, 4, rule="$pe_slots")
    cluster.queue("b.q", pe_list="par", slots="2")
    assert spread(cluster, "6", master="*") == "all.q@h2=4 b.q@h2=2"


@pytest.mark.statement("SO-21", "PE-4")
def test_a_queue_of_masters_gives_one_slot_beside_those_of_the_queue_list() -> None:
    cluster = cell(4, rule="$pe_slots")
    for name in ("c.q", "d.q"):
        cluster.queue(name, pe_list="par", slots="2")
    lists = {"master": "all.q", "hard_queues": ("c.q",)}
    assert spread(cluster, "4", **lists) == ""  # type: ignore[arg-type]
    assert spread(cluster, "3", **lists) == "all.q@h1=1 c.q@h1=2"  # type: ignore[arg-type]


@pytest.mark.statement("SO-21", "PE-2", "PE-7")
def test_the_slot_of_the_master_is_one_of_those_that_are_asked_for() -> None:
    assert spread(cell(1), "2", master="all.q") == "", "its own alone will not do"
    assert spread(cell(2, 2), "5-9", master="all.q@h2") == "" == spread(cell(2, 2), "5", master="all.q@h2")
    assert spread(cell(2, 2), "4-9", master="all.q@h2") == "all.q@h2=2 all.q@h1=2"
    assert spread(cell(4, 4, size=3), "1-9", master="all.q@h2") == "all.q@h2=1 all.q@h1=2"
    assert spread(cell(4, 4, size=1), "1-9", master="all.q@h2") == "all.q@h2=1"


@pytest.mark.statement("SO-21", "PE-6")
def test_a_full_queue_has_no_turn_before_that_of_the_master() -> None:
    cluster = cell(1, 4, rule="$round_robin")
    cluster.queue("b.q", pe_list="par", slots="2")
    cluster.submit(hard_queues=("all.q@h1",))
    cluster.cycle()
    assert spread(cluster, "2", master="b.q@h1") == "b.q@h1=1 all.q@h2=1"


@pytest.mark.statement("CX-38")
def test_a_per_job_consumable_decides_about_the_master_despite_a_consumable_of_each_slot() -> None:
    cluster = cell(4, 4)
    cluster.complex("lic INT <= YES JOB 0 0")
    cluster.complex("mem INT <= YES YES 0 0")
    cluster.values("global", "mem=99")
    cluster.values("h2", "lic=1")
    assert spread(cluster, "6", hard={"lic": "1", "mem": "1"}) == "all.q@h2=2 all.q@h1=4"


@pytest.mark.statement("CX-38", "RQ-9")
def test_the_master_is_where_a_quota_leaves_what_is_needed_once() -> None:
    cluster = cell(4, 4)
    cluster.complex("lic INT <= YES JOB 0 0")
    cluster.values("global", "lic=9")
    cluster.add("resource_quota", "set", enabled="TRUE", limit="hosts h1 to lic=0")
    assert spread(cluster, "6", hard={"lic": "1"}) == "all.q@h2=2 all.q@h1=4"
    assert spread(cluster, "1", hard={"lic": "1"}, hard_queues=("*@h1",)) == ""


@pytest.mark.statement("RQ-9", "CX-38")
def test_grants_fit_within_what_a_quota_leaves_of_all_together_and_of_the_master() -> None:
    cluster = cell(4, 4)
    cluster.complex("lic INT <= YES JOB 0 0")
    cluster.values("global", "lic=9")
    cluster.add("resource_quota", "all", enabled="TRUE", limit="hosts h1,h2 to slots=3")
    cluster.add("resource_quota", "one", enabled="TRUE", limit="hosts h1 to lic=0")
    a, b = "all.q@h1", "all.q@h2"
    assert fits(cluster, {a: 2, b: 1}, "par") and not fits(cluster, {a: 2, b: 2}, "par")
    assert fits(cluster, {b: 1, a: 2}, "par", hard={"lic": "1"}) and not fits(cluster, {a: 1, b: 2}, "par", hard={"lic": "1"})


@pytest.mark.statement("RQ-9", "PE-3")
def test_queues_of_a_host_take_of_a_common_quota_what_the_rule_gives_the_host() -> None:
    cluster = cell(2, 2, 2, rule="2")
    cluster.queue("b.q", pe_list="par", slots="2")
    cluster.add("resource_quota", "set", enabled="TRUE", limit="hosts h1,h2,h3 to slots=4")
    assert spread(cluster, "6") == "" and spread(cluster, "2-6").count("=2") == 2


@pytest.mark.statement("RQ-9", "PE-3")
def test_a_host_that_lacks_a_share_of_the_rule_takes_nothing_of_a_common_quota() -> None:
    cluster = cell(1, 4, rule="2")
    cluster.add("resource_quota", "set", enabled="TRUE", limit="hosts h1,h2 to slots=2")
    assert spread(cluster, "2") == "all.q@h2=2"


@pytest.mark.statement("CX-49", "CX-51")
def test_every_host_of_a_job_that_wants_them_for_itself_is_taken_in_the_same_cycle() -> None:
    cluster = cell(4, 4)
    cluster.complex("ex BOOL EXCL YES YES 0 0")
    for host in cluster.hosts:
        cluster.values(host, "ex=TRUE")
    alone = cluster.submit(pe="par", pe_range="6", hard={"ex": "1"})
    others = [cluster.submit(), cluster.submit(hard={"ex": "1"})]
    cluster.cycle()
    assert cluster.spread(alone) == {"all.q@h1": 4, "all.q@h2": 2} and not any(map(cluster.runs, others))

@pytest.mark.statement("PE-2", "PE-7")
@pytest.mark.parametrize(
    ("rule", "slots", "least"),
    [("$fill_up", "4-8", (4, 1)), ("$round_robin", "6", (6, 1)), ("$pe_slots", "2,8", (2, 2)), ("3", "6", (6, 3))],
)
def test_the_least_slots_of_a_parallel_job_in_all_and_on_a_host(rule: str, slots: str, least: tuple[int, int]) -> None:
    cluster = Cluster(1)
    cluster.pe("mpi", rule)
    job = cluster.job(pe="mpi", pe_range=slots)
    assert least_slots(cluster.state, Request.of(PlacementConfig.of(cluster.state), job)) == least


@pytest.mark.statement("PE-2")
@pytest.mark.parametrize("rule", ["$fill_up", "$pe_slots", "2"])
def test_a_wide_job_starts_as_soon_as_enough_slots_are_free_where_its_rule_needs_them(rule: str) -> None:
    cluster = Cluster(hosts=2, slots=2)
    cluster.pe("mpi", rule)
    cluster.queue(pe_list="mpi")
    narrow = [cluster.submit() for _ in range(4)]
    cluster.cycle()
    wide = cluster.submit(pe="mpi", pe_range="2")
    started = []
    for job in sorted(narrow, key=lambda each: cluster.state.jobs[each].tasks[1].host):
        cluster.end(job)
        cluster.cycle()
        started.append(cluster.runs(wide))
    assert started == [False, True, True, True]
