"""Drained hosts take no jobs, all users see the reason, and running jobs go on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from daemons.qmaster.queries import status
from daemons.qmaster.queries.explanation import explain_jobs
from gridengine.protocols.gdi.requests import Caller
from tests.harness import MASTER, Cell

ALICE = Caller("alice", 1001, "users", 1001, "h1")


@pytest.fixture
def cell(tmp_path: Path) -> Cell:
    return Cell(tmp_path, hosts=2, slots=2)


def drained(cell: Cell, *hosts: str, reason: str = "new disk") -> Any:
    return cell.admin("drain_hosts", hosts=list(hosts), reason=reason)


def rows(cell: Cell) -> dict[str, tuple[str, dict[str, list[str]]]]:
    """State and reasons of each instance, as qstat -explain d has them."""
    answer = status(cell.master, {"queues": {"explain": "d"}}, ALICE)
    return {row["name"]: (row["states"], row["explain"]) for row in answer.data["queues"]}  # type: ignore[index,call-overload]


def test_no_job_begins_there_and_what_runs_there_runs_on(cell: Cell) -> None:
    first = cell.submit(hard_queues=["all.q@h1"])
    cell.cycle()
    answer = drained(cell, "h1")
    assert answer.answers == [("info", f'root@{MASTER} drained host "h1" (1 task runs there)')]
    jobs = [cell.submit() for _ in range(4)]
    cell.cycle()
    assert [cell.placed(job) for job in (first, *jobs)] == [[("all.q@h1", 1)], [("all.q@h2", 1)], [("all.q@h2", 1)], [], []]
    (found,) = explain_jobs(cell.state, [str(jobs[2])], cell.now, cell.master.world().zone, ALICE, "root")["jobs"]
    texts = [text for cause in found["causes"] for text in cause["reasons"]]
    assert f'queue instance "all.q@h1" dropped because its host is drained: new disk (root@{MASTER})' in texts
    assert cell.admin("drain_hosts", hosts=["h1"], end=True).status == 0
    cell.cycle()
    assert cell.placed(jobs[2]) == [("all.q@h1", 1)]


def test_all_users_see_operator_time_and_reason(cell: Cell) -> None:
    drained(cell, "h1", reason="new\n disk")
    assert rows(cell) == {
        "all.q@h1": ("d", {"d": [f"host drained by root@{MASTER} since 2027-01-15 08:00: new disk"]}),
        "all.q@h2": ("", {}),
    }


def test_a_drain_survives_a_restart_and_covers_new_queues(cell: Cell) -> None:
    drained(cell, "h1")
    cell.restart()
    assert cell.add("cluster_queue", "late.q", hostlist="h1").status == 0
    assert rows(cell)["late.q@h1"][0].startswith("d")


def test_enabling_a_queue_does_not_end_it_and_shows_that(cell: Cell) -> None:
    drained(cell, "h1")
    answer = cell.admin("change_states", action="enable", what="queue", targets=["all.q@h1"])
    assert ("warning", 'host "h1" is drained: gridengine host resume h1 lets jobs go there') in answer.answers
    assert rows(cell)["all.q@h1"][0] == "d"


def test_a_group_means_its_hosts_and_one_wrong_name_changes_nothing(cell: Cell) -> None:
    answer = drained(cell, "h1", "h9")
    assert (answer.status, answer.answers) == (1, [("error", 'denied: execution host "h9" does not exist')])
    assert cell.state.hosts["h1"].drained is None
    assert drained(cell, "@allhost").answers == [
        ("error", 'denied: host group "@allhost" does not exist'),
        ("hint", 'did you mean "@allhosts"?'),
    ]
    drained(cell, "@allhosts")
    assert [cell.state.hosts[name].drained.reason for name in ("h1", "h2")] == ["new disk", "new disk"]


def test_operators_drain_with_a_reason(cell: Cell) -> None:
    refused = cell.ask("drain_hosts", "alice", MASTER, hosts=["h1"], reason="x")
    assert refused.answers == [("error", 'denied: "alice" must be operator for this operation')]
    assert drained(cell, "h1", reason=" \n").answers == [("error", "denied: a reason for the drain is required")]
    assert cell.admin("drain_hosts", hosts=["h1"], end=True).answers == [("info", 'host "h1" is not drained')]


def test_a_reservation_there_is_reported(cell: Cell) -> None:
    cell.admin("change_users", verb="add", users=["alice"], lists=["arusers"])
    answer = cell.ask("reserve", hard_queues=["all.q@h1"], duration=1000.0, start_time=cell.now + 100)
    drained(cell, "h1")
    cell.pass_time(1)
    reservation = cell.state.reservations[answer.data["id"]]  # type: ignore[index,call-overload]
    assert reservation.errors == ["reserved queue all.q@h1 is disabled"]


def test_a_host_that_was_removed_comes_back_undrained(cell: Cell) -> None:
    drained(cell, "h2")
    assert cell.configure("host_group", "@allhosts", hostlist="h1").status == 0
    assert cell.admin("config_delete", kind="exec_host", name="h2").status == 0
    assert cell.add("exec_host", "h2").status == 0
    assert cell.state.hosts["h2"].drained is None
