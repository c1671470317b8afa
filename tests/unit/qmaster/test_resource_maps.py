"""Resource maps of a cell: their configuration, the units that tasks get at dispatch, and the fate of units (adr/0320)."""

from pathlib import Path
from typing import Any

import pytest

from daemons.qmaster.decide.hosts.orphans import adoption_events
from gridengine.placement.explanation import explanation
from gridengine.protocols.delivery import Load, Origin, UnitDevices
from gridengine.state.apply import apply
from gridengine.state.machines.configuration import ObjectRemoved
from tests.harness import LOAD, Cell
from tests.unit.qmaster.asking import attribute

GPU = {"name": "gpu", "shortcut": "gpu", "type": "RSMAP", "relop": "<=", "requestable": "YES", "consumable": "YES"}
GPU |= {"default": "0", "urgency": "0"}


def add_complex(cell: Cell, **changes: str) -> list[str]:
    """The answers to a new complex, by default of the type RSMAP; [] if it was added."""
    row = GPU | changes
    row["shortcut"] = row["name"]
    lines = [(attribute, text, 1) for attribute, text in row.items()]
    answer = cell.admin("config_add", kind="complex", name=row["name"], attributes=lines)
    return [text for _, text in answer.answers] if answer.status else []


def set_values(cell: Cell, host: str, text: str) -> list[str]:
    """The answers to new complex_values of a host; [] if they were taken."""
    answer = cell.configure("exec_host", host, complex_values=text)
    return [text for _, text in answer.answers] if answer.status else []


@pytest.fixture
def cell(tmp_path: Path) -> Cell:
    """Two hosts with four slots; the first has two GPUs by name."""
    made = Cell(tmp_path, 2)
    assert not add_complex(made)
    assert not set_values(made, "h1", "gpu=2(0 1)")
    return made


def units(cell: Cell, job: int, task: int = 1) -> list[tuple[str, str, list[str]]]:
    """Host, resource and units of a task."""
    return [(grant.host, grant.resource, grant.units) for grant in cell.state.jobs[job].tasks[task].units]


def start(cell: Cell, **fields: Any) -> int:
    job = cell.submit(**{"hard": ["gpu=1"], **fields})
    cell.cycle()
    return job


def restart(cell: Cell) -> None:
    """A qmaster that dies and starts again, and hears its hosts."""
    cell.restart()
    for name in cell.names:
        cell.report(name, Load(cell.now, dict(LOAD), full=True, incarnation="boot1"))


# --- configuration -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "changes, reason",
    [
        ({"relop": "=="}, "a consumable can only have <=, not =="),
        ({"consumable": "NO"}, "the type RSMAP is always consumed: YES, JOB or HOST"),
        ({"default": "2(0 1)"}, "must be an amount, not a list of units: 2(0 1)"),
        ({"default": "1.5"}, 'the amount of units is not a whole number: "1.5"'),
        ({"type": "INT", "consumable": "HOST"}, "HOST is for the type RSMAP only"),
    ],
)
def test_a_complex_of_this_type_that_makes_no_sense_is_refused(cell: Cell, changes: dict[str, str], reason: str) -> None:
    assert any(reason in text for text in add_complex(cell, name="mic", **changes)), add_complex(cell, name="mic", **changes)


@pytest.mark.parametrize("consumable", ["YES", "JOB", "HOST"])
def test_a_map_is_stored_as_it_was_given(cell: Cell, consumable: str) -> None:
    assert not add_complex(cell, name="mic", consumable=consumable)
    assert not set_values(cell, "h2", "gpu=4(0:2 1:2),mic=3(a GPU-8932 7),slots=4")
    assert cell.state.kind("exec_host")["h2"]["complex_values"] == "gpu=4(0:2 1:2),mic=3(a GPU-8932 7),slots=4"
    assert cell.state.kind("complex")["mic"]["consumable"] == consumable


def test_a_map_that_lists_a_unit_twice_is_kept_with_its_shares(cell: Cell) -> None:
    assert not set_values(cell, "h1", "gpu=4(0 0 1 1)")
    assert cell.state.kind("exec_host")["h1"]["complex_values"] == "gpu=4(0:2 1:2)"


@pytest.mark.parametrize(
    "text, reason",
    [
        ("gpu=3(0 1)", "the amount is 3, and the list has 2"),
        ("gpu=1($x)", 'the character "$" is not allowed in the name of a unit: "$x"'),
        ("gpu=1(0", 'has a "(" without a ")"'),
        ("gpu=-1", 'the amount of units is not a whole number: "-1"'),
    ],
)
def test_a_wrong_map_is_refused_with_its_place_and_changes_nothing(cell: Cell, text: str, reason: str) -> None:
    before = dict(cell.state.kind("exec_host")["h1"])
    (answer,) = set_values(cell, "h1", text)
    assert reason in answer and "complex_values" in answer
    assert cell.state.kind("exec_host")["h1"] == before


def test_a_map_is_refused_where_no_host_has_it(cell: Cell) -> None:
    only = '"gpu" is of the type RSMAP, which only complex_values of hosts can have'
    for kind, name, changed, text in (
        ("cluster_queue", "all.q", "complex_values", "gpu=2(0 1)"),
        ("cluster_queue", "all.q", "complex_values", "NONE,[h1=gpu=2]"),
        ("cluster_queue", "all.q", "load_thresholds", "gpu=1"),
        ("exec_host", "h1", "load_scaling", "gpu=2"),
        ("scheduler", "", "job_load_adjustments", "gpu=1"),
    ):
        answer = cell.configure(kind, name, **{changed: text})
        assert answer.status and any(only in sentence for _, sentence in answer.answers), (changed, answer.answers)


def test_the_cluster_has_units_but_none_that_are_consumed_on_each_host(cell: Cell) -> None:
    assert not add_complex(cell, name="seat") and not add_complex(cell, name="mic", consumable="HOST")
    assert not set_values(cell, "global", "seat=2(red blue)")
    (answer,) = set_values(cell, "global", "mic=2")
    assert '"mic" is consumed once on each host (HOST), so the cluster cannot have it' in answer


def test_a_quota_limits_the_amount_of_units(cell: Cell) -> None:
    assert cell.add("resource_quota", "q1", limit="users {*} to gpu=1", enabled="TRUE").status == 0
    first, second = start(cell), start(cell)
    assert units(cell, first) and second in cell.state.jobs and not cell.state.jobs[second].tasks
    answer = cell.add("resource_quota", "q2", limit="users {*} to gpu=1(0)")
    assert '"gpu" is an amount here, without a list of units: 1(0)' in answer.answers[0][1]
    assert not add_complex(cell, name="mic", consumable="HOST")
    answer = cell.add("resource_quota", "q3", limit="users {*} to mic=1")
    assert "consumed once on each host (HOST), which no limit counts" in answer.answers[0][1]


def test_qconf_adds_and_deletes_a_map_among_other_values(cell: Cell) -> None:
    def change(verb: str, text: str) -> str:
        answer = attribute(cell, verb, "exec_host", "h1", "complex_values", text)
        assert answer.status == 0, answer.answers
        return str(cell.state.kind("exec_host")["h1"]["complex_values"])

    assert change("modify", "slots=4,gpu=3(0-2)") == "gpu=3(0-2),slots=4"
    assert change("delete", "gpu") == "slots=4"
    assert change("add", "gpu=1(a)") == "slots=4,gpu=1(a)"


@pytest.mark.parametrize("value", ["1/2", "0.5", "1(0)", "-1", "x"])
def test_a_request_for_something_other_than_a_number_of_units_is_refused(cell: Cell, value: str) -> None:
    answer = cell.ask("submit", "alice", binary=True, script_file="/bin/sleep", hard=[f"gpu={value}"])
    assert answer.status and "gpu" in answer.answers[0][1], answer.answers


# --- which units a task gets -----------------------------------------------------------------------------------------


def test_tasks_get_the_free_units_in_the_order_of_the_list(cell: Cell) -> None:
    assert not set_values(cell, "h1", "gpu=4(b a 0-1)")
    jobs = [start(cell, hard=["gpu=1"]), start(cell, hard=["gpu=2"])]
    assert [units(cell, job) for job in jobs] == [[("h1", "gpu", ["b"])], [("h1", "gpu", ["a", "0"])]]
    cell.end(jobs[0])
    assert units(cell, start(cell, hard=["gpu=2"])) == [("h1", "gpu", ["b", "1"])]


def test_a_batch_of_orders_gives_no_unit_twice(cell: Cell) -> None:
    assert not set_values(cell, "h1", "gpu=3(0-2)")
    array = start(cell, tasks="1-5")
    assert sorted(unit for task in (1, 2, 3) for _, _, names in units(cell, array, task) for unit in names) == ["0", "1", "2"]
    assert len(cell.state.jobs[array].pending) == 2


def test_a_unit_with_two_shares_has_two_tasks(cell: Cell) -> None:
    assert not set_values(cell, "h1", "gpu=4(0:2 1:2)")
    assert [units(cell, start(cell))[0][2] for _ in range(4)] == [["0"], ["0"], ["1"], ["1"]]
    assert not cell.state.jobs[start(cell)].tasks


def test_a_parallel_job_gets_units_on_each_of_its_hosts(cell: Cell) -> None:
    assert not set_values(cell, "h2", "gpu=2(x y)")
    cell.add("parallel_environment", "mpi", slots="99", allocation_rule="2")
    cell.configure("cluster_queue", "all.q", pe_list="mpi")
    job = start(cell, pe="mpi", pe_range="4")
    assert units(cell, job) == [("h1", "gpu", ["0", "1"]), ("h2", "gpu", ["x", "y"])]


@pytest.mark.parametrize(
    "consumable, given", [("JOB", [("h1", "mic", ["a"])]), ("HOST", [("h1", "mic", ["a"]), ("h2", "mic", ["c"])])]
)
def test_an_amount_of_the_job_or_of_each_host_is_given_once(
    cell: Cell, consumable: str, given: list[tuple[str, str, list[str]]]
) -> None:
    assert not add_complex(cell, name="mic", consumable=consumable)
    assert not set_values(cell, "h1", "mic=2(a b)") and not set_values(cell, "h2", "mic=1(c)")
    cell.add("parallel_environment", "mpi", slots="99", allocation_rule="4")
    cell.configure("cluster_queue", "all.q", pe_list="mpi", slots="4")
    assert units(cell, start(cell, hard=["mic=1"], pe="mpi", pe_range="8")) == given
    cell.configure("cluster_queue", "all.q", slots="8")
    left = start(cell, hard=["mic=1"], pe="mpi", pe_range="8")
    assert bool(cell.state.jobs[left].tasks) == (consumable == "JOB")


def test_two_instances_of_one_host_take_an_amount_of_the_host_once(cell: Cell) -> None:
    assert not add_complex(cell, name="mic", consumable="HOST")
    assert not set_values(cell, "h1", "mic=2(a b)")
    cell.add("parallel_environment", "mpi", slots="99", allocation_rule="$fill_up")
    cell.configure("cluster_queue", "all.q", pe_list="mpi", slots="1")
    cell.add("cluster_queue", "more.q", hostlist="h1", slots="1", pe_list="mpi", load_thresholds="NONE")
    job = start(cell, hard=["mic=1"], pe="mpi", pe_range="2", hard_queues=["*@h1"])
    assert len(cell.state.jobs[job].tasks[1].granted) == 2 and units(cell, job) == [("h1", "mic", ["a"])]


def test_units_of_the_cluster_are_given_on_any_host(cell: Cell) -> None:
    assert not add_complex(cell, name="seat")
    assert not set_values(cell, "global", "seat=2(red blue)")
    jobs = [start(cell, hard=["seat=1"], hard_queues=[f"*@{host}"]) for host in ("h1", "h2", "h1")]
    assert [units(cell, job) for job in jobs[:2]] == [[("h1", "seat", ["red"])], [("h2", "seat", ["blue"])]]
    assert not cell.state.jobs[jobs[2]].tasks


def test_a_default_amount_is_given_units_where_there_are_some(cell: Cell) -> None:
    assert not add_complex(cell, name="mic", default="1")
    assert not set_values(cell, "h2", "mic=1(a)")
    assert units(cell, start(cell, hard=[], hard_queues=["*@h2"])) == [("h2", "mic", ["a"])]
    assert units(cell, start(cell, hard=[], hard_queues=["*@h1"])) == []


# --- what becomes of units --------------------------------------------------------------------------------------------


def test_units_survive_a_restart_of_the_qmaster(cell: Cell) -> None:
    job = start(cell)
    restart(cell)
    assert units(cell, job) == [("h1", "gpu", ["0"])]
    assert units(cell, start(cell)) == [("h1", "gpu", ["1"])]
    cell.master.spool.snapshot(cell.state)
    restart(cell)
    assert dict(cell.state.units_in_use) == {("h1", "gpu"): {"0": 1, "1": 1}}
    cell.end(job)
    assert dict(cell.state.units_in_use) == {("h1", "gpu"): {"1": 1}}


def test_a_task_that_runs_again_gets_other_units_or_the_same(cell: Cell) -> None:
    first, second = start(cell), start(cell)
    cell.end(first, exit_status=99, failed=25)
    assert cell.state.jobs[first].tasks[1].units == []
    cell.pass_time(60)
    cell.cycle()
    assert units(cell, first) == [("h1", "gpu", ["0"])] and units(cell, second) == [("h1", "gpu", ["1"])]


def test_removed_units_stay_with_their_task_and_are_given_to_no_other(cell: Cell) -> None:
    first = start(cell)
    assert not set_values(cell, "h1", "gpu=2(1 2)")
    assert units(cell, first) == [("h1", "gpu", ["0"])]
    assert units(cell, start(cell)) == [("h1", "gpu", ["1"])]
    waiting = start(cell)
    assert not cell.state.jobs[waiting].tasks, "one unit of two is what the first task still takes"
    cell.end(first)
    cell.cycle()
    assert units(cell, waiting) == [("h1", "gpu", ["2"])]


@pytest.mark.parametrize("snapshot", [False, True])
def test_a_host_keeps_units_until_it_has_forgotten_the_attempt(cell: Cell, snapshot: bool) -> None:
    first, second = start(cell), start(cell)
    assert cell.admin("delete_jobs", targets=[str(first)], force=True).status == 0
    waiting = cell.submit(hard=["gpu=1"])
    cell.place()
    assert first not in cell.state.jobs and not cell.state.jobs[waiting].tasks
    if snapshot:
        cell.master.spool.snapshot(cell.state)
    restart(cell)
    cell.place()
    assert not cell.state.jobs[waiting].tasks, "the host may still run the task that was given up"
    cell.deliver()
    cell.cycle()
    assert units(cell, waiting) == [("h1", "gpu", ["0"])] and units(cell, second) == [("h1", "gpu", ["1"])]


def test_units_of_a_lost_host_are_free_when_it_is_back(cell: Cell) -> None:
    job = start(cell, rerun=True)
    cell.master.lose_host("h1")
    cell.master.flush()
    assert cell.admin("delete_jobs", targets=[str(job)], force=True).status == 0
    assert dict(cell.state.units_in_use) == {("h1", "gpu"): {"0": 1}}
    cell.deliver()
    assert not cell.state.units_in_use and not cell.state.hosts["h1"].held_units


def test_a_plan_that_removes_a_host_with_held_units_changes_no_count(cell: Cell) -> None:
    job = start(cell)
    assert cell.admin("delete_jobs", targets=[str(job)], force=True).status == 0
    branch = cell.state.branch()
    apply(branch, ObjectRemoved("exec_host", "h1"))
    assert not branch.units_in_use and dict(cell.state.units_in_use) == {("h1", "gpu"): {"0": 1}}
    assert branch.bookings != cell.state.bookings


def test_a_reservation_keeps_an_amount_and_its_job_gets_units(cell: Cell) -> None:
    cell.admin("change_users", verb="add", users=["alice"], lists=["arusers"])
    answer = cell.ask("reserve", "alice", name="r", duration=1000.0, hard=["gpu=1"])
    assert answer.status == 0, answer.answers
    cell.pass_time(1)
    jobs = [start(cell), start(cell)]
    assert units(cell, jobs[0]) == [("h1", "gpu", ["0"])] and not cell.state.jobs[jobs[1]].tasks
    inside = start(cell, ar=int(answer.data["id"]))  # type: ignore[index,call-overload]
    assert units(cell, inside) == [("h1", "gpu", ["1"])]


def test_a_job_of_a_reservation_waits_for_units_that_were_removed(cell: Cell) -> None:
    cell.admin("change_users", verb="add", users=["alice"], lists=["arusers"])
    answer = cell.ask("reserve", "alice", name="r", duration=1000.0, hard=["gpu=1"])
    cell.pass_time(1)
    outside = start(cell)
    assert not set_values(cell, "h1", "gpu=1(0)")
    inside = start(cell, ar=int(answer.data["id"]))  # type: ignore[index,call-overload]
    assert not cell.state.jobs[inside].tasks
    (cause,) = explanation(cell.state, cell.state.jobs[inside], cell.now).causes
    assert cause.text == "all units of gpu that its reservation still has are in use"
    cell.end(outside)
    cell.cycle()
    assert units(cell, inside) == [("h1", "gpu", ["0"])]


def test_the_start_of_a_task_names_the_units_of_its_host_alone(cell: Cell) -> None:
    assert not set_values(cell, "h2", "gpu=2(x y)")
    cell.add("parallel_environment", "mpi", slots="99", allocation_rule="2", control_slaves="TRUE")
    cell.configure("cluster_queue", "all.q", pe_list="mpi")
    job = start(cell, pe="mpi", pe_range="4")
    slave = cell.ask("start_slave", "alice", "h1", job_id=job, host="h2", command="hostname")
    assert slave.status == 0, slave.answers
    cell.deliver()
    assert [each.units for each in cell.starts] == [{"gpu": ["0", "1"]}, {"gpu": ["x", "y"]}]
    assert [each.gpus for each in cell.starts] == [0, 0], "sge_execd numbers no GPUs that have names"


def test_a_master_that_lost_the_dispatch_adopts_the_units_with_the_task(cell: Cell) -> None:
    job = start(cell)
    sent = cell.starts[-1]
    dispatched, _ = adoption_events(cell.state, sent.key, Origin.of(sent), cell.now)
    assert dispatched.units == cell.state.jobs[job].tasks[1].units  # type: ignore[union-attr]


# --- device files ------------------------------------------------------------------------------------------------


def test_a_task_learns_the_device_files_of_its_units_and_of_all_others(cell: Cell) -> None:
    """A file that several units list is open to the tasks of each (adr/0350)."""
    text = "gpu/0(device_files=/dev/g0,/dev/ctl identifier=GPU-a) gpu/1(device_files=/dev/g1,/dev/ctl) nic/x(device_files=/dev/x)"
    assert not add_complex(cell, name="nic")
    assert cell.add("host_units", "h1", units=text).status == 0
    for _ in range(2):
        start(cell)
    start(cell, hard=["hostname=h1"])
    sent = [each.devices for each in cell.starts]
    assert sent == [
        UnitDevices(own=["/dev/g0", "/dev/ctl"], others=["/dev/g1", "/dev/x"], identifiers=["GPU-a"], all_gpus=True),
        UnitDevices(own=["/dev/g1", "/dev/ctl"], others=["/dev/g0", "/dev/x"], all_gpus=True),
        UnitDevices(others=["/dev/g0", "/dev/ctl", "/dev/g1", "/dev/x"], all_gpus=True),
    ]


def test_a_task_on_a_host_without_properties_of_units_learns_no_device_files(cell: Cell) -> None:
    start(cell)
    assert [each.devices for each in cell.starts] == [None]
