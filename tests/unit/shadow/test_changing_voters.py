"""The voters change with the candidate hosts, and with the free space on the master's disk."""

from __future__ import annotations

from pathlib import Path

from daemons.qmaster.spooling.spool_file import VOTERS
from tests.harness import MASTER
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
