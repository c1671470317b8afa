"""Commits that a master may announce, and takeover by shadows: no shadow that lacks an announced commit."""

from __future__ import annotations

from pathlib import Path

import pytest

from daemons.qmaster.serve.replication.replicas_in_sync import SILENT_S
from daemons.qmaster.spooling.patches import POSITION, Patch, encode_frames
from daemons.qmaster.spooling.spool_file import SpoolPosition
from daemons.runtime.backoff import Backoff
from tests.harness import MASTER
from tests.unit.shadow.replicated_cell import ReplicatedCell, tables
from tests.unit.shadow.replication_harness import ReplicationHarness, Stream


def last(cell: ReplicatedCell) -> int:
    return cell.patches.last.commit


@pytest.mark.statement("SH-2")
def test_shadows_get_all_of_it_and_then_what_follows(cell: ReplicatedCell, tmp_path: Path) -> None:
    harness = ReplicationHarness(cell, tmp_path, 2)

    async def play() -> None:
        await harness.begin()
        for _ in range(20):
            cell.submit()
        await harness.until(lambda: all(map(harness.has, harness.names)))
        assert harness.replication.announceable_commit() == last(cell)

    harness.run(play)
    for replica in harness.replicas.values():
        assert tables(replica.path) == tables(cell.master.spool.path)
    kinds = [name for host, name in harness.requests if host == "s1"]
    assert kinds[:2] == ["position", "copy"] and set(kinds[2:]) == {"commits"}
    assert len(kinds) < 12, "commits made during a request go into the next one"


@pytest.mark.statement("SH-2")
def test_nothing_is_announced_before_one_has_it(cell: ReplicatedCell, tmp_path: Path) -> None:
    harness = ReplicationHarness(cell, tmp_path, 1)

    async def play() -> None:
        await harness.begin()
        before = last(cell)
        harness.silent = {"s1"}
        cell.submit()
        for _ in range(6):
            await harness.pass_time(0.25)
            assert harness.replication.announceable_commit() == before
        harness.silent.clear()
        await harness.until(lambda: harness.replication.announceable_commit() == last(cell))
        assert harness.log == ["voters know master s1"], "the list has not changed"

    harness.run(play)


@pytest.mark.statement("SH-3")
def test_a_silent_shadow_is_off_the_list_before_anything_is_announced_without_it(
    cell: ReplicatedCell, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    harness = ReplicationHarness(cell, tmp_path, 1)
    replication = harness.replication

    async def play() -> None:
        await harness.begin()
        harness.silent = {"s1"}
        before = last(cell)
        cell.submit()
        replication.on_progress = lambda: harness.log.append(f"announced, voters: {' '.join(harness.voters or [])}")
        harness.refuse = True
        await harness.pass_time(3 * SILENT_S)
        assert replication.announceable_commit() == before, "the voters do not know yet"
        harness.refuse = False
        await harness.pass_time(0.25)
        assert replication.announceable_commit() == last(cell)
        assert harness.log[1:] == ["voters know master", "announced, voters: master"]
        assert replication.in_sync == [MASTER]
        for _ in range(3):
            cell.submit()
            assert replication.announceable_commit() == last(cell), "it is no longer awaited"
        harness.silent.clear()
        await harness.until(lambda: harness.has("s1"))
        await harness.pass_time(0.5)
        assert harness.log[-1] == "voters know master s1"

    harness.run(play)
    assert "shadow s1 does not keep up: it cannot take over until it has caught up" in caplog.text
    assert "shadow s1 has everything again, after" in caplog.text
    assert not [request for request in harness.requests[3:] if request[1] == "copy"], "the patches at hand were enough"


def test_a_returning_shadow_is_awaited_before_the_voters_list_it(cell: ReplicatedCell, tmp_path: Path) -> None:
    """Once voters may have it on their list, nothing is announced without it."""
    harness = ReplicationHarness(cell, tmp_path, 1)

    async def play() -> None:
        await harness.begin()
        harness.silent = {"s1"}
        cell.submit()
        await harness.pass_time(2 * SILENT_S)
        harness.silent.clear()
        await harness.until(lambda: harness.has("s1"))
        harness.refuse = True
        await harness.pass_time(0.25)
        harness.silent = {"s1"}
        before = last(cell)
        cell.submit()
        await harness.pass_time(0.25)
        assert harness.replication.announceable_commit() == before
        harness.silent.clear()
        await harness.until(lambda: harness.replication.announceable_commit() == last(cell))

    harness.run(play)


def test_a_shadow_that_has_nearly_caught_up_is_awaited_and_not_listed_yet(cell: ReplicatedCell, tmp_path: Path) -> None:
    """Under load it never has the last commit: later announcements wait for it, the voters for the earlier commits."""
    harness = ReplicationHarness(cell, tmp_path, 1)

    async def play() -> None:
        await harness.begin()
        harness.silent = {"s1"}
        cell.submit()
        await harness.pass_time(2 * SILENT_S)
        harness.silent.clear()
        await harness.until(lambda: harness.has("s1"))
        await harness.until(lambda: not harness.replication.senders["s1"]._news.is_set())
        harness.silent = {"s1"}
        cell.submit()
        before = last(cell)
        assert harness.replication.announceable_commit() == before, "it is not awaited yet"
        await harness.pass_time(0.25)
        assert harness.voters == [MASTER]
        cell.submit()
        assert harness.replication.announceable_commit() == before
        harness.silent.clear()
        await harness.until(lambda: harness.replication.announceable_commit() == last(cell))
        await harness.pass_time(0.25)
        assert harness.voters == [MASTER, "s1"]  # the voters change meanwhile

    harness.run(play)


def test_a_shadow_that_has_lost_its_replica_has_nothing(cell: ReplicatedCell, tmp_path: Path) -> None:
    harness = ReplicationHarness(cell, tmp_path, 1)

    async def play() -> None:
        await harness.begin()
        harness.replicas["s1"]._remove()
        harness.replication.senders["s1"]._whole_at -= 60
        harness.silent = {"copy"}
        cell.submit()
        await harness.until(lambda: harness.replication.senders["s1"].acked == -1)
        harness.silent.clear()
        await harness.begin()

    harness.run(play)


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
def test_number_of_shadows_that_are_waited_for(
    cell: ReplicatedCell, tmp_path: Path, mode: str, silent: set[str], announced: bool
) -> None:
    harness = ReplicationHarness(cell, tmp_path, 4, mode)  # type: ignore[arg-type]

    async def play() -> None:
        await harness.begin()
        harness.silent = silent
        before = last(cell)
        cell.submit()
        await harness.until(lambda: all(harness.has(name) for name in set(harness.names) - silent))
        assert harness.replication.announceable_commit() == (last(cell) if announced else before)

    harness.run(play)


def test_a_single_shadow_is_not_enough_where_a_majority_of_voters_could_elect_another(
    cell: ReplicatedCell, tmp_path: Path
) -> None:
    """Three of five voters may elect a shadow that lacks a commit which only the master and one other have."""
    harness = ReplicationHarness(cell, tmp_path, 4, "one")

    async def play() -> None:
        await harness.begin()
        before = last(cell)
        harness.silent = {"s2", "s3", "s4"}
        cell.submit()
        await harness.until(lambda: harness.has("s1"))
        assert harness.replication.announceable_commit() == before
        harness.silent = {"s3", "s4"}
        await harness.until(lambda: harness.replication.announceable_commit() == last(cell))

    harness.run(play)


def test_none_loses_two_seconds_at_most(cell: ReplicatedCell, tmp_path: Path) -> None:
    """A shadow further behind cannot take over."""
    harness = ReplicationHarness(cell, tmp_path, 1, "none")

    async def play() -> None:
        await harness.begin()
        harness.silent = {"s1"}
        cell.submit()
        assert harness.replication.announceable_commit() == last(cell)
        await harness.pass_time(2 * SILENT_S)
        assert harness.voters == [MASTER]

    harness.run(play)


def test_a_pause_of_the_master_does_not_count_as_silence_of_a_shadow(cell: ReplicatedCell, tmp_path: Path) -> None:
    harness = ReplicationHarness(cell, tmp_path, 1)

    async def play() -> None:
        await harness.begin()
        harness.silent = {"s1"}
        cell.submit()
        await harness.pass_time(0.5)
        harness.now += 60
        await harness.replication.update_membership()
        assert harness.voters == [MASTER, "s1"]  # the voters change meanwhile

    harness.run(play)


@pytest.mark.statement("SH-3")
def test_a_host_that_is_not_the_leader_announces_nothing(cell: ReplicatedCell, tmp_path: Path) -> None:
    harness = ReplicationHarness(cell, tmp_path, 1)

    async def play() -> None:
        await harness.begin()
        harness.leads = False
        assert harness.replication.announceable_commit() == -1
        harness.leads = True
        assert harness.replication.announceable_commit() == last(cell)

    harness.run(play)


@pytest.mark.statement("SH-3")
def test_a_shadow_that_has_voted_for_another_host_acknowledges_nothing(cell: ReplicatedCell, tmp_path: Path) -> None:
    """The other host has received its position."""
    harness = ReplicationHarness(cell, tmp_path, 1)

    async def play() -> None:
        await harness.begin()
        before = last(cell)
        harness.granted_to["s1"] = ("s2", 4)
        cell.submit()
        await harness.until(lambda: harness.replication.senders["s1"].last_error)
        assert "follows s2" in harness.replication.senders["s1"].last_error
        assert harness.replication.announceable_commit() == before == harness.replicas["s1"].position().commit

    harness.run(play)


def test_a_vote_given_while_a_commit_is_written_counts(cell: ReplicatedCell, tmp_path: Path) -> None:
    harness = ReplicationHarness(cell, tmp_path, 1)
    replica = harness.replicas["s1"]

    async def play() -> None:
        await harness.begin()
        position, apply = replica.position(), replica.apply
        cell.submit()
        found = cell.patches.after(position, 1)
        assert found is not None

        def voting(incarnation: int, patches: list[Patch]) -> SpoolPosition:
            harness.granted_to["s1"] = ("s2", 4)
            return apply(incarnation, patches)

        replica.apply = voting  # type: ignore[method-assign,assignment]
        header = {POSITION: str(position.incarnation)}
        handler = harness.endpoints["s1"].handlers["commits"]
        status, _ = await handler(MASTER, header, Stream(encode_frames(found[1])))
        assert (status, replica.position().commit) == (403, position.commit + 1)

    harness.run(play)


def test_a_shadow_that_was_silent_for_too_long_gets_the_whole_spool_again(cell: ReplicatedCell, tmp_path: Path) -> None:
    """Also when the first transfer is cut off in the middle."""
    harness = ReplicationHarness(cell, tmp_path, 1)

    async def play() -> None:
        await harness.begin()
        harness.silent = {"s1"}
        cell.submit()
        await harness.pass_time(2 * SILENT_S)
        cell.patches._most_bytes = 1000
        for _ in range(20):
            cell.submit()
        harness.replication.senders["s1"]._whole_at -= 60
        harness.replication.senders["s1"]._backoff = Backoff(0.0, 0.0)
        harness.silent.clear()
        await harness.until(lambda: harness.has("s1"))
        assert [name for _, name in harness.requests].count("copy") == 2

    harness.run(play)
    assert tables(harness.replicas["s1"].path) == tables(cell.master.spool.path)
    assert [path.name for path in cell.directory.glob("copy-for*")] == []


def test_a_transfer_that_is_cut_off_is_restarted(
    cell: ReplicatedCell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("daemons.qmaster.serve.replication.replica_sender.CHECK_S", 1000.0)  # a pause follows a full transfer
    harness = ReplicationHarness(cell, tmp_path, 1)
    harness.cut["s1", "copy"] = 10_000

    async def play() -> None:
        await harness.until(lambda: harness.replication.senders["s1"].last_error)
        assert harness.replicas["s1"].position() == (0, 0)
        await harness.begin()

    harness.run(play)
    assert tables(harness.replicas["s1"].path) == tables(cell.master.spool.path)


def test_a_restarted_master_continues_with_its_shadows(cell: ReplicatedCell, tmp_path: Path) -> None:
    first = ReplicationHarness(cell, tmp_path, 1)
    first.run(first.begin)
    cell.restart()
    second = ReplicationHarness(cell, tmp_path, 1)
    second.run(second.begin)
    assert "copy" not in [name for _, name in second.requests]
    assert tables(second.replicas["s1"].path) == tables(cell.master.spool.path)


def test_the_keys_are_there_before_a_shadow_may_take_over(cell: ReplicatedCell, tmp_path: Path) -> None:
    harness = ReplicationHarness(cell, tmp_path, 1)
    (harness.authority / "hosts" / "h1").mkdir(parents=True)
    (harness.authority / "key").write_bytes(b"\0secret")
    (harness.authority / "hosts" / "h1" / "gdi_key").write_bytes(b"1")
    harness.run(harness.begin)
    given = tmp_path / "s1" / "authority"
    assert (given / "key").read_bytes() == b"\0secret"
    assert (given / "hosts" / "h1" / "gdi_key").read_bytes() == b"1"
    assert {path.stat().st_mode & 0o077 for path in (given, *given.rglob("*"))} == {0}
