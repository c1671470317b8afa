"""How a program follows a job: each end is told once, and a break is waited out for so long and no longer."""

from __future__ import annotations

import pytest

from gridengine.api.following import Following
from gridengine.api.wire import Unreachable

END = {"task_id": 1, "exit_status": 0, "failed": 0}


def test_ends_are_told_once_and_what_befalls_a_task_always() -> None:
    following = Following()
    told = [{"task_id": 1, "started": True}, END, {"task_id": 1, "started": True}, END, {"task_id": 2, "deleted": True}]
    assert [following.is_news(record) for record in told] == [True, True, True, False, True]
    assert not following.over
    assert not following.is_news({"done": True}) and following.over


def test_patience_begins_anew_when_the_stream_is_back() -> None:
    following, fault = Following(patience=10.0), Unreachable("away")
    following.broken(fault, 100.0)
    following.broken(fault, 110.0)
    following.is_news(END)
    following.broken(fault, 111.0)
    with pytest.raises(Unreachable, match="away"):
        following.broken(fault, 121.5)
