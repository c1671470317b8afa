"""A change of the configuration examines only the reservations that it can affect: there may be thousands."""

from __future__ import annotations

from typing import Any

import pytest

from daemons.qmaster.decide.reservations import guards as reservation_guards
from tests.unit.reservations.conftest import ReservingCell

ON_H1, ON_H2, PARALLEL, BY_GROUP = 1, 2, 3, 4


@pytest.fixture
def looked_at(cell: ReservingCell, monkeypatch: pytest.MonkeyPatch) -> set[int]:
    """Four reservations; the numbers of the examined reservations."""
    for number in (1, 2):
        cell.add("calendar", f"cal{number}", calendar_name=f"cal{number}", year="NONE", week="NONE")
        cell.add("cluster_queue", f"q{number}.q", hostlist=f"h{number}", calendar=f"cal{number}")
    cell.add("parallel_environment", "wide", pe_name="wide", slots="9")
    cell.add("parallel_environment", "idle", pe_name="idle", slots="9")
    cell.add("host_group", "@third", hostlist="h3")
    cell.add("host_group", "@empty", hostlist="NONE")
    cell.configure("cluster_queue", "all.q", pe_list="wide", hostlist="h3")
    assert cell.qrsub(hard_queues=["q1.q"]) == ON_H1
    assert cell.qrsub(hard_queues=["q2.q"]) == ON_H2
    assert cell.qrsub(hard_queues=["all.q@h3"], pe="wide", pe_range="2") == PARALLEL
    assert cell.qrsub(hard_queues=["q1.q", "all.q@@third"], hard=["hostname=h3"]) == BY_GROUP
    found: set[int] = set()
    faults = reservation_guards._Check.faults

    def noting(self: Any, reservation: Any, users: Any) -> frozenset[str]:
        found.add(reservation.id)
        return faults(self, reservation, users)

    monkeypatch.setattr(reservation_guards._Check, "faults", noting)
    return found


@pytest.mark.statement("AR-81", "AR-82")
@pytest.mark.parametrize(
    ("kind", "name", "changes", "concerned"),
    [
        ("cluster_queue", "q1.q", {"notify": "0:1:0"}, {ON_H1}),
        ("cluster_queue", "q2.q", {"seq_no": "7"}, {ON_H2}),
        ("cluster_queue", "all.q", {"notify": "0:1:0"}, {PARALLEL, BY_GROUP}),
        ("exec_host", "h1", {"load_scaling": "la=2"}, {ON_H1}),
        ("exec_host", "h3", {"load_scaling": "la=2"}, {PARALLEL, BY_GROUP}),
        ("exec_host", "global", {"load_scaling": "la=2"}, {ON_H1, ON_H2, PARALLEL, BY_GROUP}),
        ("calendar", "cal2", {"year": "1.1.2029=off"}, {ON_H2}),
        ("parallel_environment", "wide", {"slots": "8"}, {PARALLEL}),
        ("parallel_environment", "idle", {"slots": "8"}, set()),
        ("host_group", "@empty", {"hostlist": "h9"}, {BY_GROUP}),
        ("userset", "arusers", {"entries": "alice,bob"}, {ON_H1, ON_H2, PARALLEL, BY_GROUP}),
    ],
)
def test_a_change_is_weighed_only_for_the_reservations_that_it_concerns(
    cell: ReservingCell, looked_at: set[int], kind: str, name: str, changes: dict[str, str], concerned: set[int]
) -> None:
    assert cell.configure(kind, name, **changes).status == 0
    assert looked_at == concerned


@pytest.mark.statement("AR-81")
def test_nothing_is_weighed_without_reservations_or_for_other_objects(
    cell: ReservingCell, monkeypatch: pytest.MonkeyPatch
) -> None:
    weighed: list[object] = []
    proposed = reservation_guards.proposed_state

    def noting(proposal: Any) -> Any:
        weighed.append(proposal)
        return proposed(proposal)

    monkeypatch.setattr(reservation_guards, "proposed_state", noting)
    assert cell.configure("cluster_queue", "all.q", seq_no="3").status == 0
    number = cell.qrsub()
    assert cell.add("project", "p").status == 0
    assert cell.configure("configuration", "global", max_jobs="77").status == 0
    assert weighed == []
    assert cell.configure("cluster_queue", "all.q", seq_no="4").status == 0
    assert len(weighed) == 1
    cell.qdel_ar(number)
    assert cell.configure("cluster_queue", "all.q", seq_no="5").status == 0
    assert len(weighed) == 1
