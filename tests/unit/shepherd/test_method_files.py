"""Files for methods in the directory of their task, in the forms of 8.1.9; the task's own configuration stays readable."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gridengine.protocols.task_file import CONFIG, PRIVATE_CONFIG, TaskFileError, encode
from gridengine.usage.failed import AFTER_JOB
from shepherd.config import read_config
from shepherd.method_files import MethodFiles
from shepherd.task_files import Trace
from shepherd.usage import JobUsage
from tests.unit.shepherd.configuration import config

pytestmark = pytest.mark.statement("QC-25")


def files(directory: Path, **changes: Any) -> MethodFiles:
    """Those of a task whose first process is about to start."""
    task = config(host="h1", queue="all.q", slots=2, **changes)
    (directory / CONFIG).write_bytes(encode(task))
    (directory / CONFIG).chmod(0o600)
    found = MethodFiles(directory, task, Trace(directory))
    found.begin(task, 40000)
    return found


def values(path: Path) -> dict[str, str]:
    return dict(line.split("=", 1) for line in path.read_text().splitlines())


@pytest.mark.parametrize("reader", ["prolog", "epilog", "pe_start", "pe_stop", "starter_method", "ckpt_interface"])
def test_methods_find_the_configuration(tmp_path: Path, reader: str) -> None:
    changes = {"limits": {"h_vmem": 2**30, "s_cpu": None}, "args": ["two words", "a\nb"], "environment": {"SECRET": "x"}}
    files(tmp_path, **{reader: "/bin/true x", "job_name": "name", "tmpdir": "/tmp/7.1.all.q"}, **changes)
    found = values(tmp_path / CONFIG)
    assert (tmp_path / CONFIG).stat().st_mode & 0o777 == 0o644
    assert (tmp_path / PRIVATE_CONFIG).stat().st_mode & 0o777 == 0o600
    expected = {
        "job_name": "name",
        "queue": "all.q",
        "job_owner": "alice",
        "add_grp_id": "40000",
        "h_vmem": str(2**30),
        "s_cpu": "INFINITY",
        "pe": "none",
        "job_id": "7",
    }
    assert {name: found[name] for name in expected} == expected
    assert (found["njob_args"], found["job_arg1"], found["job_arg2"]) == ("2", "two words", "a b")
    assert "SECRET" not in (tmp_path / CONFIG).read_text()
    assert (tmp_path / "pe_hostfile").read_text() == "h1 2 all.q@h1 UNDEFINED\n"
    assert (tmp_path / "error").read_text() == (tmp_path / "exit_status").read_text() == ""


@pytest.mark.statement("CK-2")
def test_a_checkpointing_interface(tmp_path: Path) -> None:
    variables = {"ckpt_dir": "/ckpt", "ckpt_signal": "NONE"}
    files(tmp_path, ckpt_interface="application-level", migr_command="/bin/m x", ckpt_pid=55, variables=variables)
    found = values(tmp_path / CONFIG)
    assert found["ckpt_job"] == "1"
    kept = {name: value for name, value in found.items() if name.startswith("ckpt_") and value not in ("0", "1", "none", "NONE")}
    assert kept == {
        "ckpt_pid": "55",
        "ckpt_osjobid": "40000",
        "ckpt_interface": "application-level",
        "ckpt_migr_command": "/bin/m x",
        "ckpt_dir": "/ckpt",
    }


def test_the_host_file_of_a_parallel_job_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "pe_hostfile").write_text("of the execd")
    files(tmp_path, epilog="/bin/true", variables={"pe": "mpi", "pe_slots": "8"})
    found = values(tmp_path / CONFIG)
    assert (found["pe"], found["pe_slots"], found["host_slots"]) == ("mpi", "8", "2")
    assert found["pe_hostfile"] == str(tmp_path / "pe_hostfile")
    assert (tmp_path / "pe_hostfile").read_text() == "of the execd"


@pytest.mark.parametrize(("code", "number", "wait_status"), [(0, 0, "1"), (9, 0, "145"), (137, 9, str(9 << 12 | 2))])
def test_the_files_about_the_end_of_the_job(tmp_path: Path, code: int, number: int, wait_status: str) -> None:
    found = files(tmp_path, epilog="/bin/true")
    failed = AFTER_JOB if number else 0
    reason = "11/25/2026 21:33:51 [0:139]: job died through signal 9" if number else ""
    record = {"exit_status": code, "signal": number, "start_time": 5.5, "end_time": 7.9, "failed": failed, "reason": reason}
    found.job_ended(lambda: record | {"usage": JobUsage().final(2.4) | {"ru_utime": 1.5}})
    usage = values(tmp_path / "usage")
    assert (usage["exit_status"], usage["signal"], usage["wait_status"]) == (str(code), str(number), wait_status)
    assert (usage["start_time"], usage["end_time"], usage["ru_wallclock"], usage["ru_utime"]) == ("5", "7", "2", "1.500000")
    assert (tmp_path / "error").read_text() == ("job died through signal 9\n" if number else "")


def test_a_task_without_methods_costs_no_file(tmp_path: Path) -> None:
    found = files(tmp_path)
    found.job_ended(lambda: {})
    assert sorted(path.name for path in tmp_path.iterdir()) == [CONFIG, "trace"]


def test_the_configuration_is_read_under_each_of_its_names(tmp_path: Path) -> None:
    files(tmp_path, epilog="/bin/e")
    assert read_config(tmp_path).epilog == "/bin/e"
    (tmp_path / CONFIG).unlink()  # a shepherd that died in between
    assert read_config(tmp_path).epilog == "/bin/e"
    (tmp_path / PRIVATE_CONFIG).rename(tmp_path / CONFIG)  # as earlier releases have it
    assert read_config(tmp_path).epilog == "/bin/e"
    (tmp_path / CONFIG).write_text(json.dumps({}))
    with pytest.raises(TaskFileError, match="has no"):
        read_config(tmp_path)
