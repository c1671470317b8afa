"""Jobs inside a reservation: the chosen instance, and the refusals of the others."""

from __future__ import annotations

from typing import Any

import pytest

from gridengine.placement.verify import verify
from gridengine.state.jobs import Grant
from gridengine.state.machines.instance import InstanceFlagsChanged
from gridengine.state.machines.reservation import ReservationGranted
from gridengine.state.reservations import AdvanceReservation
from tests.builders import NOW, Cluster


def reserved(slots: int = 2, pe: str = "") -> Cluster:
    """Three hosts, of which a reservation holds so many slots of the first two."""
    cluster = Cluster(3)
    cluster.complex("disk STRING == YES NO NONE 0")
    cluster.values("h2", "disk=ssd")
    cluster.pe("par", "$fill_up")
    cluster.pe("other", "$fill_up")
    cluster.queue(pe_list="par other")
    granted = [Grant(f"all.q@h{number}", slots) for number in (1, 2)]
    held = AdvanceReservation(1, "alice", "users", NOW, NOW, NOW + 3600, granted=granted, pe=pe, granted_pe=pe)
    cluster.apply(ReservationGranted(held))
    return cluster


def placed(cluster: Cluster, **fields: Any) -> tuple[list[tuple[str, int]], list[str]]:
    """Places and slots of a job inside it, and the codes of the reasons."""
    granted, reasons = verify(cluster.state, cluster.job(ar=1, **fields), False, NOW)
    return [(grant.instance, grant.slots) for grant in granted], [reason.code for reason in reasons]


@pytest.mark.statement("AR-91")
def test_a_job_takes_the_first_fitting_instance_and_learns_why_others_do_not_fit() -> None:
    cluster = reserved()
    assert placed(cluster) == ([("all.q@h1", 1)], [])
    assert placed(cluster, soft={"disk": "ssd"})[0] == [("all.q@h2", 1)]
    assert placed(cluster, soft_queues=("all.q@h2",))[0] == [("all.q@h2", 1)]
    cluster.apply(InstanceFlagsChanged(["all.q@h1"], {"disabled": True}))
    assert placed(cluster) == ([("all.q@h2", 1)], ["disabled"])
    assert placed(cluster, hard={"hostname": "h3"})[0] == [], "what it does not hold it does not offer"


@pytest.mark.statement("AR-87")
def test_a_parallel_job_gets_what_the_pe_of_the_reservation_gives() -> None:
    cluster = reserved(pe="par")
    assert placed(cluster, pe="par", pe_range="4") == ([("all.q@h1", 2), ("all.q@h2", 2)], [])
    granted, reasons = placed(cluster, pe="par", pe_range="5")
    assert granted == [] and "not_reserved" not in reasons
    granted, reasons = placed(cluster, pe="other", pe_range="1")
    assert granted == [] and reasons[-1] == "not_reserved"


@pytest.mark.statement("AR-48")
def test_to_be_alone_inside_a_reservation_has_to_be_reserved() -> None:
    cluster = reserved()
    cluster.complex("ex BOOL EXCL YES YES 0 0")
    for host in cluster.hosts:
        cluster.values(host, "ex=TRUE")
    assert placed(cluster, hard={"ex": "TRUE"}) == ([], ["not_reserved", "not_reserved"])
