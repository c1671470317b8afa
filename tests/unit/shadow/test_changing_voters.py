"""The voters change with the candidate hosts, and with the free space on the master's disk."""

from __future__ import annotations

from pathlib import Path

from daemons.qmaster.spooling.spool_file import VOTERS
from gridengine.protocols.delivery import Load
from tests.harness import LOAD, MASTER
from tests.unit.shadow.replicated_cell import ReplicatedCell, tables
from tests.unit.shadow.replication_harness import ReplicationHarness


def test_voters_change_by_way_of_both_sets(cell: ReplicatedCell, tmp_path: Path) -> None:
    """Two candidates get a witness; each step is in the replicas before it counts."""
    harness = ReplicationHarness(cell, tmp_path, 1, old=False)
    seen: list[list[list[str]]] = []

    async def play() -> None:
        await harness.until(lambda: harness.has("s1"))
        for _ in range(12):
            await harness.pass_time(0.25)
            await harness.until(lambda: harness.has("s1"))
            if harness.sets and harness.sets not in seen:
                seen.append(harness.sets)
                assert tables(harness.replicas["s1"].path)["meta"] == tables(cell.master.spool.path)["meta"]

    harness.run(play)
    assert seen == [[["master"]], [["master"], ["h1", "master", "s1"]], [["h1", "master", "s1"]]]
    assert cell.master.spool.recall(VOTERS) == '[["h1","master","s1"]]'


def test_a_missing_witness_votes_as_soon_as_it_is_up(cell: ReplicatedCell, tmp_path: Path) -> None:
    """Hosts report some seconds after the master has started with its first shadow."""
    for host in ("h1", "h2", "h3"):
        cell.master.lose_host(host)
    harness = ReplicationHarness(cell, tmp_path, 1, old=False)

    async def pass_time(seconds: float) -> None:
        for _ in range(int(seconds / 0.25)):
            await harness.pass_time(0.25)
            await harness.until(lambda: harness.has("s1"))

    async def play() -> None:
        await pass_time(3)
        assert harness.voters == [MASTER, "s1"] and harness.sets == [[MASTER]]
        cell.report("h2", Load(cell.now, dict(LOAD), full=True))
        await pass_time(1)
        assert harness.sets == [["h2", MASTER, "s1"]]
        cell.master.lose_host("h2")
        cell.report("h3", Load(cell.now, dict(LOAD), full=True))
        await pass_time(5)
        assert harness.sets == [["h2", MASTER, "s1"]], "a host that restarts keeps its vote"

    harness.run(play)


def test_on_a_full_disk_the_voters_stay_and_change_later(cell: ReplicatedCell, tmp_path: Path) -> None:
    """The loop goes on: a shadow that falls behind meanwhile is still taken off the list."""
    harness, db = ReplicationHarness(cell, tmp_path, 1, old=False), cell.master.spool._db

    async def play() -> None:
        await harness.until(lambda: harness.has("s1"))
        db.set_commit_hook(lambda: True)
        await harness.pass_time(1)
        assert cell.master.spool.recall(VOTERS) == "" and harness.sets == [["master"]]
        db.set_commit_hook(None)
        await harness.pass_time(31)
        await harness.until(lambda: harness.has("s1"))
        await harness.pass_time(1)
        assert ["h1", "master", "s1"] in harness.sets

    harness.run(play)


def test_the_list_of_hosts_is_followed(cell: ReplicatedCell, tmp_path: Path) -> None:
    """A new host may take over when it has everything; without other hosts the master needs no other vote."""
    harness = ReplicationHarness(cell, tmp_path, 2, old=False)

    async def change_hosts(*others: str) -> None:
        """Steps of a change of the voters, each after the shadows have the one before."""
        harness.listed = [MASTER, *others]
        for _ in range(6):
            await harness.pass_time(0.25)
            await harness.until(lambda: all(map(harness.has, others)))
        assert harness.voters == harness.listed

    async def play() -> None:
        await change_hosts("s1")
        assert harness.sets == [["h1", MASTER, "s1"]]
        await change_hosts("s1", "s2")
        assert harness.sets == [[MASTER, "s1", "s2"]]
        await change_hosts()
        assert harness.sets == [[MASTER]]
        harness.silent = {"s1", "s2"}
        cell.submit()
        assert harness.replication.announceable_commit() == cell.patches.last.commit, "no other host is awaited"

    harness.run(play)
    assert not harness.replication.senders
