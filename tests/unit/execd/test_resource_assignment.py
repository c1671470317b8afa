"""Cores and cgroups of an exec host: assigned once and released; the shepherd's configuration and the user's output."""

from __future__ import annotations

import msgspec
import pytest

from daemons.execd.cgroups import HostCgroups
from daemons.execd.resource_assignment import AssignedResources, ResourceAssigner, confinement
from daemons.execd.task_config import pe_hostfile, task_config
from gridengine.state.jobs import Confinement, Grant
from gridengine.values.task_key import SlaveKey, TaskKey
from gridengine.values.topology import Topology
from tests.unit.execd.instructions import ALICE, SITE, configuration, start

HOST = Topology.of([(0, core, core) for core in range(4)])
CONFIGURATION = configuration()
NO_CGROUPS = HostCgroups()


def assigner(cgroups: HostCgroups = NO_CGROUPS, permitted: tuple[int, ...] = (0, 1, 2, 3)) -> ResourceAssigner:
    return ResourceAssigner(HOST, permitted, lambda pid: cgroups)


@pytest.mark.statement("EX-18")
def test_a_core_is_given_once_and_comes_back() -> None:
    host = assigner()
    one, two = start({"binding": "set linear:2"}, task_id=1), start({"binding": "env linear:2"}, task_id=2)
    three = start({"binding": "set linear:1"}, task_id=3)
    assert host.assign(one, CONFIGURATION, "g1").topology == "SccCC"
    assert host.assign(two, CONFIGURATION, "g1").processors == (2, 3)
    assert host.assign(three, CONFIGURATION, "g1").cores == ()
    assert host.cores_in_use == set(HOST.cores)
    assert host.release(one.key) and not host.release(one.key) and not host.release(three.key)
    assert host.cores_in_use == {(0, 2), (0, 3)}


@pytest.mark.statement("EX-18", "TI-2")
def test_slave_tasks_share_the_cores_of_their_job() -> None:
    host = assigner()
    master = start({"binding": "set linear"}, granted=[Grant("all.q@g1", 2)])
    cores = host.assign(master, CONFIGURATION, "g1").cores
    slave = msgspec.structs.replace(master, key=SlaveKey(*master.key.master, 1))
    assert host.assign(slave, CONFIGURATION, "g1").cores == cores == ((0, 0), (0, 1))
    assert not host.release(master.key), "the slave task still has them"
    assert host.release(slave.key)


@pytest.mark.statement("EX-18", "EX-9")
def test_cores_of_tasks_that_an_earlier_daemon_started_are_taken() -> None:
    host = assigner()
    host.restore(TaskKey(7, 1, 1), [(0, 0)])
    assert host.assign(start({"binding": "set linear:1"}), CONFIGURATION, "g1").cores == ((0, 1),)


def test_a_task_is_bound_to_free_cores_near_its_units_and_else_to_other_cores() -> None:
    host = assigner()
    plain = [start({"binding": "set linear:1"}, task_id=number) for number in (1, 2, 3)]
    tasks = [msgspec.structs.replace(task, near_processors="2-3") for task in plain]
    assert [host.assign(task, CONFIGURATION, "g1").processors for task in tasks] == [(2,), (3,), (0,)]


def test_gpus_are_assigned_once_are_released_and_are_reported() -> None:
    host = assigner()
    two, one, other = start(task_id=1, gpus=2), start(task_id=2, gpus=1), start(task_id=3, gpus=2)
    assert host.assign(two, CONFIGURATION, "g1").gpus == (0, 1)
    assert host.assign(one, CONFIGURATION, "g1").gpus == (2,)
    assert not host.release(two.key), "no core is free by that"
    assert host.assign(other, CONFIGURATION, "g1").gpus == (0, 1)
    slave = msgspec.structs.replace(one, key=SlaveKey(*one.key.master, 1))
    assigned = host.assign(slave, CONFIGURATION, "g1")
    assert assigned.gpus == (2,), "those of its job"
    environment = task_config(slave, SITE, CONFIGURATION, ALICE, assigned=assigned).environment
    assert environment["CUDA_VISIBLE_DEVICES"] == environment["ROCR_VISIBLE_DEVICES"] == "2"
    without = task_config(start(), SITE, CONFIGURATION, ALICE, host.assign(start(), CONFIGURATION, "g1"))
    assert "CUDA_VISIBLE_DEVICES" not in without.environment


def test_gpus_of_tasks_that_an_earlier_daemon_started_are_taken() -> None:
    host = assigner()
    host.restore(TaskKey(7, 1, 1), (), [0])
    assert host.assign(start(gpus=2), CONFIGURATION, "g1").gpus == (1, 2)


@pytest.mark.statement("EX-18")
def test_processors_that_the_daemon_may_not_use_are_never_assigned() -> None:
    host = assigner(permitted=(2, 3))
    assert host.assign(start({"binding": "set linear:1"}), CONFIGURATION, "g1").processors == (2,)
    assert host.cores_in_use == {(0, 2)}


@pytest.mark.statement("SO-6")
def test_binding_can_be_switched_off_and_counts_the_slots_of_this_host() -> None:
    granted = [Grant("all.q@g1", 2), Grant("big.q@g1", 1), Grant("all.q@g2", 5)]
    asked = start({"binding": "set linear"}, granted=granted)
    assert assigner().assign(asked, configuration(execd_params="ENABLE_BINDING=false"), "g1").cores == ()
    assert len(assigner().assign(asked, CONFIGURATION, "g1").cores) == 3


@pytest.mark.statement("SO-6", "PE-9")
@pytest.mark.parametrize(
    ("kind", "column", "processors"), [("set", "UNDEFINED", [1, 2]), ("env", "UNDEFINED", []), ("pe", "0,1:0,2", [])]
)
def test_three_ways_to_hand_the_cores_over(kind: str, column: str, processors: list[int]) -> None:
    granted = [Grant("all.q@g1", 2), Grant("all.q@g2", 2)]
    asked = start({"binding": f"{kind} linear:2:0,1"}, granted=granted)
    assigned = assigner().assign(asked, CONFIGURATION, "g1")
    made = task_config(asked, SITE, CONFIGURATION, ALICE, assigned)
    environment = made.environment
    assert (environment["SGE_BINDING"], made.processors) == ("1 2", processors)
    assert assigned.cores == ((0, 1), (0, 2))
    assert confinement(assigned, made.limits) == Confinement(binding="SCccC")
    assert pe_hostfile(asked, assigned) == f"g1 2 all.q@g1 {column}\ng2 2 all.q@g2 {column}\n"


@pytest.mark.statement("EX-6", "RL-5")
def test_memory_by_cgroup_or_the_reason_why_not() -> None:
    limited = {"h_vmem": 2.0**30}
    by_cgroup = AssignedResources(cgroups=HostCgroups(2, {"memory": "/cg"}))
    assert confinement(by_cgroup, limited) == Confinement(memory="h_vmem by cgroup")
    assert confinement(by_cgroup, {"h_vmem": None}) is None
    without = AssignedResources(cgroups=HostCgroups(obstacle="/x cannot be written to"))
    by_process = "h_vmem by address space, not by cgroup: /x cannot be written to"
    assert confinement(without, limited) == Confinement(memory=by_process)
    assert confinement(AssignedResources(), limited) is None
    asked = start({"hard": {"h_vmem": "1G"}})
    made = [task_config(asked, SITE, CONFIGURATION, ALICE, each) for each in (by_cgroup, without)]
    assert [(each.cgroups, each.memory_by_cgroup) for each in made] == [(["/cg"], True), ([], False)]


@pytest.mark.statement("EX-6")
def test_cgroups_are_looked_for_when_they_are_switched_on() -> None:
    found = HostCgroups(2, {"memory": "/cg"})
    host = assigner(found)
    assert host.is_ready and host.assign(start(), CONFIGURATION, "g1").cgroups is None
    host.configure(configuration(execd_params="USE_CGROUPS=yes"))
    assert not host.is_ready, "no task starts without the limits that it is to have"
    host.launcher_started(7)
    assert host.is_ready and host.assign(start(), CONFIGURATION, "g1").cgroups == found
    host.configure(configuration(execd_params="USE_CGROUPS=yes,ENABLE_CGROUPS=false"))
    assert host.is_ready and host.assign(start(), CONFIGURATION, "g1").cgroups is None
    host.configure(configuration(execd_params="ENABLE_CGROUPS=true"))
    assert host.assign(start(), CONFIGURATION, "g1").cgroups == found


@pytest.mark.statement("EX-6")
def test_a_launcher_that_is_started_again_has_its_cgroups_looked_for_before_a_task_starts() -> None:
    seen: list[int] = []
    host = ResourceAssigner(HOST, {0}, lambda pid: seen.append(pid) or HostCgroups(2, {"memory": f"/{pid}"}))
    host.launcher_started(7)
    assert seen == [], "they are not used"
    host.configure(configuration(execd_params="ENABLE_CGROUPS=true"))
    host.launcher_started(8)
    assert seen == [7, 8]
    assert host.assign(start(), CONFIGURATION, "g1").cgroups == HostCgroups(2, {"memory": "/8"})


@pytest.mark.statement("EX-6")
def test_while_the_launcher_is_gone_no_task_starts() -> None:
    def find(pid: int) -> HostCgroups:
        raise FileNotFoundError

    host = ResourceAssigner(HOST, {0}, find)
    host.launcher_started(7)
    host.configure(configuration(execd_params="ENABLE_CGROUPS=true"))
    assert not host.is_ready


@pytest.mark.statement("EX-18")
def test_jobs_without_a_binding_divide_the_cores_by_slots_if_the_cell_is_set_so() -> None:
    host, divided = assigner(), configuration(execd_params="CORES_PER_SLOT=2")
    assert host.assign(start(granted=[Grant("all.q@g1", 1)], task_id=1), divided, "g1").processors == (0, 1)
    own = start({"binding": "set linear:1"}, granted=[Grant("all.q@g1", 2)], task_id=2)
    assert host.assign(own, divided, "g1").processors == (2,)
    assert host.assign(start(granted=[Grant("all.q@g1", 1)], task_id=3), divided, "g1").cores == (), "too few are left"
