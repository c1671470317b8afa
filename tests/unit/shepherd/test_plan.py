"""The list of steps for a configuration: the order, who needs whom, how each process is called (EX-1)."""

from __future__ import annotations

from typing import Any

import pytest

from gridengine.protocols.task_file import TaskConfig
from shepherd.cgroup_limits import CgroupLimits
from shepherd.methods import SAFE_PATH, Method
from shepherd.plan import Contain, MakeDirectory, Output, RemoveDirectory, Run, Sweep, control_method_step, plan
from tests.unit.shepherd.configuration import config

METHODS = {"prolog": "/p", "epilog": "/e", "pe_start": "/s", "pe_stop": "/t"}


def names(found: TaskConfig) -> list[str]:
    return [step.name if isinstance(step, Run) else type(step).__name__ for step in plan(found)]


def run(found: TaskConfig, name: str = "job") -> Run:
    return next(step for step in plan(found) if isinstance(step, Run) and step.name == name)


@pytest.mark.statement("EX-1", "QC-19")
@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, ["Contain", "job", "Sweep"]),
        ({"tmpdir": "/tmp/7.1.q"}, ["Contain", "MakeDirectory", "job", "Sweep", "RemoveDirectory"]),
        ({"prolog": "/p"}, ["Contain", "prolog", "job", "Sweep"]),
        (METHODS, ["Contain", "prolog", "pe_start", "job", "Sweep", "pe_stop", "epilog"]),
        ({"processors": [0, 2], "prolog": "/p"}, ["Contain", "Bind", "prolog", "job", "Sweep"]),
        (
            {"session": "pipes", "prolog": "/p", "epilog": "/e"},
            ["Contain", "StartSession", "prolog", "job", "Sweep", "EndSession", "epilog"],
        ),
        ({"ckpt_interface": "hibernator"}, ["Contain", "job", "Sweep"]),
    ],
)
def test_order(changes: dict[str, Any], expected: list[str]) -> None:
    assert names(config(**changes)) == expected


@pytest.mark.statement("EX-1")
def test_needs() -> None:
    needs = {step.name: step.needs for step in plan(config(**METHODS)) if isinstance(step, Run)}
    assert needs == {
        "prolog": ("preparation",),
        "pe_start": ("preparation", "prolog"),
        "job": ("preparation", "prolog", "pe_start"),
        "pe_stop": ("preparation", "prolog"),
        "epilog": ("preparation",),
    }


@pytest.mark.statement("EX-4")
def test_codes() -> None:
    codes = {step.name: (step.before, step.within) for step in plan(config(**METHODS)) if isinstance(step, Run)}
    assert codes == {"prolog": (7, 8), "pe_start": (9, 10), "job": (11, 0), "pe_stop": (12, 13), "epilog": (14, 15)}


def test_steps_that_are_no_processes() -> None:
    steps = plan(config(tmpdir="/tmp/7.1.q", cgroups=["/cg/sge.c"], gid_range="1-2"))
    assert steps[0] == Contain(["/cg/sge.c"], "1-2", CgroupLimits())
    assert steps[1] == MakeDirectory("/tmp/7.1.q")
    assert steps[-2:] == [Sweep(), RemoveDirectory("/tmp/7.1.q")]


@pytest.mark.statement("QC-20", "QC-21", "QC-22", "QC-23", "SO-33")
@pytest.mark.parametrize(
    ("changes", "executable", "argv"),
    [
        ({}, "/bin/sh", ["-sh", "/spool/job_scripts/7"]),
        ({"login_shells": [], "args": ["a b", ""]}, "/bin/sh", ["sh", "/spool/job_scripts/7", "a b", ""]),
        ({"shell": "/opt/zsh"}, "/opt/zsh", ["zsh", "/spool/job_scripts/7"]),
        ({"shell_start_mode": "unix_behavior", "args": ["x"]}, "/spool/job_scripts/7", ["/spool/job_scripts/7", "x"]),
        ({"shell_start_mode": "script_from_stdin", "args": ["x"]}, "/bin/sh", ["-sh", "-s", "x"]),
        ({"binary": True, "command": "a", "no_shell": True, "args": ["b c"]}, "a", ["a", "b c"]),
        ({"binary": True, "command": "a"}, "/bin/sh", ["-sh", "-c", '"$@"', "-sh", "a"]),
        ({"binary": True, "command": "a", "args": ["b c"]}, "/bin/sh", ["-sh", "-c", '"$@"', "-sh", "a", "b c"]),
        ({"binary": True, "command": "a; b"}, "/bin/sh", ["-sh", "-c", "a; b", "-sh"]),
        ({"binary": True, "command": "~/a", "args": ["*"]}, "/bin/sh", ["-sh", "-c", '~/a "$@"', "-sh", "*"]),
        (
            {"binary": True, "command": "a", "args": ["b", ""], "shell": "/bin/csh"},
            "/bin/csh",
            ["-csh", "-c", '$argv[1]:q $argv[2]:q ""', "a", "b", ""],
        ),
        (
            {"binary": True, "command": "a", "shell_start_mode": "script_from_stdin"},
            "/bin/sh",
            ["-sh", "-c", '"$@"', "-sh", "a"],
        ),
    ],
)
def test_call_of_the_job(changes: dict[str, Any], executable: str, argv: list[str]) -> None:
    command = run(config(**changes)).command
    assert (command.executable, command.argv) == (executable, argv)


@pytest.mark.statement("QC-21", "QC-23")
def test_special_ways_of_reading_the_script() -> None:
    unix = run(config(shell_start_mode="unix_behavior", args=["x"])).command
    assert unix.argv == ["/spool/job_scripts/7", "x"]
    assert run(config(shell_start_mode="script_from_stdin")).command.script_on_stdin == "/spool/job_scripts/7"


@pytest.mark.statement("QC-26")
def test_starter_method() -> None:
    job = run(config(starter_method="/opt/start $job_id 'a b'", args=["x"]))
    assert job.command.argv == ["/opt/start", "7", "a b", "/spool/job_scripts/7", "x"]
    assert job.environment["SGE_STARTER_SHELL_PATH"] == "/bin/sh"
    assert job.environment["SGE_STARTER_SHELL_START_MODE"] == "posix_compliant"
    assert job.environment["SGE_STARTER_USE_LOGIN_SHELL"] == "true"
    assert "SGE_STARTER_USE_LOGIN_SHELL" not in run(config(starter_method="/s", login_shells=[])).environment
    fed = run(config(starter_method="/s", shell_start_mode="script_from_stdin", args=["x"])).command
    assert (fed.argv, fed.script_on_stdin) == (["/s", "-s", "x"], "/spool/job_scripts/7")
    assert run(config(starter_method="/s $nosuch")).error == 'starter_method: unknown variable "$nosuch"'


@pytest.mark.statement("QC-25", "QC-27", "EX-20")
def test_methods() -> None:
    prolog = run(config(prolog='root@/p "$job_name" ${job_id}x'), "prolog")
    assert prolog.user == "root"
    assert prolog.command.argv == ["/p", "; evil doings;", "7x"]
    mine = {"LD_PRELOAD": "/x.so", "PATH": "/home/alice", "MINE": "1"}
    for text in ("/p", "alice@/p"):
        own = run(config(prolog=text, environment=mine), "prolog")
        assert (own.user, own.environment["MINE"], "LD_PRELOAD" in own.environment) == (None, "1", False)
        assert own.environment["PATH"] == SAFE_PATH
    broken = run(config(epilog="/e 'x"), "epilog")
    assert broken.error is not None and broken.before == 14


@pytest.mark.statement("SO-12")
def test_files() -> None:
    both = {"stdout": "/o", "stderr": "/e", "default_stdout": "j.o7", "default_stderr": "j.e7"}
    assert run(config(stdin="/i", **both)).output == Output("/i", "/o", "/e", "j.o7", "j.e7")
    assert run(config(merge=True, **both)).output == Output("/dev/null", "/o", None, "j.o7", "j.e7")
    assert run(config(stdin="/i", prolog="/p", **both), "prolog").output.stdin == "/dev/null"
    pe = run(config(pe_start="/s", pe_stdout="/po", pe_stderr="/pe", default_pe_stdout="j.po7", **both), "pe_start")
    assert pe.output == Output("/dev/null", "/po", "/pe", "j.po7", None)
    assert run(config(pe_stop="/s", **both), "pe_stop").output == Output("/dev/null", "/o", "/e", "j.o7", "j.e7")


@pytest.mark.statement("RL-10", "EX-6")
@pytest.mark.parametrize(
    ("limits", "most"), [({"h_maxproc": 50}, 50), ({"s_maxproc": 5}, 5), ({"h_maxproc": None}, None), ({}, None)]
)
def test_where_a_cgroup_limits_processes_those_of_the_job_alone_count(limits: dict[str, int | None], most: int | None) -> None:
    found = config(limits=limits, processes_by_cgroup=True, cgroups=["/cg"])
    assert plan(found)[0] == Contain(["/cg"], None, CgroupLimits(processes=most))
    assert run(found).limits == []


@pytest.mark.statement("QC-25", "EX-20")
def test_a_method_of_another_user_has_nothing_of_the_jobs_environment() -> None:
    environments = {"environment": {"HOME": "/home/alice", "TAR_OPTIONS": "x"}, "method_environment": {"JOB_ID": "7"}}
    methods = {name: f"root@{path}" for name, path in METHODS.items()}
    found = config(**environments, **methods, limits={"h_fsize": 10})
    for name in METHODS:
        assert run(found, name).environment == {"JOB_ID": "7", "PATH": SAFE_PATH}
        assert run(found, name).limits == []
    daemon = run(config(**environments, remote_daemon="/usr/sbin/sshd -i"))
    assert daemon.environment == {"JOB_ID": "7", "PATH": SAFE_PATH}


@pytest.mark.statement("RL-5", "RL-6", "QC-25")
def test_methods_of_the_owner_have_the_limits_of_the_job_but_none_that_they_would_fail_for() -> None:
    limits = {"h_fsize": 10, "h_vmem": 2**40, "h_cpu": 5, "h_maxproc": 3, "h_data": None, "h_descriptors": 3}
    found = config(limits=limits, slots=2, **METHODS)
    assert "maxproc" in [limit.name for limit in run(found).limits]
    expected = {"cpu": 600, "fsize": 2**30, "data": None, "vmem": 2**41, "descriptors": 256}
    for name in METHODS:
        assert {limit.name: limit.hard for limit in run(found, name).limits} == expected
    method = Method(None, ["/s"])
    suspending = control_method_step(found, "suspend_method", method, {})
    assert {limit.name: limit.hard for limit in suspending.limits} == expected


@pytest.mark.parametrize(
    ("changes", "last"),
    [
        ({"prolog": "/p", "pe_start": "/s", "tmpdir": "/tmp/7.1.q"}, True),
        *(({name: "/m"}, False) for name in ("epilog", "pe_stop", "suspend_method", "resume_method", "terminate_method")),
        *(({name: "/m"}, False) for name in ("ckpt_command", "migr_command", "clean_command")),
    ],
)
def test_after_which_job_no_process_is_started(changes: dict[str, Any], last: bool) -> None:
    """Its shepherd may keep limits that it could not raise again."""
    found = config(**changes)
    assert run(found).last == last
    assert not any(step.last for step in plan(found) if isinstance(step, Run) and step.name != "job")
