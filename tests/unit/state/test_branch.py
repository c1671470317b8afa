"""A branch of the state for trial changes of the configuration, and the cache of configuration data."""

from __future__ import annotations

from typing import Any

import pytest

from gridengine.placement.config_snapshot import PlacementConfig
from gridengine.state.apply import apply
from gridengine.state.events import AnyEvent
from gridengine.state.jobs import Grant
from gridengine.state.machines.configuration import GroupMembersSet, ObjectRemoved, ObjectSet
from gridengine.state.machines.host import HostHeard
from gridengine.state.machines.reservation import ReservationGranted
from gridengine.state.reservations import AdvanceReservation
from gridengine.state.state import State
from tests.builders import NOW, Cluster


@pytest.fixture
def cluster() -> Cluster:
    """Hosts with a job, a reservation, and a value that the sensor of another host gave."""
    cluster = Cluster(3)
    cluster.submit()
    cluster.cycle()
    reservation = AdvanceReservation(1, "a", "g", NOW, NOW, NOW + 100, granted=[Grant("all.q@h2", 1)])
    cluster.apply(ReservationGranted(reservation))
    cluster.apply(HostHeard("h1", NOW, {"lic": "3"}, by="h3"))
    return cluster


def derived(state: State) -> dict[str, Any]:
    """All primary and derived data of a state."""
    return {
        "primary": state.snapshot(),
        "configs": dict(state.configs),
        "ambiguous": dict(state.ambiguous),
        "groups": {name: state.groups.groups_of(name) for name in state.hosts},
        "instances": {name: sorted(found) for name, found in state.instances_of.items()},
        "tasks": {name: sorted(found) for name, found in state.tasks_in.items()},
    }


def changes(state: State) -> list[AnyEvent]:
    queue, group = state.objects["cluster_queue"]["all.q"], state.objects["host_group"]["@allhosts"]
    return [
        ObjectSet("cluster_queue", "all.q", {**queue, "slots": "9,[h1=2]"}),
        ObjectSet("cluster_queue", "new.q", {**queue, "qname": "new.q"}),
        ObjectSet("host_group", "@allhosts", {**group, "hostlist": "h1"}),
        GroupMembersSet({"@allhosts": ["h3"]}),
        ObjectRemoved("exec_host", "h3"),
        ObjectRemoved("cluster_queue", "all.q"),
    ]


def test_changes_of_a_branch_stay_there(cluster: Cluster) -> None:
    before = derived(cluster.state)
    branch = cluster.state.branch()
    for event in changes(cluster.state):
        apply(branch, event)
    assert derived(cluster.state) == before
    assert "new.q@h1" in branch.instances and branch.instances["all.q@h2"].orphaned


def test_a_branch_becomes_what_the_state_would(cluster: Cluster) -> None:
    branch, events = cluster.state.branch(), changes(cluster.state)
    for event in events:
        apply(branch, event)
        apply(cluster.state, event)
    assert derived(branch) == derived(cluster.state)


def test_the_site_is_kept_until_the_configuration_changes(cluster: Cluster) -> None:
    state = cluster.state
    kept = PlacementConfig.of(state)
    cluster.heard("h1", load_avg="1")
    cluster.submit()
    assert PlacementConfig.of(state) is kept
    for event in changes(state):
        apply(state, event)
        assert PlacementConfig.of(state) is not kept
        kept = PlacementConfig.of(state)
