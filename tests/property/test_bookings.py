"""Bookings through every life of a job: after any history they equal the sum over the tasks that hold a place.

A whole cell in process: submission, cycles, ends, reruns, deletions, forced deletions, hosts that are lost or booted, kills
of the master, changed capacities. The planted bug that this catches: a requeue that does not give back (CX-46).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gridengine.protocols.delivery import Load
from gridengine.state.machines import task as module
from gridengine.state.state import State
from tests.harness import LOAD, Cell

HOSTS = st.sampled_from(["h1", "h2"])
REQUESTS = st.sampled_from([[], ["lic=1"], ["lic=2"], ["lic=1/2"], ["mem=1G"], ["once=1"], ["alone=TRUE"], ["lic=1", "mem=2G"]])
KINDS = st.sampled_from(
    [{}, {"tasks": "1-3"}, {"pe": "mpi", "pe_range": "2-5"}, {"pe": "smp", "pe_range": "2"}]
    + [{"allocation_rule": "$round_robin", "pe_range": "3"}, {"tasks": "1-4:2", "pe": "m*", "pe_range": "1-3"}, {"now": True}]
)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("submit"), REQUESTS, KINDS),
        st.tuples(st.sampled_from(["start", "place"]), REQUESTS, KINDS),
        st.tuples(st.just("start"), REQUESTS, KINDS),
        st.tuples(st.just("end"), st.integers(0, 50), st.sampled_from([(0, 0), (1, 0), (99, 25), (0, 1), (0, 8), (0, 26)])),
        st.tuples(st.sampled_from(["delete", "force", "reschedule", "suspend"]), st.integers(0, 50), st.none()),
        st.tuples(st.sampled_from(["lost", "boot", "inventory"]), HOSTS, st.none()),
        st.tuples(st.just("restart"), st.none(), st.none()),
        st.tuples(st.just("capacity"), st.sampled_from(["lic=0", "lic=3,once=1", "lic=9,once=2"]), st.none()),
        st.tuples(st.just("slots"), st.integers(0, 4), st.none()),
        st.tuples(st.just("type"), st.sampled_from(["NO", "YES", "JOB"]), st.none()),
    ),
    min_size=6,
    max_size=25,
)


def build(directory: Any) -> Cell:
    cell = Cell(directory, hosts=2)
    for name, kind, consumable in (("lic", "INT", "YES"), ("mem", "MEMORY", "YES"), ("once", "INT", "JOB")):
        plain = {"type": kind, "relop": "<=", "requestable": "YES", "default": "1" if name == "mem" else "0"}
        assert cell.add("complex", name, shortcut=name, consumable=consumable, **plain).status == 0
    exclusive = {"type": "BOOL", "relop": "EXCL", "requestable": "YES", "consumable": "YES", "default": "0"}
    assert cell.add("complex", "alone", shortcut="alone", **exclusive).status == 0
    cell.configure("exec_host", "global", complex_values="lic=6,once=2")
    cell.configure("exec_host", "h1", complex_values="mem=6G,alone=TRUE")
    cell.configure("cluster_queue", "all.q", pe_list="mpi smp make", complex_values="mem=4G")
    cell.add("cluster_queue", "b.q", hostlist="@allhosts", slots="2", pe_list="mpi", load_thresholds="NONE", rerun="TRUE")
    return cell


def sums(state: State) -> dict[tuple[str, str], float]:
    """(object, consumable) -> amount, counted anew over the tasks that hold a place; slots of PEs as well."""
    found: dict[tuple[str, str], float] = {}
    for job in state.jobs.values():
        for task in job.tasks.values():
            assert bool(task.granted) == (task.status != "pending")
            for position, grant in enumerate(task.granted):
                for name, amount in [("slots", "1"), *task.resources.items()]:
                    times = (not position) if state.per_job(name) else grant.slots
                    for where in (grant.instance, grant.host, "global"):
                        found[where, name] = found.get((where, name), 0) + float(amount) * times
                if task.pe:
                    found[task.pe, "pe"] = found.get((task.pe, "pe"), 0) + grant.slots
    return {key: amount for key, amount in found.items() if amount}


def booked(state: State) -> dict[tuple[str, str], float]:
    entries = state.bookings.entries()
    return {(holder.name, name if holder.kind != "pe" else "pe"): float(amount) for holder, name, amount in entries}


def perform(cell: Cell, what: str, value: Any, more: Any) -> None:
    """One step; an impossible step is left out."""
    cell.now += 1
    running = sorted(cell.running)
    jobs = sorted(cell.state.jobs)
    if what in ("submit", "start", "place"):
        for host in cell.names:
            cell.report(host, Load(cell.now, dict(LOAD), full=True, incarnation="boot1"))
        cell.ask("submit", "alice", binary=True, script_file="/bin/true", hard=value, rerun=True, **more)
        if what != "submit":
            cell.place()
        if what == "start":
            cell.deliver()
    elif what == "restart":
        cell.restart()
    elif what == "end" and running:
        exit_status, failed = more
        cell.end(*running[value % len(running)][:2], exit_status=exit_status, failed=failed)
    elif what in ("delete", "force") and jobs:
        cell.ask("delete_jobs", "root", "master", targets=[str(jobs[value % len(jobs)])], force=what == "force")
    elif what in ("reschedule", "suspend") and jobs:
        cell.admin("change_states", action=what, what="job", targets=[str(jobs[value % len(jobs)])])
    elif what == "lost":
        cell.master.lose_host(value)
    elif what == "boot":
        cell.running = {key: host for key, host in cell.running.items() if host != value}
        cell.inventory(value)
    elif what == "inventory":
        cell.inventory(value)
    elif what == "capacity":
        cell.configure("exec_host", "global", complex_values=value)
    elif what == "slots":
        cell.configure("cluster_queue", "all.q", slots=str(value))
    elif what == "type":
        row = {**cell.state.kind("complex")["lic"], "consumable": value}
        cell.admin("config_add", kind="complex", name="lic", attributes=[(name, text, 1) for name, text in row.items()])
    cell.master.flush()


@pytest.mark.statement("CX-17", "CX-37", "CX-38", "CX-46", "CX-47", "CX-48", "CX-49", "PE-2", "SP-3")
@settings(max_examples=80, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(STEPS)
def test_bookings_are_the_sum_over_the_tasks(tmp_path_factory: Any, steps: list[tuple[str, Any, Any]]) -> None:
    history(tmp_path_factory.mktemp("cell"), steps)


def history(directory: Any, steps: list[tuple[str, Any, Any]]) -> None:
    cell = build(directory)
    for step in steps:
        perform(cell, *step)
        assert booked(cell.state) == pytest.approx(sums(cell.state)), step
        assert cell.mirror.view is None or booked(cell.mirror.view.state) == pytest.approx(sums(cell.state)), step
    cell.ask("delete_jobs", "root", "master", targets=["*"], users=["*"], force=True)
    assert booked(cell.state) == {}


def test_a_planted_bug_is_caught(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    release: Callable[..., None] = module.unplace
    monkeypatch.setattr(module, "unplace", lambda state, job, task: release(state, job, task) if task.deleted_by else None)
    steps = [("start", ["lic=1"], {}), ("end", 0, (99, 25))]
    with pytest.raises(AssertionError):
        history(tmp_path, steps)
