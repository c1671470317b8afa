"""A program follows a job: each end is reported once, and a broken stream is retried until a timeout."""

from __future__ import annotations

import pytest

from gridengine.api.job_follower import JobFollower
from gridengine.api.wire import Unreachable

END = {"task_id": 1, "exit_status": 0, "failed": 0}


def test_ends_are_reported_once_and_other_records_always() -> None:
    job_follower = JobFollower()
    records = [{"task_id": 1, "started": True}, END, {"task_id": 1, "started": True}, END, {"task_id": 2, "deleted": True}]
    assert [job_follower.is_new(record) for record in records] == [True, True, True, False, True]
    assert not job_follower.is_finished
    assert not job_follower.is_new({"done": True}) and job_follower.is_finished


def test_ends_that_were_reported_before_are_not_new() -> None:
    job_follower = JobFollower(seen=[1, 4])
    records = [END, {"task_id": 4, "deleted": True}, {"task_id": 2, "exit_status": 0}, {"task_id": 1, "started": True}]
    assert [job_follower.is_new(record) for record in records] == [False, False, True, True]


def test_patience_begins_anew_when_the_stream_is_back() -> None:
    job_follower, fault = JobFollower(patience=10.0), Unreachable("away")
    job_follower.note_break(fault, 100.0)
    job_follower.note_break(fault, 110.0)
    job_follower.is_new(END)
    job_follower.note_break(fault, 111.0)
    with pytest.raises(Unreachable, match="away"):
        job_follower.note_break(fault, 121.5)
