"""Rows of queue instances over cycles: their order, watched rows, and when they are examined again."""

from __future__ import annotations

from typing import Any

import pytest

from daemons.schedd.categories import Category
from gridengine.state.jobs import Grant
from gridengine.state.machines.instance import InstanceFlagsChanged
from gridengine.state.machines.reservation import ReservationGranted
from gridengine.state.reservations import AdvanceReservation
from tests.builders import NOW, Cluster


def place(cluster: Cluster, job: int) -> str:
    """The instance of the job's master, "" while it waits."""
    return next(iter(cluster.spread(job)), "")


@pytest.mark.statement("SC-5")
def test_of_equal_places_the_first_by_name_is_taken_however_old_it_is() -> None:
    cluster = Cluster(1)
    cluster.queue("b.q")
    cluster.queue("a10.q")
    cluster.queue("a9.q")
    job = cluster.submit()
    cluster.cycle()
    assert place(cluster, job) == "a9.q@h1"


@pytest.mark.statement("CA-8")
@pytest.mark.parametrize("name", ["a.q", "z.q"])
def test_a_single_queue_with_a_calendar_keeps_jobs_clear_of_its_off_time(name: str) -> None:
    cluster = Cluster(1)
    cluster.change("scheduler", "", max_reservation="5")
    cluster.add("calendar", "shift", week="mon-sun=9-10=off")  # NOW is 08:00
    cluster.queue(name, calendar="shift")
    late = cluster.submit(hard={"h_rt": "3700"}, hard_queues=(name,))
    free = cluster.submit(hard={"h_rt": "3700"}, hard_queues=("all.q",))
    cluster.cycle()
    assert (place(cluster, late), place(cluster, free)) == ("", "all.q@h1")


@pytest.mark.statement("QC-4")
@pytest.mark.parametrize("name", ["a.q", "z.q"])
@pytest.mark.parametrize("thresholds", ["lic=1", "np_load_avg=50,lic=1", "lic=1,np_load_avg=50"])
def test_a_threshold_on_a_consumable_closes_its_queue_within_the_cycle(name: str, thresholds: str) -> None:
    cluster = Cluster(1)
    cluster.complex("lic INT <= YES YES 0 0")
    cluster.values("h1", "lic=3")
    cluster.queue(name, load_thresholds=thresholds)
    jobs = [cluster.submit(hard={"lic": "1"}, hard_queues=(name,)) for _ in range(3)]
    cluster.cycle()
    assert [cluster.runs(job) for job in jobs] == [True, True, False]


@pytest.mark.statement("CX-50")
def test_an_exclusive_host_is_kept_within_the_cycle_that_gives_it_away() -> None:
    cluster = Cluster(1)
    cluster.complex("ex BOOL EXCL YES YES 0 0")
    cluster.values("h1", "ex=TRUE")
    alone, other = cluster.submit(hard={"ex": "TRUE"}), cluster.submit()
    cluster.cycle()
    assert [cluster.runs(job) for job in (alone, other)] == [True, False]


@pytest.mark.statement("CX-50")
def test_an_exclusive_queue_is_kept_within_the_cycle_that_gives_it_away() -> None:
    cluster = Cluster(1)
    cluster.complex("ex BOOL EXCL YES YES 0 0")
    cluster.queue(complex_values="ex=TRUE")
    alone, other = cluster.submit(hard={"ex": "TRUE"}), cluster.submit()
    cluster.cycle()
    assert [cluster.runs(job) for job in (alone, other)] == [True, False]


@pytest.mark.statement("CX-64")
@pytest.mark.parametrize("fields", [{"hard_queues": ("all.q@h*",)}, {"soft": {"arch": "lx*"}}, {}])
def test_a_job_that_came_when_all_was_full_starts_when_something_ends(fields: dict[str, Any]) -> None:
    cluster = Cluster(1, slots=1)
    first = cluster.submit()
    cluster.cycle()
    waiting = cluster.submit(**fields)
    cluster.cycle()
    cluster.cycle()
    assert not cluster.runs(waiting)
    cluster.end(first)
    cluster.cycle()
    assert cluster.runs(waiting)


@pytest.mark.statement("LS-7", "SC-5")
def test_a_formula_that_packs_does_so_for_jobs_with_places_of_their_own() -> None:
    cluster = Cluster(3)
    for host, slots in zip(cluster.hosts, (4, 3, 4), strict=True):
        cluster.values(host, f"slots={slots}")
    cluster.change("scheduler", "", load_formula="slots")
    first = cluster.submit(hard_queues=("*@h3",))
    jobs = [cluster.submit(hard_queues=("*@h*",), soft={"arch": "lx*"}) for _ in range(3)]
    cluster.cycle()
    assert place(cluster, first) == "all.q@h3"
    assert {place(cluster, job) for job in jobs} == {"all.q@h2"}


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[Category]:
    """The category of each placement."""
    found: list[Category] = []
    look = Category.place

    def counted(category: Category, ledger: Any) -> Any:
        found.append(category)
        return look(category, ledger)

    monkeypatch.setattr(Category, "place", counted)
    return found


@pytest.mark.statement("CX-64", "CX-65")
@pytest.mark.parametrize("reserve", [True, False])
def test_a_blocked_category_is_not_placed_again_before_something_could_help(looks: list[Category], reserve: bool) -> None:
    cluster = Cluster(2, slots=1)
    cluster.queue("closed.q", slots="2")
    cluster.apply(InstanceFlagsChanged(["closed.q@h1", "closed.q@h2"], {"disabled": True}))
    for _ in range(2):
        cluster.submit(hard={"h_rt": "60"})
    waiting = cluster.submit(hard={"h_rt": "99"}, reserve=reserve)
    cluster.cycle()
    assert len(looks) == 3
    looks.clear()
    cluster.cycle()  # the figures of both hosts are refreshed, but they are full
    cluster.heard("h1", np_load_avg="0.200000")
    cluster.cycle(NOW + 10)
    assert looks == []
    cluster.end(1)
    cluster.cycle(NOW + 20)
    assert len(looks) == 1 and cluster.runs(waiting)


@pytest.mark.statement("CX-64", "QC-4")
def test_load_that_falls_below_a_threshold_brings_waiting_jobs_back() -> None:
    cluster = Cluster(2)
    cluster.queue(load_thresholds="np_load_avg=1")
    for host in cluster.hosts:
        cluster.heard(host, np_load_avg="2.000000")
    job = cluster.submit()
    cluster.cycle()
    cluster.heard("h1", np_load_avg="1.500000")
    cluster.cycle()
    assert not cluster.runs(job)
    cluster.heard("h2", np_load_avg="0.500000")
    cluster.cycle()
    assert place(cluster, job) == "all.q@h2"


@pytest.mark.statement("CX-64")
def test_a_load_value_of_the_whole_cluster_brings_waiting_jobs_back() -> None:
    cluster = Cluster(2)
    cluster.complex("weather STRING == YES NO NONE 0")
    cluster.heard("global", weather="rain")
    job = cluster.submit(hard={"weather": "sun"})
    cluster.cycle()
    assert not cluster.runs(job)
    cluster.heard("global", weather="sun")
    cluster.cycle()
    assert cluster.runs(job)


ENDED_AT = NOW + 7200


@pytest.mark.statement("CX-62", "CX-64")
@pytest.mark.parametrize("hears_first", [True, False])
@pytest.mark.parametrize(
    ("load", "in_vain", "fitting"),
    [
        ({"arch": "sol-x86"}, {"mem_free": "90G"}, {"arch": "sol*"}),
        ({"mem_free": "10G"}, {"mem_free": "90G"}, {"mem_free": "9G"}),
        ({"h_rt": "100"}, {"h_rt": "200"}, {"h_rt": "90"}),
    ],
)
def test_a_place_that_one_category_cannot_use_remains_for_another(
    load: dict[str, str], in_vain: dict[str, str], fitting: dict[str, str], hears_first: bool
) -> None:
    """Load values, also one with the name of a queue's limit, heard before or after the categories are known."""
    cluster = Cluster(2)
    jobs = [cluster.submit(hard=hard) for hard in (in_vain, fitting)]
    cluster.heard("h1", **{name: "5" for name in load if name == "h_rt"})
    if not hears_first:
        cluster.heard("h2", **{name: "5" for name in load if name == "h_rt"})
        assert cluster.cycle().starts == []
    cluster.heard("h2", **load)
    cluster.cycle()
    assert [place(cluster, job) for job in jobs] == ["", "all.q@h2"]


@pytest.mark.statement("CX-37", "CX-62")
@pytest.mark.parametrize("name", ["gpu", "h_vmem"])
def test_a_place_with_too_little_for_one_category_remains_for_another(name: str) -> None:
    """A consumable may have the name of a limit of queues."""
    cluster = Cluster(2)
    cluster.complex(f"{name} INT <= YES YES 0 0")
    for host in ("h1", "h2"):
        cluster.values(host, f"{name}=2")
    jobs = [cluster.submit(hard={name: amount}) for amount in ("2", "1", "2", "1")]
    cluster.cycle()
    assert [place(cluster, job) for job in jobs] == ["all.q@h1", "all.q@h2", "", "all.q@h2"]


@pytest.mark.statement("AR-92", "CX-62")
def test_a_place_reserved_too_soon_for_one_category_remains_for_another() -> None:
    cluster = Cluster(2, slots=1)
    for number, start in ((1, NOW + 30), (2, NOW + 300)):
        granted = [Grant(f"all.q@h{number}", 1)]
        cluster.apply(ReservationGranted(AdvanceReservation(number, "bob", "users", NOW, start, ENDED_AT, granted=granted)))
    jobs = [cluster.submit(hard={"h_rt": seconds}) for seconds in ("1000", "50")]
    cluster.cycle()
    assert [place(cluster, job) for job in jobs] == ["", "all.q@h2"]


@pytest.mark.statement("CA-8", "CX-62")
def test_a_place_that_closes_too_soon_for_one_category_remains_for_another() -> None:
    cluster = Cluster(2)
    cluster.change("scheduler", "", max_reservation="5")
    cluster.add("calendar", "early", week="mon-sun=9-10=off")  # NOW is 08:00
    cluster.add("calendar", "late", week="mon-sun=10-11=off")
    cluster.queue("all.q", calendar="early,[h2=late]")
    jobs = [cluster.submit(hard={"h_rt": seconds}) for seconds in ("9000", "5400")]
    cluster.cycle()
    assert [place(cluster, job) for job in jobs] == ["", "all.q@h2"]


@pytest.mark.statement("CX-62", "CX-65")
def test_categories_that_differ_in_what_queues_decide_examine_a_host_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Jobs with different run times wait for the same load value."""
    cluster = Cluster(4)
    for seconds in range(100, 130):
        cluster.submit(hard={"arch": "nosuch", "h_rt": str(seconds)})
    cluster.submit(hard={"arch": "other", "h_rt": "100"})
    cluster.cycle()
    examined: list[str] = []
    suits = Category.load_suits
    monkeypatch.setattr(Category, "load_suits", lambda self, row, ledger: examined.append(row.name) or suits(self, row, ledger))
    cluster.heard("h2", mem_free="5G")
    assert cluster.cycle().starts == [] and examined == ["all.q@h2"] * 2
    cluster.heard("h2", arch="nosuch")
    assert len(cluster.cycle().starts) == 4
