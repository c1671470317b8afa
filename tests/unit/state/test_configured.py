"""The typed configuration: defaults of missing texts, and invalidation by changes."""

from __future__ import annotations

from math import inf

import pytest

from gridengine.config.configuration import Configuration
from gridengine.config.scheduler import Scheduler
from gridengine.state.apply import apply
from gridengine.state.configured.configuration import HostConfiguration
from gridengine.state.configured.scheduler import SchedulerConfiguration
from gridengine.state.machines.configuration import ObjectRemoved, ObjectSet
from gridengine.state.state import State
from gridengine.values.ranges import Ranges


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


@pytest.mark.statement("GC-1", "GC-2")
def test_a_host_has_what_it_overrides_and_else_what_the_cluster_has() -> None:
    state = State()
    apply(state, ObjectSet("configuration", "global", {"max_unheard": "0:1:0", "reschedule_unknown": "0:2:0"}))
    apply(state, ObjectSet("configuration", "h1", {"reschedule_unknown": "0:3:0"}))
    assert [state.configuration(host).reschedule_unknown_s for host in ("global", "h1", "h2")] == [120, 180, 120]
    assert state.configuration("h2") is state.configuration()
    apply(state, ObjectSet("configuration", "global", {"max_unheard": "0:9:0"}))
    assert [state.configuration(host).max_unheard_s for host in ("global", "h1", "h2")] == [540, 540, 540]
    assert [state.configuration(host).reschedule_unknown_s for host in ("global", "h1", "h2")] == [0, 180, 0]


def test_a_missing_parameter_of_the_cluster_has_the_value_of_the_model() -> None:
    complete = Configuration.template().attributes()
    whole = HostConfiguration.of(complete)
    assert HostConfiguration.of({}) == whole
    for name in complete:
        assert HostConfiguration.of({other: text for other, text in complete.items() if other != name}) == whole


@pytest.mark.statement("GC-3", "RP-2")
@pytest.mark.parametrize(("text", "value"), [("1", True), ("TRUE", True), ("yes", True), ("0", False), ("No", False)])
def test_flags_have_one_vocabulary_everywhere(text: str, value: bool) -> None:
    found = HostConfiguration.of(
        {
            "qmaster_params": f"ENABLE_FORCED_QDEL={text},ENABLE_ENFORCE_MASTER_LIMIT={text}",
            "execd_params": f"SHARETREE_RESERVED_USAGE={text},KEEP_ACTIVE={text},INHERIT_ENV={text}",
            "reporting_params": f"reporting={text} joblog={text}",
        }
    )
    master, host = found.qmaster_params, found.execd_params
    flags = {master.enable_forced_qdel, master.enable_enforce_master_limit, host.sharetree_reserved_usage, host.keep_active}
    assert flags | {host.inherit_env, found.reporting_params.reporting, found.reporting_params.joblog} == {value}


@pytest.mark.statement("EX-16")
def test_parameters_that_cannot_be_read_count_as_not_given() -> None:
    plain = HostConfiguration.of({})
    wrong = "PDC_INTERVAL=often,METHOD_TIMEOUT=x,PTF_MIN_PRIORITY=-999,PTF_MAX_PRIORITY=y,SESSION_GRACE=INFINITY,H_LOCKS=z"
    found = HostConfiguration.of({"execd_params": wrong, "qmaster_params": "MAX_DYN_EC=x,JSV_TIMEOUT=0,JSV_THRESHOLD=-1"})
    assert found == plain
    assert (plain.pdc_interval_s, plain.execd_params.method_timeout_s, plain.execd_params.session_grace_s) == (1, 3600, 60)
    assert (plain.execd_params.ptf_min_priority, plain.execd_params.ptf_max_priority) == (19, 0)
    assert (plain.execd_params.enable_binding, plain.execd_params.inherit_env) == (True, None)
    set_ones = "PDC_INTERVAL=PER_LOAD_REPORT,METHOD_TIMEOUT=INFINITY,PTF_MIN_PRIORITY=99,H_MAXPROC=1k"
    given = HostConfiguration.of({"execd_params": set_ones, "load_report_time": "0:0:7"})
    assert (given.pdc_interval_s, given.execd_params.method_timeout_s, given.execd_params.ptf_min_priority) == (7, None, 19)
    assert given.execd_params.limits == {"h_maxproc": 1000}
    assert HostConfiguration.of({"execd_params": "PDC_INTERVAL=never"}).pdc_interval_s is None


@pytest.mark.statement("US-1", "US-2", "CK-3", "PE-1")
def test_objects_are_typed_once_and_read_again_when_they_change() -> None:
    state = State()
    apply(state, ObjectSet("project", "p", {"name": "p", "acl": "a,b", "oticket": "7"}))
    apply(state, ObjectSet("user", "u", {"name": "u", "default_project": "NONE"}))
    apply(state, ObjectSet("checkpoint", "c", {"ckpt_name": "c", "interface": "Hibernator", "when": "none"}))
    assert (state.projects["p"].acl, state.projects["p"].xacl, state.projects["p"].oticket) == (("a", "b"), (), 7)
    assert (state.users["u"].default_project, state.users["u"].delete_time) == ("", 0)
    assert (state.checkpoints["c"].interface, state.checkpoints["c"].when) == ("hibernator", "")
    assert state.projects["p"] is state.projects["p"] and list(state.users) == ["u"] and "v" not in state.users
    assert state.users.get("v") is None and state.pes.get("mpi") is None
    with pytest.raises(KeyError):
        state.users["v"]
    branch = state.branch()
    apply(branch, ObjectSet("project", "p", {"name": "p"}))
    apply(branch, ObjectRemoved("user", "u"))
    assert (branch.projects["p"].acl, branch.users.get("u")) == ((), None)
    assert (state.projects["p"].acl, "u" in state.users) == (("a", "b"), True)
