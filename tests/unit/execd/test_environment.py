"""The job's environment: the variables that are set, and the variables that a user may or may not change."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from daemons.execd.environment import TaskPaths, job_environment, method_environment
from daemons.execd.site import HostSite
from gridengine.protocols.delivery import Start
from gridengine.state.jobs import Grant
from gridengine.values.ranges import Ranges
from tests.unit.execd.instructions import ALICE, SITE, configuration, start

PATHS = TaskPaths(
    directory="/spool/g1/active_jobs/12.1",
    script="/spool/g1/job_scripts/12",
    cwd="/work",
    stdin="/dev/null",
    tmpdir="/tmp/12.1.all.q",
    shell="/bin/sh",
)


def environment(instruction: Start | None = None, site: HostSite = SITE, **parameters: Any) -> dict[str, str]:
    execd_params = ",".join(f"{name}={value}" for name, value in parameters.items()) or "none"
    return job_environment(instruction or start(), site, configuration(execd_params=execd_params), ALICE, PATHS)


@pytest.mark.statement("EN-1", "EN-2", "EN-4", "QC-19")
def test_the_environment_of_a_plain_job() -> None:
    found = environment(start({"submit_host": "g2"}, restarted=1))
    expected = {
        "ARC": SITE.architecture, "SGE_ARCH": SITE.architecture, "HOSTNAME": "g1", "ENVIRONMENT": "BATCH",
        "HOME": "/home/alice", "USER": "alice", "LOGNAME": "alice", "SHELL": "/bin/sh", "TERM": "",
        "JOB_ID": "12", "JOB_NAME": "hello", "JOB_SCRIPT": "/spool/g1/job_scripts/12", "REQUEST": "hello",
        "QUEUE": "all.q", "NHOSTS": "1", "NQUEUES": "1", "NSLOTS": "1", "RESTARTED": "1", "SGE_ACCOUNT": "sge",
        "SGE_ROOT": "/opt/ge", "SGE_CELL": "default", "SGE_BINARY_PATH": "/opt/ge/bin", "SGE_O_HOST": "g2",
        "SGE_CWD_PATH": "/work", "PWD": "/work", "SGE_STDIN_PATH": "/dev/null",
        "SGE_JOB_SPOOL_DIR": "/spool/g1/active_jobs/12.1", "TMPDIR": "/tmp/12.1.all.q", "TMP": "/tmp/12.1.all.q",
        **dict.fromkeys(("SGE_TASK_ID", "SGE_TASK_FIRST", "SGE_TASK_LAST", "SGE_TASK_STEPSIZE"), "undefined"),
    }
    assert {name: found.get(name) for name in expected} == expected
    assert "PE" not in found and "SGE_CKPT_ENV" not in found


@pytest.mark.statement("EN-3")
def test_variables_of_the_submission() -> None:
    job = {"home": "/h", "submit_path": "/p", "login_shell": "/bin/zsh", "submit_cwd": "/w"}
    found = environment(start(job, environment={"SGE_O_MAIL": "/var/mail/alice"}))
    names = ("SGE_O_HOME", "SGE_O_PATH", "SGE_O_SHELL", "SGE_O_WORKDIR", "SGE_O_LOGNAME", "SGE_O_MAIL")
    assert [found[name] for name in names] == ["/h", "/p", "/bin/zsh", "/w", "alice", "/var/mail/alice"]


@pytest.mark.statement("EN-1", "EN-2")
def test_an_array_task() -> None:
    found = environment(start({"array": Ranges.parse("2-8:2")}, task_id=4))
    names = ("SGE_TASK_ID", "SGE_TASK_FIRST", "SGE_TASK_LAST", "SGE_TASK_STEPSIZE")
    assert [found[name] for name in names] == ["4", "2", "8", "2"]


@pytest.mark.statement("EN-1", "PE-14")
def test_a_parallel_job() -> None:
    granted = [Grant("all.q@g1", 2), Grant("big.q@g1", 1), Grant("all.q@g3", 2)]
    found = environment(start(granted=granted, pe_name="mpi"))
    assert (found["NHOSTS"], found["NQUEUES"], found["NSLOTS"], found["PE"]) == ("2", "3", "5", "mpi")
    assert found["PE_HOSTFILE"] == "/spool/g1/active_jobs/12.1/pe_hostfile"


@pytest.mark.statement("SO-39")
def test_users_do_not_override_what_is_not_theirs() -> None:
    mine = "JOB_ID JOB_SCRIPT HOME USER LOGNAME SHELL QUEUE NSLOTS SGE_TASK_ID SGE_ROOT SGE_CELL TMPDIR TMP ARC"
    exported = dict.fromkeys(mine.split(), "forged") | {
        "FOO": "bar",
        "TERM": "vt100",
        "PE": "1",
        "LD_LIBRARY_PATH": "/l",
    }
    found = environment(start(environment=exported))
    assert "forged" not in found.values()
    assert [found[name] for name in ("FOO", "TERM", "PE", "LD_LIBRARY_PATH")] == ["bar", "vt100", "1", "/l"]


@pytest.mark.statement("EN-1")
def test_path_begins_with_the_scratch_directory() -> None:
    assert environment()["PATH"] == "/tmp/12.1.all.q:/opt/ge/bin:/usr/local/bin:/bin:/usr/bin"
    assert environment(start(environment={"PATH": "/my"}))["PATH"] == "/tmp/12.1.all.q:/my"


@pytest.mark.statement("EN-7")
def test_lines_in_values_survive() -> None:
    assert environment(start(environment={"TEXT": "a\nb"}))["TEXT"] == "a\nb"


@pytest.mark.statement("EN-5")
def test_inheritance() -> None:
    given = {"LANG": "C", "TZ": "UTC", "LD_LIBRARY_PATH": "/d", "TERM": "xterm", "HTTPS_PROXY": "http://root:secret@proxy"}
    site = dataclasses.replace(SITE, inherited=given)
    names = ("LANG", "TZ", "LD_LIBRARY_PATH", "TERM", "HTTPS_PROXY")
    usual = environment(site=site)
    assert [usual.get(name) for name in names] == ["C", "UTC", None, "", None]
    found = environment(site=site, INHERIT_ENV="true")
    assert [found.get(name) for name in names] == ["C", "UTC", "/d", "", "http://root:secret@proxy"]
    alone = environment(site=site, INHERIT_ENV="false")
    assert [alone.get(name) for name in names] == [None, "UTC", None, "", None]
    own = f"/opt/ge/lib/{SITE.architecture}"
    assert environment(site=site, SET_LIB_PATH="true")["LD_LIBRARY_PATH"] == own
    assert environment(site=site, SET_LIB_PATH="true", INHERIT_ENV="true")["LD_LIBRARY_PATH"] == f"{own}:/d"
    assert environment(site=site, SET_LIB_PATH="true", INHERIT_ENV="false")["LD_LIBRARY_PATH"] == own


@pytest.mark.statement("EN-1")
def test_a_binary_is_its_own_script() -> None:
    assert environment(start({"binary": True, "script_file": "/bin/env"}))["JOB_SCRIPT"] == "/bin/env"


@pytest.mark.statement("EX-20", "EN-1")
def test_a_method_of_another_user_finds_what_no_user_can_choose() -> None:
    mine = {"TAR_OPTIONS": "x", "HOME": "/h", "LD_PRELOAD": "/x", "PATH": "/x", "PE_HOSTFILE": "/etc/shadow", "SGE_BINDING": "0"}
    instruction = start(environment=mine | {"SGE_METHOD_STAGE": "in", "JOB_ID": "99", "SGE_O_MAIL": "x", "TZ": "/x"})
    site = dataclasses.replace(SITE, inherited={"TZ": "UTC", "OLDPWD": "/root"})
    found = method_environment(instruction, site, configuration(), PATHS)
    assert not found.keys() & (mine.keys() | {"SGE_O_MAIL", "OLDPWD", "TMPDIR", "TMP", "USER", "SHELL"})
    assert (found["JOB_ID"], found["SGE_METHOD_STAGE"], found["TZ"], found["QUEUE"]) == ("12", "in", "UTC", "all.q")
