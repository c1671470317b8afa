"""Requirements of a task, and its end when a requirement is not met (EX-4, EX-6, EX-14, QC-19)."""

from __future__ import annotations

import errno
import os
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from shepherd import containment, directories, preparation
from shepherd.cgroup_limits import CgroupLimits
from shepherd.containment import Containment
from shepherd.group_ids import NoGroupLeftError
from shepherd.identity import Identity
from shepherd.plan import Contain
from shepherd.preparation import PreparationError
from shepherd.task_files import Trace

ALICE = Identity("alice", 1001, 1002, ())


def full(*_: object) -> Any:
    raise OSError(errno.ENOSPC, "No space left on device")


def forbidden(*_: object) -> Any:
    raise PermissionError(errno.EACCES, "Permission denied")


@pytest.fixture(autouse=True)
def as_alice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preparation, "as_user", lambda _: nullcontext())


@pytest.mark.statement("EX-4", "EX-14")
@pytest.mark.parametrize(
    ("error", "failed", "fault"),
    [(NoGroupLeftError("all 2 group ids"), 38, ""), (ValueError("a-b"), 38, ""), (OSError(errno.ENOSPC, "No space"), 11, "host")],
)
def test_a_job_that_nothing_can_hold_together_does_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, failed: int, fault: str
) -> None:
    def refuse(*_: object) -> None:
        raise error

    monkeypatch.setattr(containment, "establish", refuse)
    with pytest.raises(PreparationError) as caught:
        preparation.contain(tmp_path, Contain([], None), Trace(tmp_path))
    assert (caught.value.failed, caught.value.fault) == (failed, fault)


@pytest.mark.statement("EX-6", "RL-5", "RL-10")
def test_a_job_runs_with_the_limits_of_its_cgroup_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    memory, pids = tmp_path / "memory", tmp_path / "pids"
    for directory, name in ((memory, "memory.max"), (pids, "pids.max")):
        directory.mkdir()
        (directory / name).touch()
    monkeypatch.setattr(containment, "establish", lambda *_: Containment([memory, pids], None))
    trace = Trace(tmp_path)
    held = preparation.contain(tmp_path, Contain(["/cg"], None, CgroupLimits(memory=4096, processes=5, slots=2)), trace)
    assert held.cgroups == [memory, pids]
    assert ((memory / "memory.max").read_text(), (pids / "pids.max").read_text()) == ("4096", "5")
    released: list[Path] = []
    plain = Containment([], None)
    monkeypatch.setattr(plain, "release", released.append)
    monkeypatch.setattr(containment, "establish", lambda *_: plain)
    assert preparation.contain(tmp_path, Contain([], None), trace) is plain
    assert "can't limit the share of processor time of the job by a cgroup" in (tmp_path / "trace").read_text()
    for limits, what in ((CgroupLimits(memory=4096), "memory"), (CgroupLimits(processes=5), "processes")):
        with pytest.raises(PreparationError, match=f"can't limit the {what}") as caught:
            preparation.contain(tmp_path, Contain(["/cg"], None, limits), trace)
        assert caught.value.failed == 11
    assert released == [tmp_path, tmp_path], "nothing is kept of a job that does not run"


@pytest.mark.statement("SO-6")
def test_binding_to_processors_is_optional(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bound: list[tuple[int, list[int]]] = []
    monkeypatch.setattr(os, "sched_setaffinity", lambda *cores: bound.append(cores))
    preparation.bind([1, 3], Trace(tmp_path))
    assert bound == [(0, [1, 3])]
    monkeypatch.setattr(os, "sched_setaffinity", full)
    preparation.bind([1, 3], Trace(tmp_path))
    assert "can't bind to the processors [1, 3]" in (tmp_path / "trace").read_text()


@pytest.mark.statement("QC-19")
def test_the_scratch_directory_is_made_by_its_owner_or_for_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(directories, "make", lambda path, note: f"{path} by alice")
    monkeypatch.setattr(directories, "make_for", lambda path, uid, gid, note: f"{path} for {uid}:{gid}")
    assert preparation.make_directory(tmp_path, ALICE, "/tmp/7.1.q") == "/tmp/7.1.q by alice"
    monkeypatch.setattr(directories, "make", forbidden)
    assert preparation.make_directory(tmp_path, ALICE, "/tmp/7.1.q") == "/tmp/7.1.q for 1001:1002"
    for name in ("make_for", "make"):
        monkeypatch.setattr(directories, name, full)
        with pytest.raises(PreparationError, match="can't make directory /tmp/7.1.q: No space") as caught:
            preparation.make_directory(tmp_path, ALICE, "/tmp/7.1.q")
        assert (caught.value.failed, caught.value.fault) == (11, "host")


@pytest.mark.statement("QC-19")
def test_root_removes_the_files_that_the_owner_may_not_remove(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tries: list[tuple[str, int]] = []

    def remove(path: str, owner: int, inode: int | None) -> None:
        tries.append((path, owner))
        if len(tries) == 1:
            forbidden()

    monkeypatch.setattr(directories, "remove", remove)
    preparation.remove_directory(ALICE, "/tmp/7.1.q", Trace(tmp_path))
    assert tries == [("/tmp/7.1.q", 1001)] * 2
    preparation.remove_directory(ALICE, "/tmp/7.1.q", Trace(tmp_path))
    assert len(tries) == 3 and (tmp_path / "trace").read_text() == ""
    monkeypatch.setattr(directories, "remove", forbidden)
    preparation.remove_directory(ALICE, "/tmp/7.1.q", Trace(tmp_path))
    assert "can't remove directory /tmp/7.1.q: Permission denied" in (tmp_path / "trace").read_text()
