"""The usage of devices: from the report of a host into the record of a job, its listings and the reporting file (adr/0355)."""

import json
from pathlib import Path
from typing import Any

import pytest

from clients.render import json_records
from clients.render.accounting import full_record
from clients.render.job_detail import job_details
from gridengine.protocols.delivery import Ended, UsageReport
from gridengine.state.jobs import Usage
from gridengine.usage.accounting import WIDTH
from gridengine.usage.unit_usage import UnitUsage
from tests.harness import Cell
from tests.unit.qmaster.asking import read
from tests.unit.qmaster.test_resource_maps import add_complex, set_values, start

USED = UnitUsage("h1", "gpu", "0", 60.0, 0.5, 2.0**30, 3600.0, 50.0, identifier="GPU-a")
LINE = "gpu=h1=0 time=60s, utilisation=50.0%, maxmem=1.000GB, energy=0.001kWh"


@pytest.fixture
def cell(tmp_path: Path) -> Cell:
    """Two hosts with two GPUs each, a PE over both, and a reporting file."""
    made = Cell(tmp_path, 2)
    assert not add_complex(made)
    for host in made.names:
        assert not set_values(made, host, "gpu=2(0 1)")
    made.add("parallel_environment", "wide", allocation_rule="1", slots="9", control_slaves="TRUE", job_is_first_task="FALSE")
    made.configure("cluster_queue", "all.q", pe_list="wide")
    made.configure("configuration", "global", reporting_params="accounting=true reporting=true joblog=false")
    return made


def reported(cell: Cell) -> list[str]:
    """The lines about devices in the reporting file."""
    lines = (cell.directory / "reporting").read_text().splitlines()
    return [line.partition(":")[2] for line in lines if ":unit_usage:" in line]


def test_the_record_of_a_job_has_the_usage_of_its_devices_outside_of_the_line(cell: Cell) -> None:
    job = start(cell)
    cell.end(job, units=[USED])
    (record,) = cell.records(job)
    assert record.unit_usage == [USED]
    assert record.notes == {"resource map": "gpu=h1=(0)"}
    assert full_record(record).endswith(f"unit usage   {LINE}\n")
    (fields,) = json_records.accounting_records([record])["records"]
    assert fields["unit_usage"] == [
        {
            "host": "h1", "resource": "gpu", "unit": "0", "identifier": "GPU-a", "time_s": 60.0, "measured_s": 50.0,
            "utilisation": 0.5, "maxmem_bytes": 2**30, "energy_j": 3600.0, "shared": False,
        }
    ]
    (line,) = (cell.directory / "accounting").read_text().splitlines()[-1:]
    assert line.count(":") == WIDTH - 1 and "GPU-a" not in line


def test_a_record_without_devices_is_as_before(cell: Cell) -> None:
    job = start(cell, hard=[])
    cell.end(job)
    (record,) = cell.records(job)
    assert (len(record), record.unit_usage, reported(cell)) == (WIDTH, [], [])
    assert "unit usage" not in full_record(record)


def test_the_reporting_file_has_a_record_for_each_device(cell: Cell) -> None:
    job = start(cell)
    cell.end(job, units=[USED, UnitUsage("h1", "gpu", "1", 60.0, shared=True)])
    first, second = reported(cell)
    (record,) = cell.records(job)
    known = f"{record.submission_time}:{job}:0:NONE:sleep:alice:users:NONE:defaultdepartment:sge:0"
    times = f"{record.start_time}:{record.end_time}"
    figures = "60.000000:50.000000:0.500000:1073741824.000000:3600.000000:0"
    assert first == f"unit_usage:{known}:{times}:h1:gpu:0:GPU-a:{figures}"
    assert second == f"unit_usage:{known}:{times}:h1:gpu:1::60.000000:0.000000::::1"


def test_a_running_job_shows_the_usage_of_its_devices_so_far(cell: Cell) -> None:
    job = start(cell)
    (key,) = cell.running
    cell.report("h1", UsageReport(key, Usage(cpu=3.0, units=[USED])))
    data: Any = json.loads(json.dumps(read(cell, "status", job_detail={"jobs": [str(job)]}).data))
    (detail,) = data["job_detail"]["jobs"]
    assert f"unit usage    1:            {LINE}\n" in list(job_details([detail], True))
    (task,) = json_records.job_details(data["job_detail"])["jobs"][0]["tasks"]
    assert [each["utilisation"] for each in task["unit_usage"]] == [0.5]
    # a host that gives no report of the end: the usage so far counts
    assert cell.admin("delete_jobs", targets=[str(job)], force=True).status == 0
    assert cell.records(job)[0].unit_usage == [USED]


@pytest.mark.statement("PE-13")
@pytest.mark.parametrize("together", [True, False])
def test_devices_of_slave_tasks_are_in_the_record_that_has_their_usage(cell: Cell, together: bool) -> None:
    cell.configure("parallel_environment", "wide", accounting_summary=str(together).upper())
    job = start(cell, pe="wide", pe_range="2")
    (key,) = cell.running
    here = cell.running[key]
    there = next(name for name in cell.names if name != here)
    for _ in range(2):
        answer: Any = cell.ask("start_slave", "alice", "h1", job_id=job, host=there, command="hostname")
        cell.deliver()
        slave = tuple(answer.data["task"])
        used = Ended(slave, 0, 0, 0, "", cell.now, cell.now, {"cpu": 1.0}, [USED._replace(host=there)])  # type: ignore[arg-type]
        cell.report(cell.running.pop(slave), used)
    cell.end(job, units=[USED._replace(host=here)])
    found = {
        (record.pe_taskid == "NONE", each.host): each.seconds for record in cell.records(job) for each in record.unit_usage
    }
    assert found == {(True, here): 60.0, (together, there): 120.0 if together else 60.0}


def test_usage_of_a_master_whose_slaves_still_end_survives_a_restart(cell: Cell) -> None:
    job = start(cell, pe="wide", pe_range="2")
    (key,) = cell.running
    here = cell.running[key]
    there = next(name for name in cell.names if name != here)
    answer: Any = cell.ask("start_slave", "alice", "h1", job_id=job, host=there, command="hostname")
    cell.deliver()
    cell.end(job, units=[USED])
    assert cell.state.task(job, 1).master_end is not None  # type: ignore[union-attr]
    cell.restart()
    slave = tuple(answer.data["task"])
    cell.report(there, Ended(slave, 0, 0, 0, "", cell.now, cell.now))  # type: ignore[arg-type]
    assert [each for record in cell.records(job) for each in record.unit_usage] == [USED]
