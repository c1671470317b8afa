"""-alloc: slots spread by a rule of the job, with a parallel environment and without one."""

from __future__ import annotations

from pathlib import Path

import pytest

from gridengine.placement.verify import explain
from gridengine.state.bookings import CLUSTER, Holder
from tests.harness import Cell


def slots(cell: Cell, **fields: object) -> list[int]:
    """Slots on each host of a new job, most first; nothing while it waits."""
    job = cell.submit(**fields)
    cell.cycle()
    return sorted((count for _, count in cell.placed(job)), reverse=True)


@pytest.mark.statement("AR-126")
@pytest.mark.parametrize(
    ("rule", "range_", "expected"),
    [("$fill_up", "6", [4, 2]), ("$round_robin", "3", [1, 1, 1]), ("$pe_slots", "2-", [4]), ("2", "4", [2, 2]), ("2", "3", [])],
)
def test_without_a_parallel_environment(tmp_path: Path, rule: str, range_: str, expected: list[int]) -> None:
    here = Cell(tmp_path)
    assert slots(here, allocation_rule=rule, pe_range=range_) == expected


@pytest.mark.statement("AR-126")
def test_an_allocation_rule_overrides_the_rule_of_the_environment(tmp_path: Path) -> None:
    here = Cell(tmp_path)
    here.configure("cluster_queue", "all.q", pe_list="smp")
    here.configure("parallel_environment", "smp", slots="8")
    assert slots(here, pe="smp", allocation_rule="$round_robin", pe_range="3") == [1, 1, 1]
    assert here.state.bookings.at(Holder("pe", "smp")) == {"slots": 3}
    assert slots(here, pe="smp", allocation_rule="$fill_up", pe_range="6") == []


@pytest.mark.statement("AR-126", "CX-37")
def test_the_example_of_the_specification(tmp_path: Path) -> None:
    """-alloc 2 4 -l license=1/2: two slots a host on two hosts, two licences."""
    here = Cell(tmp_path)
    plain = {"shortcut": "license", "type": "INT", "relop": "<=", "requestable": "YES", "consumable": "YES", "default": "0"}
    here.add("complex", "license", **plain)
    here.configure("exec_host", "global", complex_values="license=3")
    assert slots(here, allocation_rule="2", pe_range="4", hard=["license=1/2"]) == [2, 2]
    assert here.state.bookings.at(CLUSTER)["license"] == 2
    assert slots(here, allocation_rule="2", pe_range="4", hard=["license=1/2"]) == []
    assert slots(here, allocation_rule="2", pe_range="2", hard=["license=1/2"]) == [2]


@pytest.mark.statement("AR-126", "CX-45")
@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"allocation_rule": "$any", "pe_range": "2"}, "$any"),
        ({"allocation_rule": "0", "pe_range": "2"}, "0"),
        ({"allocation_rule": "$fill_up", "pe_range": "x"}, "x"),
        ({"allocation_rule": "$fill_up"}, "range"),
        ({"hard": ["slots=2"]}, "parallel environment"),
        ({"hard": ["num_proc=1/2"]}, "num_proc"),
    ],
)
def test_a_malformed_allocation_is_refused(tmp_path: Path, fields: dict[str, object], reason: str) -> None:
    here = Cell(tmp_path)
    answer = here.ask("submit", "alice", binary=True, script_file="/bin/true", **fields)
    assert answer.status == 1 and reason in answer.answers[0][1]


@pytest.mark.statement("AR-126")
@pytest.mark.parametrize(("rule", "slots"), [("$any", "2")])
def test_a_fault_in_either_part_of_a_rule_is_reported_for_the_rule(tmp_path: Path, rule: str, slots: str) -> None:
    fields = {"allocation_rule": rule, "pe_range": slots}
    answer = Cell(tmp_path).ask("submit", "alice", binary=True, script_file="/bin/true", **fields)
    assert answer.answers[0][1].startswith("job rejected: the allocation rule (-alloc) is wrong: ")


@pytest.mark.statement("AR-126")
def test_why_it_waits(tmp_path: Path) -> None:
    here = Cell(tmp_path)
    job = here.submit(allocation_rule="$pe_slots", pe_range="5")
    texts = [reason.text for reason in explain(here.state, here.state.jobs[job], here.now)]
    assert 'cannot run because the allocation rule "$pe_slots" finds only 4 slots' in texts


@pytest.mark.statement("AR-126", "AC-3")
def test_the_host_and_the_record_know_of_it(tmp_path: Path) -> None:
    here = Cell(tmp_path)
    job = here.submit(allocation_rule="$fill_up", pe_range="6")
    here.cycle()
    assert (here.starts[-1].pe_name, sum(grant.slots for grant in here.starts[-1].granted)) == ("", 6)
    here.end(job)
    [record] = here.records(job)
    assert (record.granted_pe, record.slots) == ("NONE", "6") and "-alloc $fill_up 6" in record


@pytest.mark.statement("AC-3", "QC-10")
def test_the_record_has_the_priority_of_the_queue_and_the_queues_of_the_master(tmp_path: Path) -> None:
    here = Cell(tmp_path)
    here.configure("cluster_queue", "all.q", priority="5", pe_list="mpi")
    job = here.submit(pe="mpi", pe_range="2", hard_queues=["all.q"], master_queues=["all.q@h2"], priority=-7)
    here.cycle()
    here.end(job)
    [record] = here.records(job)
    assert record.priority == "5" and "-q all.q -masterq all.q@h2 -pe mpi 2" in record


@pytest.mark.statement("RL-5", "CX-38", "QC-12")
def test_limits_that_are_job_consumables_and_processors_reach_the_host(tmp_path: Path) -> None:
    here = Cell(tmp_path)
    assert here.configure("cluster_queue", "all.q", processors="UNDEFINED,[h1=1-4]").status == 0
    here.submit(allocation_rule="$round_robin", pe_range="3")
    here.cycle()
    assert (here.starts[-1].per_job_limits, here.starts[-1].processors) == ([], {"all.q@h1": "1-4"})
    text = {**here.state.kind("complex")["h_vmem"], "consumable": "JOB"}
    assert here.add("complex", text.pop("name"), **text).status == 0
    here.submit(hard=["h_vmem=1G"])
    here.cycle()
    assert here.starts[-1].per_job_limits == ["h_vmem"]
