"""Who votes changes with the hosts that may be the master, and with the room on the master's disk."""

from __future__ import annotations

from pathlib import Path

from daemons.qmaster.spooling.spool_file import VOTERS
from tests.harness import MASTER
from tests.unit.shadow.followed_cell import FollowedCell, tables
from tests.unit.shadow.shadows import Hall


def test_voters_change_by_way_of_both_sets(cell: FollowedCell, tmp_path: Path) -> None:
    """Two candidates take a witness; each step is in the copies before it counts."""
    hall = Hall(cell, tmp_path, 1, old=False)
    seen: list[list[list[str]]] = []

    async def play() -> None:
        await hall.until(lambda: hall.has("s1"))
        for _ in range(12):
            await hall.pass_time(0.25)
            await hall.until(lambda: hall.has("s1"))
            if hall.sets and hall.sets not in seen:
                seen.append(hall.sets)
                assert tables(hall.copies["s1"].path)["meta"] == tables(cell.master.spool.path)["meta"]

    hall.run(play)
    assert seen == [[["master"]], [["master"], ["h1", "master", "s1"]], [["h1", "master", "s1"]]]
    assert cell.master.spool.recall(VOTERS) == '[["h1","master","s1"]]'


def test_without_room_the_voters_stay_and_are_changed_later(cell: FollowedCell, tmp_path: Path) -> None:
    """The loop goes on: whoever falls behind meanwhile is still taken off the list."""
    hall, db = Hall(cell, tmp_path, 1, old=False), cell.master.spool._db

    async def play() -> None:
        await hall.until(lambda: hall.has("s1"))
        db.set_commit_hook(lambda: True)
        await hall.pass_time(1)
        assert cell.master.spool.recall(VOTERS) == "" and hall.sets == [["master"]]
        db.set_commit_hook(None)
        await hall.pass_time(31)
        await hall.until(lambda: hall.has("s1"))
        await hall.pass_time(1)
        assert ["h1", "master", "s1"] in hall.sets

    hall.run(play)


def test_the_list_of_hosts_is_followed(cell: FollowedCell, tmp_path: Path) -> None:
    """Who is added may take over when it has everything; once the others are removed the master needs nobody's vote."""
    hall = Hall(cell, tmp_path, 2, old=False)

    async def settle(*others: str) -> None:
        """Steps of a change of the voters, each after the shadows have the one before."""
        hall.listed = [MASTER, *others]
        for _ in range(6):
            await hall.pass_time(0.25)
            await hall.until(lambda: all(map(hall.has, others)))
        assert hall.voters == hall.listed

    async def play() -> None:
        await settle("s1")
        assert hall.sets == [["h1", MASTER, "s1"]]
        await settle("s1", "s2")
        assert hall.sets == [[MASTER, "s1", "s2"]]
        await settle()
        assert hall.sets == [[MASTER]]
        hall.silent = {"s1", "s2"}
        cell.submit()
        assert hall.replication.allowed() == cell.patches.last.commit, "nobody else is waited for"

    hall.run(play)
    assert not hall.replication._shadows
