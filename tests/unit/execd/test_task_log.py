"""Lines about tasks in the log of an exec host, and their levels."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from daemons.execd import task_log
from gridengine.protocols.delivery import Ended
from gridengine.usage.failed import AFTER_JOB, ENFORCED, RESCHEDULED
from gridengine.values.task_key import SlaveKey, TaskKey
from shepherd import task_files
from tests.unit.execd.instructions import start

pytestmark = pytest.mark.statement("GC-4")
KEY = TaskKey(5, 2, 1)
USED = {"ru_wallclock": 3.25, "cpu": 1.04, "maxvmem": 2097152.0, "mem": 1.0}


def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [f"{record.levelname} {record.getMessage()}" for record in caplog.records if record.name == task_log.__name__]


def test_an_ordinary_life_is_info(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    begun = start()
    task_log.log_start(begun)
    task_log.log_command(KEY, "ann", "suspend")
    task_log.log_end(Ended(KEY, exit_status=3, usage=USED), "ann")
    first, second, third = lines(caplog)
    where = f"{begun.granted[0].instance}, attempt {begun.key.attempt}"
    assert first == f"INFO task {begun.key.job}.{begun.key.task} of {begun.job.owner} starts in {where}"
    assert second == "INFO task 5.2 of ann: command of the qmaster: suspend"
    assert third == "INFO task 5.2 of ann has ended: exit status 3, wallclock 3.2 s, cpu 1.0 s, maxvmem 2.000M"


@pytest.mark.parametrize(
    ("failed", "level"), [(ENFORCED, "WARNING"), (AFTER_JOB, "WARNING"), (RESCHEDULED, "INFO")]
)
def test_the_reason_of_an_end_is_logged_and_a_warning_unless_the_task_ended_itself(
    caplog: pytest.LogCaptureFixture, failed: int, level: str
) -> None:
    caplog.set_level(logging.INFO)
    task_log.log_end(Ended(KEY, failed, 137, reason="11/25/2026 21:33:51 [0:139]: limit h_rt of 2.0 s exceeded"), "")
    assert lines(caplog) == [f"{level} task 5.2 of ? has ended (limit h_rt of 2.0 s exceeded): exit status 137"]
    record = caplog.records[-1]
    why = {"exit_status": 137, "failed": failed, "reason": "limit h_rt of 2.0 s exceeded", "usage": {}}
    assert record.__dict__["fields"] == {"event": "task_ended", "job": 5, "task": 2, **why}


def test_nothing_is_made_of_what_the_level_leaves_out(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    task_log.log_start(start())
    task_log.log_command(KEY, "ann", "kill")
    task_log.log_end(Ended(KEY, usage=USED), "ann")
    task_log.log_unwanted(SlaveKey(5, 2, 1, 7), "ann")
    assert lines(caplog) == ["WARNING task 5.2, slave task 7 of ann is killed: its attempt has ended for the qmaster"]


def test_faults_of_methods_are_logged_once(caplog: pytest.LogCaptureFixture, tmp_path: Path) -> None:
    task_log.log_faults(KEY, "ann", tmp_path)
    for each in ("can't execute suspend_method\n /x: no such file", "resume_method ended with exit status 3"):
        task_files.add_fault(tmp_path, each)
    task_log.log_faults(KEY, "ann", tmp_path)
    task_log.log_faults(KEY, "ann", tmp_path)
    assert lines(caplog) == [
        "WARNING task 5.2 of ann: can't execute suspend_method /x: no such file",
        "WARNING task 5.2 of ann: resume_method ended with exit status 3",
    ]
