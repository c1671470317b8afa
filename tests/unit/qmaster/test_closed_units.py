"""Units whose device fails or is gone: no job gets them, their jobs keep them, and they open again (adr/0345)."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest

from clients.qexplain import explanation_lines
from clients.render import json_records
from clients.render.job_detail import job_details
from daemons.qmaster.serve.hosts.host_log import HostLog
from gridengine.mail import Mail
from gridengine.placement.explanation import explanation
from gridengine.protocols.delivery import Load
from gridengine.protocols.devices import Device
from tests.harness import LOAD, Cell
from tests.unit.qmaster.asking import read
from tests.unit.qmaster.test_resource_maps import add_complex, set_values, start, units

HEALTHY = [Device("nvidia", 0, "GPU-a"), Device("nvidia", 1, "GPU-b")]
FAILING = [Device("nvidia", 0, "GPU-a", fault="2 uncorrectable memory errors"), HEALTHY[1]]
CLOSED = "2 uncorrectable memory errors"


@pytest.fixture
def cell(tmp_path: Path) -> Cell:
    """One host with four slots and two GPUs of known identifiers."""
    made = Cell(tmp_path, 1)
    assert not add_complex(made)
    assert not set_values(made, "h1", "gpu=2(0 1)")
    set_units(made, "gpu/0(identifier=GPU-a) gpu/1(identifier=GPU-b)")
    report(made, HEALTHY)
    return made


def set_units(cell: Cell, text: str) -> None:
    """The properties of the units of the host."""
    known = cell.state.has("host_units", "h1")
    answer = (cell.configure if known else cell.add)("host_units", "h1", units=text)
    assert not answer.status, answer.answers


def report(cell: Cell, devices: list[Device] | None, fault: str = "") -> None:
    cell.report("h1", Load(cell.now, dict(LOAD), devices=devices, device_fault=fault))


def closed(cell: Cell) -> dict[str, dict[str, str]]:
    return cell.state.hosts["h1"].closed_units


def test_no_job_gets_a_unit_whose_device_fails_until_it_is_healthy(cell: Cell) -> None:
    report(cell, FAILING)
    one, other = start(cell), start(cell)
    assert units(cell, one) == [("h1", "gpu", ["1"])]
    assert not cell.state.jobs[other].tasks, "one GPU is left"
    causes = explanation(cell.state, cell.state.jobs[other], cell.now).causes
    assert any(f"0 is closed: {CLOSED}" in str(cause) for cause in causes), causes
    report(cell, HEALTHY)
    cell.cycle()
    assert units(cell, other) == [("h1", "gpu", ["0"])]


def test_a_job_keeps_its_unit_which_is_closed_after_its_end(cell: Cell) -> None:
    job = start(cell)
    assert units(cell, job) == [("h1", "gpu", ["0"])]
    report(cell, FAILING)
    both = start(cell, hard=["gpu=2"])
    assert units(cell, start(cell)) == [("h1", "gpu", ["1"])]
    cell.end(job)
    waits = start(cell)
    assert not cell.state.jobs[waits].tasks
    report(cell, HEALTHY)
    cell.cycle()
    assert not cell.state.jobs[both].tasks
    assert units(cell, waits) == [("h1", "gpu", ["0"])]


def test_a_device_that_is_gone_or_cannot_be_read_closes_its_unit(cell: Cell) -> None:
    report(cell, HEALTHY[1:])
    assert closed(cell) == {"gpu": {"0": "its host finds no device GPU-a"}}
    report(cell, HEALTHY, "nvidia-smi ended with status 9")
    assert closed(cell) == {"gpu": {"0": "nvidia-smi ended with status 9", "1": "nvidia-smi ended with status 9"}}
    report(cell, None)
    assert len(closed(cell)["gpu"]) == 2, "no news"
    report(cell, HEALTHY)
    assert closed(cell) == {}


def test_each_share_of_a_closed_unit_is_closed(cell: Cell) -> None:
    assert not set_values(cell, "h1", "gpu=6(0:4 1:2)")
    job = start(cell)
    report(cell, FAILING)
    assert units(cell, start(cell, hard=["gpu=2"])) == [("h1", "gpu", ["1", "1"])]
    assert not cell.state.jobs[start(cell)].tasks
    cell.end(job)
    assert not cell.state.jobs[start(cell)].tasks


def test_a_change_of_the_configuration_closes_and_opens_with_the_next_report(cell: Cell) -> None:
    report(cell, FAILING)
    set_units(cell, "gpu/0(identifier=GPU-b) gpu/1(identifier=GPU-a)")
    report(cell, None)
    assert closed(cell) == {"gpu": {"1": CLOSED}}
    assert not set_values(cell, "h1", "gpu=1(0)")
    assert units(cell, start(cell)) == [("h1", "gpu", ["0"])]
    assert cell.admin("config_delete", kind="host_units", name="h1").status == 0
    report(cell, None)
    assert closed(cell) == {"gpu": {"0": CLOSED}}, "without properties the number of the device is the name"


def test_closed_units_survive_a_restart_and_go_with_their_host(cell: Cell) -> None:
    report(cell, FAILING)
    cell.restart()
    report(cell, FAILING)
    assert units(cell, start(cell)) == [("h1", "gpu", ["1"])]
    assert not cell.state.jobs[start(cell)].tasks


def test_administrators_and_owners_get_mail(cell: Cell) -> None:
    cell.configure("configuration", "global", administrator_mail="root@example.org")
    start(cell, mail_options="a", mail_list=["alice@example.org"])
    posted: list[Mail] = []
    cell.master.post = posted.extend
    report(cell, FAILING)
    report(cell, FAILING)
    texts = [(mail.recipients, mail.subject, mail.body) for mail in posted]
    assert [subject for _, subject, _ in texts] == ['Host "h1" closes units', "Job 1 (sleep) has a unit that fails"], texts
    assert all(CLOSED in body for *_, body in texts)


def test_a_running_job_shows_its_closed_unit_until_it_opens(cell: Cell) -> None:
    def shown() -> tuple[str, Any]:
        data: Any = read(cell, "status", job_detail={"jobs": ["1"]}).data["job_detail"]
        (task,) = json_records.job_details(data)["jobs"][0]["tasks"]
        lines = [line for line in "".join(job_details(data["jobs"], True)).splitlines() if line.startswith("closed unit")]
        return "".join(lines), task["closed_units"]

    def explained() -> str:
        data: Any = read(cell, "explain_job", jobs=["1"]).data
        return "".join(explanation_lines(data["jobs"][0]))

    assert start(cell) == 1 and shown() == ("", [])
    report(cell, FAILING)
    assert shown() == (
        f"closed unit   1:            gpu=h1=(0): {CLOSED}",
        [{"host": "h1", "name": "gpu", "unit": "0", "reason": CLOSED}],
    )
    assert f"gpu/0 of host h1, which it has, is closed: {CLOSED}" in explained()
    report(cell, HEALTHY)
    assert shown() == ("", []) and "closed" not in explained()


def test_the_log_names_the_job_that_has_a_closed_unit(cell: Cell, caplog: pytest.LogCaptureFixture) -> None:
    log = HostLog(cell.master)
    start(cell)
    with caplog.at_level(logging.WARNING, HostLog.__module__):
        report(cell, FAILING)
        report(cell, [HEALTHY[0]])
        report(cell, HEALTHY)
    assert log and [record.getMessage() for record in caplog.records] == [
        f"gpu/0 of host h1 is closed: {CLOSED}; no job gets it; it stays with job 1",
        "gpu/1 of host h1 is closed: its host finds no device GPU-b; no job gets it",
        "gpu/0 of host h1 is open again",
        "gpu/1 of host h1 is open again",
    ]


def test_a_slice_without_an_identifier_is_closed_with_its_unit(cell: Cell) -> None:
    assert not set_values(cell, "h1", "gpu=2(0.0 1)")
    set_units(cell, "gpu/0(identifier=GPU-a) gpu/0.0(parent=0) gpu/1(identifier=GPU-b)")
    report(cell, FAILING)
    assert closed(cell) == {"gpu": {"0": CLOSED, "0.0": CLOSED}}
    assert units(cell, start(cell)) == [("h1", "gpu", ["1"])]
    assert not cell.state.jobs[start(cell)].tasks
