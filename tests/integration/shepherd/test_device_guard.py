"""Device files of other jobs are closed to all processes of a task, by the kernel, in cgroups of both versions (adr/0350).

The device is /dev/full in a directory of this test, which nothing else in a task opens; root's and a user's code try to open it.
"""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from daemons.execd.cgroups import MOUNT, HostCgroups, find_cgroups, remove_leftovers, with_devices
from daemons.execd.systemd_scope import LEAF
from shepherd import containment
from tests import needs
from tests.integration.shepherd.cell import CELL, ROOT, Cell, Task, wait_for

FULL, RANDOM = os.makedev(1, 7), os.makedev(1, 9)
OPEN = """import os, sys
for path in sys.argv[1:]:
    try: os.close(os.open(path, os.O_RDONLY)); print("opened")
    except OSError as error: print(error.strerror)
"""
DENIED, OPENED = "Operation not permitted", "opened"


@dataclass
class Bench:
    """A cell whose tasks have the device `own` of two devices; `helper` opens device files as root for its caller."""

    cell: Cell
    cgroups: HostCgroups
    own: Path
    other: Path
    helper: Path

    def task(self, script: str, own: bool = True, **config: object) -> Task:
        confines: dict[str, object] = {
            "cgroups": self.cgroups.directories(),
            "closed_devices": [str(self.other), *([] if own else [str(self.own)])],
            "open_devices": [str(self.own)] if own else [],
            "device_cgroup": self.cgroups.device_parent,
        }
        return self.cell.task(script, **confines | config)

    def run(self, script: str, own: bool = True, **config: object) -> Task:
        task = self.task(script, own, **config)
        task.start()
        task.wait()
        return task

    def tries(self, *paths: object) -> str:
        """The command that tries to open device files."""
        return f"/usr/bin/python3 -S -c '{OPEN}' {' '.join(map(str, paths))}\n"


def v2_in_this_mount(mount: Path) -> None:
    unified = next((each for each in (MOUNT / "unified", MOUNT) if (each / "cgroup.procs").exists()), None)
    if unified is None:
        needs.skip("cgroup v2", "run the tests on a machine that mounts it below /sys/fs/cgroup")
    (mount / "unified").symlink_to(unified)


def v1_in_this_mount(mount: Path) -> None:
    for name in ("freezer", "cpuacct", "memory", "devices"):
        if not (MOUNT / name / "cgroup.procs").exists():
            needs.skip(f"the controller {name} of cgroup v1", "run the tests on a machine that mounts it below /sys/fs/cgroup")
        (mount / name).symlink_to(MOUNT / name)


@pytest.fixture(params=[v1_in_this_mount, v2_in_this_mount], ids=["v1", "v2"])
def cgroups(request: pytest.FixtureRequest, tmp_path: Path) -> HostCgroups:
    """The cgroups of this host in one version alone."""
    needs.need_root()
    mount = tmp_path / "cgroup"
    mount.mkdir()
    request.param(mount)
    found = with_devices(find_cgroups(CELL, ROOT, "h1", os.getpid(), mount))
    if not found.device_parent:
        needs.skip("a kernel that closes devices", f"run the tests as root of the machine; here: {found.device_obstacle}")
    real = {name: os.path.realpath(path) for name, path in found.parents.items()}
    return HostCgroups(found.version, real)


@pytest.fixture
def bench(root_cell: Cell, cgroups: HostCgroups) -> Iterator[Bench]:
    devices = Path("/opt") / f"ge-devices-{os.getpid()}"
    devices.mkdir(mode=0o755)
    try:
        for name, device in (("own", RANDOM), ("other", FULL)):
            os.mknod(devices / name, 0o666 | stat.S_IFCHR, device)
            (devices / name).chmod(0o666)
        helper = devices / "helper"
        shutil.copy(shutil.which("cat") or "/bin/cat", helper)
        helper.chmod(0o4755)
        yield Bench(root_cell, cgroups, devices / "own", devices / "other", helper)
    finally:
        shutil.rmtree(devices)


def test_a_task_opens_its_own_device_alone(bench: Bench) -> None:
    again = Path("/dev/full")
    task = bench.run(bench.tries(bench.own, bench.other, again, "/dev/null"))
    assert task.exit["failed"] == 0
    assert task.stdout.splitlines() == [OPENED, DENIED, DENIED, OPENED]
    neither = bench.run(bench.tries(bench.own, bench.other, "/dev/null"), own=False)
    assert neither.stdout.splitlines() == [DENIED, DENIED, OPENED]


def test_a_setuid_helper_of_a_task_opens_no_device_of_others(bench: Bench) -> None:
    task = bench.run(f"{bench.helper} {bench.other} | head -c 1 | wc -c; {bench.helper} {bench.own} | head -c 1 | wc -c\n")
    assert task.stdout.split() == ["0", "1"]
    assert DENIED in task.stderr


def test_root_in_a_task_can_not_make_a_device_file_of_others(bench: Bench) -> None:
    made = bench.helper.with_name("made")
    command = f"/usr/bin/python3 -S -c 'import os; os.mknod(\"{made}\", 0o20666, {FULL})' || echo refused\n"
    root: dict[str, object] = {"owner": "root", "uid": 0, "gid": 0, "groups": [0], "cwd": "/"}
    task = bench.run(command + bench.tries(bench.other), **root)
    assert task.stdout.splitlines() == ["refused", DENIED]
    assert not made.exists()


def test_a_device_file_that_was_made_outside_of_the_task_is_closed(bench: Bench) -> None:
    made = bench.cell.home / "made"
    task = bench.task(f"echo ready; until [ -e {made} ]; do sleep 0.1; done\n" + bench.tries(made))
    task.start()
    task.wait_output("ready")
    os.mknod(bench.cell.home / "new", 0o666 | stat.S_IFCHR, FULL)
    (bench.cell.home / "new").chmod(0o666)
    (bench.cell.home / "new").rename(made)
    task.wait()
    assert task.stdout.splitlines() == ["ready", DENIED]


def test_no_other_path_and_no_variable_opens_a_device_of_others(bench: Bench) -> None:
    linked = bench.other.with_name("linked")
    linked.hardlink_to(bench.other)
    script = f"""export CUDA_VISIBLE_DEVICES=0,1,2,3 ROCR_VISIBLE_DEVICES=0,1,2,3
ln -s {bench.other} link
{bench.tries(bench.other, linked, "link", f"/proc/self/root{bench.other}")}"""
    task = bench.run(script)
    assert task.stdout.splitlines() == [DENIED] * 4


def test_root_in_a_task_opens_no_device_that_a_process_outside_holds_open(bench: Bench) -> None:
    root: dict[str, object] = {"owner": "root", "uid": 0, "gid": 0, "groups": [0], "cwd": "/"}
    with bench.other.open("rb") as held:
        task = bench.run(bench.tries(f"/proc/{os.getpid()}/fd/{held.fileno()}", f"/proc/{os.getpid()}/root{bench.other}"), **root)
    assert task.stdout.splitlines() == [DENIED, DENIED]


def test_a_user_can_not_leave_the_cgroup_of_the_task_or_open_its_devices(bench: Bench) -> None:
    parent = Path(bench.cgroups.device_parent)
    files = [parent / name for name in ("tasks", "cgroup.procs") if (parent / name).exists()]
    writes = "".join(f"echo $$ > {path} && echo left\n" for path in files)
    writes += f"for each in {parent}/*/devices.allow; do echo 'a *:* rwm' > $each && echo allowed; done\n"
    task = bench.run(f"mkdir {parent}/mine && echo made\n{writes}{bench.tries(bench.other)}")
    assert task.stdout.splitlines() == [DENIED]


def test_methods_run_with_the_same_devices_as_their_job(bench: Bench) -> None:
    """Another process of the owner may trace a method, and have it open devices."""
    method = bench.cell.file("method", f"#!/bin/sh\n{bench.tries(bench.own, bench.other)}")
    task = bench.run("true\n", prolog=str(method), epilog=str(method))
    assert task.stdout.splitlines() == [OPENED, DENIED] * 2


def test_the_devices_stay_closed_when_the_launcher_is_replaced(bench: Bench) -> None:
    go = bench.cell.home / "go"
    task = bench.task(f"echo ready; until [ -e {go} ]; do sleep 0.1; done\n" + bench.tries(bench.own, bench.other))
    task.start()
    task.wait_output("ready")
    bench.cell.stop_launcher()
    bench.cell.start_launcher()
    remove_leftovers(bench.cgroups, {task.directory.name})
    go.touch()
    task.wait()
    assert task.stdout.splitlines() == ["ready", OPENED, DENIED]


def test_tasks_of_one_job_and_their_cgroups_are_removed(bench: Bench) -> None:
    """Also by the launcher where the shepherd was killed."""
    guards = [Path(bench.cgroups.device_parent), *map(Path, bench.cgroups.directories())]

    def left() -> list[Path]:
        return [each for parent in guards for each in parent.iterdir() if each.is_dir() and each.name != LEAF]

    assert bench.run(bench.tries(bench.other), cgroup_of_job=True).stdout.splitlines() == [DENIED]
    assert not left()
    task = bench.task("echo ready; sleep 600\n")
    shepherd = task.start()
    task.wait_output("ready")
    assert left()
    os.kill(shepherd, 9)
    task.wait()
    wait_for(lambda: not left(), "the cgroups to be removed")


def test_a_required_device_file_that_is_none_keeps_the_task_from_running(bench: Bench) -> None:
    missing = bench.own.with_name("missing")
    lenient = bench.run("echo runs\n", closed_devices=[str(missing)])
    assert lenient.stdout == "runs\n" and f"{missing}: No such file" in lenient.trace
    strict = bench.run("echo runs\n", closed_devices=[str(missing)], devices_required=True)
    assert strict.exit["failed"] == 11 and f"{missing}: No such file" in strict.exit["reason"]


def test_a_descriptor_from_another_task_works_and_its_file_can_not_be_opened_again(bench: Bench) -> None:
    """The kernel checks the opening of a file. A process with the right to open a device may pass the descriptor on."""
    address = bench.cell.home / "socket"
    receive = (
        "import os, socket\n"
        f"s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); s.bind('{address}'); os.chmod('{address}', 0o666)\n"
        "print('ready', flush=True)\n"
        "fd = socket.recv_fds(s, 1, 1)[1][0]; print(len(os.read(fd, 5)))\n"
        "try: os.open(f'/proc/self/fd/{fd}', os.O_RDONLY)\n"
        "except OSError as error: print(error.strerror)\n"
    )
    task = bench.task(f"/usr/bin/python3 -S - <<'EOF'\n{receive}EOF\n")
    task.start()
    task.wait_output("ready")
    send = (
        f"import os, socket; s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); s.connect('{address}'); "
        f"socket.send_fds(s, [b'x'], [os.open('{bench.other}', os.O_RDONLY)])"
    )
    subprocess.run([sys.executable, "-S", "-c", send], check=True)
    task.wait()
    assert task.stdout.splitlines() == ["ready", "5", DENIED]


def test_a_guarded_shepherd_takes_no_other_task(bench: Bench) -> None:
    owner = bench.cell.user.pw_name
    first = bench.task("true\n")
    pid = first.start(owner)
    first.wait()
    second = bench.cell.task(bench.tries(bench.other))
    assert second.start(owner) != pid
    second.wait()
    assert second.stdout.splitlines() == [OPENED]
    with suppress(OSError):
        assert not containment.read_recorded(first.directory).cgroups[-1].exists()
