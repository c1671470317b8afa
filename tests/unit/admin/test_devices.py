"""`gridengine devices`: GPUs that hosts have found become units with properties (adr/0345)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from clients.admin.device_plan import is_to_configure, planned_units, planned_values
from gridengine.protocols.delivery import Load
from gridengine.protocols.devices import Device
from tests.harness import LOAD, Cell
from tests.unit.admin.administrator import Administrator
from tests.unit.qmaster.asking import read

GB = 2**30
WHOLE = Device("nvidia", 0, "GPU-a", "h100", 80 * GB - 5, ("/dev/nvidia0",), 0, "0-15", links=("GPU-b",))
PARENT = Device("nvidia", 1, "GPU-b", "a100", 40 * GB, ("/dev/nvidia1",), 1, divided=True, links=("GPU-a",))
FILES = ("/dev/nvidia1", "/dev/nvidia-caps/nvidia-cap9")
SLICE = Device("nvidia", 0, "MIG-1", "a100-1g.5gb", 5 * GB - 7, FILES, 1, "", "GPU-b", 1)
MAP = "gpu=2(0 1.0)"
UNITS = (
    "gpu/0(gpu_mem=80G gpu_type=h100 device_files=/dev/nvidia0 numa_node=0 cores=0-15 identifier=GPU-a links=1) "
    "gpu/1(gpu_mem=40G gpu_type=a100 device_files=/dev/nvidia1 numa_node=1 identifier=GPU-b links=0) "
    "gpu/1.0(gpu_mem=5G gpu_type=a100-1g.5gb device_files=/dev/nvidia1,/dev/nvidia-caps/nvidia-cap9 numa_node=1 parent=1 "
    "identifier=MIG-1)"
)


@pytest.fixture
def cell(tmp_path: Path) -> Cell:
    """Two hosts, of which the first has found GPUs."""
    made = Cell(tmp_path, 2)
    report(made, WHOLE, PARENT, SLICE)
    return made


def report(cell: Cell, *devices: Device) -> None:
    cell.report("h1", Load(cell.now, dict(LOAD), devices=list(devices)))


@pytest.fixture
def admin(
    cell: Cell, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Administrator:
    monkeypatch.setattr("clients.admin.devices.read_cell", lambda files: files)
    monkeypatch.setattr("clients.admin.devices.cell_of_environment", lambda root, name: type("C", (), {"files": None}))
    monkeypatch.setattr("clients.admin.devices.select_cell", lambda files: None)
    return Administrator(cell, "devices", capsys, monkeypatch)


def test_found_devices_are_shown_and_applied_once(admin: Administrator) -> None:
    status, output = admin()
    assert status == 0
    assert "1.0   a100-1g.5gb  5.0G    1     -           MIG-1       ok" in output
    assert "divided" in output
    assert f"complex_values {MAP}" in output and "gridengine devices h1 --apply" in output
    status, output = admin("--apply")
    assert status == 0, output
    state = admin.cell.state
    assert state.kind("exec_host")["h1"]["complex_values"] == MAP
    assert state.kind("host_units")["h1"]["units"] == UNITS
    types = {name: (state.complexes[name].type, state.complexes[name].consumable) for name in ("gpu", "gpu_mem", "gpu_type")}
    assert types == {"gpu": ("RSMAP", "YES"), "gpu_mem": ("MEMORY", "NO"), "gpu_type": ("RESTRING", "NO")}
    assert "configured already" in admin("h1", "--apply")[1]
    assert "--apply" not in admin()[1]


def test_counted_gpus_become_named_ones_and_other_values_stay(admin: Administrator) -> None:
    cell = admin.cell
    cell.add("complex", "gpu", shortcut="gpu", type="INT", relop="<=", consumable="JOB")
    cell.configure("exec_host", "h1", complex_values="slots=4,gpu=2")
    assert admin("--apply", "--shares", 4)[0] == 0
    assert cell.state.kind("exec_host")["h1"]["complex_values"] == "slots=4,gpu=8(0:4 1.0:4)"
    assert (cell.state.complexes["gpu"].type, cell.state.complexes["gpu"].consumable) == ("RSMAP", "JOB")
    report(cell, WHOLE)
    assert admin("--apply")[0] == 0
    assert cell.state.kind("exec_host")["h1"]["complex_values"] == "slots=4,gpu=4(0:4)", "shares stay as they are"
    assert admin("--apply", "--shares", 0)[0] != 0
    assert admin("--apply", "--shares", 1)[0] == 0
    assert cell.state.kind("exec_host")["h1"]["complex_values"] == "slots=4,gpu=1(0)"


def test_the_state_of_devices_is_json_too(admin: Administrator) -> None:
    admin("--apply")
    report(admin.cell, WHOLE)
    [row] = json.loads(admin("--json")[1])
    assert row["closed"] == {"gpu": {"1": "its host finds no device GPU-b", "1.0": "its host finds no device MIG-1"}}
    assert (row["planned_values"], row["devices"][0]["model"]) == ("gpu=1(0)", "h100")
    assert "1.0  closed: its host finds no device MIG-1" in admin()[1]


def test_a_host_without_devices_is_refused(admin: Administrator) -> None:
    assert admin("h2", "--apply") == (1, "gridengine: h2: no GPU is known there now; nothing was changed\n")
    assert admin("h7")[0] == 1
    assert admin.cell.add("complex", "gpu", shortcut="gpu").status == 0
    assert 'the complex "gpu" is no consumable' in admin("h1", "--apply")[1]


def test_further_properties_of_units_stay() -> None:
    row = {
        "devices": [{"unit": "0", "vendor": "nvidia", "index": 0, "identifier": "GPU-a", "model": "h100"}],
        "complex_values": "gpu=1(0)",
        "units": "nic/m0(numa_node=1) gpu/0(owner=me gpu_type=old) gpu/9()",
    }
    assert planned_units(row) == "nic/m0(numa_node=1) gpu/0(owner=me gpu_type=h100 identifier=GPU-a)"
    assert planned_values(row) == "gpu=1(0)"
    assert is_to_configure(row)
    assert not is_to_configure(row | {"units": planned_units(row)})


def test_the_template_of_hosts_has_no_devices(cell: Cell) -> None:
    answer = read(cell, "devices", hosts=["template"])
    assert (answer.status, answer.answers) == (1, [("error", '"template" is not known as execution host')])
    assert read(cell, "devices", hosts=["h2"]).data["hosts"][0]["devices"] == []
