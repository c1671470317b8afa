"""Subordination: the seed's examples, releases, configuration changes, parallel tasks; and a property over random cells."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from daemons.qmaster.rules.subordination import subordination_changes
from gridengine.placement.verify import explain
from gridengine.state.events import AnyEvent
from gridengine.state.machines.instance import InstanceFlagsChanged
from gridengine.state.state_codes import instance_state_codes, running_state_codes
from tests.harness import Cell


def cell(directory: Path, hosts: int = 2, **lists: str) -> Cell:
    """Queues a, b … of four slots on all hosts, each with its subordinate_list."""
    made = Cell(directory, hosts=hosts)
    for name in sorted(lists, reverse=True):
        plain = {"hostlist": "@allhosts", "slots": "4", "load_thresholds": "NONE", "pe_list": "mpi"}
        assert made.add("cluster_queue", name, **plain).status == 0
    for name, text in lists.items():
        assert made.configure("cluster_queue", name, subordinate_list=text).status == 0
    return made


def run(cell: Cell, queue: str, host: str = "h1", **fields: Any) -> int:
    """Start a job in a queue; a second passes."""
    job = cell.submit(hard_queues=[f"{queue}@{host}"], **fields)
    cell.cycle()
    cell.now += 1
    return job


def codes(cell: Cell, *jobs: int) -> str:
    """Their states: r, S …, or w while they wait."""
    found = []
    for job_id in jobs:
        job = cell.state.jobs[job_id]
        task = job.tasks.get(1)
        found.append(running_state_codes(cell.state, job, task) if task is not None and task.granted else "w")
    return " ".join(found)


def instance(cell: Cell, name: str) -> str:
    return instance_state_codes(cell.state, cell.state.instances[name])


# --- queue-wise --------------------------------------------------------------------------------------------


@pytest.mark.statement("SU-1", "SU-2", "SU-3", "QI-8", "EV-4")
def test_an_instance_is_suspended_while_enough_slots_are_used(tmp_path: Path) -> None:
    here = cell(tmp_path, high="low=1,mid", low="NONE", mid="NONE")
    low, mid, other = run(here, "low"), run(here, "mid"), run(here, "low", "h2")
    seen: list[AnyEvent] = []
    here.master.subscribers.append(lambda transaction: seen.extend(transaction.events))
    first = run(here, "high")
    assert (instance(here, "low@h1"), instance(here, "mid@h1"), instance(here, "low@h2")) == ("S", "", "")
    assert codes(here, low, mid, other) == "S r r"
    assert InstanceFlagsChanged(["low@h1"], {"subordinated": True}) in seen
    here.deliver()
    assert here.signals[-1][1:] == ((low, 1, 1), "suspend")
    rest = [run(here, "high") for _ in range(3)]
    assert (instance(here, "mid@h1"), codes(here, mid)) == ("S", "S")
    here.end(rest[0])
    assert (instance(here, "low@h1"), instance(here, "mid@h1")) == ("S", "")
    for job in (first, *rest[1:]):
        here.end(job)
    assert instance(here, "low@h1") == "" and codes(here, low, mid) == "r r"
    assert InstanceFlagsChanged(["low@h1"], {"subordinated": False}) in seen
    here.deliver()
    assert ("h1", (low, 1, 1), "run") in here.signals


@pytest.mark.statement("SU-5")
def test_a_subordinated_instance_gets_no_job(tmp_path: Path) -> None:
    here = cell(tmp_path, high="low=1", low="NONE")
    high = run(here, "high")
    low = run(here, "low")
    assert codes(here, low) == "w"
    here.end(high)
    here.cycle()
    assert codes(here, low) == "r"


@pytest.mark.statement("SU-3", "QM-4")
def test_a_task_suspended_for_another_reason_stays_suspended(tmp_path: Path) -> None:
    here = cell(tmp_path, high="low=1", low="NONE")
    low = run(here, "low")
    here.admin("change_states", action="suspend", what="job", targets=[str(low)])
    high = run(here, "high")
    here.end(high)
    assert codes(here, low) == "s"


@pytest.mark.statement("SU-4", "CQ-10", "QC-33")
def test_lists_differ_by_host(tmp_path: Path) -> None:
    here = cell(tmp_path, high="NONE,[h2=low=1]", low="NONE")
    for host in ("h1", "h2"):
        run(here, "high", host)
    assert (instance(here, "low@h1"), instance(here, "low@h2")) == ("", "S")


@pytest.mark.statement("SU-15", "SU-3")
@pytest.mark.parametrize("how", ["list", "threshold", "slots", "queue", "host"])
def test_a_change_of_configuration_counts_at_once(tmp_path: Path, how: str) -> None:
    here = cell(tmp_path, high="low", low="NONE")
    low, high = run(here, "low"), run(here, "high")
    here.configure("cluster_queue", "high", slots="1")
    assert codes(here, low) == "S"
    if how == "list":
        here.configure("cluster_queue", "high", subordinate_list="NONE")
    elif how == "threshold":
        here.configure("cluster_queue", "high", subordinate_list="low=2")
    elif how == "slots":
        here.configure("cluster_queue", "high", slots="2")
    else:
        here.configure("cluster_queue", "high", hostlist="h2")
        assert instance(here, "high@h1") == "o" and codes(here, low) == "S"
        here.end(high)
        assert "high@h1" not in here.state.instances
    assert codes(here, low) == "r"
    assert here.state.superiors.keys() <= {"h1", "h2"}


@pytest.mark.statement("SU-2", "SP-3")
def test_subordination_survives_a_restart(tmp_path: Path) -> None:
    here = cell(tmp_path, high="low=1", low="NONE")
    low, high = run(here, "low"), run(here, "high")
    here.restart()
    assert codes(here, low) == "S"
    here.end(high)
    assert codes(here, low) == "r"


# --- slot-wise ---------------------------------------------------------------------------------------------


@pytest.mark.statement("SU-7", "SU-9", "SU-10", "SU-14")
@pytest.mark.parametrize(("action", "expected"), [("sr", "r S"), ("lr", "S r")])
def test_example_a(tmp_path: Path, action: str, expected: str) -> None:
    here = cell(tmp_path, a=f"slots=2(b:0:{action})", b="NONE")
    low = [run(here, "b"), run(here, "b")]
    assert codes(here, *low) == "r r"
    high = run(here, "a")
    assert codes(here, high, *low) == f"r {expected}"
    assert instance(here, "b@h1") == ""
    here.deliver()
    assert here.signals[-1][2] == "suspend"
    here.end(high)
    assert codes(here, *low) == "r r"


@pytest.mark.statement("SU-8", "SU-11")
def test_example_b(tmp_path: Path) -> None:
    here = cell(tmp_path, a="slots=2(b:1,c:2)", b="NONE", c="NONE")
    a, c, b = run(here, "a"), run(here, "c"), run(here, "b")
    assert codes(here, a, b, c) == "r r S"


@pytest.mark.statement("SU-12", "SU-13")
def test_example_c(tmp_path: Path) -> None:
    here = cell(tmp_path, a="slots=2(b)", b="slots=2(c)", c="NONE")
    b, c, d = run(here, "b"), run(here, "c"), run(here, "c")
    assert codes(here, b, c, d) == "r r S"
    a = run(here, "a")
    assert codes(here, a, b, c, d) == "r r S S"
    here.end(b)
    assert codes(here, a, c, d) == "r r S"


@pytest.mark.statement("SU-12", "SU-13")
def test_example_d(tmp_path: Path) -> None:
    lists = {"a": "slots=4(b,c)", "b": "slots=2(d)", "c": "slots=3(e,f)", "f": "slots=1(g)"}
    here = cell(tmp_path, **lists, d="NONE", e="NONE", g="NONE")
    g, f = run(here, "g"), run(here, "f")
    assert codes(here, g, f) == "S r"
    e, d = run(here, "e"), run(here, "d")
    c, b = run(here, "c"), run(here, "b")
    assert codes(here, g, f, e, d, c, b) == "S r r S r r"
    here.end(e)
    assert codes(here, g, f, d, c, b) == "S r r r r"


@pytest.mark.statement("SU-14")
def test_exactly_one_is_released_for_a_free_slot(tmp_path: Path) -> None:
    here = cell(tmp_path, a="slots=3(b)", b="slots=3(c)", c="NONE")
    c, d = run(here, "c"), run(here, "c")
    b = run(here, "b")
    high = [run(here, "a") for _ in range(3)]
    assert codes(here, b, c, d, *high) == "S S S r r r"
    here.end(high[0])
    assert codes(here, b, c, d) == "r S S"
    here.end(high[1])
    assert codes(here, b, c, d) == "r r S"


@pytest.mark.statement("SU-15")
def test_suspension_by_hand_frees_slots(tmp_path: Path) -> None:
    here = cell(tmp_path, a="slots=2(b)", b="NONE")
    b, c, a = run(here, "b"), run(here, "b"), run(here, "a")
    assert codes(here, b, c, a) == "r S r"
    here.admin("change_states", action="suspend", what="job", targets=[str(b)])
    assert codes(here, b, c, a) == "s r r"
    here.admin("change_states", action="unsuspend", what="job", targets=[str(b)])
    assert codes(here, b, c, a) == "r S r"
    here.admin("change_states", action="suspend", what="queue", targets=["a@h1"])
    assert codes(here, b, c, a) == "r r S"


@pytest.mark.statement("SU-15")
def test_slot_trees_follow_the_configuration(tmp_path: Path) -> None:
    here = cell(tmp_path, a="slots=2(b)", b="NONE")
    b, c, a = run(here, "b"), run(here, "b"), run(here, "a")
    here.configure("cluster_queue", "a", subordinate_list="slots=3(b)")
    assert codes(here, b, c, a) == "r r r"
    here.configure("cluster_queue", "a", subordinate_list="slots=1(b)")
    assert codes(here, b, c, a) == "S S r"
    here.configure("cluster_queue", "a", subordinate_list="NONE")
    assert codes(here, b, c, a) == "r r r" and not any(i.preempted for i in here.state.instances.values())


@pytest.mark.statement("SU-16", "QI-9")
def test_a_queue_that_others_leave_no_slot_is_preempted(tmp_path: Path) -> None:
    here = cell(tmp_path, a="slots=2(b:1,c:2)", b="NONE", c="NONE")
    high = [run(here, "a"), run(here, "b")]
    assert (instance(here, "a@h1"), instance(here, "b@h1"), instance(here, "c@h1")) == ("", "", "P")
    waiting = run(here, "c")
    assert codes(here, waiting) == "w"
    reasons = explain(here.state, here.state.jobs[waiting], here.now)
    assert 'queue instance "c@h1" dropped because its slots are taken by superordinate queues' in [r.text for r in reasons]
    high.append(run(here, "a"))
    assert instance(here, "b@h1") == "P" and codes(here, high[1]) == "S"
    here.end(high[0])
    here.end(high[2])
    here.cycle()
    assert codes(here, high[1], waiting) == "r r" and instance(here, "c@h1") == ""


@pytest.mark.statement("SU-2", "SU-7")
def test_hosts_do_not_count_each_other(tmp_path: Path) -> None:
    here = cell(tmp_path, a="slots=1(b)", b="NONE")
    b = run(here, "b", "h2")
    run(here, "a", "h1")
    assert codes(here, b) == "r"


@pytest.mark.statement("SU-7", "SU-14")
def test_parallel_tasks_count_by_slots_and_are_decided_on_at_their_master(tmp_path: Path) -> None:
    here = cell(tmp_path, a="slots=3(b)", b="NONE")
    wide = here.submit(hard_queues=["b"], pe="mpi", pe_range="6")
    here.cycle()
    assert sum(slots for _, slots in here.placed(wide)) == 6
    assert codes(here, wide) == "S"
    here.configure("cluster_queue", "a", subordinate_list="slots=4(b)")
    assert codes(here, wide) == "r"
    master, other = (name.partition("@")[2] for name, _ in here.placed(wide))
    narrow = run(here, "a", other)
    assert codes(here, wide, narrow) == "r r"
    more = [run(here, "a", other) for _ in range(2)]
    assert codes(here, wide, *more) == "r r r"  # its master is elsewhere
    first = run(here, "a", master)
    assert codes(here, wide) == "S"
    here.end(first)
    assert codes(here, wide) == "S"  # it fits at its master, but not beside the others
    for job in (narrow, *more):
        here.end(job)
    assert codes(here, wide) == "r"


@pytest.mark.statement("SU-14")
def test_a_task_that_runs_again_is_free(tmp_path: Path) -> None:
    here = cell(tmp_path, a="slots=1(b)", b="NONE")
    b, a = run(here, "b", rerun=True), run(here, "a")
    assert codes(here, a, b) == "r S"
    here.admin("change_states", action="reschedule", what="job", targets=[str(b)])
    here.end(b)
    assert not here.state.jobs[b].tasks[1].suspensions
    here.end(a)
    here.cycle()
    assert codes(here, b) == "Rr"


def test_cells_without_subordinates_pay_nothing(tmp_path: Path) -> None:
    here = cell(tmp_path, a="NONE")
    run(here, "a")
    assert here.state.superiors == {}


# --- a property ----------------------------------------------------------------------------------------------

STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("run"), st.sampled_from("abcdh"), st.sampled_from(["", "2", "5"])),
        st.tuples(st.just("end"), st.integers(0, 20), st.just("")),
        st.tuples(st.just("suspend"), st.integers(0, 20), st.just("")),
        st.tuples(st.just("unsuspend"), st.integers(0, 20), st.just("")),
        st.tuples(st.just("list"), st.sampled_from("ab"), st.sampled_from(["NONE", "slots=2(c)", "slots=3(c,d)"])),
    ),
    max_size=25,
)


@pytest.mark.statement("SU-7", "SU-12", "SU-14", "SU-15")
@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(STEPS)
def test_no_tree_is_over_its_threshold_and_nothing_waits_that_fits(tmp_path_factory: Any, steps: list[Any]) -> None:
    """Planted bug that this catches: a release that looks at the own host alone."""
    here = cell(tmp_path_factory.mktemp("cell"), h="d=2", a="slots=4(b,d)", b="slots=2(c)", c="NONE", d="NONE")
    for what, which, more in steps:
        running = [job.id for job in here.state.jobs.values() if job.tasks and job.tasks[1].granted]
        if what == "run":
            fields = {"pe": "mpi", "pe_range": more} if more else {}
            here.submit(hard_queues=[which], **fields)
            here.cycle()
            here.now += 1
        elif what == "list":
            here.configure("cluster_queue", which, subordinate_list=more)
        elif running and what == "end":
            here.end(running[which % len(running)])
        elif running:
            here.admin("change_states", action=what, what="job", targets=[str(running[which % len(running)])])
        check(here)


def check(here: Cell) -> None:
    state = here.state
    hosts = {"h1", "h2"}
    assert subordination_changes(state, hosts) == []
    for host in hosts:
        for top in ("a", "b"):
            subordinates = state.configs[f"{top}@{host}"].subordinates
            if not subordinates.slots:
                continue
            below = {entry.queue for entry in subordinates.queues}
            below |= {"c"} if "b" in below and state.configs[f"b@{host}"].subordinates.slots else set()
            runs = [
                (grant.queue, grant.slots, task)
                for job in state.jobs.values()
                for task in job.tasks.values()
                for grant in task.granted
                if grant.host == host and running_state_codes(state, job, task).strip("dt") == "r"
            ]
            total = sum(slots for queue, slots, _ in runs if queue in below | {top})
            movable = any(queue in below and task.host == host for queue, _, task in runs)
            assert total <= subordinates.slots or not movable
