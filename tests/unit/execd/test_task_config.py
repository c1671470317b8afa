"""The shepherd's configuration: programs, limits, methods, rules; and that the shepherd can read it."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import msgspec
import pytest

from daemons.execd.cgroups import HostCgroups
from daemons.execd.resource_assignment import AssignedResources
from daemons.execd.site import process_share, read_site
from daemons.execd.task_config import pe_hostfile, task_config
from gridengine.protocols.task_file import TaskConfig, decode, encode
from gridengine.state.jobs import Grant
from tests.unit.execd.instructions import ALICE, SITE, configuration, start


def config(*arguments: Any, settings: dict[str, str] | None = None, **changes: Any) -> TaskConfig:
    made = task_config(start(*arguments, **changes), SITE, configuration(**(settings or {})), ALICE)
    assert decode(encode(made)) == made  # the shepherd understands it
    return made


def test_owner_and_paths() -> None:
    made = config({"cwd": "/work", "args": ["a b", "c"]})
    assert (made.job_id, made.task_id, made.attempt, made.owner, made.uid) == (12, 1, 3, "alice", 1001)
    assert (made.cwd, made.tmpdir, made.args) == ("/work", "/tmp/12.1.all.q", ["a b", "c"])
    assert made.script == "/spool/g1/job_scripts/12"


@pytest.mark.statement("SO-8")
def test_without_a_working_directory_it_is_home() -> None:
    made = config()
    assert (made.cwd, made.stdout) == ("/home/alice", "/home/alice")


@pytest.mark.statement("QC-20", "SO-35")
def test_shell() -> None:
    assert config().shell == "/bin/sh"
    assert config({"shells": [("", "/bin/bash"), ("g1", "/bin/ksh")]}).shell == "/bin/ksh"
    assert config({}, {"shell": "NONE"}).shell == "/bin/sh"


@pytest.mark.statement("QC-24")
def test_the_way_to_start_scripts_is_not_for_interactive_jobs() -> None:
    settings = {"shell_start_mode": "script_from_stdin"}
    assert config({}, settings).shell_start_mode == "script_from_stdin"
    interactive = config({"kind": "qrsh", "binary": True, "script_file": "/bin/sleep"}, settings)
    assert interactive.shell_start_mode == "posix_compliant"


@pytest.mark.statement("SO-5", "SO-33")
def test_binary() -> None:
    made = config({"binary": True, "script_file": "/bin/sleep", "no_shell": True})
    assert (made.command, made.script, made.no_shell) == ("/bin/sleep", None, True)


@pytest.mark.statement("RL-1", "RL-7", "QC-39")
def test_the_smaller_limit_is_in_force() -> None:
    limits = config({"hard": {"h_rt": "100", "h_vmem": "2G"}}, {"h_rt": "0:1:0", "s_rt": "0:0:50"}).limits
    assert (limits["h_rt"], limits["s_rt"], limits["h_vmem"], limits["h_cpu"]) == (60, 50, 2 * 2**30, None)


@pytest.mark.statement("AR-93", "AR-94")
@pytest.mark.parametrize(
    ("job", "queue", "limit"), [({}, {}, 30), ({"hard": {"h_rt": "10"}}, {}, 10), ({}, {"h_rt": "00:01:00"}, 30)]
)
def test_the_end_of_the_reservation_is_a_limit_too(job: dict[str, Any], queue: dict[str, str], limit: int) -> None:
    limits = config(job, queue, time_limit=30.0).limits
    assert limits["h_rt"] == limit


@pytest.mark.statement("RL-10")
def test_limits_of_execd_params() -> None:
    limits = config(settings={"execd_params": "H_DESCRIPTORS=1K,S_MAXPROC=infinity,H_LOCKS=junk"}).limits
    assert (limits["h_descriptors"], limits["s_maxproc"]) == (1024, None)
    assert "h_locks" not in limits and "s_descriptors" not in limits


@pytest.mark.statement("CQ-39", "CQ-2")
def test_methods_know_the_cluster_queue_of_the_master_instance() -> None:
    made = config(granted=[Grant("b.q@g1", 1), Grant("a.q@g2", 3)])
    assert (made.variables["queue"], made.queue) == ("b.q", "b.q")


@pytest.mark.statement("QC-25")
def test_prolog_of_the_queue_overrides() -> None:
    settings = {"prolog": "/global/prolog", "epilog": "root@/global/epilog"}
    made = config({}, {"prolog": "/queue/prolog $host"}, settings=settings)
    assert (made.prolog, made.epilog) == ("/queue/prolog $host", "root@/global/epilog")
    assert config().prolog is None


@pytest.mark.statement("QC-29", "SO-21")
def test_notification() -> None:
    assert config().notify_s is None
    assert config({"notify": True}).notify_s == 60


@pytest.mark.statement("EX-14", "EX-2", "EX-6")
def test_rules_of_the_cluster() -> None:
    settings = {
        "min_uid": "1000", "gid_range": "65400-65500", "qmaster_params": "FORBID_RESCHEDULE=true",
        "execd_params": "PDC_INTERVAL=5,NOTIFY_KILL=TERM",
    }
    made = config(settings=settings)
    assert (made.min_uid, made.gid_range) == (1000, "65400-65500")
    assert (made.forbid_reschedule, made.forbid_apperror) == (True, False)
    assert (made.pdc_interval_s, made.notify_kill) == (5, "TERM")
    plain = config(settings={"gid_range": "none"})
    assert plain.gid_range is None


@pytest.mark.statement("EX-14")
def test_group_of_the_submission() -> None:
    job = {"gid": 7}
    assert config(job).gid == 1001
    assert config(job, settings={"execd_params": "USE_QSUB_GID=true"}).gid == 7


@pytest.mark.statement("PE-9", "PE-10", "PE-14")
def test_parallel() -> None:
    granted = [Grant("all.q@g1", 2), Grant("big.q@g1", 1), Grant("all.q@g3", 2)]
    made = config(granted=granted, pe_name="mpi", pe_start="/pe/start $pe_hostfile")
    assert (made.slots, made.pe_start, made.pe_stop) == (3, "/pe/start $pe_hostfile", None)
    variables = made.variables
    assert (variables["pe_slots"], variables["pe"]) == ("5", "mpi")
    assert pe_hostfile(start(granted=granted)) == (
        "g1 2 all.q@g1 UNDEFINED\ng1 1 big.q@g1 UNDEFINED\ng3 2 all.q@g3 UNDEFINED\n"
    )


@pytest.mark.statement("QC-12", "PE-9")
def test_processors_of_each_granted_queue() -> None:
    granted = [Grant("all.q@g1", 2), Grant("all.q@g3", 2)]
    text = pe_hostfile(start(granted=granted, processors={"all.q@g3": "0-3"}))
    assert text == "g1 2 all.q@g1 UNDEFINED\ng3 2 all.q@g3 0-3\n"


@pytest.mark.statement("RL-5", "CX-38")
def test_limits_that_are_booked_once_a_job_are_not_multiplied() -> None:
    made = config({"hard": {"h_vmem": "2G"}}, granted=[Grant("all.q@g1", 4)], per_job_limits=["h_vmem"])
    assert (made.slots, made.per_job_limits) == (4, ["h_vmem"])


@pytest.mark.statement("RL-10")
@pytest.mark.parametrize(
    ("parameters", "hard", "soft"),
    [("none", 8192, None), ("H_MAXPROC=50", 50, None), ("H_MAXPROC=infinity", None, None), ("S_MAXPROC=5", None, 5)],
)
def test_processes_are_limited_by_default(parameters: str, hard: int | None, soft: int | None) -> None:
    site = dataclasses.replace(SITE, process_share=8192)
    made = task_config(start(), site, configuration(execd_params=parameters), ALICE).limits
    assert (made.get("h_maxproc"), made.get("s_maxproc")) == (hard, soft)


@pytest.mark.statement("RL-10")
def test_the_share_of_a_job_in_the_process_numbers_of_its_host(tmp_path: Path) -> None:
    (tmp_path / "pid_max").write_text("4194304\n")
    assert process_share(tmp_path) is None
    (tmp_path / "threads-max").write_text("200000\n")
    assert process_share(tmp_path) == 50000
    assert read_site("h", "/r", "c", tmp_path).process_share == process_share()


@pytest.mark.statement("EX-6")
@pytest.mark.parametrize(
    ("priority", "parameters", "used"), [("0", "NONE", []), ("5", "NONE", ["/cpu"]), ("0", "CPU_BY_SLOTS=true", ["/cpu"])]
)
def test_a_task_that_weighs_as_a_process_has_no_cgroup_of_processor_time(priority: str, parameters: str, used: list[str]) -> None:
    assigned = AssignedResources(cgroups=HostCgroups(1, {"memory": "/memory", "cpu": "/cpu"}))
    given = start()
    given = msgspec.structs.replace(given, queue=msgspec.structs.replace(given.queue, priority=int(priority)))
    assert task_config(given, SITE, configuration(execd_params=parameters), ALICE, assigned).cgroups == ["/memory", *used]


@pytest.mark.statement("RL-10", "EX-6")
def test_where_cgroups_count_processes_they_do() -> None:
    assigned = AssignedResources(cgroups=HostCgroups(2, {"pids": "/cg"}, "no memory"))
    made = task_config(start(), SITE, configuration(), ALICE, assigned)
    assert (made.processes_by_cgroup, made.memory_by_cgroup) == (True, False)


@pytest.mark.statement("DM-2")
@pytest.mark.parametrize(
    ("cwd", "expected"),
    [("", "/home/alice"), ("a/b", "/home/alice/a/b"), ("$HOME/x", "/home/alice/x"), ("/w/$JOB_ID.$TASK_ID", "/w/12.0")],
)
def test_the_working_directory_begins_at_home_and_has_the_variables_of_paths(cwd: str, expected: str) -> None:
    assert config({"cwd": cwd}).cwd == expected
