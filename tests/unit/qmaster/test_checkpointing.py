"""Checkpointing jobs in the qmaster: refusals, instructions to hosts, and the place where a saved job goes on."""

from __future__ import annotations

import pytest

from daemons.qmaster.queries.job_detail import job_detail
from daemons.qmaster.queries.selection import Listing
from gridengine.protocols.delivery import Checkpointed, Ended
from gridengine.protocols.gdi.requests import Caller
from gridengine.state import checkpointing
from gridengine.state.jobs import SHORT_TRY_S
from tests.harness import Cell


@pytest.fixture
def ckpt(cell: Cell) -> Cell:
    """A cell with the interface `save` in the list of all.q."""
    cell.add("checkpoint", "save", interface="application-level", migr_command="/m", signal="none", when="xm")
    assert cell.configure("cluster_queue", "all.q", ckpt_list="save", min_cpu_interval="0:1:0").status == 0
    return cell


def migrated(cell: Cell, job: int, pid: int = 0, task: int = 1) -> None:
    """The host ended a task that it was told to save."""
    key = next(key for key in cell.running if key[:2] == (job, task))
    host = cell.running.pop(key)
    cell.report(host, Ended(key, 24, 137, 9, "the job migrates", cell.now, cell.now, {}, checkpoint=pid))


@pytest.mark.statement("SO-7", "CK-3")
@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"checkpoint": "save", "checkpoint_when": "n"}, "-c n"),
        ({"checkpoint_when": "x"}, "-ckpt"),
        ({"checkpoint_when": "0:5:0"}, "-ckpt"),
        ({"checkpoint": "save", "checkpoint_when": "INFINITY"}, "interval"),
        ({"checkpoint": "save", "checkpoint_when": "q"}, "interval"),
        ({"checkpoint": "other"}, "does not exist"),
    ],
)
def test_invalid_checkpoint_requests_are_refused(ckpt: Cell, fields: dict[str, str], why: str) -> None:
    answer = ckpt.ask("submit", script_file="/bin/sleep", binary=True, **fields)
    assert answer.status == 1 and why in answer.answers[0][1]
    assert not ckpt.state.jobs


@pytest.mark.statement("CK-3", "CK-7", "QC-11")
@pytest.mark.parametrize(
    ("asked", "codes", "seconds"),
    [("", "mx", 60.0), ("s", "s", 60.0), ("sr", "rs", 60.0), ("0:5:0", "mx", 300.0), ("30", "mx", 60.0)],
)
def test_the_host_gets_the_checkpoint_settings(ckpt: Cell, asked: str, codes: str, seconds: float) -> None:
    ckpt.submit(checkpoint="save", checkpoint_when=asked)
    ckpt.cycle()
    start = ckpt.starts[0]
    instructions = start.checkpoint
    assert instructions is not None
    assert (instructions.when, start.checkpoint_interval_s, instructions.migr_command) == (codes, seconds, "/m")


@pytest.mark.statement("CK-3", "ST-18")
@pytest.mark.parametrize(("asked", "shown"), [("", "mx"), ("rxs", "sxr"), ("r", "r"), ("0:5:0", "mx")])
def test_qstat_shows_the_checkpoint_occasions(ckpt: Cell, asked: str, shown: str) -> None:
    job = ckpt.submit(checkpoint="save", checkpoint_when=asked)
    caller = Caller("alice", 1001, "users", 100, "h1")
    (detail,) = job_detail(Listing(ckpt.state), {"jobs": [str(job)]}, caller, ckpt.now)["jobs"]
    assert detail["checkpoint_when"] == shown


@pytest.mark.statement("CK-3", "CK-7")
def test_an_interval_is_an_occasion_of_its_own(ckpt: Cell) -> None:
    ckpt.configure("checkpoint", "save", when="x")
    job = ckpt.state.jobs[ckpt.submit(checkpoint="save", checkpoint_when="0:5:0")]
    assert checkpointing.occasions(ckpt.state, job) == {"m", "x"}
    ckpt.configure("checkpoint", "save", when="none")
    assert checkpointing.occasions(ckpt.state, job) == {"m"}


@pytest.mark.statement("CK-4", "EN-4")
def test_a_suspended_job_is_saved_and_goes_on_elsewhere(ckpt: Cell) -> None:
    job = ckpt.submit(checkpoint="save")
    ckpt.cycle()
    host = ckpt.running[job, 1, 1]
    ckpt.ask("change_states", targets=[str(job)], action="suspend", what="job")
    ckpt.deliver()
    assert ckpt.signals == [(host, (job, 1, 1), "migrate")]
    migrated(ckpt, job, pid=4711)
    assert ckpt.state.task(job, 1).status == "pending"
    assert [fields.failed for fields in ckpt.records(job)] == ["24"]
    ckpt.cycle()
    assert (ckpt.starts[1].restarted, ckpt.starts[1].checkpoint_pid) == (2, 4711)
    assert not ckpt.state.task(job, 1).suspensions
    ckpt.restart()
    assert ckpt.state.task(job, 1).checkpoint == 4711


@pytest.mark.statement("CK-4")
def test_release_before_the_end_lets_it_stay(ckpt: Cell) -> None:
    job = ckpt.submit(checkpoint="save")
    ckpt.cycle()
    for action in ("suspend", "unsuspend"):
        ckpt.ask("change_states", targets=[str(job)], action=action, what="job")
        ckpt.deliver()
    assert [command for _, _, command in ckpt.signals] == ["migrate", "run"]


@pytest.mark.statement("CK-5", "QM-4")
def test_a_suspended_queue_moves_its_checkpointing_jobs(ckpt: Cell) -> None:
    moving, staying = ckpt.submit(checkpoint="save"), ckpt.submit(checkpoint="save", checkpoint_when="m")
    plain = ckpt.submit()
    ckpt.cycle()
    ckpt.admin("change_states", targets=["all.q"], action="suspend", what="queue")
    ckpt.deliver()
    instructions = {key[0]: command for _, key, command in ckpt.signals}
    assert instructions == {moving: "migrate", staying: "suspend", plain: "suspend"}


@pytest.mark.statement("CK-4", "EN-4")
def test_restarted_is_1_without_a_checkpoint_and_for_signals(ckpt: Cell) -> None:
    job = ckpt.submit(checkpoint="save")
    ckpt.cycle()
    migrated(ckpt, job)
    ckpt.cycle()
    assert ckpt.starts[1].restarted == 1
    ckpt.configure("checkpoint", "save", interface="userdefined")
    ckpt.pass_time(SHORT_TRY_S)
    migrated(ckpt, job, pid=4711)
    ckpt.cycle()
    assert ckpt.starts[2].restarted == 1


@pytest.mark.statement("CK-7")
def test_a_checkpoint_is_known_as_soon_as_it_is_made(ckpt: Cell) -> None:
    job = ckpt.submit(checkpoint="save")
    ckpt.cycle()
    for _ in range(2):
        ckpt.report(ckpt.running[job, 1, 1], Checkpointed((job, 1, 1), 99))
    ckpt.restart()
    assert ckpt.state.task(job, 1).checkpoint == 99


@pytest.mark.statement("CK-4")
def test_a_deleted_job_is_not_taken_up_again(ckpt: Cell) -> None:
    job = ckpt.submit(checkpoint="save")
    ckpt.cycle()
    ckpt.ask("delete_jobs", targets=[str(job)])
    migrated(ckpt, job, pid=1)
    assert job not in ckpt.state.jobs
