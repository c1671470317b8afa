"""Reservations at their limits: times that just fit or just do not, the effects of single changes, the order of ends."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gridengine.config import KINDS
from gridengine.protocols.gdi.requests import Answer
from tests.unit.reservations.conftest import ReservingCell


def texts(answer: Answer) -> list[str]:
    return [text for _, text in answer.answers]


def alter(cell: ReservingCell, number: int, **changes: Any) -> Answer:
    for name, field in (("at", "start_time"), ("until", "end_time")):
        if name in changes:
            changes[field] = cell.now + changes.pop(name)
    return cell.ask("alter_reservations", targets=[str(number)], changes=changes)


@pytest.mark.statement("AR-3", "AR-4", "AR-5", "AR-6", "AR-7")
@pytest.mark.parametrize(
    ("times", "text"),
    [
        ({"at": 0, "duration": 10.0}, ""),
        ({"at": -1, "duration": 10.0}, "start time is in the past"),
        ({"at": 10, "until": 10}, "start time is later than end time"),
        ({"at": 10, "until": 11}, ""),
        ({"at": 10, "until": 20, "duration": 10.0}, ""),
        ({"at": 10, "until": 20, "duration": 11.0}, "difference between end and start time does not correspond to duration"),
        ({"until": 0}, "end time is in the past"),
        ({"until": 1}, ""),
        ({"until": 10, "duration": 10.0}, ""),
        ({"until": 10, "duration": 11.0}, "start time is in the past"),
    ],
)
def test_a_window_begins_now_at_the_earliest_and_ends_after_that(
    cell: ReservingCell, times: dict[str, float], text: str
) -> None:
    assert texts(cell.request(**times)) == [text or "Your advance reservation 1 has been granted"]


@pytest.mark.statement("AR-125", "AR-5", "AR-7")
@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"at": 0}, ""),
        ({"at": -1}, "start time is in the past"),
        ({"duration": 60.0, "until": 160}, ""),
        ({"duration": 60.0, "until": 161}, "difference between end and start time does not correspond to duration"),
        ({"until": 100}, "start time is later than end time"),
        ({"until": 101}, ""),
        ({"at": 100}, ""),
        ({"until": 0}, "end time is in the past"),
    ],
)
def test_a_changed_window_is_one_that_could_be_reserved(cell: ReservingCell, changes: dict[str, float], text: str) -> None:
    number = cell.qrsub(at=100, duration=50)
    [answered] = texts(alter(cell, number, **changes))
    assert answered == text if text else answered.startswith(f"modified advance_reservation {number}")


@pytest.mark.statement("AR-125")
def test_a_reservation_that_has_begun_keeps_its_start_and_ends_later_than_now(cell: ReservingCell) -> None:
    number = cell.qrsub(duration=100)
    cell.wait(50)
    began = cell.ar(number).start_time
    assert texts(alter(cell, number, until=0)) == ["end time is in the past"]
    assert alter(cell, number, start_time=began, until=200).status == 0, "the same start is none that changes"
    text = f"denied: advance_reservation {number} has started, its start time cannot change"
    assert texts(alter(cell, number, at=10)) == [text]
    assert (cell.ar(number).start_time, cell.ar(number).end_time) == (began, cell.now + 200)


@pytest.mark.statement("AR-20", "AR-21", "AR-22")
@pytest.mark.parametrize(
    ("users", "allowed", "denied"),
    [
        ([], [], []),
        (["$user", "alice", "bob", "bob"], ["alice", "bob"], []),
        (["bob", "!carol", "!carol"], ["bob"], ["carol"]),
        (["@team", "!$user", ""], ["@team"], ["alice"]),
    ],
)
def test_each_user_is_named_once(cell: ReservingCell, users: list[str], allowed: list[str], denied: list[str]) -> None:
    cell.admin("change_users", verb="add", users=["bob"], lists=["team"])
    one = cell.ar(cell.qrsub(users=users))
    assert (one.allowed, one.denied) == (allowed, denied)


@pytest.mark.statement("AR-56", "AR-86", "AR-85")
@pytest.mark.parametrize(
    ("at", "limit", "text"),
    [
        (100, 100, ""),
        (100, 101, "the job duration is longer than duration of the advance reservation id 1"),
        (0, 100, ""),
        (0, 101, "the job duration is longer than duration of the advance reservation id 1"),
        (-40, 60, ""),
        (-40, 61, "the job duration exceeds the end time of the advance reservation id 1"),
        (-40, "INFINITY", ""),
    ],
)
def test_the_longest_job_that_fits(cell: ReservingCell, at: int, limit: int | str, text: str) -> None:
    number = cell.qrsub(at=max(at, 0), duration=100)
    cell.wait(max(0, -at))
    answer = cell.ask("submit", binary=True, script_file="x", ar=number, hard=[f"h_rt={limit}"])
    assert texts(answer)[:1] == ([text] if text else [])


@pytest.mark.statement("AR-55", "AR-104", "AR-105")
def test_forced_ends_come_in_the_order_of_tasks(cell: ReservingCell) -> None:
    cell.add("parallel_environment", "wide", pe_name="wide", slots="99", allocation_rule="$fill_up")
    cell.configure("cluster_queue", "all.q", pe_list="wide")
    number = cell.qrsub(pe="wide", pe_range="6")
    job = cell.submit(ar=number, tasks="1-5", rerun=True)
    cell.ask("hold_jobs", targets=[f"{job}.1"])
    cell.cycle()
    cell.ask("hold_jobs", targets=[f"{job}.1"], release=True)
    cell.end(job, 3, exit_status=99, failed=25)
    cell.ask("hold_jobs", targets=[f"{job}.3"])
    cell.cycle()
    order = list(cell.state.jobs[job].tasks)
    assert order != sorted(order) and cell.state.task(job, 3).status == "pending"
    answer = cell.qdel_ar(number, force=True)
    assert texts(answer) == [f"alice has deleted advance_reservation {number}"]
    assert job not in cell.state.jobs and number not in cell.state.reservations
    killed = [(record[35], record[11], record[12]) for record in cell.records(job) if record[11] == "37"]
    assert killed == [(str(task), "37", "137") for task in (1, 2, 4, 5)]


@pytest.mark.statement("AR-97", "AR-104")
def test_a_task_in_deletion_is_not_deleted_again_with_its_reservation(cell: ReservingCell) -> None:
    number = cell.qrsub()
    job = cell.submit(ar=number)
    cell.cycle()
    cell.ask("delete_jobs", targets=[str(job)])
    deleted_by = cell.state.task(job, 1).deleted_by
    assert texts(cell.qdel_ar(number)) == [f"alice has registered the advance_reservation {number} for deletion"]
    assert cell.state.task(job, 1).deleted_by == deleted_by
    cell.end(job, exit_status=137)
    cell.tick()
    assert number not in cell.state.reservations


@pytest.mark.statement("AR-101", "AR-103")
def test_a_refusal_for_a_reservation_does_not_stop_the_deletion_of_the_next(cell: ReservingCell) -> None:
    cell.admin("change_users", verb="add", users=["bob"], lists=["arusers"])
    strange, own = cell.qrsub("bob"), cell.qrsub()
    text = f'alice - you do not have the necessary privileges to delete the advance_reservation "{strange}"'
    assert texts(cell.qdel_ar(strange, 77, own, own)) == [
        text, 'denied: advance_reservation "77" does not exist', f"alice has deleted advance_reservation {own}",
        f'denied: advance_reservation "{own}" does not exist',
    ]
    assert list(cell.state.reservations) == [strange]


@pytest.mark.statement("AR-101", "AR-102")
@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"targets": []}, "You have to specify a username or advance_reservation ids"),
        ({"targets": ["1", "0"]}, "You have to specify a username or advance_reservation ids"),
        ({"targets": [], "users": ["*"]}, 'denied: "alice" must be manager or operator to delete all advance reservations'),
        ({"targets": [], "users": ["bob"]}, "There is no advance_reservation registered for the following users: bob"),
        ({"targets": ["x"], "users": ["bob"]}, 'denied: advance_reservation "x" does not exist'),
        ({"targets": [], "users": ["$user"]}, "alice has deleted advance_reservation 1"),
        ({"targets": ["1"], "users": ["*"]}, "alice has deleted advance_reservation 1"),
    ],
)
def test_users_and_ids_select_the_reservations_to_delete(cell: ReservingCell, fields: dict[str, list[str]], text: str) -> None:
    cell.qrsub()
    assert texts(cell.ask("delete_reservations", **fields)) == [text]


@pytest.mark.statement("AR-26", "AR-101")
@pytest.mark.parametrize("kind", ["submit_host", "admin_host"])
def test_reservations_are_made_and_deleted_on_submit_and_admin_hosts(cell: ReservingCell, kind: str) -> None:
    cell.admin("config_delete", kind=kind, name="h2")
    reserve = lambda: cell.ask("reserve", "alice", "h2", duration=100.0)  # noqa: E731
    delete = lambda: cell.ask("delete_reservations", "alice", "h2", targets=["1"])  # noqa: E731
    assert (reserve().status, delete().status) == (0, 0)
    cell.admin("config_delete", kind="admin_host" if kind == "submit_host" else "submit_host", name="h2")
    for ask in (reserve, delete):
        assert texts(ask()) == ['denied: host "h2" is neither submit nor admin host']


def test_the_rest_of_a_series_goes_with_one_of_it(cell: ReservingCell) -> None:
    cell.qrsub(at=100, duration=60, rule="FREQ=DAILY;COUNT=3")
    other = cell.qrsub(at=100, duration=60)
    single = cell.qrsub(at=3 * 86400, duration=60)
    answer = cell.qdel_ar(2, series=True)
    assert texts(answer) == [f"alice has deleted advance_reservation {number}" for number in (2, 3)]
    assert sorted(cell.state.reservations) == [1, other, single]
    cell.qdel_ar(1)
    assert sorted(cell.state.reservations) == [other, single]


@pytest.mark.statement("AR-31")
@pytest.mark.parametrize(("limit", "count", "granted"), [(0, 3, True), (3, 3, True), (2, 3, False)])
def test_a_series_counts_as_many_as_it_has(cell: ReservingCell, limit: int, count: int, granted: bool) -> None:
    cell.configure("configuration", "global", max_advance_reservations=str(limit))
    answer = cell.request(at=100, duration=60, rule=f"FREQ=DAILY;COUNT={count}")
    assert (answer.status == 0) == granted
    assert len(cell.state.reservations) == (count if granted else 0)
    if not granted:
        text = f"denied: the limit of {limit} advance reservations (max_advance_reservations) is reached"
        assert (answer.status, texts(answer)) == (25, [text])


@pytest.mark.statement("AR-82", "AR-70")
def test_a_broken_guard_names_three_of_many_changes(cell: ReservingCell) -> None:
    for name in ("@a", "@b", "@c"):
        cell.add("host_group", name, hostlist="h3")
    number = cell.qrsub(hard_queues=["all.q@h1"])

    def change(kind: str, name: str, **changes: str) -> dict[str, Any]:
        before = cell.state.kind(kind)[name]
        return {"kind": kind, "name": name, "before": before, "after": {**before, **changes}}

    groups = [change("host_group", name, hostlist="h2") for name in ("@a", "@b", "@c")]
    answer = cell.admin("config_change", changes=[*groups, change("cluster_queue", "all.q", slots="0")])
    assert texts(answer) == [
        'denied: changing host group "@a" and host group "@b" and host group "@c" would break '
        f"advance reservation {number}: 1 of slots are reserved at all.q@h1"
    ]
    assert cell.admin("config_change", changes=groups).status == 0


@pytest.mark.statement("AR-82", "AR-76")
def test_only_what_a_reservation_has_is_guarded(cell: ReservingCell) -> None:
    for name in ("lic", "spare"):
        cell.complex(f"{name} INT <= YES YES 0")
    cell.configure("exec_host", "global", complex_values="lic=9,spare=9")
    first, second = cell.qrsub(hard=["lic=3"], at=100), cell.qrsub(hard=["lic=4"], at=100)
    text = "denied: changing exechost \"global\" would break advance reservation {}: 7 of lic are reserved at global"
    answer = cell.configure("exec_host", "global", complex_values="lic=6,spare=1")
    assert texts(answer) == [text.format(first)]
    assert cell.configure("exec_host", "global", complex_values="lic=7,spare=0").status == 0
    row = {**cell.state.kind("complex")["lic"], "urgency": "9"}
    answer = cell.admin("config_add", kind="complex", name="lic", attributes=[(a, v, 1) for a, v in row.items()])
    assert answer.status == 0, "how it is booked stays"
    job = cell.submit(ar=second)
    cell.cycle()
    cell.wait(101)
    cell.cycle()
    assert cell.placed(job)
    cell.qdel_ar(first)
    cell.qdel_ar(second)
    assert cell.ar(second).ending, "it waits for its job"
    assert cell.configure("exec_host", "global", complex_values="lic=1").status == 0, "what ends guards nothing"


@pytest.mark.statement("AR-71", "AR-72", "AR-79", "AR-82")
@pytest.mark.parametrize(
    ("kind", "name"), [("parallel_environment", "p"), ("checkpoint", "c"), ("cluster_queue", "x.q"), ("exec_host", "h2")]
)
def test_objects_that_no_reservation_has_may_go(cell: ReservingCell, kind: str, name: str) -> None:
    for each in ("p", "mine"):
        cell.add("parallel_environment", each, pe_name=each, slots="9", allocation_rule="$fill_up")
    cell.add("checkpoint", "c", **{KINDS["checkpoint"].key: "c"})
    cell.add("cluster_queue", "x.q", hostlist="h3", pe_list="p", ckpt_list="c")
    cell.configure("cluster_queue", "all.q", pe_list="mine")
    cell.qrsub(pe="mine", pe_range="2", hard_queues=["all.q@h1"])
    cell.configure("host_group", "@allhosts", hostlist="h1")
    if kind in ("parallel_environment", "checkpoint"):
        cell.configure("cluster_queue", "x.q", pe_list="NONE", ckpt_list="NONE")
    assert cell.admin("config_delete", kind=kind, name=name).status == 0


@pytest.mark.statement("AR-76")
def test_reservations_outside_a_window_do_not_count(cell: ReservingCell) -> None:
    cell.add("parallel_environment", "wide", pe_name="wide", slots="99", allocation_rule="$pe_slots")
    cell.configure("cluster_queue", "all.q", pe_list="wide")
    for at, slots in ((100, 4), (200, 1), (300, 4)):
        cell.qrsub(at=at, duration=100, pe="wide", pe_range=str(slots), hard_queues=["all.q@h1"])
    cell.qdel_ar(1)
    answer = cell.configure("cluster_queue", "all.q", slots="2")
    assert texts(answer) == [
        'denied: changing cluster queue "all.q" would break advance reservation 3: 4 of slots are reserved at all.q@h1'
    ]
    cell.qdel_ar(3)
    assert cell.configure("cluster_queue", "all.q", slots="1").status == 0


@pytest.mark.statement("AR-52", "AR-17")
def test_a_report_names_only_who_waits_for_that_place_in_that_time(tmp_path: Path) -> None:
    cell = ReservingCell(tmp_path, hosts=2, slots=1)
    cell.configure("scheduler", "", max_reservation="10", params="DURATION_OFFSET=0")
    for host in ("h1", "h2"):
        cell.submit(hard=["h_rt=100", f"hostname={host}"])
    cell.cycle()
    cell.submit(hard=["h_rt=300", "hostname=h1"], reserve=True)
    cell.cycle()

    cell.qrsub(at=200, duration=100, hard_queues=["all.q@h2"])
    cell.qrsub(at=400, duration=100, hard_queues=["all.q@h1"])

    def holders(host: str, at: int, duration: int) -> list[str]:
        """The jobs that the report names, without running jobs."""
        lines = texts(cell.request(at=at, duration=duration, verify="v", hard_queues=[f"all.q@{host}"]))
        found = [line.partition(" is held by ")[2].partition(" until ")[0] for line in lines if " is held by " in line]
        return [holder for holder in found if not holder.startswith("job")]

    assert holders("h1", 200, 50) == ["waiting job 3 (-R y)"]
    assert holders("h1", 50, 51) == ["waiting job 3 (-R y)"]
    assert holders("h1", 50, 50) == [], "it has not begun by then"
    assert holders("h1", 400, 50) == ["advance reservation 2"], "it has ended by then"
    assert holders("h2", 200, 50) == ["advance reservation 1"]


@pytest.mark.statement("AR-17", "CA-8")
def test_the_first_window_opens_with_the_calendar_in_that_second(tmp_path: Path) -> None:
    cell = ReservingCell(tmp_path, hosts=1)
    cell.add("calendar", "cal", calendar_name="cal", year="15.1.2027=8:0:0-8:0:1=off", week="NONE")
    cell.configure("cluster_queue", "all.q", calendar="cal")
    now = cell.now
    number = cell.qrsub(duration=100, latest=now + 50)
    assert cell.ar(number).start_time - now == 1
