"""Event clients: lists first, numbered notices after, instances after their queues, and disconnected clients."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from daemons.qmaster.serve.streams import event_clients
from daemons.qmaster.serve.streams.event_clients import EventClient, EventClients
from gridengine.protocols.gdi.requests import Caller, KillEventClients
from tests.harness import Cell
from tests.service_callbacks import durable
from tests.unit.qmaster.asking import attribute

ROOT = Caller("root", 0, "root", 0, "master")
ALICE = Caller("alice", 1001, "users", 1001, "h1")


@pytest.fixture
def registry(cell: Cell) -> EventClients:
    return EventClients(cell.master, durable)


def _client(registry: EventClients, *types: str) -> EventClient:
    client = registry.register("qevent", ALICE, list(types))
    assert isinstance(client, EventClient), client
    return client


def _taken(client: EventClient) -> list[dict[str, Any]]:
    records = [*client.records.unread]
    client.records.unread.clear()
    return records


def _lines(client: EventClient) -> list[Any]:
    """The events in the stream of a disconnected client."""

    async def read() -> list[Any]:
        return [line async for line in client.lines()]

    return asyncio.run(read())


def _received(client: EventClient) -> list[tuple[str, str, str]]:
    return [(record["type"], record["action"], record["name"]) for record in _taken(client)]


@pytest.mark.statement("EV-1", "EV-8")
def test_lists_come_first_and_everything_is_numbered(cell: Cell, registry: EventClients) -> None:
    client = _client(registry)
    lists = {record["type"]: record["data"] for record in _taken(client)}
    assert [each["name"] for each in lists["QUEUEINSTANCE"]] == ["all.q@h1", "all.q@h2", "all.q@h3"]
    assert {"CLUSTERQUEUE", "COMPLEX", "HOST_GROUP", "JOB", "EXECHOST", "ADMINHOST"} <= lists.keys()
    assert len(lists["COMPLEX"]) == len(cell.state.kind("complex"))
    cell.add("calendar", "c")
    cell.admin("config_delete", kind="calendar", name="c")
    numbers = [record["number"] for record in _taken(client)]
    assert numbers == [len(lists) + 1, len(lists) + 2]


@pytest.mark.statement("EV-2", "EV-3", "EV-6")
def test_a_queue_comes_without_its_instances_which_follow(cell: Cell, registry: EventClients) -> None:
    client = _client(registry, "CLUSTERQUEUE", "QUEUEINSTANCE", "HOST_GROUP")
    _taken(client)
    cell.add("cluster_queue", "x.q", hostlist="h1 h2")
    records = _taken(client)
    assert [(r["type"], r["action"], r["name"]) for r in records] == [
        ("CLUSTERQUEUE", "ADD", "x.q"),
        ("QUEUEINSTANCE", "ADD", "x.q@h1"),
        ("QUEUEINSTANCE", "ADD", "x.q@h2"),
    ]
    assert "instances" not in records[0]["data"]
    assert records[1]["data"]["attributes"]["qname"] == "x.q"
    attribute(cell, "modify", "cluster_queue", "x.q@h2", "slots", "7")
    assert _received(client) == [("CLUSTERQUEUE", "MOD", "x.q"), ("QUEUEINSTANCE", "MOD", "x.q@h2")]
    cell.admin("config_delete", kind="cluster_queue", name="x.q")
    assert _received(client) == [("CLUSTERQUEUE", "DEL", "x.q")], "it implies its instances"
    cell.configure("host_group", "@allhosts", hostlist="h1 h3")
    assert _received(client) == [("HOST_GROUP", "MOD", "@allhosts"), ("QUEUEINSTANCE", "DEL", "all.q@h2")]


@pytest.mark.statement("EV-3", "EV-4")
def test_states_of_instances_are_changes(cell: Cell, registry: EventClients) -> None:
    client = _client(registry, "QUEUEINSTANCE")
    _taken(client)
    cell.admin("change_states", action="disable", what="queue", targets=["all.q@h1"])
    cell.master.lose_host("h3")
    cell.master.flush()
    states = {record["name"]: record["data"]["states"] for record in _taken(client)}
    assert states == {"all.q@h1": "d", "all.q@h3": "u"}
    from daemons.qmaster.decision import Decision
    from daemons.qmaster.master import DAEMON
    from gridengine.state.machines.instance import InstanceFlagsChanged

    for on in (True, False):
        cell.master.record(Decision(events=[InstanceFlagsChanged(["all.q@h2"], {"subordinated": on})]), DAEMON)
    cell.master.flush()
    assert [action for _, action, _ in _received(client)] == ["SUSPEND_ON_SUB", "UNSUSPEND_ON_SUB"]


@pytest.mark.statement("EV-5", "EV-6")
@pytest.mark.parametrize(
    ("kind", "name", "type_name"), [("host_group", "@g", "HOST_GROUP"), ("calendar", "c", "CALENDAR"), ("user", "u", "USER")]
)
def test_every_kind_has_its_three_actions(
    cell: Cell, registry: EventClients, kind: str, name: str, type_name: str
) -> None:
    client = _client(registry, type_name)
    _taken(client)
    cell.add(kind, name)
    change = {"host_group": {"hostlist": "h1"}, "calendar": {"week": "mon=off"}, "user": {"fshare": "3"}}[kind]
    cell.configure(kind, name, **change)
    cell.configure(kind, name, **change)
    cell.admin("config_delete", kind=kind, name=name)
    assert _received(client) == [(type_name, action, name) for action in ("ADD", "MOD", "DEL")]


@pytest.mark.statement("EV-9", "EV-1")
def test_jobs_and_tasks_from_submission_to_their_end(cell: Cell, registry: EventClients) -> None:
    client = _client(registry, "JOB", "JATASK")
    _taken(client)
    job = cell.submit()
    cell.cycle()
    cell.end(job, exit_status=3)
    records = _taken(client)
    received = [(record["type"], record["action"], record["name"]) for record in records]
    assert received[:2] == [("JOB", "ADD", "1"), ("JATASK", "ADD", "1.1")]
    assert received[-2:] == [("JATASK", "DEL", "1.1"), ("JOB", "DEL", "1")]
    assert set(received[2:-2]) <= {("JATASK", "MOD", "1.1")}
    assert records[-2]["data"] == {"job_id": 1, "task_id": 1, "exit_status": 3, "failed": 0}


@pytest.mark.statement("EV-8")
def test_a_client_that_does_not_keep_up_is_thrown_out(
    cell: Cell, registry: EventClients, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_clients, "MAX_BEHIND", 5)
    slow, good = _client(registry, "CALENDAR"), _client(registry, "CALENDAR")
    for number in range(8):
        cell.add("calendar", f"c{number}")
        _taken(good)
    assert _lines(slow) == [{"id": 11}, {"end": "it does not keep up with the events"}]
    assert list(registry.clients.values()) == [good]


@pytest.mark.statement("EV-10", "QF-34", "QF-36")
def test_clients_are_listed_limited_and_removed(cell: Cell, registry: EventClients) -> None:
    cell.configure("configuration", "global", qmaster_params="MAX_DYN_EC=2")
    first, second = _client(registry, "JOB"), _client(registry)
    assert registry.register("qevent", ALICE, []) == "denied: there are already as many event clients as MAX_DYN_EC allows"
    assert "no events of type" in str(registry.register("qevent", ALICE, ["NOSUCH"]))
    assert registry.listed().data == [[1, "scheduler", "master"], [11, "qevent", "h1"], [12, "qevent", "h1"]]
    refused = registry.kill(KillEventClients(["11"]), ALICE)
    assert (refused.status, len(registry.clients)) == (1, 2)
    answer = registry.kill(KillEventClients(["11", "99", "x"]), ROOT)
    assert answer.status == 1
    assert [text for _, text in answer.answers] == [
        "sent shutdown notification to event client qevent with id 11 on host h1",
        "no event client known with id 99 to shutdown",
        "no event client known with id x to shutdown",
    ]
    assert (first.end_reason, second.end_reason) == ("an administrator has removed it", "")
    registry.kill(KillEventClients(["all"]), ROOT)
    assert registry.clients == {}
    assert registry.listed().data == [[1, "scheduler", "master"]], "the scheduler stays"


@pytest.mark.statement("EV-8")
def test_a_transaction_that_alters_many_instances_is_sent_in_order(cell: Cell, registry: EventClients) -> None:
    cell.add("host_group", "@a", hostlist="h1 h2 h3")
    cell.configure("cluster_queue", "all.q", slots="4,[@a=9]")
    client = _client(registry, "QUEUEINSTANCE", "HOST_GROUP")
    _taken(client)
    cell.configure("host_group", "@a", hostlist="NONE")
    assert _received(client) == [
        ("HOST_GROUP", "MOD", "@a"),
        *(("QUEUEINSTANCE", "MOD", f"all.q@h{number}") for number in (1, 2, 3)),
    ]


@pytest.mark.statement("EV-7", "EV-1")
def test_reservations_come_change_and_go(cell: Cell, registry: EventClients) -> None:
    from daemons.qmaster.decision import Decision
    from daemons.qmaster.master import DAEMON
    from gridengine.state.jobs import Grant
    from gridengine.state.machines.reservation import (
        ReservationEnding,
        ReservationGranted,
        ReservationRemoved,
        ReservationStarted,
    )
    from gridengine.state.reservations import AdvanceReservation

    client = _client(registry, "AR")
    assert _taken(client)[0]["data"] == []
    reservation = AdvanceReservation(
        1, "alice", "users", cell.now, cell.now, cell.now + 3600, granted=[Grant("all.q@h1", 2)]
    )
    ended = [ReservationEnding(1, "d", "alice", cell.now), ReservationRemoved(1, cell.now)]
    for events in ([ReservationGranted(reservation)], [ReservationStarted(1, cell.now)], ended):
        cell.master.record(Decision(events=events), DAEMON)
        cell.master.flush()
    added, changed, _, removed = _taken(client)
    assert (added["action"], added["data"]["granted"]) == ("ADD", [["all.q@h1", 2]])
    assert (changed["action"], changed["data"]["state"]) == ("MOD", "r")
    assert (removed["action"], removed["data"]) == ("DEL", {"ar_id": 1})
