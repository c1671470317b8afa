"""Content of the files of a running task, despite changes of the host's clock (EX-16)."""

from __future__ import annotations

import json
import os
import pwd
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from daemons.execd.accounts import find_account
from daemons.execd.active_jobs import (
    create,
    read_allocation,
    read_end,
    read_holder,
    read_tasks,
    remove,
    remove_all,
    reserved_usage,
    running_seconds,
    set_kept_aside,
)
from daemons.execd.cgroups import HostCgroups
from daemons.execd.resource_assignment import AssignedResources
from daemons.execd.site import HostSite, prepare_spool
from daemons.execd.task_config import task_config
from gridengine.files import incarnation
from gridengine.protocols.delivery import Origin, Start
from gridengine.protocols.task_file import decode
from gridengine.state.jobs import Confinement, Grant
from gridengine.usage.reserved_usage import Allocation
from gridengine.values.task_key import TaskKey
from tests.unit.execd.instructions import ALICE, SITE, configuration, start
from tests.unit.execd.test_slave_config import slave_start

#: `active_jobs` as the release before `gridengine.protocols.task_file` wrote it: bound and checkpointed, a slave task, a login
KEPT = Path(__file__).parents[2] / "data/task-files-v2"

TICKS_PER_S = os.sysconf("SC_CLK_TCK")


@pytest.mark.statement("EX-16")
def test_running_time_counts_from_the_start_of_the_process(tmp_path: Path) -> None:
    assert running_seconds(tmp_path, 1000.0) == 0, "it has not begun"
    job_pid = tmp_path / "job_pid"
    job_pid.write_text(f"4711 {900 * TICKS_PER_S}\n")
    for written in (0, 2**31):
        os.utime(job_pid, (written, written))
        assert running_seconds(tmp_path, 1000.0) == 100
    job_pid.write_text("4711 0\n")
    assert running_seconds(tmp_path, 1000.0) == 0, "it was over before anybody looked"


def test_owner_and_slots_of_a_task_are_kept_with_it(tmp_path: Path) -> None:
    site = HostSite("g1", "/opt/ge", "default", tmp_path / "spool")
    prepare_spool(site.spool)
    own = pwd.getpwuid(os.geteuid()).pw_name
    given = start({"owner": own, "submit_time": 9.0, "first_submit_time": 5.0}, pe_name="mpi", time=7.0)
    assigned = AssignedResources(cores=((0, 1),), topology="SCc")
    create(given, site, configuration(), assigned, find_account(own))
    known = read_tasks(site)[given.key]
    assert known.origin == Origin(own, 5.0, 7.0, given.granted, "mpi")
    assert (known.submitted, known.cores, known.confinement) == (given.submit_time, [(0, 1)], Confinement("SCc"))
    assert read_holder(site.task_directory(given.key)) == (own, given.submit_time)


@pytest.mark.statement("EX-13")
def test_directories_that_were_kept_go_and_no_other_does(tmp_path: Path) -> None:
    site = HostSite("g1", "/opt/ge", "default", tmp_path)
    prepare_spool(site.spool)
    for name in ("7.1", "7.2", "8.1.3"):
        (site.active_jobs / name).mkdir()
        (site.active_jobs / name / "exit").touch()
    for name in ("7.1", "8.1.3"):
        remove(site, site.active_jobs / name, keep=True)
    taken = set_kept_aside(site)
    (site.active_jobs / "7.1").mkdir()  # of another try, while the old one is being removed
    remove_all(taken)
    assert sorted(path.name for path in site.active_jobs.iterdir()) == ["7.1", "7.2"]
    assert set_kept_aside(site) == []


@pytest.mark.statement("EX-9", "EX-10")
@pytest.mark.parametrize("own", ['{"key": [6, 1, 1]}', "", "{", None])
@pytest.mark.parametrize("record", ["exit", "job_end"])
def test_a_task_that_has_ended_is_known_by_its_end_where_its_own_file_was_lost(
    tmp_path: Path, own: str | None, record: str
) -> None:
    """A host that lost its power soon after the task's start: the file is empty, or has the content of an earlier task."""
    site = HostSite("g1", "/opt/ge", "default", tmp_path)
    prepare_spool(site.spool)
    key = TaskKey(7, 1, 2)
    directory = site.task_directory(key)
    directory.mkdir()
    (directory / "config").write_text("")
    if own is not None:
        (directory / "execd").write_text(own)
    assert read_tasks(site) == {}
    (directory / record).write_text('{"failed": 0, "task": "7.1", "execd": {"key": [7, 1, 2], "submitted": 5.0}}')
    assert read_tasks(site)[key].submitted == 5.0
    assert reserved_usage(directory, 5.0) == {}


SIGNALLED = "11/28/2026 16:36:01 [0:638]: its shepherd got SIGTERM, too, of process 1: a container or session ended"


@pytest.mark.statement("EX-10")
@pytest.mark.parametrize(
    ("failed", "began_in", "reason"),
    [
        (19, "boot-1-7", "11/28/2026 16:36:01 [0:638]: the host was rebooted while the job ran"),
        (19, "boot-2-7", SIGNALLED),  # the container was started again, on a host that was not rebooted
        (19, "", SIGNALLED),
        (100, "boot-1-7", SIGNALLED),
    ],
)
def test_a_task_that_ended_with_its_surroundings_was_lost_in_a_reboot_if_the_host_was_booted_since(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failed: int, began_in: str, reason: str
) -> None:
    monkeypatch.setattr(incarnation, "incarnation", lambda: "boot-2-8")
    record = {"failed": failed, "exit_status": 143, "reason": SIGNALLED, "execd": {"incarnation": began_in}}
    (tmp_path / "exit").write_text(json.dumps(record))
    ended = read_end(TaskKey(7, 1, 1), tmp_path)
    assert ended is not None and (ended.failed, ended.exit_status, ended.reason) == (failed, 143, reason)


@pytest.mark.statement("EX-9", "EX-18")
def test_tasks_that_an_earlier_release_started_are_known(tmp_path: Path) -> None:
    """The execd's own data in their `config`, and their owners, as before an upgrade."""
    site = HostSite("g1", "/opt/ge", "default", tmp_path)
    shutil.copytree(KEPT, site.active_jobs)
    found = read_tasks(site)
    assert set(found) == {(12, 1, 3), (12, 1, 3, 3), (13, 1, 1)}
    bound = found[TaskKey(12, 1, 3)]
    assert (bound.submitted, bound.cores) == (1700000000.5, [(0, 1)])
    assert bound.confinement == Confinement("SCTTCTT", "h_vmem by cgroup")
    assert bound.origin == Origin("alice", 1.0, granted=[Grant("all.q@g1", 2), Grant("all.q@g2", 1)], pe="mpi")
    assert read_holder(site.task_directory(TaskKey(13, 1, 1))) == ("alice", 1700000001.5)
    assert read_allocation(site.task_directory(TaskKey(12, 1, 3))) == Allocation(2, 2.0**31)
    (site.task_directory(TaskKey(13, 1, 1)) / "origin").unlink()
    assert read_tasks(site)[TaskKey(13, 1, 1)].origin == Origin()


@pytest.mark.parametrize(("directory", "given"), [
    ("12.1", start(
        {"args": ["a b", "ü"], "notify": True, "hard": {"h_vmem": "2G"}},
        {"prolog": "/p $host"},
        granted=[Grant("all.q@g1", 2), Grant("all.q@g2", 1)],
        submit_time=1700000000.5,
        environment={"A": "b\nc"},
        pe_name="mpi",
        pe_start="/pe",
        checkpoint={
            "interface": "application-level", "ckpt_command": "/c", "migr_command": "/m", "restart_command": "NONE",
            "clean_command": "NONE", "signal": "NONE", "when": "sx", "ckpt_dir": "/tmp",
        },
        checkpoint_interval_s=60.0,
        checkpoint_pid=99,
        per_job_limits=["h_vmem"],
    )),
    ("12.1.3", slave_start()),
])
def test_the_task_file_has_the_content_of_an_earlier_release(directory: str, given: Start) -> None:
    settings = {"execd_params": "H_DESCRIPTORS=1K,NOTIFY_KILL=TERM", "gid_range": "65400-65500"}
    assigned = AssignedResources("set", ((0, 1),), (2, 3), "SCTTCTT", HostCgroups(2, {"memory": "/cg", "pids": "/cg"}))
    made = task_config(
        given,
        SITE,
        configuration(**settings, qmaster_params="FORBID_APPERROR=true"),
        ALICE,
        AssignedResources() if given.slave else assigned,
    )
    # since cgroups of jobs: which its shepherd of that release neither has nor needs
    assert decode((KEPT / directory / "config").read_bytes()) == replace(made, cgroup_of_job=False)
