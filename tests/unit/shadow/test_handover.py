"""A master that cannot write asks the shadows that have everything to take over, though not for a moment's fault."""

from __future__ import annotations

import asyncio
import errno
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from daemons.qmaster.shadow import handover
from daemons.qmaster.shadow.handover import TakeoverRequest
from daemons.runtime.peers import PeerUnreachableError
from gridengine.protocols.lease import VoteRecord

ANSWERS = {
    "full": (409, b"it cannot write either"),
    "away": PeerUnreachableError("no route"),
    "old": (404, b"unknown"),
    "s1": (200, b""),
}


class Enough(BaseException):
    """Ends the test."""


class Shadows:
    """The answers of the hosts, and which hosts were asked."""

    def __init__(self, most: int) -> None:
        self.asked: list[str] = []
        self._most = most

    async def call(self, host: str, name: str) -> tuple[int, bytes]:
        assert name == handover.ACCEPT_HANDOVER
        self.asked.append(host)
        if len(self.asked) > self._most:
            raise Enough
        answer: Any = ANSWERS[host]
        if isinstance(answer, PeerUnreachableError):
            raise answer
        return answer  # type: ignore[no-any-return]


@pytest.fixture
def checks(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[bool]]:
    """Whether the next checks find a writable disk; all later checks fail."""
    found: list[bool] = []

    def allocate(*_: object) -> None:
        if not (found.pop(0) if found else False):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "posix_fallocate", allocate)
    monkeypatch.setattr(handover, "CHECK_S", 0.0)
    yield found


def run_handover(directory: Path, successors: list[str], most: int) -> tuple[list[str], list[str]]:
    """The hosts asked, until they are more than `most`, and the logged errors."""
    shadows, errors = Shadows(most), []
    with pytest.raises(Enough):
        resigning = handover.hand_over_when_unwritable
        asyncio.run(resigning(directory, shadows, lambda: successors, errors.append))  # type: ignore[arg-type]
    return shadows.asked, errors


@pytest.mark.statement("SH-1", "SP-3")
def test_shadows_that_cannot_take_over_are_skipped(tmp_path: Path, checks: list[bool]) -> None:
    asked, errors = run_handover(tmp_path, ["full", "away", "old", "s1", "full"], 4)
    assert asked[:4] == ["full", "away", "old", "s1"]
    assert errors == [
        "host full does not take over as the master: it cannot write either",
        "host away does not take over as the master: no route",
        "host old does not take over as the master: unknown",
        f"cannot write in {tmp_path}: No space left on device; host s1 takes over as the master",
    ]


def test_a_disk_that_is_full_for_a_moment_moves_no_master(tmp_path: Path, checks: list[bool]) -> None:
    checks += [False, False, True] * 5
    run_handover(tmp_path, ["s1"], 0)
    assert checks == [], "all checks were made before a shadow was asked"


def test_while_no_shadow_accepts_they_are_asked_again(tmp_path: Path, checks: list[bool]) -> None:
    asked, errors = run_handover(tmp_path, ["full"], 3)
    assert asked == ["full"] * 4
    assert errors[1] == f"cannot write in {tmp_path}: No space left on device; no shadow takes over as the master"


@pytest.mark.statement("SH-4")
@pytest.mark.parametrize(
    ("takeover", "record", "obsolete"),
    [
        (TakeoverRequest(), VoteRecord(4, "m"), True),
        (TakeoverRequest(after=4), VoteRecord(4, "m"), False),
        (TakeoverRequest(after=4), VoteRecord(5, "s"), False),
        (TakeoverRequest(after=4), VoteRecord(5, "w"), True),
        (TakeoverRequest(force=True), VoteRecord(), False),
    ],
)
def test_a_takeover_request_ends_when_another_host_has_replaced_the_master(
    takeover: TakeoverRequest, record: VoteRecord, obsolete: bool
) -> None:
    """It stays while the lease of that master is in force here: otherwise no host would campaign, and the master would return."""
    assert takeover.is_obsolete("s", record) is obsolete
