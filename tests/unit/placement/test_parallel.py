"""Allocation rules, counts of ranges, wildcard PEs, the master's queue."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gridengine.placement.parallel import HostCapacity, allocate, largest_count, matching_pes, max_slots_by_rule, smallest_count
from gridengine.placement.verify import explain
from tests.builders import NOW, Cluster


def host_capacities(*slots: int) -> list[HostCapacity]:
    return [HostCapacity(f"h{n}", most, [(f"q@h{n}", most)]) for n, most in enumerate(slots, 1) if most]


def spread(rule: str, ranges: tuple[tuple[int, int], ...], *slots: int, limit: int = 99) -> dict[str, int]:
    return {grant.host: grant.slots for grant in allocate(host_capacities(*slots), rule, ranges, limit)}


@pytest.mark.statement("PE-3", "PE-4", "PE-5", "PE-6")
@pytest.mark.parametrize(
    ("rule", "count", "result"),
    [
        ("$pe_slots", 3, {"h1": 3}),
        ("$pe_slots", 5, {}),
        ("$fill_up", 6, {"h1": 4, "h2": 2}),
        ("$fill_up", 3, {"h1": 3}),
        ("$fill_up", 13, {}),
        ("$round_robin", 2, {"h1": 1, "h2": 1}),
        ("$round_robin", 7, {"h1": 3, "h2": 2, "h3": 2}),
        ("$round_robin", 12, {"h1": 4, "h2": 4, "h3": 4}),
        ("2", 4, {"h1": 2, "h2": 2}),
        ("2", 3, {}),
        ("1", 3, {"h1": 1, "h2": 1, "h3": 1}),
        ("1", 4, {}),
        ("5", 5, {}),
    ],
)
def test_rules_on_three_hosts_of_four_slots(rule: str, count: int, result: dict[str, int]) -> None:
    assert spread(rule, ((count, count),), 4, 4, 4) == result


@pytest.mark.statement("PE-6")
def test_round_robin_passes_over_full_hosts() -> None:
    assert spread("$round_robin", ((6, 6),), 1, 4, 2) == {"h1": 1, "h2": 3, "h3": 2}


@pytest.mark.statement("PE-7")
@pytest.mark.parametrize(
    ("rule", "ranges", "result"),
    [
        ("$fill_up", ((2, 6), (9, 9)), 9),
        ("$fill_up", ((2, 6), (20, 30)), 6),
        ("$fill_up", ((2, 100),), 12),
        ("$fill_up", ((13, 20),), 0),
        ("$pe_slots", ((2, 100),), 4),
        ("$round_robin", ((5, 11),), 11),
        ("3", ((2, 11),), 9),
        ("3", ((4, 5),), 0),
    ],
)
def test_the_biggest_count_of_the_ranges(rule: str, ranges: tuple[tuple[int, int], ...], result: int) -> None:
    assert sum(spread(rule, ranges, 4, 4, 4).values()) == result


@pytest.mark.statement("PE-7", "SC-11")
@pytest.mark.parametrize("algorithm", ["auto", "least", "bin", "highest"])
@pytest.mark.parametrize(
    ("rule", "ranges", "result"),
    [("$fill_up", "1-8", 5), ("2", "1-8", 2), ("3", "2,3,5-9", 3), ("$pe_slots", "1-3,5,7-9", 5), ("$fill_up", "2,7", 2)],
)
def test_the_range_search_of_the_original_changes_no_outcome(algorithm: str, rule: str, ranges: str, result: int) -> None:
    """The amounts that 8.1.9 grants on one host of five slots with each setting (adr/0050)."""
    cluster = Cluster(hosts=1, slots=5)
    cluster.change("scheduler", "", params=f"PE_RANGE_ALG={algorithm},JC_FILTER=true")
    cluster.pe("par", rule)
    cluster.queue(pe_list="par")
    job = cluster.submit(pe="par", pe_range=ranges)
    cluster.cycle()
    assert cluster.spread(job) == {"all.q@h1": result}


@pytest.mark.statement("PE-7")
def test_counts_within_ranges() -> None:
    assert largest_count(((2, 4), (8, 16)), 7) == 4
    assert largest_count(((2, 4), (8, 16)), 9) == 9
    assert largest_count(((2, 4),), 1) == 0
    assert largest_count(((2, 9),), 9, step=4) == 8


@pytest.mark.statement("PE-4")
def test_pe_slots_uses_the_first_host_with_enough_slots() -> None:
    assert spread("$pe_slots", ((2, 2), (8, 8)), 3, 5) == {"h1": 2}


@pytest.mark.statement("PE-2")
def test_the_limit_of_the_pe_cuts_the_count() -> None:
    assert sum(spread("$fill_up", ((2, 100),), 4, 4, 4, limit=7).values()) == 7
    assert spread("$fill_up", ((8, 8),), 4, 4, 4, limit=7) == {}


def test_no_more_hosts_are_looked_at_than_needed() -> None:
    looked: list[str] = []

    def watched() -> object:
        for host_capacity in host_capacities(4, 4, 4, 4):
            looked.append(host_capacity.host)
            yield host_capacity

    allocate(watched(), "$fill_up", ((5, 5),))  # type: ignore[arg-type]
    assert looked == ["h1", "h2"]


def test_the_slots_that_a_refusal_shows() -> None:
    assert max_slots_by_rule(host_capacities(4, 3), "$pe_slots") == 4
    assert max_slots_by_rule(host_capacities(4, 3), "$fill_up") == 7
    assert max_slots_by_rule(host_capacities(4, 3, 1), "2") == 4


@pytest.mark.statement("PE-8")
def test_a_wildcard_means_the_pe_with_most_free_slots() -> None:
    cluster = Cluster(3)
    cluster.pe("mpi-a", "$fill_up", slots=5)
    cluster.pe("mpi-b", "$fill_up", slots=10)
    cluster.queue(pe_list="mpi-a mpi-b")
    assert matching_pes(cluster.state, "mpi-*") == ["mpi-a", "mpi-b"]
    assert matching_pes(cluster.state, "nosuch") == []
    first = cluster.submit(pe="mpi-*", pe_range="6")
    cluster.cycle()
    assert cluster.state.jobs[first].tasks[1].pe == "mpi-b"
    second = cluster.submit(pe="mpi-*", pe_range="5")
    cluster.cycle()
    assert cluster.state.jobs[second].tasks[1].pe == "mpi-a"


@pytest.mark.statement("PE-2")
def test_slots_of_a_pe_count_over_all_jobs() -> None:
    cluster = Cluster(3)
    cluster.pe("few", "$fill_up", slots=5)
    cluster.queue(pe_list="few")
    jobs = [cluster.submit(pe="few", pe_range="3"), cluster.submit(pe="few", pe_range="3")]
    cluster.cycle()
    assert [cluster.runs(job) for job in jobs] == [True, False]
    reasons = [reason.text for reason in explain(cluster.state, cluster.state.jobs[jobs[1]], NOW)]
    assert 'cannot run in PE "few" because it only offers 2 slots' in reasons
    cluster.end(jobs[0])
    cluster.cycle()
    assert cluster.runs(jobs[1])


@pytest.mark.statement("PE-1", "OB-3", "QC-15")
def test_pe_access_and_pe_list() -> None:
    cluster = Cluster(1)
    cluster.add("userset", "staff", entries="bob", type="ACL")
    cluster.pe("closed", "$fill_up", user_lists="staff")
    cluster.pe("unlisted", "$fill_up")
    cluster.queue(pe_list="closed")
    alice, bob = cluster.submit(pe="closed", pe_range="2"), cluster.submit(owner="bob", pe="closed", pe_range="2")
    unlisted = cluster.submit(pe="unlisted", pe_range="2")
    cluster.cycle()
    assert not cluster.runs(alice) and cluster.runs(bob) and not cluster.runs(unlisted)

    def texts(job: int) -> str:
        return "\n".join(reason.text for reason in explain(cluster.state, cluster.state.jobs[job], NOW))

    assert 'has no permission for PE "closed"' in texts(alice)
    assert 'PE "unlisted" is not in PE list' in texts(unlisted)


@pytest.mark.statement("PE-12")
def test_job_is_first_task_false_takes_no_slot_more() -> None:
    cluster = Cluster(3)
    cluster.pe("apart", "$round_robin", job_is_first_task="FALSE")
    cluster.queue(pe_list="apart")
    job = cluster.submit(pe="apart", pe_range="3")
    cluster.cycle()
    assert sorted(cluster.spread(job).values()) == [1, 1, 1]


def test_the_master_queue_comes_first_and_takes_one_slot_outside_of_the_queue_list() -> None:
    cluster = Cluster(2)
    cluster.queue("c.q", pe_list="mpi", slots="2")
    near = cluster.submit(pe="mpi", pe_range="2", hard_queues=("c.q@h1",), master_queues=("all.q@h2",))
    far = cluster.submit(pe="mpi", pe_range="4", hard_queues=("c.q",), master_queues=("all.q@h2",))
    cluster.cycle()
    assert list(cluster.spread(near).items()) == [("all.q@h2", 1), ("c.q@h1", 1)]
    assert next(iter(cluster.spread(far).items())) == ("all.q@h2", 1) and sum(cluster.spread(far).values()) == 4


@pytest.mark.statement("PE-7", "PE-8")
def test_of_several_pes_the_one_that_gives_most_slots_counts() -> None:
    cluster = Cluster(3, slots=4)
    cluster.pe("t1", "1")
    cluster.pe("t2", "2")
    cluster.pe("t3", "$fill_up", slots=5)
    cluster.queue(pe_list="t1 t2 t3")
    jobs = [cluster.submit(pe="t[123]", pe_range=slot_range) for slot_range in ("1-", "1-3")]
    cluster.cycle()
    assert [cluster.state.task(job, 1).pe for job in jobs] == ["t2", "t1"]
    assert [sum(cluster.spread(job).values()) for job in jobs] == [6, 3]


@pytest.mark.statement("SO-21", "PE-5", "PE-6")
@pytest.mark.parametrize(
    ("pe", "slots", "master", "slot_range"),
    [
        ("mpi", "3", "b.q", "b.q@h1=1 all.q@h1=2"),
        ("mpi", "6", "all.q@h3", "all.q@h3=1 all.q@h1=4 b.q@h1=1"),
        ("mpi", "1-3", "all.q@h3", "all.q@h3=1 all.q@h1=2"),
        ("mpi", "1", "all.q@h3", "all.q@h3=1"),
        ("make", "3", "b.q", "b.q@h1=1 all.q@h1=1 all.q@h2=1"),
        ("make", "6", "all.q@h2", "all.q@h2=2 all.q@h1=2 all.q@h3=2"),
    ],
)
def test_a_slot_for_the_master_then_the_rule_from_the_best_host_on(pe: str, slots: str, master: str, slot_range: str) -> None:
    cluster = Cluster(3, slots=4)
    cluster.queue("b.q", pe_list="mpi make", slots="1", seq_no="5")
    cluster.change("scheduler", "", queue_sort_method="seqno")
    job = cluster.submit(pe=pe, pe_range=slots, master_queues=(master,))
    cluster.cycle()
    assert " ".join(f"{name}={given}" for name, given in cluster.spread(job).items()) == slot_range


def test_the_master_queue_with_all_slots_on_one_host() -> None:
    cluster = Cluster(3)
    job = cluster.submit(pe="smp", pe_range="3", master_queues=("*@h3",))
    none = cluster.submit(pe="smp", pe_range="3", master_queues=("*@h9",))
    cluster.cycle()
    assert cluster.spread(job) == {"all.q@h3": 3} and not cluster.runs(none)


@pytest.mark.statement("CX-37", "PE-5")
def test_consumables_limit_the_slots_of_each_host() -> None:
    cluster = Cluster(3, slots=8)
    cluster.complex("gpu INT <= YES YES 0 0")
    for host, count in zip(cluster.hosts, (2, 5, 4), strict=True):
        cluster.values(host, f"gpu={count}")
    job = cluster.submit(hard={"gpu": "2"}, pe="mpi", pe_range="1-")
    cluster.cycle()
    assert cluster.spread(job) == {"all.q@h1": 1, "all.q@h2": 2, "all.q@h3": 2}


def test_slaves_that_ask_for_nothing_wait_too_while_more_is_in_use_than_there_is() -> None:
    cluster = Cluster(2, slots=2)
    cluster.complex("gpu INT <= YES YES 0 0")
    cluster.pe("any", "$fill_up")
    cluster.queue(pe_list="any")
    for host in cluster.hosts:
        cluster.values(host, "gpu=1")
    cluster.submit(hard={"gpu": "1"}, hard_queues=("all.q@h2",))
    cluster.cycle()
    cluster.values("h2", "gpu=0")
    asking, other = cluster.submit(pe="any", pe_range="3", hard={"gpu": "0"}), cluster.submit(pe="any", pe_range="3")
    cluster.cycle()
    assert [cluster.runs(job) for job in (asking, other)] == [False, True]


@pytest.mark.statement("PE-7")
def test_the_least_that_a_job_can_run_with_is_the_first_of_its_ranges() -> None:
    assert smallest_count(((2, 6), (9, 9))) == 2


@pytest.mark.parametrize(("rule", "most"), [("$pe_slots", 4), ("$fill_up", 7), ("$round_robin", 7), ("2", 4), ("4", 4), ("5", 0)])
def test_the_greatest_number_of_slots_that_hosts_could_give(rule: str, most: int) -> None:
    assert max_slots_by_rule(host_capacities(2, 1, 4), rule) == most
    assert max_slots_by_rule([], rule) == 0


@pytest.mark.parametrize(
    ("rule", "slots", "looked_at"),
    [
        ("$pe_slots", 4, 1), ("$pe_slots", 5, 6), ("$fill_up", 4, 1), ("$fill_up", 5, 2), ("$fill_up", 8, 2),
        ("$round_robin", 2, 2), ("$round_robin", 3, 3), ("$round_robin", 9, 6),
        ("2", 4, 2), ("2", 6, 3), ("2", 5, 0), ("5", 5, 6),
    ],
)
def test_no_more_hosts_are_looked_at_than_it_takes(rule: str, slots: int, looked_at: int) -> None:
    seen = []

    def hosts() -> Iterator[HostCapacity]:
        for host_capacity in host_capacities(4, 4, 4, 4, 4, 4):
            seen.append(host_capacity)
            yield host_capacity

    allocate(hosts(), rule, ((slots, slots),))
    assert len(seen) == looked_at


@pytest.mark.statement("PE-4")
def test_all_slots_are_on_the_first_host_that_can_take_the_most() -> None:
    assert spread("$pe_slots", ((2, 9),), 2, 4, 3, 4) == {"h2": 4}
    assert spread("$pe_slots", ((2, 3),), 2, 4, 3) == {"h2": 3}


@pytest.mark.statement("PE-14")
def test_queues_of_a_host_contribute_in_order_up_to_what_the_host_has() -> None:
    host = HostCapacity("h1", 5, [("a@h1", 2), ("b@h1", 0), ("c@h1", 9)])
    for rule in ("$pe_slots", "$fill_up", "$round_robin", "5"):
        given = [(grant.instance, grant.slots) for grant in allocate([host], rule, ((5, 5),))]
        assert given == [("a@h1", 2), ("c@h1", 3)], rule
        assert allocate([host], rule, ((6, 6),)) == []


@pytest.mark.statement("PE-5", "PE-6")
def test_the_rest_of_a_host_without_the_slot_of_the_master() -> None:
    host = HostCapacity("h1", 5, [("a@h1", 2), ("b@h1", 3)])
    assert host.without("b@h1", 4) == ("h1", 4, [("a@h1", 2), ("b@h1", 2)])
    assert host.without("b@h1", 9).slots == 5


@pytest.mark.statement("PE-6")
def test_a_full_host_has_no_turn() -> None:
    full = HostCapacity("h1", 0, [("q@h1", 2)])
    assert [grant.host for grant in allocate([full, *host_capacities(0, 1)], "$round_robin", ((1, 1),))] == ["h2"]


@pytest.mark.statement("PE-2", "PE-6")
def test_turns_end_at_the_limit() -> None:
    assert spread("$round_robin", ((1, 9),), 4, 4, 4, limit=4) == {"h1": 2, "h2": 1, "h3": 1}


@pytest.mark.statement("PE-3", "PE-7")
def test_a_rule_of_a_number_gives_no_host_more_or_less() -> None:
    assert spread("2", ((2, 4), (8, 8)), 2, 2, 2) == {"h1": 2, "h2": 2}
    assert spread("0", ((1, 4),), 4) == {}
