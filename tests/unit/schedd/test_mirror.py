"""The mirror and the actor: snapshots, revisions, bytes in and out."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from daemons.schedd.actor import Schedd
from daemons.schedd.cycle import schedule
from daemons.schedd.mirror import Mirror
from gridengine.protocols.orders import Orders
from gridengine.state.events import AnyEvent, encode_events
from gridengine.state.machines.host import HostHeard
from gridengine.state.machines.job import JobSubmitted
from tests.builders import LOAD, NOW, Cluster


def test_a_mirror_follows_and_asks_for_a_snapshot_when_it_cannot() -> None:
    cluster = Cluster()
    mirror = Mirror()
    revision = cluster.state.revision
    batch = encode_events([JobSubmitted(cluster.job())])
    assert not mirror.advance(revision, [batch])
    mirror.load(cluster.parts())
    assert not mirror.advance(revision - 1, [batch])
    assert mirror.advance(revision, [batch])
    assert mirror.view is not None and mirror.view.state.revision == revision + 1
    assert list(mirror.view.state.jobs) == [cluster.job().id]
    assert not mirror.advance(revision, [batch])


def test_a_mirror_schedules_as_the_state_it_follows() -> None:
    cluster = Cluster()
    mirror = Mirror()
    mirror.load(cluster.parts())
    events: list[AnyEvent] = []
    for fields in ({}, {"array": "1-5"}, {"pe": "mpi", "pe_range": "3"}, {"hard": {"arch": "nosuch"}}):
        job = cluster.job(**fields)
        events.append(JobSubmitted(job))
        cluster.apply(events[-1])
    assert mirror.advance(cluster.state.revision - 4, [encode_events([event]) for event in events])
    assert mirror.view is not None and cluster.view is not None
    mine, theirs = schedule(mirror.view, NOW), schedule(cluster.view, NOW)
    assert mine == theirs and len(mine.starts) == 7


def test_the_actor_speaks_bytes() -> None:
    cluster = Cluster()
    cluster.submit()
    actor = Schedd()
    revision = cluster.state.revision
    assert asyncio.run(actor.cycle("a", revision, [], NOW)) == b""
    with pytest.raises(LookupError):
        asyncio.run(actor.load(cluster.parts()[1:], "a", 1, 2))
    asyncio.run(actor.load(cluster.parts()[:1], "a", 0, 2))
    assert asyncio.run(actor.cycle("a", revision, [], NOW)) == b"", "a part of it is missing"
    with pytest.raises(LookupError):
        asyncio.run(actor.load(cluster.parts()[1:], "a", 1, 2))
    for parts, number in ((cluster.parts()[:1], 0), (cluster.parts()[:1], 0), (cluster.parts()[1:], 1), (cluster.parts()[1:], 1)):
        asyncio.run(actor.load(parts, "a", number, 2))
    with pytest.raises(LookupError):
        asyncio.run(actor.load(cluster.parts()[1:], "b", 1, 2))
    assert asyncio.run(actor.cycle("b", revision, [], NOW)) == b"", "the call is for another snapshot"
    answer = asyncio.run(actor.cycle("a", revision, [], NOW))
    orders = msgspec.json.decode(answer, type=Orders)
    assert orders.revision == revision and len(orders.starts) == 1 and orders.seconds > 0
    heard = encode_events([HostHeard("h1", NOW, LOAD)])
    again = msgspec.json.decode(asyncio.run(actor.cycle("a", revision, [heard], NOW)), type=Orders)
    assert again.revision == revision + 1 and again.starts == orders.starts
    assert asyncio.run(actor.ping()) == "schedd"
