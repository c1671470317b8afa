"""Troubles of a reserved instance: unknown, error, disabled, suspended (AR-57, AR-59)."""

from __future__ import annotations

import pytest

from daemons.qmaster.rules.lost_hosts import RETURN_S
from daemons.qmaster.rules.reservation_states import errors_of, instance_faults
from gridengine.state.jobs import Grant
from gridengine.state.reservations import AdvanceReservation
from tests.builders import NOW, Cluster

NAME = "all.q@h1"


def trouble(cluster: Cluster, now: float = NOW + 1, since: float = NOW - 100) -> list[str]:
    """The texts about the faults of all.q@h1."""
    texts = instance_faults(cluster.state, [NAME], now, since).get(NAME, [])
    assert all(text.startswith(f"reserved queue {NAME} is ") for text in texts)
    return [text.rsplit(" ", 1)[1] for text in texts]


def test_a_sound_instance_has_none_and_one_that_is_not_there_neither() -> None:
    cluster = Cluster(1)
    assert instance_faults(cluster.state, [NAME, "gone.q@h1"], NOW, NOW) == {}


@pytest.mark.statement("AR-57", "AR-59")
@pytest.mark.parametrize(
    ("field", "noun"),
    [
        ("disabled", "disabled"),
        ("calendar_disabled", "disabled"),
        ("suspended", "suspended"),
        ("calendar_suspended", "suspended"),
    ],
)
def test_each_state_has_its_text(field: str, noun: str) -> None:
    cluster = Cluster(1)
    setattr(cluster.state.instances[NAME], field, True)
    assert trouble(cluster) == [noun]


@pytest.mark.statement("AR-57")
def test_a_lost_host_is_reported_at_once_if_it_had_reported_to_this_qmaster() -> None:
    cluster = Cluster(1)
    cluster.state.hosts["h1"].up = False
    assert trouble(cluster, NOW + 1, since=NOW) == ["unknown"]


@pytest.mark.statement("AR-57")
def test_a_host_has_the_time_to_report_to_a_qmaster_that_has_just_started() -> None:
    cluster = Cluster(1)
    cluster.state.hosts["h1"].up = False
    since = NOW + 50
    assert trouble(cluster, since, since) == []
    assert trouble(cluster, since + RETURN_S - 1, since) == []
    assert trouble(cluster, since + RETURN_S, since) == ["unknown"]


@pytest.mark.statement("AR-57")
def test_all_faults_are_listed_in_the_order_of_the_grants() -> None:
    cluster = Cluster(2)
    cluster.state.hosts["h1"].up = False
    cluster.state.instances[NAME].disabled = True
    cluster.state.instances["all.q@h2"].suspended = True
    found = instance_faults(cluster.state, [NAME, "all.q@h2"], NOW + 1, NOW - 100)
    granted = [Grant("all.q@h2", 1), Grant("other.q@h2", 1), Grant(NAME, 1)]
    reservation = AdvanceReservation(1, "alice", "users", NOW, NOW, NOW + 60, granted=granted)
    assert errors_of(reservation, found) == [
        "reserved queue all.q@h2 is suspended",
        "reserved queue all.q@h1 is unknown",
        "reserved queue all.q@h1 is disabled",
    ]
