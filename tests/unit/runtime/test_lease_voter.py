"""The record of a voter is on disk before the response is sent, and is never forgotten."""

from __future__ import annotations

import asyncio
import json
import os
import stat
from pathlib import Path
from typing import Any

import msgspec
import pytest

from daemons.runtime import lease_voter
from daemons.runtime.cell import CellError
from daemons.runtime.lease_voter import LeaseVoter, boottime
from gridengine.protocols.lease import LEASE_S, VoteRecord, VoteResponse


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "promise"


def vote(voter: LeaseVoter, message: object, **fields: Any) -> VoteResponse:
    body = message if isinstance(message, bytes) else json.dumps(message).encode()
    return msgspec.json.decode(asyncio.run(voter.answer(body, **fields)), type=VoteResponse)


def request(epoch: int = 1, host: str = "m", **fields: object) -> dict[str, object]:
    return {"epoch": epoch, "host": host, "life": f"{host}{epoch}", **fields}


@pytest.mark.statement("SH-3")
def test_a_grant_holds_after_a_restart(path: Path) -> None:
    clock = Clock()
    assert vote(LeaseVoter(path, clock), request(3)).granted
    again = LeaseVoter(path, clock)
    assert again.record == VoteRecord(3, "m", candidacy_id="m3")
    refused = vote(again, request(4, "s"))
    assert not refused.granted and (refused.holder, refused.granted_s) == ("m", LEASE_S)
    clock.now += LEASE_S
    assert vote(again, request(4, "s")).granted


def test_a_host_is_one_voter_in_both_roles(path: Path) -> None:
    """A witness that becomes a candidate, and the other way round."""
    clock, witness = Clock(), path.with_name("witness")
    participant = LeaseVoter(path, clock, witness)
    assert vote(LeaseVoter(witness, clock), request(3)).granted
    assert participant.record.epoch == 0
    participant.load()
    assert participant.record == LeaseVoter(witness, clock, path).record and participant.grant_expired_s < 0


def test_only_the_daemon_may_read_the_file_and_no_draft_stays(path: Path) -> None:
    path.with_name(".promise").write_text("left by a killed process")
    vote(LeaseVoter(path, Clock()), request())
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert os.listdir(path.parent) == ["promise"]


def test_the_record_is_on_disk_before_the_response(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []
    fsync, rename = os.fsync, Path.rename

    def synced(descriptor: int) -> None:
        fsync(descriptor)
        done.append("directory" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file")

    def renamed(draft: Path, target: Path) -> Path:
        done.append("rename")
        return rename(draft, target)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(Path, "rename", renamed)
    voter = LeaseVoter(path, Clock())
    assert vote(voter, request()).granted
    assert done == ["file", "rename", "directory"]
    assert vote(voter, request()).granted
    assert not vote(voter, request(1, "s")).granted
    assert len(done) == 3, "a renewal and a refusal write nothing"


def test_a_grant_that_cannot_be_written_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    voter = LeaseVoter(path, Clock())

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(lease_voter, "durable_write", full)
        refused = vote(voter, request())
    assert not refused.granted and refused.reason == f"cannot write {path}: No space left on device"
    assert voter.record == VoteRecord()
    assert vote(voter, request()).granted and LeaseVoter(path, Clock()).record.epoch == 1, "it is written when it can be"


@pytest.mark.parametrize(
    "text", [b"", b"{}", b"{", b'{"epoch":3}', b'{"epoch":"3","holder":"m"}', b'{"epoch":3,"holder":"m', b"\xff", b"[1]", b"null"]
)
def test_a_damaged_record_is_never_taken_as_none(path: Path, text: bytes) -> None:
    path.write_bytes(text)
    with pytest.raises(CellError, match=f"{path} is damaged .*: the votes of this host are not known"):
        LeaseVoter(path, Clock())
    assert path.read_bytes() == text


def test_a_record_that_cannot_be_read_is_a_fault(path: Path) -> None:
    path.mkdir()
    with pytest.raises(CellError, match=f"cannot read {path}: Is a directory"):
        LeaseVoter(path, Clock())


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", "not a vote request"),
        (b"no", "not a vote request"),
        (b"\xff", "not a vote request"),
        (b"[]", "not a vote request"),
        ({"epoch": 1}, "missing required field `host`"),
        (request(0), "`$.epoch`"),
        (request(2**53), "`$.epoch`"),
        (request(host=""), "`$.host`"),
        (request(in_sync="m"), "`$.in_sync`"),
        (request(position=[1]), "`$.position`"),
        (request(release=1), "`$.release`"),
        (request(in_sync=["x" * 70000]), "a vote request has at most 65536 bytes, and this one 70"),
    ],
)
def test_a_malformed_request_is_refused_and_changes_nothing(path: Path, body: object, reason: str) -> None:
    voter = LeaseVoter(path, Clock())
    refused = vote(voter, body)
    assert not refused.granted and reason in refused.reason
    assert not path.exists()


def test_a_host_requests_votes_for_itself_only(path: Path) -> None:
    voter = LeaseVoter(path, Clock())
    assert vote(voter, request(), caller="s").reason == "s requests votes for m: a host may do so for itself only"
    assert vote(voter, request(), caller="m").granted


def test_a_voter_compares_its_own_copy(path: Path) -> None:
    voter = LeaseVoter(path, Clock())
    assert not vote(voter, request(position=[7, 2]), position=lambda: (7, 3)).granted
    assert vote(voter, request(position=[7, 3]), position=lambda: (7, 3)).granted


def test_of_many_concurrent_requests_one_gets_the_vote(path: Path) -> None:
    voter = LeaseVoter(path, Clock())

    async def all_at_once() -> list[bytes]:
        return await asyncio.gather(*(voter.answer(json.dumps(request(1, f"h{number}")).encode()) for number in range(9)))

    votes = [msgspec.json.decode(each, type=VoteResponse) for each in asyncio.run(all_at_once())]
    assert [each.granted for each in votes] == [True] + 8 * [False]
    assert LeaseVoter(path, Clock()).record.holder == "h0"


def test_a_caller_that_disconnects_leaves_a_whole_record(path: Path) -> None:
    voter = LeaseVoter(path, Clock())

    async def cut_off() -> bytes:
        first = asyncio.create_task(voter.answer(json.dumps(request(2)).encode()))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        first.cancel()
        return await voter.answer(json.dumps(request(2)).encode())

    assert msgspec.json.decode(asyncio.run(cut_off()), type=VoteResponse).granted
    assert LeaseVoter(path, Clock()).record.epoch == 2


def test_the_clock_counts_sleep_and_is_not_set() -> None:
    uptime = float(Path("/proc/uptime").read_text().split()[0])
    assert uptime <= boottime() + 0.02
