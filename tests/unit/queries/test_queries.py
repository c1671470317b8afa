"""The parts of the request `status` as pure functions: order, selection, shapes."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from daemons.qmaster.queries.hosts import hosts
from daemons.qmaster.queries.job_detail import job_detail
from daemons.qmaster.queries.jobs import jobs
from daemons.qmaster.queries.queues import cluster_queues, queue_configurations, queues
from daemons.qmaster.queries.selection import Listing
from gridengine.errors import InvalidValueError
from gridengine.placement.urgency import resource_urgency
from gridengine.protocols.gdi.requests import Caller
from gridengine.state.jobs import Hold
from gridengine.state.machines.job import HoldsChanged, PrioritiesSet
from gridengine.values.ranges import Ranges
from tests.builders import NOW, Cluster

ALICE = Caller("alice", 1001, "users", 100, "h1")


def ask(cluster: Cluster, view: Any, **body: Any) -> Any:
    """The data of a view as the client receives it."""
    return msgspec.json.decode(msgspec.json.encode(view(Listing(cluster.state), body, ALICE, NOW)))


@pytest.mark.statement("ST-1", "ST-2")
def test_pending_jobs_by_priority_then_submission() -> None:
    cluster = Cluster()
    first, second, third = (cluster.submit() for _ in range(3))
    cluster.apply(PrioritiesSet({second: (0.9, 0.5, 0.5, 0.5), third: (0.5, 0.5, 0.5, 0.5)}))
    assert [row[0] for row in ask(cluster, jobs)["pending"]] == [second, third, first]


@pytest.mark.statement("ST-17")
def test_a_million_pending_tasks_are_one_row() -> None:
    cluster = Cluster()
    cluster.submit(array="1-1000000")
    assert [row[8] for row in ask(cluster, jobs)["pending"]] == ["1-1000000:1"]


@pytest.mark.statement("ST-16")
@pytest.mark.parametrize(("first_task", "slaves"), [("TRUE", [3, 2]), ("FALSE", [4, 2])])
def test_slots_of_a_parallel_task(first_task: str, slaves: list[int]) -> None:
    cluster = Cluster(hosts=2)
    cluster.change("parallel_environment", "mpi", job_is_first_task=first_task)
    cluster.submit(pe="mpi", pe_range="6")
    cluster.cycle()
    (row,) = ask(cluster, jobs)["running"]
    assert (row[7], [grant[2] for grant in row[6]]) == (6, slaves)


@pytest.mark.statement("PE-11", "ST-16")
@pytest.mark.parametrize(
    ("urgency_slots", "text", "slots"),
    [
        ("min", "4", 4), ("min", "2-8", 2), ("min", "-8", 1), ("min", "4-", 4), ("min", "16,2-3", 2),
        ("max", "2-6,9", 9), ("max", "4-", 10), ("avg", "2-6,9", 4), ("avg", "3-6,9", 5), ("avg", "4-", 7),
        ("3", "2-6,9", 3), ("3", "4-", 3), ("3", "9", 9),
    ],
)
def test_a_pending_parallel_job_is_shown_with_the_slots_that_its_urgency_counts(
    urgency_slots: str, text: str, slots: int
) -> None:
    """The original has the same figures, for a PE of 10 slots."""
    cluster = Cluster()
    cluster.change("parallel_environment", "mpi", urgency_slots=urgency_slots, slots="10")
    job = cluster.submit(pe="mpi", pe_range=text, hard={"arch": "none"})
    assert [row[7] for row in ask(cluster, jobs)["pending"]] == [slots]
    assert resource_urgency(cluster.state, Listing(cluster.state).request(cluster.state.jobs[job])) == 1000 * slots


@pytest.mark.statement("ST-34")
def test_instances_by_sequence_number() -> None:
    cluster = Cluster(hosts=2)
    cluster.queue("b.q", seq_no="1")
    cluster.queue("a.q", seq_no="2")
    assert [row["name"] for row in ask(cluster, queues)] == [
        "all.q@h1", "all.q@h2", "b.q@h1", "b.q@h2", "a.q@h1", "a.q@h2",
    ]


@pytest.mark.statement("ST-7")
@pytest.mark.parametrize(
    ("changes", "codes"),
    [
        ({}, "BIP"),
        ({"pe_list": "NONE"}, "BI"),
        ({"qtype": "NONE"}, "P"),
        ({"qtype": "NONE", "pe_list": "NONE"}, "N"),
        ({"qtype": "BATCH", "ckpt_list": "c", "pe_list": "NONE"}, "BC"),
    ],
)
def test_type_codes(changes: dict[str, str], codes: str) -> None:
    cluster = Cluster(hosts=1)
    cluster.queue(**changes)
    assert ask(cluster, queues)[0]["type"] == codes


@pytest.mark.statement("ST-11", "ST-12", "ST-13")
def test_a_queue_without_slots_or_load() -> None:
    cluster = Cluster(hosts=1)
    cluster.queue("empty.q", hostlist="NONE")
    cluster.queue("none.q", slots="0")
    rows = {row["name"]: row for row in ask(cluster, cluster_queues)}
    assert rows.keys() == {"all.q", "empty.q", "none.q"}
    assert (rows["all.q"]["load"], rows["none.q"]["load"], rows["empty.q"]["load"]) == (0.1, None, None)
    assert [row["name"] for row in ask(cluster, cluster_queues, select={"queues": ["none.q"]})] == ["none.q"]


@pytest.mark.parametrize(
    ("view", "body"),
    [
        (queues, {"select": {"requests": ["nosuch=1"]}}),
        (queues, {"select": {"queues": ["a("]}}),
        (queues, {"resources": ["nosuch"]}),
        (hosts, {"hosts": ["nosuch"]}),
        (queue_configurations, {"queues": ["a("]}),
        (job_detail, {"jobs": ["1x"]}),
    ],
)
def test_bad_input_is_a_fault_with_a_reason(view: Any, body: dict[str, Any]) -> None:
    with pytest.raises(InvalidValueError, match="."):
        ask(Cluster(), view, **body)


@pytest.mark.statement("ST-18", "DP-6")
def test_details_come_with_the_environment_if_it_is_known() -> None:
    cluster = Cluster()
    number = cluster.submit(environment_names=("A", "B"))
    view = lambda *arguments: job_detail(*arguments, environment_of=lambda job_id: {"A": "1"})  # noqa: E731
    assert ask(cluster, view, jobs=[str(number)])["jobs"][0]["environment"] == [["A", "1"], ["B", ""]]
    assert ask(cluster, job_detail, jobs=[str(number)])["jobs"][0]["environment"] == [["A", None], ["B", None]]
    assert ask(cluster, job_detail, jobs=["99"]) == {"jobs": [], "unknown": ["99"], "note": ""}


@pytest.mark.statement("ST-18", "SC-6")
def test_reasons_of_all_pending_jobs() -> None:
    cluster = Cluster(hosts=1)
    held = cluster.submit(holds={"u": Ranges.of([1])})
    cluster.queue(slots="0")
    one, two = cluster.submit(), cluster.submit()
    no_slots = 'cannot run in queue "all.q@h1" because it offers only qc:slots=0.000000'
    assert ask(cluster, job_detail) == {"reasons": [["Job is in hold state", [held]], [no_slots, [one, two]]], "note": ""}
    cluster.change("scheduler", "", schedd_job_info=f"job_list {two}")
    assert ask(cluster, job_detail) == {
        "reasons": [[no_slots, [two]]],
        "note": "(Scheduler job information not available for every job)",
    }
    assert [ask(cluster, job_detail, jobs=[str(n)])["jobs"][0]["reasons"] for n in (one, two)] == [[], [no_slots]]
    cluster.change("scheduler", "", schedd_job_info="false")
    assert ask(cluster, job_detail) == {"reasons": [], "note": "(Collecting of scheduler job information is turned off)"}


@pytest.mark.statement("LS-5", "ST-6", "ST-12", "QH-1")
def test_scaled_load_in_qstat_and_as_measured_in_qhost() -> None:
    cluster = Cluster(hosts=1)
    cluster.change("exec_host", "h1", load_scaling="load_avg=10,np_load_avg=2")
    cluster.heard("h1", load_avg="0.400000", np_load_avg="0.100000")
    assert ask(cluster, queues)[0]["load"] == "4.000000"
    assert ask(cluster, cluster_queues)[0]["load"] == pytest.approx(0.2)
    assert ask(cluster, hosts)[1]["values"][5] == 0.4


@pytest.mark.statement("CX-30", "QH-1")
def test_an_overridden_architecture_is_shown() -> None:
    cluster = Cluster(hosts=2)
    cluster.values("h1", "arch=special")
    assert [row["arch"] for row in ask(cluster, queues)] == ["special", "lx-amd64"]
    assert [row["values"][0] for row in ask(cluster, hosts)] == [None, "special", "lx-amd64"]


@pytest.mark.statement("ST-25")
def test_a_running_task_that_is_held_is_among_the_held() -> None:
    cluster = Cluster()
    job = cluster.submit()
    cluster.cycle()
    cluster.apply(HoldsChanged(job, Ranges.of((1,)), set_holds=Hold.SYSTEM))
    assert [row[4] for row in ask(cluster, jobs, states=["hs"])["running"]] == ["hr"]
    assert ask(cluster, jobs, states=["hu"])["running"] == []
