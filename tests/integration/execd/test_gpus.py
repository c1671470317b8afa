"""GPUs of a host: found by the vendor's program, counted, and assigned to jobs one by one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from clients.admin.gpu_count import count_gpus
from tests.integration.cells import BIN, DemoCell, eventually, run

_LIST = "GPU 0: A100 (UUID: a)\n  MIG 1g.5gb Device 0: (UUID: m)\nGPU 1: A100 (UUID: b)\n"


def nvidia_smi(directory: Path, lines: str, status: int = 0) -> str:
    """A program of that name; the PATH on which it is found."""
    program = directory / "nvidia-smi"
    program.write_text(f"#!/bin/sh\ncat <<'E'\n{lines}E\nexit {status}\n")
    program.chmod(0o755)
    return f"{directory}:{os.environ['PATH']}"


def test_the_program_of_the_maker_counts_and_where_it_fails_its_devices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "nvidia7").touch()
    monkeypatch.setenv("PATH", nvidia_smi(tmp_path, _LIST))
    assert count_gpus(tmp_path, tmp_path) == 2, "parts of one are none"
    monkeypatch.setenv("PATH", nvidia_smi(tmp_path, "no driver\n", 9))
    assert count_gpus(tmp_path, tmp_path) == 1


@pytest.mark.statement("CX-5")
@pytest.mark.usefixtures("launchers")
def test_init_counts_what_this_machine_has(tmp_path: Path) -> None:
    name = os.uname().nodename
    where = ("--root", str(tmp_path / "cells"), "--spool-dir", str(tmp_path / "spool"), "--run-dir", str(tmp_path / "run"))
    options = ("--exec-host", name, "--alias", f"{name}=127.0.0.1", "--memory", "total")
    environment = {**os.environ, "PATH": nvidia_smi(tmp_path, _LIST)}
    done = run([str(BIN / "gridengine"), "init", *where, *options], env=environment)
    assert done.returncode == 0, done.stderr
    [settings] = (tmp_path / "cells").glob(f"default/common/initial-config/exec_hosts/{name}")
    total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2**20
    assert f"h_vmem={total}M,gpu=2" in settings.read_text()


@pytest.mark.statement("CX-5")
def test_jobs_at_a_time_have_devices_of_their_own(demo_cell: DemoCell) -> None:
    demo_cell.must("gridengine", "host", "add", demo_cell.host, "--group", "@allhosts", "--slots", "8", "--gpus", "3")
    jobs: list[str] = []
    try:
        work = demo_cell.work
        script = f"echo $CUDA_VISIBLE_DEVICES > {work}/gpus.$JOB_ID; while [ ! -e {work}/gpus.over ]; do sleep 0.1; done\n"
        (work / "gpus.sh").write_text(script)
        asks = ("qsub", "-terse", "-o", "/dev/null", "-j", "y", "-l")
        jobs += [demo_cell.must(*asks, f"gpu={count}", "gpus.sh").strip() for count in (2, 1, 1)]

        def given() -> list[str]:
            return [path.read_text().strip() for job in jobs if (path := work / f"gpus.{job}").exists()]

        eventually("two of three jobs have devices", lambda: len(list(filter(None, given()))) == 2)
        assert given() == ["0,1", "2"], "the third waits"
        (work / "gpus.over").touch()
        eventually("the third has one that came back", lambda: len(list(filter(None, given()))) == 3)
        assert given()[2] in ("0", "2")
    finally:
        (demo_cell.work / "gpus.over").touch()
        eventually("none of them is left", lambda: not set(jobs) & set(demo_cell.must("qstat", "-u", "*").split()))
        demo_cell.must("gridengine", "config", "undo")
