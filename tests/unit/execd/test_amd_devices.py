"""AMD's GPUs by the files of the kernel, in a false tree; short names of models."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from daemons.execd.devices.devices import read_devices, read_usage
from daemons.execd.devices.pci import short_model


@pytest.fixture(autouse=True)
def without_nvidia(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)
    monkeypatch.setenv("PATH", str(tmp_path))


def put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{text}\n")


def add_gpu(root: Path, node: int, minor: int, unique: str) -> Path:
    """A GPU of a host; the directory of its device."""
    nodes = root / "sys/class/kfd/kfd/topology/nodes"
    put(nodes / str(node) / "gpu_id", str(1000 + node))
    put(nodes / str(node) / "properties", f"simd_count 1216\ndrm_render_minor {minor}\nunique_id 1")
    device = root / f"sys/class/drm/renderD{minor}/device"
    put(device / "unique_id", unique)
    put(device / "product_name", "AMD Instinct MI300X")
    put(device / "mem_info_vram_total", str(192 * 2**30))
    put(device / "mem_info_vram_used", "4096")
    put(device / "numa_node", "0")
    put(device / "local_cpulist", "0-63")
    return device


def test_gpus_are_the_nodes_of_kfd_that_are_no_processors(tmp_path: Path) -> None:
    put(tmp_path / "sys/class/kfd/kfd/topology/nodes/0/gpu_id", "0")
    add_gpu(tmp_path, 2, 129, "cafe")
    add_gpu(tmp_path, 10, 130, "beef")
    put(tmp_path / "sys/class/kfd/kfd/topology/nodes/2/io_links/0/properties", "type 2\nnode_from 2\nnode_to 0")
    put(tmp_path / "sys/class/kfd/kfd/topology/nodes/2/io_links/1/properties", "type 11\nnode_from 2\nnode_to 10")
    one, other = read_devices(tmp_path)
    assert (one.vendor, one.unit, one.identifier, one.model, one.memory) == ("amd", "0", "GPU-cafe", "mi300x", 192 * 2**30)
    assert one.device_files == ("/dev/kfd", "/dev/dri/renderD129")
    assert (one.numa_node, one.cores, one.links, one.fault, one.ecc_errors) == (0, "0-63", ("GPU-beef",), "", -1)
    assert (other.unit, other.links) == ("1", ())


def test_uncorrectable_errors_of_any_block_are_a_fault(tmp_path: Path) -> None:
    device = add_gpu(tmp_path, 1, 128, "cafe")
    put(device / "ras/umc_err_count", "ue: 1\nce: 9")
    put(device / "ras/gfx_err_count", "ue: 2\nce: 0")
    [gpu] = read_devices(tmp_path)
    assert (gpu.fault, gpu.ecc_errors) == ("3 uncorrectable memory errors", 3)


def test_use_has_the_processes_of_kfd(tmp_path: Path) -> None:
    device = add_gpu(tmp_path, 1, 128, "cafe")
    put(device / "gpu_busy_percent", "50")
    put(device / "hwmon/hwmon3/energy1_input", "7000000")
    put(tmp_path / "sys/class/kfd/kfd/proc/77/vram_1001", "1234")
    put(tmp_path / "sys/class/kfd/kfd/proc/78/vram_9", "1234")
    [usage] = read_usage(tmp_path)
    assert (usage.utilisation, usage.memory, usage.energy, usage.processes) == (0.5, 4096, 7.0, {77: 1234})


def test_a_host_without_drivers_has_no_devices(tmp_path: Path) -> None:
    assert read_devices(tmp_path) == []
    assert read_usage(tmp_path) == []


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("NVIDIA H100 80GB HBM3", "h100"),
        ("NVIDIA A100-SXM4-40GB", "a100-sxm4-40gb"),
        ("Tesla V100-SXM2-16GB", "v100-sxm2-16gb"),
        ("NVIDIA GeForce RTX 4090", "rtx4090"),
        ("NVIDIA RTX A6000", "a6000"),
        ("NVIDIA L40S", "l40s"),
        ("NVIDIA GH200 480GB", "gh200"),
        ("AMD Instinct MI250X / MI250", "mi250x"),
        ("AMD Instinct MI300X", "mi300x"),
        ("", "gpu"),
    ],
)
def test_models_have_short_names(name: str, model: str) -> None:
    assert short_model(name) == model.partition("-")[0]
