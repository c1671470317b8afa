"""The usage of a job's GPU in a whole cell, with a false `nvidia-smi`: qstat -j, the files for exporters, qacct (adr/0355)."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.cells import BIN, DemoCell, eventually

_GPU = """<gpu id="00000000:0{number}:00.0"><product_name>NVIDIA A100</product_name><uuid>GPU-{number}</uuid>
<fb_memory_usage><total>40960 MiB</total><used>{used} MiB</used></fb_memory_usage>
<utilization><gpu_util>{busy} %</gpu_util></utilization></gpu>"""
_LOG = f"<nvidia_smi_log>{_GPU.format(number=0, used=2048, busy=75)}{_GPU.format(number=1, used=1, busy=0)}</nvidia_smi_log>\n"


@pytest.fixture(scope="module")
def gpu_cell(launchers: Path) -> Iterator[DemoCell]:
    """A cell whose host has two GPUs by name, read each second."""
    cell = DemoCell()
    try:
        programs = cell.place / "programs"
        programs.mkdir()
        (programs / "nvidia-smi").write_text(f"#!/bin/sh\ncat <<'E'\n{_LOG}E\n")
        (programs / "nvidia-smi").chmod(0o755)
        cell.environment["PATH"] = f"{BIN}:{programs}:{os.environ['PATH']}"
        cell.start()
        (cell.work / "complexes").write_text(f"{cell.must('qconf', '-sc')}gpu gpu RSMAP <= YES YES 0 0\n")
        cell.must("qconf", "-Mc", "complexes")
        cell.must("qconf", "-mattr", "exechost", "complex_values", "gpu=2(0 1)", cell.host)
        own = cell.work / cell.host
        own.write_text(f"execd_params GPU_INTERVAL=1,GPU_JOB_FILES={cell.work}/gpus\nload_report_time 00:00:01\n")
        cell.must("qconf", "-Aconf", str(own))
        yield cell
    finally:
        cell.remove()


def test_the_usage_of_a_gpu_is_shown_while_its_job_runs_and_recorded_at_its_end(gpu_cell: DemoCell) -> None:
    must, work, host = gpu_cell.must, gpu_cell.work, gpu_cell.host
    (work / "hold.sh").write_text(f"while [ ! -e {work}/over ]; do sleep 0.1; done\n")
    job = must("qsub", "-terse", "-o", "/dev/null", "-j", "y", "-l", "gpu=1", "hold.sh").strip()

    def job_files() -> dict[str, str]:
        return {path.name: path.read_text() for path in (work / "gpus").glob("[0-9]")}

    eventually("an exporter finds the job of the GPU", lambda: job_files() == {"0": f"{job}\n"})
    eventually("the job shows its usage", lambda: "utilisation=75.0%" in must("qstat", "-j", job))
    (work / "over").touch()
    eventually("the job has a record", lambda: gpu_cell.command("qacct", "-j", job).returncode == 0)
    (line,) = [line for line in must("qacct", "-j", job).splitlines() if line.startswith("unit usage")]
    assert line.startswith(f"unit usage   gpu={host}=0 time=") and "utilisation=75.0%, maxmem=2.000GB" in line
    (used,) = json.loads(must("qacct", "-j", job, "-json"))["records"][0]["unit_usage"]
    assert (used["identifier"], used["utilisation"], used["maxmem_bytes"], used["energy_j"]) == ("GPU-0", 0.75, 2**31, None)
    assert 0 < used["measured_s"] <= used["time_s"] + 5
    eventually("no GPU is in use", lambda: job_files() == {})
