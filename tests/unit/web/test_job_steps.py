"""The time line of a job in plain words, from the lines of its event log."""

from __future__ import annotations

from typing import Any

from daemons.web.pages.job_steps import steps_of
from tests.unit.web.browsing import text_of
from tests.unit.web.followed import Followed

LOG = [
    (100.0, 0, "JobSubmitted", "by alice@h1"),
    (110.0, 1, "TaskDispatched", "attempt 1, all.q@h1=2 all.q@h2=2, mpi"),
    (111.0, 1, "TaskStarted", ""),
    (120.0, 1, "TaskUsageRecorded", "cpu 1.000 s"),
    (130.0, 1, "TaskSuspensionChanged", "suspended (user), by bob@h1"),
    (140.0, 1, "TaskSuspensionChanged", "resumed (user), by bob@h1"),
    (141.0, 1, "TaskSuspensionChanged", "suspended (threshold)"),
    (142.0, 1, "TaskSuspensionChanged", "resumed (threshold)"),
    (150.0, 1, "TaskRequeued", "the host was rebooted while the job ran"),
    (160.0, 1, "TaskDispatched", "attempt 2, all.q@h3=4, mpi"),
    (200.0, 1, "TaskEnded", "exit status 137, failed 37, limit h_rt of 30 s exceeded, killed"),
    (200.0, 2, "TaskEnded", "exit status 0"),
]


def test_each_step_is_a_sentence_with_the_time_since_the_step_before() -> None:
    steps = steps_of(LOG, 1)
    assert [step.text for step in steps] == [
        "Submitted by alice@h1",
        "Placed on all.q@h1, all.q@h2 (4 slots)",
        "Started",
        "Suspended by bob@h1",
        "Resumed by bob@h1",
        "Suspended by a threshold",
        "Resumed, was suspended by a threshold",
        "Back in the queue: the host was rebooted while the job ran",
        "Moved to all.q@h3 (4 slots)",
        "Ended: failed 37: qmaster enforced h_rt, h_cpu, or h_vmem limit (limit h_rt of 30 s exceeded, killed)",
    ]
    assert [step.after_s for step in steps[:3]] == [None, 10.0, 1.0]
    assert steps[-1].tone == "bad"


def test_of_an_array_the_steps_are_those_of_one_task() -> None:
    assert [step.text for step in steps_of(LOG, 2)] == ["Submitted by alice@h1", "Ended: exit status 0"]
    assert [step.text for step in steps_of(LOG, 0)] == ["Submitted by alice@h1"]


def test_errors_and_deletions_have_their_reason() -> None:
    log = [
        (1.0, 0, "JobErrorChanged", "no such queue"),
        (2.0, 0, "JobErrorChanged", "cleared, by root@h1"),
        (3.0, 1, "TaskRequeued", "in error: prolog failed"),
        (4.0, 0, "PendingTasksDeleted", "tasks 1, by alice@h1"),
    ]
    assert [step.text for step in steps_of(log, 1)] == [
        "Set in error: no such queue", "Error cleared by root@h1", "Back in the queue: in error: prolog failed",
        "Deleted while waiting by alice@h1: tasks 1",
    ]


def test_the_page_of_a_job_has_its_time_line(followed: Followed, browse: Any) -> None:
    cell = followed.cell
    job = cell.submit(name="sim")
    cell.cycle()
    cell.admin("change_states", action="suspend", what="job", targets=[str(job)])
    cell.admin("change_states", action="unsuspend", what="job", targets=[str(job)])
    cell.end(job, 1, exit_status=3)
    cell.master.flush()
    page = browse(lambda visitor: visitor.get(f"/jobs/{job}"))
    steps = [text_of(each.find("span")) for each in page.findall(".//ol[@class='steps']/li")]
    assert steps[0] == "Submitted by alice@h1" and steps[1].startswith("Placed on all.q@h") and steps[2] == "Started"
    assert steps[3:] == ["Suspended by root@master", "Resumed by root@master", "Ended: exit status 3"]
