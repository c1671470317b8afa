"""What a master may announce, and when a shadow may take over: never one that lacks what was announced."""

from __future__ import annotations

from pathlib import Path

import pytest

from daemons.qmaster.serve.replication import SILENT_S
from daemons.qmaster.spooling.patches import POSITION, Patch, encode_frames
from daemons.qmaster.spooling.spool_file import SpoolPosition
from tests.harness import MASTER
from tests.unit.shadow.followed_cell import FollowedCell, tables
from tests.unit.shadow.shadows import Hall, Stream


def last(cell: FollowedCell) -> int:
    return cell.patches.last.commit


@pytest.mark.statement("SH-2")
def test_shadows_get_all_of_it_and_then_what_follows(cell: FollowedCell, tmp_path: Path) -> None:
    hall = Hall(cell, tmp_path, 2)

    async def play() -> None:
        await hall.begin()
        for _ in range(20):
            cell.submit()
        await hall.until(lambda: all(map(hall.has, hall.names)))
        assert hall.replication.allowed() == last(cell)

    hall.run(play)
    for copy in hall.copies.values():
        assert tables(copy.path) == tables(cell.master.spool.path)
    kinds = [name for host, name in hall.requests if host == "s1"]
    assert kinds[:2] == ["position", "copy"] and set(kinds[2:]) == {"commits"}
    assert len(kinds) < 12, "what is committed while a request is under way goes in the next one"


@pytest.mark.statement("SH-2")
def test_nothing_is_announced_before_one_has_it(cell: FollowedCell, tmp_path: Path) -> None:
    hall = Hall(cell, tmp_path, 1)

    async def play() -> None:
        await hall.begin()
        before = last(cell)
        hall.silent = {"s1"}
        cell.submit()
        for _ in range(6):
            await hall.pass_time(0.25)
            assert hall.replication.allowed() == before
        hall.silent.clear()
        await hall.until(lambda: hall.replication.allowed() == last(cell))
        assert hall.log == ["voters know master s1"], "the list has not changed"

    hall.run(play)


@pytest.mark.statement("SH-3")
def test_a_silent_shadow_is_off_the_list_before_anything_is_announced_without_it(
    cell: FollowedCell, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    hall = Hall(cell, tmp_path, 1)
    replication = hall.replication

    async def play() -> None:
        await hall.begin()
        hall.silent = {"s1"}
        before = last(cell)
        cell.submit()
        replication.progressed = lambda: hall.log.append(f"announced, voters: {' '.join(hall.voters or [])}")
        hall.refuse = True
        await hall.pass_time(3 * SILENT_S)
        assert replication.allowed() == before, "the voters do not know yet"
        hall.refuse = False
        await hall.pass_time(0.25)
        assert replication.allowed() == last(cell)
        assert hall.log[1:] == ["voters know master", "announced, voters: master"]
        assert replication.in_sync == [MASTER]
        for _ in range(3):
            cell.submit()
            assert replication.allowed() == last(cell), "it is not waited for any more"
        hall.silent.clear()
        await hall.until(lambda: hall.has("s1"))
        await hall.pass_time(0.5)
        assert hall.log[-1] == "voters know master s1"

    hall.run(play)
    assert "shadow s1 does not keep up: it cannot take over until it has caught up" in caplog.text
    assert "shadow s1 has everything again, after" in caplog.text
    assert not [request for request in hall.requests[3:] if request[1] == "copy"], "the patches at hand were enough"


def test_one_that_comes_back_is_waited_for_before_the_voters_believe_in_it(cell: FollowedCell, tmp_path: Path) -> None:
    """From the moment on which they may believe, nothing is announced without it."""
    hall = Hall(cell, tmp_path, 1)

    async def play() -> None:
        await hall.begin()
        hall.silent = {"s1"}
        cell.submit()
        await hall.pass_time(2 * SILENT_S)
        hall.silent.clear()
        await hall.until(lambda: hall.has("s1"))
        hall.refuse = True
        await hall.pass_time(0.25)
        hall.silent = {"s1"}
        before = last(cell)
        cell.submit()
        await hall.pass_time(0.25)
        assert hall.replication.allowed() == before
        hall.silent.clear()
        await hall.until(lambda: hall.replication.allowed() == last(cell))

    hall.run(play)


def test_one_that_has_nearly_caught_up_is_waited_for_and_not_told_yet(cell: FollowedCell, tmp_path: Path) -> None:
    """Under load something is always on its way: what is announced from now on waits for it, the voters for what was before."""
    hall = Hall(cell, tmp_path, 1)

    async def play() -> None:
        await hall.begin()
        hall.silent = {"s1"}
        cell.submit()
        await hall.pass_time(2 * SILENT_S)
        hall.silent.clear()
        await hall.until(lambda: hall.has("s1"))
        await hall.until(lambda: not hall.replication._shadows["s1"]._news.is_set())
        hall.silent = {"s1"}
        cell.submit()
        before = last(cell)
        assert hall.replication.allowed() == before, "it is not waited for yet"
        await hall.pass_time(0.25)
        assert hall.voters == [MASTER]
        cell.submit()
        assert hall.replication.allowed() == before
        hall.silent.clear()
        await hall.until(lambda: hall.replication.allowed() == last(cell))
        await hall.pass_time(0.25)
        assert hall.voters == [MASTER, "s1"]  # the voters change meanwhile

    hall.run(play)


def test_one_that_has_lost_its_copy_has_nothing(cell: FollowedCell, tmp_path: Path) -> None:
    hall = Hall(cell, tmp_path, 1)

    async def play() -> None:
        await hall.begin()
        hall.copies["s1"]._remove()
        hall.replication._shadows["s1"]._whole_at -= 60
        hall.silent = {"copy"}
        cell.submit()
        await hall.until(lambda: hall.replication._shadows["s1"].acked == -1)
        hall.silent.clear()
        await hall.begin()

    hall.run(play)


@pytest.mark.parametrize(
    ("mode", "silent", "announced"),
    [
        ("none", {"s1", "s2", "s3", "s4"}, True),
        ("one", {"s2"}, True),
        ("one", {"s1", "s2", "s3", "s4"}, False),
        ("majority", {"s1", "s2"}, True),
        ("majority", {"s1", "s2", "s3"}, False),
    ],
)
def test_how_many_are_waited_for(
    cell: FollowedCell, tmp_path: Path, mode: str, silent: set[str], announced: bool
) -> None:
    hall = Hall(cell, tmp_path, 4, mode)  # type: ignore[arg-type]

    async def play() -> None:
        await hall.begin()
        hall.silent = silent
        before = last(cell)
        cell.submit()
        await hall.until(lambda: all(hall.has(name) for name in set(hall.names) - silent))
        assert hall.replication.allowed() == (last(cell) if announced else before)

    hall.run(play)


def test_one_is_not_enough_where_a_majority_of_voters_could_elect_another(cell: FollowedCell, tmp_path: Path) -> None:
    """Of five voters three may elect a shadow that lacks what only the master and one other have."""
    hall = Hall(cell, tmp_path, 4, "one")

    async def play() -> None:
        await hall.begin()
        before = last(cell)
        hall.silent = {"s2", "s3", "s4"}
        cell.submit()
        await hall.until(lambda: hall.has("s1"))
        assert hall.replication.allowed() == before
        hall.silent = {"s3", "s4"}
        await hall.until(lambda: hall.replication.allowed() == last(cell))

    hall.run(play)


def test_none_loses_two_seconds_at_most(cell: FollowedCell, tmp_path: Path) -> None:
    """Who is further behind cannot take over."""
    hall = Hall(cell, tmp_path, 1, "none")

    async def play() -> None:
        await hall.begin()
        hall.silent = {"s1"}
        cell.submit()
        assert hall.replication.allowed() == last(cell)
        await hall.pass_time(2 * SILENT_S)
        assert hall.voters == [MASTER]

    hall.run(play)


def test_the_pause_of_a_master_that_stood_still_is_nobodys_silence(cell: FollowedCell, tmp_path: Path) -> None:
    hall = Hall(cell, tmp_path, 1)

    async def play() -> None:
        await hall.begin()
        hall.silent = {"s1"}
        cell.submit()
        await hall.pass_time(0.5)
        hall.now += 60
        await hall.replication.tend()
        assert hall.voters == [MASTER, "s1"]  # the voters change meanwhile

    hall.run(play)


@pytest.mark.statement("SH-3")
def test_who_is_not_the_master_announces_nothing(cell: FollowedCell, tmp_path: Path) -> None:
    hall = Hall(cell, tmp_path, 1)

    async def play() -> None:
        await hall.begin()
        hall.leads = False
        assert hall.replication.allowed() == -1
        hall.leads = True
        assert hall.replication.allowed() == last(cell)

    hall.run(play)


@pytest.mark.statement("SH-3")
def test_a_shadow_that_has_promised_itself_to_another_acknowledges_nothing(cell: FollowedCell, tmp_path: Path) -> None:
    """That one was told how far its copy is."""
    hall = Hall(cell, tmp_path, 1)

    async def play() -> None:
        await hall.begin()
        before = last(cell)
        hall.promised["s1"] = ("s2", 4)
        cell.submit()
        await hall.until(lambda: hall.replication._shadows["s1"].complaint)
        assert "follows s2" in hall.replication._shadows["s1"].complaint
        assert hall.replication.allowed() == before == hall.copies["s1"].position().commit

    hall.run(play)


def test_a_promise_that_is_given_while_a_commit_is_written_counts(cell: FollowedCell, tmp_path: Path) -> None:
    hall = Hall(cell, tmp_path, 1)
    copy = hall.copies["s1"]

    async def play() -> None:
        await hall.begin()
        position, apply = copy.position(), copy.apply
        cell.submit()
        found = cell.patches.after(position, 1)
        assert found is not None

        def promising(incarnation: int, patches: list[Patch]) -> SpoolPosition:
            hall.promised["s1"] = ("s2", 4)
            return apply(incarnation, patches)

        copy.apply = promising  # type: ignore[method-assign,assignment]
        header = {POSITION: str(position.incarnation)}
        handler = hall.doors["s1"].handlers["commits"]
        status, _ = await handler(MASTER, header, Stream(encode_frames(found[1])))
        assert (status, copy.position().commit) == (403, position.commit + 1)

    hall.run(play)


def test_a_shadow_that_was_away_for_too_long_gets_all_of_it_again(cell: FollowedCell, tmp_path: Path) -> None:
    """Also when the first transfer is cut off in the middle."""
    hall = Hall(cell, tmp_path, 1)

    async def play() -> None:
        await hall.begin()
        hall.silent = {"s1"}
        cell.submit()
        await hall.pass_time(2 * SILENT_S)
        cell.patches._most_bytes = 1000
        for _ in range(20):
            cell.submit()
        hall.replication._shadows["s1"]._whole_at -= 60
        hall.replication._shadows["s1"]._pause_s = 0
        hall.silent.clear()
        await hall.until(lambda: hall.has("s1"))
        assert [name for _, name in hall.requests].count("copy") == 2

    hall.run(play)
    assert tables(hall.copies["s1"].path) == tables(cell.master.spool.path)
    assert [path.name for path in cell.directory.glob("copy-for*")] == []


def test_a_transfer_that_is_cut_off_is_begun_anew(
    cell: FollowedCell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("daemons.qmaster.serve.shadow_sender._LOOK_S", 1000.0)  # only after one that is whole is there a pause
    hall = Hall(cell, tmp_path, 1)
    hall.cut["s1", "copy"] = 10_000

    async def play() -> None:
        await hall.until(lambda: hall.replication._shadows["s1"].complaint)
        assert hall.copies["s1"].position() == (0, 0)
        await hall.begin()

    hall.run(play)
    assert tables(hall.copies["s1"].path) == tables(cell.master.spool.path)


def test_a_master_that_starts_again_goes_on_with_its_shadows(cell: FollowedCell, tmp_path: Path) -> None:
    first = Hall(cell, tmp_path, 1)
    first.run(first.begin)
    cell.restart()
    second = Hall(cell, tmp_path, 1)
    second.run(second.begin)
    assert "copy" not in [name for _, name in second.requests]
    assert tables(second.copies["s1"].path) == tables(cell.master.spool.path)


def test_the_keys_are_there_before_a_shadow_may_take_over(cell: FollowedCell, tmp_path: Path) -> None:
    hall = Hall(cell, tmp_path, 1)
    (hall.authority / "hosts" / "h1").mkdir(parents=True)
    (hall.authority / "key").write_bytes(b"\0secret")
    (hall.authority / "hosts" / "h1" / "gdi_key").write_bytes(b"1")
    hall.run(hall.begin)
    given = tmp_path / "s1" / "authority"
    assert (given / "key").read_bytes() == b"\0secret"
    assert (given / "hosts" / "h1" / "gdi_key").read_bytes() == b"1"
    assert {path.stat().st_mode & 0o077 for path in (given, *given.rglob("*"))} == {0}
