"""The wheel and the Debian package, built from this checkout and installed where nothing of the project is.

The wheel goes into an empty environment, the package into a host of its own: a copy of this machine's system that lies in
memory, without what is in /opt, so that what dpkg does there happens nowhere else.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.cells import PYTHON, ROOT, TESTBED, Done, eventually, run, why_no_testbed

HOST = "k1"
DPKG = "/mnt"
BUILD_S = 900.0
"""Libraries are downloaded, on a machine that others load."""


def must(command: list[str], **options: object) -> str:
    done = run(command, **{"timeout": BUILD_S, **options})
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What is in the version control, so that the checkout stays as it is; downloads are kept in its build directory."""
    place = tmp_path_factory.mktemp("source")
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout.split(b"\0")
    for name in filter(None, names):
        path = ROOT / os.fsdecode(name)
        if path.is_file() and path.parts[len(ROOT.parts)] != "tests":
            target = place / path.relative_to(ROOT)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, target)
    (ROOT / "build" / "deb-wheels").mkdir(parents=True, exist_ok=True)
    (place / "build").mkdir()
    (place / "build" / "deb-wheels").symlink_to(ROOT / "build" / "deb-wheels")
    return place


@pytest.mark.apart
def test_a_wheel_brings_the_programs(source: Path, tmp_path: Path) -> None:
    must(["make", "-C", str(source), "wheel", f"PYTHON={PYTHON}"])
    (wheel,) = (source / "build" / "wheel").glob("*.whl")
    environment = tmp_path / "empty"
    must([PYTHON, "-m", "venv", str(environment)])
    pip = [str(environment / "bin" / "python3"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    must([*pip, "--constraint", str(ROOT / "requirements.lock"), str(wheel)], cwd=tmp_path)
    outside = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "PYTHONPATH": "/nowhere"}
    shown = must([str(environment / "bin" / "gridengine"), "demo"], cwd=tmp_path, env=outside)
    assert "all.q@demo3" in shown and "exit_status  0" in shown
    (tmp_path / "link").symlink_to(environment / "bin" / "qstat")
    assert must([str(tmp_path / "link"), "-help"], cwd=tmp_path, env=outside).startswith("SGE 8.1.9\n")


class BareHost:
    """A host of the test bed whose whole disk is a copy of this machine's, in memory."""

    def __init__(self) -> None:
        must([str(TESTBED / "hosts"), "up", HOST])
        made = f"""
            mount -t tmpfs tmpfs {DPKG} && mkdir {DPKG}/upper {DPKG}/work {DPKG}/root
            mount -t overlay overlay -o lowerdir=/,upperdir={DPKG}/upper,workdir={DPKG}/work {DPKG}/root
            mount -t tmpfs tmpfs {DPKG}/root/opt
            for place in proc dev sys run tmp var/spool var/log; do mount --rbind /$place {DPKG}/root/$place; done
            mount --bind /etc/hosts {DPKG}/root/etc/hosts
        """
        must([str(TESTBED / "hosts"), "on", HOST, "bash", "-ec", made])

    def on(self, *command: str) -> Done:
        environment = ["env", "-i", "PATH=/opt/gridengine/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "LANG=C.UTF-8"]
        return run([str(TESTBED / "hosts"), "on", HOST, "chroot", f"{DPKG}/root", *environment, *command], timeout=BUILD_S)

    def must(self, *command: str) -> str:
        done = self.on(*command)
        assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
        return done.stdout

    def remove(self) -> None:
        run([str(TESTBED / "hosts"), "kill", HOST])
        shutil.rmtree(f"/var/lib/testbed/{HOST}", ignore_errors=True)


@pytest.fixture
def bare() -> Iterator[BareHost]:
    if reason := why_no_testbed():
        pytest.skip(reason)
    host = BareHost()
    try:
        yield host
    finally:
        host.remove()


@pytest.mark.apart
@pytest.mark.statement("UT-2")
def test_a_debian_package_makes_a_bare_host_a_cell(source: Path, bare: BareHost) -> None:
    must(["make", "-C", str(source), "deb", f"PYTHON={PYTHON}"])
    (package,) = (source / "build" / "deb").glob("*.deb")
    host_file = Path(f"/var/lib/testbed/{HOST}/spool/package.deb")  # a disk that the host sees
    shutil.copy(package, host_file)
    said = bare.must("dpkg", "-i", "/var/spool/package.deb")
    assert "gridengine init" in said
    for unit in ("sge_qmaster", "sge_execd"):
        assert "ExecStart=/opt/gridengine/bin/" in bare.must("cat", f"/lib/systemd/system/{unit}.service")
    where = ["--root", "/opt/gridengine/cells", "--exec-host", HOST]
    bare.must("gridengine", "init", *where, "--load-thresholds", "NONE", "--no-arco")
    in_cell = ["env", "SGE_ROOT=/opt/gridengine/cells", "SGE_CELL=default"]
    bare.must(*in_cell, "gridengine", "start")
    bare.must(*in_cell, "qsub", "-sync", "y", "-b", "y", "-o", "/var/spool/said", "-j", "y", "-S", "/bin/sh", "echo", "packed")
    eventually("the job's output is there", lambda: bare.on("cat", "/var/spool/said").stdout == "packed\n")
    refused = bare.on("dpkg", "-r", "gridengine-ray")
    assert refused.returncode != 0 and "still run from" in refused.stderr
    assert bare.must("dpkg", "-i", "/var/spool/package.deb").count("installed"), "again, beneath the daemons"
    assert "all.q" in bare.must(*in_cell, "qstat", "-f")
    bare.must(*in_cell, "gridengine", "stop")
    bare.must("dpkg", "-r", "gridengine-ray")
    assert bare.must("ls", "/opt/gridengine") == "cells\n", "cells stay"
