"""The reported reason if several reasons block a job, and conditions that do not block it."""

from __future__ import annotations

import pytest

from gridengine.placement.config_snapshot import PlacementConfig
from gridengine.placement.ledger import Ledger
from gridengine.placement.match import soft_violations
from gridengine.placement.placement_request import Request
from gridengine.state.jobs import Grant
from gridengine.state.machines.reservation import JobReservationsSet, ReservationGranted
from gridengine.state.reservations import AdvanceReservation, JobReservation
from tests.builders import NOW, Cluster, why


def grant(cluster: Cluster, number: int, start: float, place: str = "all.q@h1", slots: int = 4, **more: object) -> None:
    """A reservation that begins in so many seconds and lasts an hour."""
    window = {"start_time": NOW + start, "end_time": NOW + start + 3600}
    granted = [Grant(place, slots)]
    cluster.apply(
        ReservationGranted(AdvanceReservation(number, "bob", "users", NOW, **window, granted=granted, **more))  # type: ignore[arg-type]
    )


def kept_for(cluster: Cluster, job: int) -> str:
    _, _, message = why(cluster, job).partition("are reserved for ")
    return message


@pytest.mark.statement("QC-13", "QC-16")
def test_a_queue_of_no_type_is_for_checkpointing_jobs_alone() -> None:
    cluster = Cluster(1)
    cluster.add("checkpoint", "ck")
    cluster.queue(qtype="NONE", ckpt_list="ck")
    plain, checkpointed = cluster.submit(), cluster.submit(checkpoint="ck")
    cluster.cycle()
    assert [cluster.runs(job) for job in (plain, checkpointed)] == [False, True]
    assert "not of type batch" in why(cluster, plain)
    cluster.queue(ckpt_list="NONE")
    assert "not of type batch" in why(cluster, cluster.submit(checkpoint="ck"))


@pytest.mark.statement("QC-32")
@pytest.mark.parametrize(("lists", "running"), [({"projects": "p1"}, ["p1"]), ({"xprojects": "p2"}, ["p1", "p3", ""])])
def test_each_list_of_projects_counts_without_the_other(lists: dict[str, str], running: list[str]) -> None:
    cluster = Cluster(1)
    cluster.queue(**lists)
    jobs = {project: cluster.submit(project=project) for project in ("p1", "p2", "p3", "")}
    cluster.cycle()
    assert [project for project, job in jobs.items() if cluster.runs(job)] == running


@pytest.mark.statement("CX-29", "CX-31", "CX-33")
def test_a_value_that_replaces_its_load_leaves_the_other_loads_to_be_asked() -> None:
    cluster = Cluster(1)
    cluster.values("h1", "arch=special")
    fits, not_enough = (cluster.submit(hard={"arch": "special", "mem_free": text}) for text in ("1G", "99G"))
    cluster.cycle()
    assert [cluster.runs(job) for job in (fits, not_enough)] == [True, False]


@pytest.mark.statement("CX-34", "CX-37")
def test_the_free_amount_of_a_consumable_is_shown_as_such_even_if_a_load_value_is_stricter() -> None:
    cluster = Cluster(1)
    cluster.complex("disk INT <= YES YES 0 0")
    cluster.values("h1", "disk=100")
    cluster.heard("h1", disk="3")
    assert 'cannot run at host "h1" because it offers only hc:disk=3.000000' in why(cluster, cluster.submit(hard={"disk": "4"}))


@pytest.mark.statement("CX-37")
def test_of_consumables_that_leave_as_little_the_first_configured_is_named() -> None:
    cluster = Cluster(1)
    for name in ("one", "two"):
        cluster.complex(f"{name} INT <= YES YES 0 0")
    cluster.values("h1", "two=2,one=2")
    cluster.submit(hard={"one": "2", "two": "2"})
    cluster.cycle()
    assert "offers only hc:two=0.000000" in why(cluster, cluster.submit(hard={"one": "1", "two": "1"}))


@pytest.mark.statement("CX-37")
def test_an_unrequested_consumable_hides_no_exhausted_consumable() -> None:
    cluster = Cluster(1)
    for name in ("one", "two"):
        cluster.complex(f"{name} INT <= YES YES 0 0")
    cluster.values("h1", "one=9,two=1")
    jobs = [cluster.submit(hard={"two": "1"}) for _ in range(2)]
    cluster.cycle()
    assert [cluster.runs(job) for job in jobs] == [True, False]


@pytest.mark.statement("CX-49", "AR-41", "AR-48")
def test_a_job_that_wants_a_host_for_itself_keeps_out_of_one_that_is_reserved_later() -> None:
    cluster = Cluster(1)
    cluster.complex("ex BOOL EXCL YES YES 0 0")
    cluster.values("h1", "ex=TRUE")
    grant(cluster, 1, 600, slots=1)
    long, short = cluster.submit(hard={"ex": "1"}), cluster.submit(hard={"ex": "1", "h_rt": "60"})
    cluster.cycle()
    assert [cluster.runs(job) for job in (long, short)] == [False, True]


@pytest.mark.statement("CQ-3", "QC-18")
def test_a_queue_without_slots_is_not_called_full() -> None:
    cluster = Cluster(1)
    cluster.queue(slots="0")
    assert 'cannot run in queue "all.q@h1" because it offers only qc:slots=0.000000' in why(cluster, cluster.submit())
    cluster.queue(slots="1")
    cluster.submit()
    cluster.cycle()
    assert 'queue instance "all.q@h1" dropped because it is full' in why(cluster, cluster.submit())


@pytest.mark.statement("SO-21", "CX-59")
def test_a_queue_that_neither_list_names_is_shown_as_a_whole() -> None:
    cluster = Cluster(2)
    cluster.queue("b.q")
    cluster.queue("c.q")
    wide = {"pe": "mpi", "pe_range": "99", "hard_queues": ("all.q",)}
    message = [why(cluster, cluster.submit(**wide, master_queues=queues)) for queues in (["b.q"], [])]
    sentence = 'cannot run in queue "{}" because it is not contained in its hard queue list (-q)'
    refused = [[name for name in ("all.q", "b.q", "c.q") if sentence.format(name) in text] for text in message]
    assert refused == [["c.q"], ["b.q", "c.q"]]


@pytest.mark.statement("AR-41")
def test_an_instance_with_free_slots_beside_a_reservation_is_not_kept() -> None:
    cluster = Cluster(1)
    grant(cluster, 1, 600, slots=3)
    job = cluster.submit()
    assert why(cluster, job) == ""
    cluster.cycle()
    assert cluster.runs(job) and "are reserved for advance reservation 1" in why(cluster, cluster.submit())


@pytest.mark.statement("AR-41")
def test_a_full_instance_is_reported_as_full_despite_a_later_reservation() -> None:
    cluster = Cluster(1)
    for _ in range(4):
        cluster.submit(hard={"h_rt": "60"})
    cluster.cycle()
    grant(cluster, 1, 600)
    assert "is full" in why(cluster, cluster.submit())


@pytest.mark.statement("AR-41", "SC-7")
def test_the_reason_of_a_reserved_host_names_the_next_reservation() -> None:
    cluster = Cluster(2)
    cluster.queue(hostlist="h1 h2", pe_list="mpi")
    waiting, job = cluster.submit(hard_queues=("nosuch",)), cluster.submit(hard_queues=("*@h1",))
    grant(cluster, 1, 1800)
    grant(cluster, 2, 300, "all.q@h2")
    assert kept_for(cluster, job) == "advance reservation 1, which is to begin in 00:30:00", "that of its own host"
    grant(cluster, 3, 600)
    assert kept_for(cluster, job) == "advance reservation 3, which is to begin in 00:10:00"
    over = JobReservation(waiting, 1, NOW - 60, NOW, [Grant("all.q@h1", 1)], "", {})
    cluster.apply(JobReservationsSet([over]))
    assert kept_for(cluster, job) == "advance reservation 3, which is to begin in 00:10:00", "a past reservation reserves nothing"


@pytest.mark.statement("AR-41", "CX-39")
def test_the_reason_of_a_reserved_global_consumable_names_the_next_reservation() -> None:
    cluster = Cluster(3)
    cluster.complex("lic INT <= YES YES 0 0")
    cluster.values("global", "lic=1")
    grant(cluster, 1, 7200, "all.q@h2", 1, hard={"lic": "1"}, resources={"lic": "1"})
    grant(cluster, 2, 600, "all.q@h3", 1, hard={"lic": "1"}, resources={"lic": "1"})
    job = cluster.submit(hard={"lic": "1"}, hard_queues=("*@h1",))
    assert kept_for(cluster, job) == "advance reservation 2, which is to begin in 00:10:00"


@pytest.mark.statement("CX-29", "CX-31", "CX-60")
@pytest.mark.parametrize(
    ("requests", "unsatisfied"),
    [
        ({}, 0),
        ({"mem_free": "1G"}, 0),
        ({"mem_free": "3G"}, 1), ({"mem_total": "3G"}, 1), ({"mem_total": "2G"}, 0),
        ({"arch": "special"}, 0), ({"arch": "lx-amd64"}, 1), ({"arch": "lx-amd64", "mem_free": "3G"}, 2),
    ],
)
def test_soft_requests_that_a_host_does_not_satisfy_by_load_or_configuration(requests: dict[str, str], unsatisfied: int) -> None:
    """With ordered relations both values must fit, with other relations only the fixed value counts."""
    cluster = Cluster(1)
    cluster.values("h1", "arch=special,mem_free=2G,mem_total=20G")
    cluster.heard("h1", mem_free="8G", mem_total="2G")
    config_snapshot = PlacementConfig.of(cluster.state)
    request = Request.of(config_snapshot, cluster.job(soft=requests))
    assert soft_violations(config_snapshot, Ledger(cluster.state), request, "all.q@h1") == unsatisfied
