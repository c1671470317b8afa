"""States and thresholds that close instances, and the output of -F."""

from __future__ import annotations

import pytest

from gridengine.placement.config_snapshot import PlacementConfig
from gridengine.placement.ledger import Ledger
from gridengine.placement.obstacles import alarm, obstacle, suspend_alarm
from gridengine.placement.resources import all_resources, host_resources
from gridengine.placement.verify import FOUND, NOT_FOUND, explain, verification
from gridengine.state.machines.host import HostHeard, HostLost
from gridengine.state.machines.instance import InstanceErrorsCleared, InstanceErrorSet, InstanceFlagsChanged
from gridengine.state.machines.job import HoldsChanged
from gridengine.state.machines.task import TaskRequeued
from gridengine.state.state_codes import instance_state_codes
from tests.builders import NOW, Cluster, started, why

INSTANCE = "all.q@h1"


def what(cluster: Cluster) -> str:
    reason = obstacle(PlacementConfig(cluster.state), Ledger(cluster.state), cluster.state.instances[INSTANCE])
    return reason.code if reason is not None else ""


@pytest.mark.statement("QI-3", "QI-4", "QI-5", "QI-6", "QI-7", "QI-8", "QI-10")
@pytest.mark.parametrize(
    ("flag", "code"),
    [
        ("disabled", "disabled"),
        ("calendar_disabled", "calendar"),
        ("suspended", "suspended"),
        ("calendar_suspended", "suspended"),
        ("subordinated", "suspended"),
        ("orphaned", "orphaned"),
    ],
)
def test_flags_keep_jobs_out(flag: str, code: str) -> None:
    cluster = Cluster(1)
    assert what(cluster) == ""
    cluster.apply(InstanceFlagsChanged([INSTANCE], {flag: True}))
    assert what(cluster) == code
    job = cluster.submit()
    cluster.cycle()
    assert not cluster.runs(job)
    cluster.apply(InstanceFlagsChanged([INSTANCE], {flag: False}))
    cluster.cycle()
    assert cluster.runs(job)


@pytest.mark.statement("QI-3", "QI-10", "LS-8")
def test_error_state_and_lost_host() -> None:
    cluster = Cluster(1)
    cluster.apply(InstanceErrorSet(INSTANCE, "prolog failed"))
    assert what(cluster) == "in_error_state"
    cluster.apply(InstanceErrorsCleared([INSTANCE]))
    cluster.apply(HostLost("h1", cluster.now))
    assert what(cluster) == "unavailable"
    job = cluster.submit()
    cluster.cycle()
    assert not cluster.runs(job)
    cluster.heard("h1", np_load_avg="0.1")
    cluster.cycle()
    assert cluster.runs(job)


@pytest.mark.statement("QI-3", "LS-8")
def test_a_host_that_has_never_reported_is_not_there() -> None:
    cluster = Cluster(1)
    cluster.add("exec_host", "h9")
    cluster.queue(hostlist="h1 h9")
    job = cluster.submit(hard_queues=("*@h9",))
    cluster.cycle()
    assert not cluster.runs(job)
    assert 'queue instance "all.q@h9" dropped because it is temporarily not available' in why(cluster, job)


@pytest.mark.statement("QI-1", "QI-3")
def test_of_a_disabled_instance_on_a_busy_host_its_state_is_shown() -> None:
    cluster = Cluster(1)
    cluster.queue(load_thresholds="np_load_avg=1.75")
    cluster.heard("h1", np_load_avg="9")
    assert what(cluster) == "overloaded"
    cluster.apply(InstanceFlagsChanged([INSTANCE], {"disabled": True}))
    assert what(cluster) == "disabled"


@pytest.mark.statement("QI-11")
def test_ambiguous_instance() -> None:
    cluster = Cluster(1)
    for name in ("@a", "@b"):
        cluster.add("host_group", name, hostlist="h1")
    cluster.queue(seq_no="0,[@a=1],[@b=2]")
    assert what(cluster) == "ambiguous"


@pytest.mark.statement("QI-1", "QC-4", "QC-5", "QC-6")
@pytest.mark.parametrize(
    ("thresholds", "load", "reached"),
    [
        ("np_load_avg=1.75", {"np_load_avg": "1.75"}, True),
        ("np_load_avg=1.75", {"np_load_avg": "1.74"}, False),
        ("mem_free=1G", {"mem_free": "1024M"}, True),
        ("mem_free=1G", {"mem_free": "1025M"}, False),
        ("healthy=false", {"healthy": "0"}, True),
        ("healthy=false", {"healthy": "TRUE"}, False),
        ("arch=bad", {"arch": "bad"}, True),
        ("np_load_avg=1.75,mem_free=1G", {"mem_free": "5M"}, True),
        ("swap_used=1G", {}, True),
        ("NONE", {"np_load_avg": "99"}, False),
    ],
)
def test_load_thresholds(thresholds: str, load: dict[str, str], reached: bool) -> None:
    cluster = Cluster(1)
    cluster.complex("healthy BOOL == YES NO 0 0")
    cluster.queue(load_thresholds=thresholds)
    cluster.heard("h1", **load)
    assert bool(alarm(PlacementConfig(cluster.state), Ledger(cluster.state), INSTANCE)) is reached
    job = cluster.submit()
    cluster.cycle()
    assert cluster.runs(job) is not reached


@pytest.mark.statement("QI-14", "QC-4")
def test_a_violation_names_value_source_and_threshold() -> None:
    cluster = Cluster(1)
    cluster.change("exec_host", "h1", load_scaling="np_load_avg=10.0")
    cluster.queue(load_thresholds="np_load_avg=0.9", suspend_thresholds="nosuch_value=3,np_load_avg=5")
    config_snapshot, ledger = PlacementConfig(cluster.state), Ledger(cluster.state)
    assert alarm(config_snapshot, ledger, INSTANCE) == [("np_load_avg", "hL", "1.000", "0.9", ">=")]
    assert suspend_alarm(config_snapshot, ledger, INSTANCE) == []
    cluster.queue(suspend_thresholds="nosuch_value=3,np_load_avg=0.5")
    assert suspend_alarm(config_snapshot, ledger, INSTANCE) == [("np_load_avg", "hL", "1.000", "0.5", ">=")]


@pytest.mark.statement("QI-14", "QC-4")
def test_values_of_alarms_are_shown_as_reported_configured_or_counted() -> None:
    cluster = Cluster(1)
    for line in ("fixed MEMORY <= YES NO 0 0", "disk MEMORY <= YES YES 0 0", "room INT <= YES NO 0 0"):
        cluster.complex(line)
    cluster.values("h1", "fixed=1500M,disk=2G")
    cluster.heard("h1", mem_free="20159.949219M", room="0x7")
    cluster.queue(load_thresholds="mem_free=1000G,room=8,fixed=2G,disk=3G", complex_values="room=0xa")
    assert [violation.value for violation in alarm(PlacementConfig(cluster.state), Ledger(cluster.state), INSTANCE)] == [
        "20159.949219M", "0x7", "1500M", "2147483648.000"
    ]
    cluster.queue(load_thresholds="room=8", complex_values="room=0x6")
    assert alarm(PlacementConfig(cluster.state), Ledger(cluster.state), INSTANCE) == [("room", "qf", "0x6", "8", "<=")]


def lettered(cluster: Cluster, state_code: str) -> None:
    """Bring the instance into the state of a letter of `qstat -f`."""
    flags = {"C": "calendar_suspended", "D": "calendar_disabled", "d": "disabled", "s": "suspended", "S": "subordinated"}
    flags |= {"o": "orphaned", "P": "preempted"}
    if state_code in flags:
        cluster.apply(InstanceFlagsChanged([INSTANCE], {flags[state_code]: True}))
    elif state_code == "E":
        cluster.apply(InstanceErrorSet(INSTANCE, "prolog failed"))
    elif state_code == "u":
        cluster.apply(HostLost("h1", cluster.now))
    elif state_code == "c":
        for name in ("@a", "@b"):
            cluster.add("host_group", name, hostlist="h1")
        cluster.queue(seq_no="0,[@a=1],[@b=2]")
    else:
        cluster.queue(**{"a": {"load_thresholds": "np_load_avg=1"}, "A": {"suspend_thresholds": "np_load_avg=1"}}[state_code])
        cluster.heard("h1", np_load_avg="6")


def codes_of(cluster: Cluster) -> str:
    config_snapshot, ledger = PlacementConfig(cluster.state), Ledger(cluster.state)
    known = INSTANCE in cluster.state.configs
    over, stop = (bool(known and look(config_snapshot, ledger, INSTANCE)) for look in (alarm, suspend_alarm))
    return instance_state_codes(cluster.state, cluster.state.instances[INSTANCE], over, stop)


@pytest.mark.statement("QI-1", "QI-2", "QC-7")
@pytest.mark.parametrize("state_code", "aACDduEsScoP")
def test_every_state_code_of_an_instance_closes_it_to_all_kinds_of_jobs(state_code: str) -> None:
    cluster = Cluster(1)
    cluster.pe("smp", "$pe_slots")
    cluster.queue(pe_list="smp")
    lettered(cluster, state_code)
    assert state_code in codes_of(cluster)
    assert what(cluster)
    jobs = [cluster.submit(), cluster.submit(pe="smp", pe_range="2"), cluster.submit(array="1-3")]
    assert started(cluster.cycle()) == []
    for job in jobs:
        assert INSTANCE in why(cluster, job)
    assert not verification(cluster.state, cluster.job(), assume_empty=False)[0]


@pytest.mark.statement("QI-2", "QC-7")
def test_the_reason_of_a_suspend_alarm_names_the_value() -> None:
    cluster = Cluster(1)
    lettered(cluster, "A")
    job = cluster.submit()
    cluster.cycle()
    assert 'queue instance "all.q@h1" is in suspend alarm: np_load_avg=6 >= 1' in why(cluster, job)
    cluster.heard("h1", np_load_avg="0.5")
    assert [number for number, _, _ in started(cluster.cycle())] == [job]


@pytest.mark.statement("QC-7")
def test_a_suspend_threshold_on_a_consumable_stops_dispatch_within_a_cycle() -> None:
    cluster = Cluster(1, slots=9)
    cluster.complex("disk INT <= YES YES 1 0")
    cluster.values("h1", "disk=9")
    cluster.queue(suspend_thresholds="disk=5")
    for _ in range(9):
        cluster.submit()
    assert len(started(cluster.cycle())) == 4


@pytest.mark.statement("QC-4")
def test_a_threshold_on_a_consumable_stops_dispatch_within_a_cycle() -> None:
    cluster = Cluster(1, slots=9)
    cluster.complex("disk INT <= YES YES 1 0")
    cluster.values("h1", "disk=9")
    cluster.queue(load_thresholds="disk=5")
    jobs = [cluster.submit() for _ in range(9)]
    cluster.cycle()
    assert sum(map(cluster.runs, jobs)) == 4


@pytest.mark.statement("LS-5", "CX-35")
def test_load_scaling_changes_the_value_and_its_state_code() -> None:
    cluster = Cluster(1)
    cluster.complex("lic INT <= YES NO 0 0")
    cluster.apply(HostHeard("h1", NOW, {"lic": "5"}))
    cluster.change("exec_host", "h1", load_scaling="mem_free=0.5,lic=0.3")
    offers = [offer.text() for offer in host_resources(PlacementConfig(cluster.state), Ledger(cluster.state), "h1")]
    assert "hL:mem_free=3.906G" in offers and "hl:num_proc=4" in offers
    assert "hL:lic=1" in offers  # an INT stays whole


@pytest.mark.statement("ST-8", "ST-9", "ST-10", "CX-35")
def test_state_codes_of_level_and_source() -> None:
    cluster = Cluster(1)
    cluster.complex("lic INT <= YES YES 0 0")
    cluster.complex("tag STRING == YES NO NONE 0")
    cluster.values("global", "lic=5")
    cluster.values("h1", "lic=7,tag=a,slots=9")
    cluster.queue(complex_values="lic=5,tag=b", h_rt="2:00:00")
    cluster.apply(HostHeard("global", NOW, {"swap_rate": "3M"}))
    job = cluster.submit(hard={"lic": "2"})
    cluster.cycle()
    assert cluster.runs(job)
    offers = [offer.text() for offer in all_resources(PlacementConfig(cluster.state), Ledger(cluster.state), INSTANCE)]
    for expected in (
        "gc:lic=3",
        "hf:tag=a",
        "qc:slots=3",
        "qf:h_rt=02:00:00",
        "gl:swap_rate=3.000M",
        "hl:arch=lx-amd64",
    ):
        assert expected in offers
    assert "qf:qname=all.q" in offers and "qf:hostname=h1" in offers and "qf:rerun=0.000000" in offers
    cluster.queue(complex_values="lic=4")
    offers = [offer.text() for offer in all_resources(PlacementConfig(cluster.state), Ledger(cluster.state), INSTANCE)]
    assert "qc:lic=2" in offers


@pytest.mark.statement("SO-41")
def test_verify_looks_at_an_empty_cluster_poke_at_the_cluster_as_it_is() -> None:
    cluster = Cluster(1, slots=1)
    running = cluster.submit()
    cluster.cycle()
    assert cluster.runs(running)
    job = cluster.job()
    assert verification(cluster.state, job, assume_empty=True) == (True, [FOUND])
    fits, lines = verification(cluster.state, job, assume_empty=False)
    assert not fits and "is full" in lines[0] and lines[-1] == NOT_FOUND
    cluster.apply(InstanceFlagsChanged([INSTANCE], {"disabled": True}))
    assert verification(cluster.state, job, assume_empty=True)[0]
    never = cluster.job(hard={"arch": "nosuch"})
    fits, lines = verification(cluster.state, never, assume_empty=True)
    assert not fits and 'cannot run at host "h1" because it offers only hl:arch=lx-amd64' in lines[0]


@pytest.mark.statement("SO-41", "QS-3")
def test_load_that_changes_is_unknown_in_an_empty_cluster() -> None:
    cluster = Cluster(1)
    job = cluster.job(hard={"mem_free": "1M"})
    assert verification(cluster.state, job, assume_empty=False)[0]
    assert not verification(cluster.state, job, assume_empty=True)[0]
    assert verification(cluster.state, cluster.job(hard={"mem_total": "1M"}), assume_empty=True)[0]


@pytest.mark.statement("SC-6", "DP-2", "SO-49", "AJ-3", "SC-4")
def test_reasons_of_jobs_that_are_not_looked_at() -> None:
    cluster = Cluster(1)

    def code(job: int) -> list[str]:
        return [reason.code for reason in explain(cluster.state, cluster.state.jobs[job], NOW)]

    first = cluster.submit()
    held, later = cluster.submit(), cluster.submit(start_after=NOW + 100)
    dependent, array = cluster.submit(predecessors=[first]), cluster.submit(array="1-5", task_concurrency=2)
    cluster.apply(HoldsChanged(held, cluster.state.jobs[held].pending, set_holds=1))
    cluster.cycle()
    assert [code(job) for job in (held, later, dependent, array)] == [
        ["held"],
        ["start_time"],
        ["dependencies"],
        ["task_limit"],
    ]
    task = cluster.state.jobs[first].tasks[1]
    cluster.apply(TaskRequeued(first, 1, task.attempt, NOW, error="no shell"))
    assert code(first) == ["in_error"]
    cluster.change("scheduler", "", maxujobs="2")
    assert code(cluster.submit()) == ["user_limit"]
