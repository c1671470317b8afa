"""Named units as commands and records show them: free units, units of a task, and owners of units for which a job waits."""

import json
from pathlib import Path
from typing import Any

import pytest

from clients.render import json_records
from clients.render.accounting import full_record
from clients.render.job_detail import job_details
from clients.render.xml_job_detail import detailed_jobs
from tests.harness import Cell
from tests.unit.qmaster.asking import read
from tests.unit.qmaster.test_resource_maps import add_complex, set_values, start


@pytest.fixture
def cell(tmp_path: Path) -> Cell:
    """Three GPUs on the first host, two seats of the cluster."""
    made = Cell(tmp_path, 2)
    assert not add_complex(made) and not add_complex(made, name="seat")
    assert not set_values(made, "h1", "gpu=3(0-2)") and not set_values(made, "global", "seat=2(red blue:1)")
    return made


def free(cell: Cell, name: str = "gpu") -> tuple[list[list[str]], list[list[str]]]:
    """Rows of qstat -F of all.q@h1, and of qhost -F of h1."""
    data: Any = read(cell, "status", queues={"resources": [name]}, hosts={"resources": [name]}).data
    instance = next(row for row in data["queues"] if row["name"] == "all.q@h1")
    host = next(row for row in data["hosts"] if row["name"] == "h1")
    return instance["resources"], host["resources"]


def detail(cell: Cell, job: int) -> dict[str, Any]:
    data: Any = json.loads(json.dumps(read(cell, "status", job_detail={"jobs": [str(job)]}).data))
    found: dict[str, Any] = data["job_detail"]["jobs"][0]
    return found


def test_the_free_units_are_listed_with_their_number(cell: Cell) -> None:
    assert free(cell) == ([["hc", "gpu", "3(0-2)"]], [["hc", "gpu", "3(0-2)"]])
    start(cell)
    assert free(cell) == ([["hc", "gpu", "2(1 2)"]], [["hc", "gpu", "2(1 2)"]])
    start(cell, hard=["gpu=2"])
    assert free(cell) == ([["hc", "gpu", "0"]], [["hc", "gpu", "0"]])
    start(cell, hard=["seat=1"])
    assert free(cell, "seat")[0] == [["gc", "seat", "1(blue)"]]


def test_units_beyond_the_amount_are_not_hidden_when_too_many_are_in_use(cell: Cell) -> None:
    start(cell, hard=["gpu=3"])
    assert not set_values(cell, "h1", "gpu=2(2 3)")
    assert free(cell)[0] == [["hc", "gpu", "-1(3)"]]


def test_qstat_shows_the_units_of_a_job(cell: Cell) -> None:
    job = detail(cell, start(cell, hard=["gpu=2", "seat=1"]))
    (line,) = [line for line in "".join(job_details([job], True)).splitlines() if line.startswith("resource map")]
    assert line == "resource map  1:            gpu=h1=(0 1), seat=h1=(red)"
    xml = "".join(detailed_jobs({"jobs": [job], "unknown": [], "note": ""}))
    granted = xml.partition("<JAT_granted_resources_list>")[2].partition("</JAT_granted_resources_list>")[0]
    assert "<GRU_host>h1</GRU_host>" in granted and "<GRU_value>0 1</GRU_value>" in granted
    (task,) = json_records.job_details({"jobs": [job], "unknown": [], "note": ""})["jobs"][0]["tasks"]
    assert task["units"] == [{"host": "h1", "name": "gpu", "units": ["0", "1"]}, {"host": "h1", "name": "seat", "units": ["red"]}]


def test_a_job_without_units_is_shown_as_before(cell: Cell) -> None:
    job = detail(cell, start(cell, hard=[]))
    assert "resource map" not in "".join(job_details([job], True))
    assert "JAT_granted_resources_list" not in "".join(detailed_jobs({"jobs": [job], "unknown": [], "note": ""}))


def test_the_record_of_a_job_names_its_units_outside_of_the_line(cell: Cell) -> None:
    job = start(cell, hard=["gpu=2"])
    cell.end(job)
    (record,) = cell.records(job)
    assert record.notes == {"resource map": "gpu=h1=(0 1)"}
    assert "resource map gpu=h1=(0 1)\n" in full_record(record)
    assert "(0 1)" not in (cell.directory / "accounting").read_text()


def explained(cell: Cell, job: int) -> list[dict[str, Any]]:
    data: Any = json.loads(json.dumps(read(cell, "explain_job", jobs=[str(job)]).data, default=str))
    causes: list[dict[str, Any]] = data["jobs"][0]["causes"]
    return causes


def test_the_explanation_of_a_waiting_job_names_the_jobs_that_have_the_units(cell: Cell) -> None:
    first, second = start(cell, hard=["gpu=2"]), start(cell)
    waiting = start(cell)
    (cause,) = explained(cell, waiting)
    whole = f'host "h1", gpu: 3 of 3 in use (0 by job {first}, 1 by job {first}, 2 by job {second})'
    assert whole in cause["reasons"]
    assert cause["holders"][0].startswith(f"job {first} of alice has gpu=2(0 1) ")
    assert cell.admin("delete_jobs", targets=[str(first)], force=True).status == 0
    (cause,) = explained(cell, waiting)
    held = f"0 by job {first}, which its host has still to end, 1 by job {first}, which its host has still to end"
    assert f'host "h1", gpu: 3 of 3 in use (2 by job {second}, {held})' in cause["reasons"]


def test_units_of_the_cluster_are_explained_too(cell: Cell) -> None:
    first, second = (start(cell, hard=["seat=1"], hard_queues=[f"*@{host}"]) for host in ("h1", "h2"))
    (cause,) = explained(cell, start(cell, hard=["seat=1"]))
    assert cause["reasons"][0] == f"the cluster, seat: 2 of 2 in use (red by job {first}, blue by job {second})"
