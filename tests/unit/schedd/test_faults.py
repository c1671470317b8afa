"""A job that the scheduler cannot handle, and infinite numbers: the other jobs run normally."""

from __future__ import annotations

from math import inf, isfinite, nan
from pathlib import Path
from typing import Any

import msgspec
import pytest

from daemons.qmaster.admit import admit
from daemons.qmaster.decision import Decision
from daemons.qmaster.master import DAEMON
from daemons.qmaster.queries.jobs import jobs as job_rows
from daemons.qmaster.queries.selection import Listing
from daemons.schedd.cycle import schedule
from daemons.schedd.priorities import normalised
from gridengine.placement.urgency import LARGEST, finite
from gridengine.protocols.gdi.requests import Caller
from gridengine.protocols.orders import JobFault, Orders, StartOrder, decode_orders
from gridengine.state.jobs import Grant, Job, JobChanges, Tickets
from gridengine.state.machines.job import JobChanged, JobErrorChanged, PrioritiesSet
from gridengine.state.machines.reservation import JobReservationsSet
from gridengine.state.machines.task import TaskDispatched
from gridengine.state.reservations import JobReservation
from tests.builders import NOW, Cluster, started
from tests.harness import Cell
from tests.unit.clients.shell import Shell

ALICE = Caller("alice", 1001, "users", 100, "h1")
HUGE = 10**400
"""No float is as large: what is computed with it raises OverflowError."""


def submitted(cell: Cell, **fields: object) -> Job:
    """A job that no request could have brought, as if a check were missing."""
    number = cell.submit()
    cell.master.record(Decision(events=[JobChanged(number, JobChanges(**fields))]), DAEMON)
    cell.master.flush()
    return cell.state.jobs[number]  # type: ignore[no-any-return]


@pytest.fixture
def cell(tmp_path: Path) -> Cell:
    return Cell(tmp_path)


@pytest.fixture
def shell(cell: Cell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> Shell:
    return Shell(cell, tmp_path, monkeypatch, capsys)


@pytest.mark.parametrize(
    "broken",
    [{"pe": "make", "pe_range": "garbage"}, {"pe": "make", "pe_range": ""}, {"soft": {"h_rt": "x"}}, {"soft_queues": ("a@b@c",)}],
)
def test_a_request_that_is_not_understood_sets_its_job_in_error_and_no_other(cell: Cell, broken: dict[str, object]) -> None:
    bad, good = submitted(cell, **broken), cell.submit("bob")
    cell.cycle()
    assert cell.placed(good)
    assert bad.error.startswith("the scheduler cannot handle this job (")
    assert not cell.placed(bad.id)
    before = cell.state.revision
    cell.cycle()
    assert cell.state.revision == before
    assert schedule(cell.mirror.view, cell.now).faults == [], "it is not tried again"
    rows = job_rows(Listing(cell.state), {"details": ["requests", "shares"], "users": ["*"]}, ALICE, cell.now)
    assert [row[0] for row in rows["pending"]] == [bad.id]
    cell.restart()
    assert cell.state.jobs[bad.id].error == bad.error


def test_a_job_that_the_policies_cannot_deal_with_is_ordered_no_tickets(cell: Cell) -> None:
    bad, good = submitted(cell, priority=HUGE, override_tickets=5), submitted(cell, override_tickets=3)
    orders = schedule(cell.mirror.view, cell.now)
    assert [fault.job_id for fault in orders.faults] == [bad.id]
    assert orders.tickets.keys() == {good.id}, "nothing stays of the try that failed"


def test_an_attribute_that_has_got_another_type() -> None:
    cluster = Cluster()
    cluster.complex("since STRING == YES NO NONE 0")
    runs, waits = cluster.submit(), cluster.submit(hard={"since": "noon"}, start_after=NOW + 9)
    cluster.cycle()
    cluster.complex("since TIME <= YES NO 0 0")
    other = cluster.submit()
    orders = cluster.cycle(NOW + 10)
    assert [fault.job_id for fault in orders.faults] == [waits]
    assert cluster.runs(runs) and cluster.runs(other)
    rows = job_rows(Listing(cluster.state), {"details": ["shares"]}, ALICE, NOW)
    assert len(rows["running"]) == 2 and len(rows["pending"]) == 1


@pytest.mark.parametrize("scheduler", [{}, {"weight_tickets_functional": "1000"}])
@pytest.mark.parametrize("field", ["priority", "job_share", "override_tickets"])
def test_numbers_that_no_policy_can_compute_with(field: str, scheduler: dict[str, str]) -> None:
    cluster = Cluster()
    cluster.change("scheduler", "", **scheduler)
    bad, good = cluster.submit(), cluster.submit(owner="bob")
    setattr(cluster.state.jobs[bad], field, HUGE)
    orders = cluster.cycle()
    assert (good, 1) in [order[:2] for order in started(orders)]
    if bad not in [order[0] for order in started(orders)]:
        assert [fault.job_id for fault in orders.faults] == [bad]
    assert all(map(isfinite, orders.priorities[good]))


def test_a_job_whose_placement_fails_half_way(cell: Cell, monkeypatch: pytest.MonkeyPatch) -> None:
    bad, good = cell.submit(hard=["h_rt=10"]), cell.submit("bob")
    view = cell.mirror.view
    assert view is not None
    category = type(view.category(view.state.jobs[bad]))
    place = category.place

    def breaking(self, ledger):  # type: ignore[no-untyped-def]
        if self.request.hard:
            raise ZeroDivisionError("division by zero")
        return place(self, ledger)

    monkeypatch.setattr(category, "place", breaking)
    cell.cycle()
    assert cell.placed(good)
    assert cell.state.jobs[bad].error == "the scheduler cannot handle this job (ZeroDivisionError: division by zero)"
    monkeypatch.undo()
    assert cell.admin("change_states", targets=[str(bad)], what="job", action="clear").status == 0
    cell.cycle()
    assert cell.placed(bad)


def test_its_owner_sees_why_and_mends_it_with_qalter(cell: Cell, shell: Shell) -> None:
    bad = submitted(cell, soft={"h_rt": "x"})
    cell.cycle()
    for options in ("", "-r", "-urg", "-ext"):
        assert "Eqw" in shell(f"qstat {options}").out
    assert f"error reason          1:      {bad.error}" in shell(f"qstat -j {bad.id}").lines
    assert shell(f"qexplain {bad.id}").lines == [
        f'job {bad.id} ("sleep") is in error state, because',
        f"  1. it cannot be scheduled (once that is corrected: qmod -cj {bad.id})",
        f"       {bad.error}",
    ]
    assert shell(f"qalter -soft -l s_rt=9 {bad.id}").status == 0
    assert not bad.error
    cell.cycle()
    assert cell.placed(bad.id)


def test_a_faulty_job_with_a_waiting_client_ends(cell: Cell) -> None:
    bad = submitted(cell, kind="qrsh", soft={"h_rt": "x"})
    cell.cycle()
    assert bad.id not in cell.state.jobs


def test_a_fault_of_an_earlier_version_is_dropped(cell: Cell) -> None:
    job = cell.state.jobs[cell.submit()]
    fault = JobFault(job.id, job.version - 1, "why")
    assert admit(cell.state, Orders(cell.state.revision, faults=[fault]), cell.now) == []


# --- numbers -----------------------------------------------------------------------------------------------


@pytest.mark.statement("CX-66", "PR-3")
def test_an_infinite_request_with_an_urgency() -> None:
    cluster = Cluster(1)
    cluster.complex("h_rt TIME <= YES NO 0:0:0 1")
    endless, short, plain = (cluster.submit(hard=hard) for hard in ({"h_rt": "INFINITY"}, {"h_rt": "60"}, {}))
    orders = cluster.cycle()
    assert [order[0] for order in started(orders)] == [endless, short, plain]
    assert orders.priorities[endless][2] == 1.0
    assert decode_orders(msgspec.json.encode(orders)) == (orders, [])
    rows = job_rows(Listing(cluster.state), {"details": ["shares", "requests"]}, ALICE, NOW)["running"]
    shown = {row[0]: row[-1] for row in rows}
    assert f"{shown[endless]['rrcontr']:8.2g}" == f"{shown[endless]['urgency']:8.2g}" == "1.8e+308"
    assert shown[endless]["hard"][0][2] == LARGEST


@pytest.mark.parametrize("weight", ["urgency", "priority", "ticket", "waiting_time", "deadline"])
def test_infinite_weights(weight: str) -> None:
    cluster = Cluster()
    cluster.complex("h_rt TIME <= YES NO 0:0:0 -1")
    cluster.complex("s_rt TIME <= YES NO 0:0:0 1")
    cluster.change("scheduler", "", **{f"weight_{weight}": "INFINITY"})
    endless = {"h_rt": "INFINITY", "s_rt": "INFINITY"}
    for age, fields in enumerate(({}, {"hard": endless}, {"deadline": NOW + 9}, {"override_tickets": 3})):
        cluster.submit(submit_time=NOW - 100 * age, **fields)
    orders = cluster.cycle()
    assert len(orders.starts) == 4
    assert all(isfinite(number) for each in orders.priorities.values() for number in each)


def test_finite_numbers_only() -> None:
    assert [finite(value) for value in (1.5, inf, -inf, nan)] == [1.5, LARGEST, -LARGEST, 0.0]
    assert normalised([-LARGEST, 0.0, LARGEST]) == [0.0, 0.5, 1.0]


# --- what the qmaster takes --------------------------------------------------------------------------------


def test_an_order_that_cannot_be_checked_is_dropped_alone(cell: Cell) -> None:
    bad, good = submitted(cell, pe_range="garbage", pe="make"), cell.state.jobs[cell.submit()]
    starts = [StartOrder(job.id, 1, 1, job.version, [Grant("all.q@h1", 1)], "make" if job is bad else "") for job in (bad, good)]
    found = admit(cell.state, Orders(cell.state.revision, starts), cell.now)
    assert [(type(event), event.job_id) for event in found] == [  # type: ignore[union-attr]
        (TaskDispatched, good.id),
        (JobErrorChanged, bad.id),
    ]


def test_a_job_in_error_is_not_started(cell: Cell) -> None:
    job = cell.state.jobs[cell.submit()]
    cell.master.record(Decision(events=[JobErrorChanged(job.id, "why")]), DAEMON)
    order = StartOrder(job.id, 1, 1, job.version, [Grant("all.q@h1", 1)])
    assert admit(cell.state, Orders(cell.state.revision, [order]), cell.now) == []


def test_numbers_without_an_end_are_not_taken(cell: Cell) -> None:
    one, two = cell.submit(), cell.submit()
    good, bad = (JobReservation(job, 1, NOW, end, [Grant("all.q@h1", 1)]) for job, end in ((one, NOW + 9), (two, inf)))
    orders = Orders(
        cell.state.revision,
        priorities={one: (0.5, 0.5, 0.5, 0.5), two: (nan, 0.5, 0.5, 0.5)},
        tickets={one: Tickets(1.0), two: Tickets(inf)},
        job_reservations=[good, bad],
    )
    assert admit(cell.state, orders, cell.now) == [
        JobReservationsSet([good]),
        PrioritiesSet({one: (0.5, 0.5, 0.5, 0.5)}, {one: Tickets(1.0)}),
    ]


def test_an_order_that_cannot_be_read_is_left_out_alone() -> None:
    start = StartOrder(7, 1, 1, 0, [Grant("all.q@h1", 1)])
    priorities = {7: (0.5, 0.5, 0.5, 0.5), 8: (inf, 0.5, 0.5, 0.5)}
    sent = Orders(3, [start], priorities=priorities, tickets={7: Tickets(nan)}, next_time=inf)
    found, wrong = decode_orders(msgspec.json.encode(sent))
    assert found == Orders(3, [start], priorities={7: priorities[7]})
    assert [text.partition(" ")[0] for text in wrong] == ["priorities", "tickets", "next_time"]
    message = msgspec.json.decode(msgspec.json.encode(sent))
    message["starts"].insert(0, ["x"])
    assert decode_orders(msgspec.json.encode(message))[0].starts == [start]


def test_the_scheduler_never_sends_a_number_that_is_none() -> None:
    cluster = Cluster()
    cluster.complex("h_rt TIME <= YES NO 0:0:0 INFINITY")
    cluster.submit(hard={"h_rt": "INFINITY"})
    assert cluster.view is not None
    assert b"null" not in msgspec.json.encode(schedule(cluster.view, NOW))
