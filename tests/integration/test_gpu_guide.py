"""The page about GPUs: its commands work on a host whose `nvidia-smi` is a false program; a GPU that fails is closed."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.cells import DemoCell, eventually
from tests.integration.execd.test_nvidia_smi import LIST, LOG, put_program
from tests.integration.guides import play
from tests.integration.test_guides import typed
from tests.needs import need_mounts, no_gpus, root

DEV = """set -e
mount -t tmpfs -o mode=755 tmpfs "$0"
for each in shm pts; do mkdir "$0/$each"; mount --rbind "/dev/$each" "$0/$each"; done
for each in null zero full random urandom tty ptmx fd stdin stdout stderr; do cp -a "/dev/$each" "$0/$each"; done
mknod -m 666 "$0/nvidia1" c 1 7
mknod -m 666 "$0/nvidia3" c 1 9
mount --rbind "$0" /dev
echo ready
exec sleep infinity"""
"""Makes a /dev with device files of GPUs, which are those of /dev/full and /dev/urandom, in a mount namespace of its own."""


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of the false program, with a GPU in slices and a whole GPU."""
    made = tmp_path_factory.mktemp("programs")
    (made / "list").write_text(LIST)
    write_log(made, LOG.replace("<dram_uncorrectable>1", "<dram_uncorrectable>0"))
    put_program(made, f'case "$1" in -L) cat {made}/list ;; -q) cat {made}/log ;; esac')
    return made


def write_log(programs: Path, text: str) -> None:
    (programs / "new").write_text(text)
    (programs / "new").rename(programs / "log")


@pytest.fixture(scope="module")
def daemons(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, ...]]:
    """The words before a command that starts daemons, which see device files of GPUs; none for users who may not mount."""
    if os.geteuid():
        yield ()
        return
    need_mounts()
    command = ["unshare", "--mount", "--propagation", "private", "/bin/sh", "-c", DEV, str(tmp_path_factory.mktemp("dev"))]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None and holder.stdout.readline() == b"ready\n"
        yield ("nsenter", "--mount", "--target", str(holder.pid), "--")
        holder.kill()


@pytest.fixture(scope="module")
def cell(launchers: object, programs: Path, daemons: tuple[str, ...]) -> Iterator[DemoCell]:
    made = DemoCell()
    made.environment["PATH"] = f"{programs}:{made.environment['PATH']}"
    try:
        made.prefix = daemons
        made.start()
        made.prefix = ()
        yield made
    finally:
        made.remove()


def closed(cell: DemoCell) -> dict[str, dict[str, str]]:
    rows = json.loads(cell.must("gridengine", "devices", "--json"))
    return rows[0]["closed"] if rows else {}


@root
@no_gpus
def test_the_page_about_gpus(cell: DemoCell) -> None:
    eventually("the host has found its GPUs", lambda: "GPU-b" in cell.must("gridengine", "devices"))
    assert play("../gpus.md", cell.work, lambda command: typed(cell, command)) >= 6


@no_gpus
def test_a_gpu_that_fails_is_closed_until_it_is_healthy(cell: DemoCell, programs: Path) -> None:
    """The GPU fails below a running job, which goes on, and names the unit; another job gets it when it opens."""
    cell.must("gridengine", "devices", "--apply")
    healthy, fault, gate = (programs / "log").read_text(), "1 uncorrectable memory errors", cell.work / "gate"
    (cell.work / "hold.sh").write_text(f"while [ ! -e {gate} ]; do sleep 0.1; done\n")
    request = ("qsub", "-terse", "-o", "/dev/null", "-j", "y", "-l", "gpu=1,gpu_type=a100")
    runs = cell.must(*request, "hold.sh").strip()
    eventually("the job has the GPU", lambda: "gpu=node1=(1)" in cell.must("qstat", "-j", runs))
    write_log(programs, LOG)
    eventually("the unit is closed", lambda: closed(cell) == {"gpu": {"1": fault}})
    assert f"gpu=1(0.0) closed: 1: {fault}" in cell.must("qhost", "-F", "gpu")
    assert f"gpu=node1=(1): {fault}" in cell.must("qstat", "-j", runs)
    assert f"gpu/1 of host node1, which it has, is closed: {fault}" in cell.must("qexplain", runs)
    line = f"gpu/1 of host node1 is closed: {fault}; no job gets it; it stays with job {runs}"
    assert line in "".join(path.read_text() for path in cell.place.rglob("qmaster/messages"))
    waits = cell.must(*request, "-b", "y", "true").strip()
    gate.touch()
    eventually("the first job has ended by itself", lambda: cell.command("qstat", "-j", runs).returncode != 0)
    assert "failed       0" in cell.must("qacct", "-j", runs)
    eventually("the reason is shown", lambda: f"1 is closed: {fault}" in cell.must("qexplain", waits))
    write_log(programs, healthy)
    eventually("the second job has run", lambda: cell.command("qacct", "-j", waits).returncode == 0)
    assert "gpu=node1=(1)" in cell.must("qacct", "-j", waits) and closed(cell) == {}
