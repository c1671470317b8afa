"""The `config` of a task is checked at the gate."""

from __future__ import annotations

from pathlib import Path

import pytest

from gridengine.protocols.task_file import MAX_LIMIT, TaskConfig, TaskFileError, parse
from shepherd.config import read_config, total_limit, with_tmpdir
from tests.unit.shepherd.configuration import BASE, config


def test_defaults_and_unknown_keys() -> None:
    found = config(something_new=1)
    assert (found.slots, found.shell, found.umask, found.notify_s) == (1, "/bin/sh", 0o022, None)


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        ([], "not a JSON object"),
        ({name: value for name, value in BASE.items() if name != "cwd"}, 'config has no "cwd"'),
        (BASE | {"job_id": "7"}, '"job_id" is not of type int'),
        (BASE | {"job_id": True}, '"job_id" is not of type int'),
        (BASE | {"binary": 1}, '"binary" is not of type bool'),
        (BASE | {"args": "a b"}, '"args" is not of type list[str]'),
        (BASE | {"environment": {"A": 1}}, '"environment" is not of type'),
        (BASE | {"limits": {"h_rt": "1:0:0"}}, '"limits" is not of type'),
        (BASE | {"uid": "alice"}, '"uid" is not of type int | None'),
        (BASE | {"shell_start_mode": "raw"}, 'unknown shell_start_mode "raw"'),
        (BASE | {"binary": True}, 'config has no "command"'),
        (BASE | {"script": None}, 'config has no "script"'),
    ],
)
def test_bad_configurations_are_named(data: object, problem: str) -> None:
    with pytest.raises(TaskFileError) as error:
        parse(data)
    assert problem in str(error.value)


def test_files_that_are_no_configuration(tmp_path: Path) -> None:
    with pytest.raises(TaskFileError, match="can't read .*: No such file"):
        read_config(tmp_path)
    (tmp_path / "config").write_text("{")
    with pytest.raises(TaskFileError, match="is not JSON"):
        read_config(tmp_path)


def test_paths_of_the_job_follow_another_scratch_directory() -> None:
    planned = config(tmpdir="/tmp/1.1.q", cwd="/tmp/1.1.q", environment={"PATH": "/bin:/tmp/1.1.q", "X": "/tmp/1.1.queue"})
    assert with_tmpdir(planned, "/tmp/1.1.q") is planned  # nothing is worked out again for nearly every job
    moved = with_tmpdir(planned, "/tmp/1.1.q-2")
    assert (moved.tmpdir, moved.cwd) == ("/tmp/1.1.q-2", "/tmp/1.1.q-2")
    assert moved.environment == {"PATH": "/bin:/tmp/1.1.q-2", "X": "/tmp/1.1.queue"}


def test_missing_keys_have_the_defaults_of_a_queue() -> None:
    found = TaskConfig(job_id=7, owner="alice", cwd="/", stdout="/o")
    assert (found.task_id, found.slave, found.attempt, found.slots, found.nice, found.ckpt_pid) == (1, 0, 0, 1, 0, 0)
    assert (found.queue_notify_s, found.session_grace_s, found.pdc_interval_s, found.ckpt_interval_s) == (60, 60, 1, 0)
    assert (found.umask, found.min_uid, found.min_gid) == (0o022, 0, 0)
    assert not (found.merge or found.binary or found.no_shell or found.login)
    assert not (found.memory_by_cgroup or found.processes_by_cgroup or found.forbid_reschedule or found.forbid_apperror)


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("queue", ["all.q"], [None, 1]),
        ("script", ["/s"], [1, ["/s"]]),
        ("command", ["ls", None], [1, ["ls"]]),
        ("slots", [2], [None, True, 2.5, "2"]),
        ("uid", [1, None], [True, 2.5, "1"]),
        ("merge", [True, False], [None, 1, "yes"]),
        ("queue_notify_s", [1, 2.5], [None, True, "1", float("nan")]),
        ("notify_s", [1, 2.5, None], [True, "1", float("nan")]),
        ("args", [[], ["a", "b"]], [None, "ab", ["a", 1]]),
        ("processors", [[], [0, 1]], [None, "01", {}, [0, "1"]]),
        ("groups", [None, [], [5, 6]], ["56", {}, [5, "6"]]),
        ("environment", [{}, {"A": "1"}], [None, [], "A", {"A": "1", "B": 2}]),
        ("limits", [{}, {"h_rt": 1, "s_rt": None, "h_cpu": 2.5}], [None, [], {"h_rt": 1, "s_rt": "1"}, {"h_rt": float("nan")}]),
    ],
)
def test_each_key_takes_values_of_its_type_alone(name: str, good: list[object], bad: list[object]) -> None:
    for value in good:
        assert getattr(parse(BASE | {name: value}), name) == value
    for value in bad:
        with pytest.raises(TaskFileError, match=f'"{name}" is not of type'):
            parse(BASE | {name: value})


@pytest.mark.statement("IA-1", "IA-2")
def test_a_login_needs_neither_script_nor_command() -> None:
    assert config(script=None, login=True, session="pty").session == "pty"
    with pytest.raises(TaskFileError, match='unknown session "telnet"'):
        config(session="telnet")


@pytest.mark.statement("RL-4", "RL-5")
def test_limits_on_the_sum_of_all_processes_grow_with_the_slots_of_the_task() -> None:
    found = config(limits={"h_cpu": 10, "h_vmem": 100, "s_cpu": None, "s_vmem": 10**30}, slots=3, per_job_limits=["h_vmem"])
    assert total_limit(found, "h_cpu") == 30
    assert total_limit(found, "h_vmem") == 100
    assert total_limit(found, "s_vmem") == MAX_LIMIT == 0x7FFFFFFFFFFFFFFF
    assert total_limit(found, "s_cpu") is total_limit(found, "s_data") is None


def test_a_job_without_a_scratch_directory_keeps_its_paths() -> None:
    planned = config(environment={"PATH": "/bin"})
    assert with_tmpdir(planned, "/tmp/7.1.q") is planned
