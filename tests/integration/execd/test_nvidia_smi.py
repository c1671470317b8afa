"""NVIDIA's GPUs by a false program `nvidia-smi`, and the program that prints the devices of a host."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from daemons.execd.devices.devices import DeviceReadError, open_readers, read_all, read_devices, read_usage
from gridengine.protocols.devices import PROGRAM, decode

LOG = """<?xml version="1.0" ?>
<nvidia_smi_log>
  <driver_version>550.54.15</driver_version>
  <gpu id="00000000:07:00.0">
    <product_name>NVIDIA A100-SXM4-40GB</product_name>
    <mig_mode><current_mig>Enabled</current_mig><pending_mig>Enabled</pending_mig></mig_mode>
    <mig_devices>
      <mig_device>
        <index>0</index><gpu_instance_id>9</gpu_instance_id><compute_instance_id>0</compute_instance_id>
        <device_attributes><shared><gpu_instance_slice_count>1</gpu_instance_slice_count></shared></device_attributes>
        <fb_memory_usage><total>4864 MiB</total><used>12 MiB</used></fb_memory_usage>
      </mig_device>
    </mig_devices>
    <uuid>GPU-a</uuid>
    <minor_number>3</minor_number>
    <fb_memory_usage><total>40960 MiB</total><used>13 MiB</used></fb_memory_usage>
    <utilization><gpu_util>N/A</gpu_util></utilization>
    <ecc_errors><volatile><sram_uncorrectable>0</sram_uncorrectable><dram_uncorrectable>0</dram_uncorrectable></volatile></ecc_errors>
    <processes>
      <process_info><gpu_instance_id>9</gpu_instance_id><compute_instance_id>0</compute_instance_id><pid>5</pid>
        <used_memory>10 MiB</used_memory></process_info>
    </processes>
  </gpu>
  <gpu id="00000000:0F:00.0">
    <product_name>NVIDIA A100-SXM4-40GB</product_name>
    <mig_mode><current_mig>Disabled</current_mig></mig_mode>
    <mig_devices>None</mig_devices>
    <uuid>GPU-b</uuid>
    <minor_number>1</minor_number>
    <fb_memory_usage><total>40960 MiB</total><used>100 MiB</used></fb_memory_usage>
    <utilization><gpu_util>80 %</gpu_util></utilization>
    <ecc_errors><volatile><sram_uncorrectable>0</sram_uncorrectable><dram_uncorrectable>1</dram_uncorrectable></volatile></ecc_errors>
    <remapped_rows><remapped_row_pending>No</remapped_row_pending><remapped_row_failure>No</remapped_row_failure></remapped_rows>
    <processes><process_info><pid>6</pid><used_memory>90 MiB</used_memory></process_info></processes>
  </gpu>
</nvidia_smi_log>
"""
LIST = "GPU 0: A100 (UUID: GPU-a)\n  MIG 1g.5gb     Device  0: (UUID: MIG-1)\nGPU 1: A100 (UUID: GPU-b)\n"
MB = 2**20


def put_program(directory: Path, script: str) -> None:
    (directory / "nvidia-smi").write_text(f"#!/bin/sh\n{script}\n")
    (directory / "nvidia-smi").chmod(0o755)


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with the program; Python has no library."""
    monkeypatch.setitem(sys.modules, "pynvml", None)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    (tmp_path / "log").write_text(LOG)
    (tmp_path / "list").write_text(LIST)
    put_program(tmp_path, f'case "$1" in -L) cat {tmp_path}/list ;; -q) cat {tmp_path}/log ;; esac')
    return tmp_path


@pytest.mark.usefixtures("program")
def test_gpus_and_slices_are_read_from_the_program(tmp_path: Path) -> None:
    gpu, piece, other = read_devices(tmp_path)
    assert (gpu.unit, gpu.identifier, gpu.model, gpu.divided, gpu.device_files) == ("0", "GPU-a", "a100", True, ("/dev/nvidia3",))
    assert (piece.unit, piece.identifier, piece.model, piece.parent) == ("0.0", "MIG-1", "a100-1g.5gb", "GPU-a")
    assert (piece.memory, piece.fault) == (4864 * MB, "")
    assert (other.unit, other.memory, other.fault, other.ecc_errors) == ("1", 40960 * MB, "1 uncorrectable memory errors", 1)


@pytest.mark.usefixtures("program")
def test_use_is_read_from_the_program(tmp_path: Path) -> None:
    gpu, piece, other = read_usage(tmp_path)
    assert (gpu.utilisation, gpu.memory, gpu.processes) == (-1, 13 * MB, {5: 10 * MB})
    assert (piece.identifier, piece.memory, piece.processes) == ("MIG-1", 12 * MB, {5: 10 * MB})
    assert (other.utilisation, other.energy, other.processes) == (0.8, -1, {6: 90 * MB})


def test_a_reading_runs_the_program_once_for_devices_and_use(program: Path) -> None:
    put_program(program, f'echo "$1" >> {program}/runs; case "$1" in -L) cat {program}/list ;; -q) cat {program}/log ;; esac')
    with open_readers(program) as readers:
        for _ in range(2):
            reading = read_all(readers)
            assert len(reading.devices) == len(reading.usage) == 3
    assert (program / "runs").read_text().split() == ["-q", "-L"] * 2


def test_a_program_that_fails_is_a_fault_and_no_devices_are_none(program: Path) -> None:
    put_program(program, "echo No devices were found; exit 6")
    assert read_devices(program) == []
    put_program(program, "echo NVIDIA-SMI has failed; exit 9")
    with pytest.raises(DeviceReadError, match="nvidia-smi ended with status 9: NVIDIA-SMI has failed"):
        read_devices(program)
    put_program(program, "echo hello")
    with pytest.raises(DeviceReadError, match="printed no XML"):
        read_devices(program)


def read_once(root: Path, **environment: str) -> bytes:
    command = [sys.executable, "-m", PROGRAM, "--root", str(root)]
    done = subprocess.run(command, capture_output=True, env={**os.environ, **environment}, timeout=60)
    assert (done.returncode, done.stderr) == (0, b"")
    return done.stdout


def test_the_program_of_the_host_prints_a_line(tmp_path: Path, program: Path) -> None:
    # a directory without the library hides one that is installed
    (tmp_path / "hidden").mkdir()
    (tmp_path / "hidden/pynvml.py").write_text("raise ImportError")
    line = read_once(tmp_path, PYTHONPATH=str(tmp_path / "hidden"))
    assert line.count(b"\n") == 1
    reading = decode(line)
    assert [each.unit for each in reading.devices] == ["0", "0.0", "1"]
    assert [each.identifier for each in reading.usage] == ["GPU-a", "MIG-1", "GPU-b"]
    put_program(program, "exit 9")
    assert decode(read_once(tmp_path, PYTHONPATH=str(tmp_path / "hidden"))).fault.startswith("nvidia-smi ended with status 9")


@pytest.mark.usefixtures("program")
def test_the_program_prints_a_line_for_each_line_of_its_input(tmp_path: Path) -> None:
    (tmp_path / "hidden").mkdir()
    (tmp_path / "hidden/pynvml.py").write_text("raise ImportError")
    command = [sys.executable, "-m", PROGRAM, "--root", str(tmp_path), "--follow"]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "hidden")}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment) as reader:
        assert reader.stdin is not None and reader.stdout is not None
        for script, fault in (("exit 9", "nvidia-smi ended with status 9: "), (f"cat {tmp_path}/log", "")):
            put_program(tmp_path, script)
            reader.stdin.write(b"\n")
            reader.stdin.flush()
            assert decode(reader.stdout.readline()).fault == fault
        reader.stdin.close()
        assert reader.stdout.read() == b"" and reader.wait(60) == 0
