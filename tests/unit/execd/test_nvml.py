"""NVIDIA's GPUs by NVML: a false library of the same interface, with whole and divided GPUs and with errors."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from daemons.execd.devices.devices import DeviceReadError, read_devices, read_usage
from daemons.execd.devices.nvml import Nvml
from tests.tidy.sources import ROOT

GB = 2**30
GPU: dict[str, Any] = {
    "uuid": "GPU-a",
    "name": "NVIDIA H100 80GB HBM3",
    "memory": 80 * GB,
    "used": GB,
    "minor": 4,
    "bus": "00000000:3B:00.0",
    "links": [],
    "util": 37,
    "energy": 5_000_000,
    "ecc": 0,
    "rows": [0, 0, 0, 0],
    "processes": {"4711": 2 * GB},
}
SLICE = {"uuid": "MIG-1", "name": "NVIDIA A100 MIG 1g.5gb", "memory": 5 * GB, "used": 7, "gi": 9, "ci": 0, "processes": {"12": 3}}

Write = Callable[..., None]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Writes what the false library shows."""
    monkeypatch.syspath_prepend(str(ROOT / "tests/data/false_nvml"))
    monkeypatch.delitem(sys.modules, "pynvml", raising=False)
    monkeypatch.setenv("FALSE_NVML", str(tmp_path / "nvml.json"))
    monkeypatch.setenv("PATH", str(tmp_path))  # no nvidia-smi

    def write(*gpus: dict[str, Any]) -> None:
        (tmp_path / "nvml.json").write_text(json.dumps(gpus))

    return write


def test_a_gpu_is_described_with_its_file_and_place(tmp_path: Path, write: Write) -> None:
    place = tmp_path / "sys/bus/pci/devices/0000:3b:00.0"
    place.mkdir(parents=True)
    (place / "numa_node").write_text("1\n")
    (place / "local_cpulist").write_text("16-31\n")
    write(GPU | {"links": [1]}, GPU | {"uuid": "GPU-b", "links": [0], "bus": "00000000:5E:00.0"})
    one, other = read_devices(tmp_path)
    assert (one.unit, one.identifier, one.model, one.memory) == ("0", "GPU-a", "h100", 80 * GB)
    assert (one.device_files, one.numa_node, one.cores, one.links) == (("/dev/nvidia4",), 1, "16-31", ("GPU-b",))
    assert (one.fault, one.ecc_errors, one.divided) == ("", 0, False)
    assert (other.unit, other.numa_node, other.cores, other.links) == ("1", -1, "", ("GPU-a",))


def test_slices_follow_their_gpu_with_the_files_of_their_capabilities(tmp_path: Path, write: Write) -> None:
    instance = tmp_path / "proc/driver/nvidia/capabilities/gpu4/mig/gi9"
    (instance / "ci0").mkdir(parents=True)
    (instance / "access").write_text("DeviceFileMinor: 84\nDeviceFileMode: 292\n")
    (instance / "ci0/access").write_text("DeviceFileMinor: 85\nDeviceFileMode: 292\n")
    write(GPU | {"name": "NVIDIA A100-SXM4-40GB", "slices": [SLICE, SLICE | {"uuid": "MIG-2", "gi": 10}]})
    gpu, one, other = read_devices(tmp_path)
    assert (gpu.divided, gpu.parent, gpu.model) == (True, "", "a100")
    assert (one.unit, one.identifier, one.model, one.parent, one.memory) == ("0.0", "MIG-1", "a100-1g.5gb", "GPU-a", 5 * GB)
    assert one.device_files == ("/dev/nvidia4", "/dev/nvidia-caps/nvidia-cap84", "/dev/nvidia-caps/nvidia-cap85")
    assert (other.unit, other.device_files) == ("0.1", ("/dev/nvidia4",)), "an instance without files in /proc"


def test_use_has_utilisation_memory_energy_and_processes(tmp_path: Path, write: Write) -> None:
    write(GPU | {"slices": [SLICE]})
    gpu, piece = read_usage(tmp_path)
    assert (gpu.identifier, gpu.utilisation, gpu.memory, gpu.energy) == ("GPU-a", 0.37, GB, 5000.0)
    assert gpu.processes == {4711: 2 * GB}
    assert (piece.identifier, piece.utilisation, piece.memory, piece.energy, piece.processes) == ("MIG-1", -1, 7, -1, {12: 3})


@pytest.mark.parametrize(
    ("state", "fault"),
    [
        ({"ecc": 2}, "2 uncorrectable memory errors"),
        ({"rows": [0, 1, 1, 0]}, "rows of its memory are remapped by the next reset"),
        ({"rows": [0, 1, 0, 1]}, "rows of its memory cannot be remapped"),
        ({"xids": [31, 79]}, "critical errors (XID 79)"),
        ({"xids": [31, 13]}, ""),
        ({"lost": True}, "the driver cannot open it: GPU is lost"),
    ],
)
def test_a_gpu_that_fails_has_a_fault(state: dict[str, Any], fault: str, tmp_path: Path, write: Write) -> None:
    write(GPU | state, GPU | {"uuid": "GPU-b"})
    one, other = read_devices(tmp_path)
    assert (one.fault, other.fault) == (fault, "")


def test_a_reset_ends_the_fault_of_critical_errors(tmp_path: Path, write: Write) -> None:
    write(GPU | {"xids": [79]})
    reader = Nvml(tmp_path)
    assert reader.devices()[0].xid_errors == 1
    assert reader.devices()[0].fault == "critical errors (XID 79)", "it lasts"
    write(GPU | {"xids": [79], "energy": 10})
    assert (reader.devices()[0].fault, reader.devices()[0].xid_errors) == ("", 0)


def test_values_that_a_gpu_does_not_support_are_unknown(tmp_path: Path, write: Write) -> None:
    write({name: GPU[name] for name in ("uuid", "name", "memory", "used")})
    [gpu], [usage] = read_devices(tmp_path), read_usage(tmp_path)
    assert (gpu.device_files, gpu.ecc_errors, gpu.fault, gpu.links) == (("/dev/nvidia0",), -1, "", ())
    assert (usage.utilisation, usage.energy, usage.processes) == (-1, -1, {})


def test_a_driver_that_is_missing_is_no_fault_and_one_that_is_broken_is(tmp_path: Path, write: Write) -> None:
    (tmp_path / "nvml.json").write_text('{"error": 9}')
    assert read_devices(tmp_path) == []
    (tmp_path / "nvml.json").write_text('{"error": 18}')
    with pytest.raises(DeviceReadError, match="NVML cannot be used: Driver/library version mismatch"):
        read_devices(tmp_path)
