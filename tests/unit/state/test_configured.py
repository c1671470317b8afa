"""The typed configuration: what a missing text means, and that a change is seen."""

from __future__ import annotations

from math import inf

import pytest

from gridengine.config.scheduler import Scheduler
from gridengine.ranges import Ranges
from gridengine.state.apply import apply
from gridengine.state.configured.scheduler import SchedulerConfiguration
from gridengine.state.machines.configuration import ObjectRemoved, ObjectSet
from gridengine.state.state import State


def test_a_missing_parameter_has_the_value_of_the_model() -> None:
    complete = Scheduler.template().attributes()
    whole = SchedulerConfiguration.of(complete)
    assert SchedulerConfiguration.of({}) == whole
    for name in complete:
        assert SchedulerConfiguration.of({other: text for other, text in complete.items() if other != name}) == whole


@pytest.mark.statement("SC-6", "SC-7", "SC-10", "PR-7")
def test_parameters_of_the_scheduler_are_typed() -> None:
    found = SchedulerConfiguration.of(
        {
            "schedd_job_info": "job_list 3-5",
            "default_duration": "1:0:0",
            "params": "duration_offset=0:2:0,MONITOR=1",
            "policy_hierarchy": "NONE",
            "halflife_decay_list": "cpu=-1:io=3",
        }
    )
    assert (found.explained, found.default_duration_s, found.policy_hierarchy) == (Ranges.parse("3-5"), 3600, "")
    assert (found.duration_offset_s, found.monitor, found.profile) == (120, True, False)
    assert found.half_lives_s == {"cpu": -1, "mem": 168 * 3600, "io": 180}
    assert SchedulerConfiguration.of({}).default_duration_s == inf
    assert SchedulerConfiguration.of({"schedd_job_info": "false"}).explained == Ranges()


def test_a_change_is_seen_and_a_branch_has_its_own() -> None:
    state = State()
    apply(state, ObjectSet("scheduler", "", {"maxujobs": "3"}))
    assert state.scheduler.maxujobs == 3
    branch = state.branch()
    apply(branch, ObjectSet("scheduler", "", {"maxujobs": "4"}))
    assert (state.scheduler.maxujobs, branch.scheduler.maxujobs) == (3, 4)
    apply(state, ObjectRemoved("scheduler", ""))
    assert state.scheduler.maxujobs == 0
