"""Load sensors in the forms that sites publish: each feeds a live value that listings show and jobs request."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.integration.cells import ROOT, TestbedCell, eventually

PUBLISHED, SHIPPED = ROOT / "tests" / "data" / "sensors", ROOT / "cluster-config" / "sensors"
HOST = "t1"
#: all hosts of the test bed see it
PLACE = Path("/var/tmp/gridengine-test-sensors")

#: Sensor -> its complex attributes, a request that holds on a sound host, and what `qhost -F` shows of the values that are known.
SENSORS = {
    PUBLISHED / "disk.sh": (("disk_free MEMORY <=",), "disk_free=1K", {"disk_free": r"hl:disk_free=[\d.]+\w"}),
    PUBLISHED / "gpu.bash": (
        ("gpus_idle INT <=", "gpu_memory MEMORY <="),
        "gpus_idle=2,gpu_memory=39G",
        {"gpus_idle": "hl:gpus_idle=2", "gpu_memory": r"hl:gpu_memory=39\.06\dG"},
    ),
    PUBLISHED / "licence.sh": (("lic_solver INT <=",), "lic_solver=7", {"lic_solver": "gl:lic_solver=7"}),
    PUBLISHED / "memory.py": (("mem_available MEMORY <=",), "mem_available=1M", {"mem_available": r"hl:mem_available=[\d.]+\w"}),
    PUBLISHED / "processes.pl": (("processes INT >=",), "processes=100000", {"processes": r"hl:processes=[1-9]\d*"}),
    PUBLISHED / "scratch.pl": (("scratch_left MEMORY <=",), "scratch_left=1K", {"scratch_left": r"hl:scratch_left=[\d.]+\w"}),
    PUBLISHED / "users.sh": (("logins INT >=",), "logins=1000", {"logins": r"hl:logins=\d+"}),
    SHIPPED / "temperature": (("temperature INT >=",), "temperature=80", {"temperature": "hl:temperature=61"}),
    SHIPPED / "nfs_mounts": (("nfs_ok INT ==",), "nfs_ok=1", {"nfs_ok": "hl:nfs_ok=1"}),
    SHIPPED / "network_traffic": (
        ("net_in DOUBLE >=", "net_out DOUBLE >="),
        "net_in=100G,net_out=100G",
        {"net_in": r"hl:net_in=\d+", "net_out": r"hl:net_out=\d+"},
    ),
}

#: What stands in for hardware and servers: the path in a sensor, and what a program there says or a file there holds.
SMI = "printf '3, 40000\\n98, 1000\\n0, 39000\\n'"
LMSTAT = "echo 'Users of solver:  (Total of 10 licenses issued;  Total of 3 licenses in use)'"
PROGRAMS = {"/usr/bin/nvidia-smi": SMI, "/usr/local/flexlm/lmstat": LMSTAT}
ZONES = ("42000", "61500")


@pytest.fixture(scope="module")
def sensing(session_cell: TestbedCell) -> Iterator[TestbedCell]:
    """The cell with all sensors on one host, and a job for each sensor that requests its values."""
    cell = session_cell
    cell.restore()
    shutil.rmtree(PLACE, ignore_errors=True)
    PLACE.mkdir(mode=0o755)
    for number, (path, output) in enumerate(PROGRAMS.items()):
        program(PLACE / f"program{number}", f"#!/bin/sh\n{output}\n")
        assert path
    for number, degrees in enumerate(ZONES):
        zone = PLACE / f"thermal_zone{number}"
        zone.mkdir()
        (zone / "temp").write_text(f"{degrees}\n")
    for sensor in SENSORS:
        text = sensor.read_text().replace("/sys/class/thermal}", f"{PLACE}}}")
        for number, path in enumerate(PROGRAMS):
            text = text.replace(path, str(PLACE / f"program{number}"))
        program(PLACE / sensor.name, text)
    table = must(cell, "qconf", "-sc")
    attributes = [line.split() for added, _, _ in SENSORS.values() for line in added]
    rows = [f"{name} {name} {kind} {operator} YES NO 0 0" for name, kind, operator in attributes]
    change(cell, "-Mc", "\n".join([table, *rows]))
    jobs = {}
    for sensor, (_, request, _) in SENSORS.items():
        submit = ("qsub", "-terse", "-o", "/dev/null", "-j", "y", "-b", "y", "-l", request, "true")
        done = cell.as_user("alice", cell.master, *submit)
        assert done.returncode == 0, done.stderr
        jobs[sensor.name] = done.stdout.strip()
    assert all(job in must(cell, "qstat", "-u", "alice", "-s", "p") for job in jobs.values())
    sensors = ",".join(str(PLACE / sensor.name) for sensor in SENSORS)
    change(cell, "-Aconf", f"load_sensor {sensors}\nload_report_time 0:0:1", HOST)
    cell.jobs = jobs  # type: ignore[attr-defined]
    yield cell
    cell.on(cell.master, "qdel", "-u", "alice")
    cell.on(cell.master, "qconf", "-dconf", HOST)
    eventually("no job requests the attributes", lambda: not must(cell, "qstat", "-u", "*"))
    change(cell, "-Mc", table)
    shutil.rmtree(PLACE)


def program(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o755)


def must(cell: TestbedCell, *command: str) -> str:
    done = cell.on(cell.master, *command)
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout


def shows(cell: TestbedCell, listing: tuple[str, ...], line: re.Pattern[str]) -> bool:
    return line.search(must(cell, *listing)) is not None


def change(cell: TestbedCell, option: str, text: str, name: str = "object") -> None:
    file = PLACE / name
    file.write_text(f"{text}\n")
    must(cell, "qconf", option, str(file))
    file.unlink()


@pytest.mark.statement("LS-2", "LS-3", "CX-24")
@pytest.mark.parametrize("sensor", SENSORS, ids=lambda sensor: sensor.name)
def test_a_sensor_of_a_published_form_feeds_values_that_jobs_request(sensing: TestbedCell, sensor: Path) -> None:
    _, _, shown = SENSORS[sensor]
    for name, value in shown.items():
        line = re.compile(rf"^[ \t]+(Host Resource\(s\): +)?{value}(\.0+)?(?!\S)", re.MULTILINE)
        for listing in (("qhost", "-h", HOST, "-F", name), ("qstat", "-q", f"*@{HOST}", "-F", name)):
            eventually(f"{listing} shows {value}", partial(shows, sensing, listing, line))
    job = sensing.jobs[sensor.name]  # type: ignore[attr-defined]
    eventually("the job has run", lambda: sensing.on(sensing.master, "qacct", "-j", job).returncode == 0)
    record = must(sensing, "qacct", "-j", job)
    assert re.search(rf"^hostname +{HOST} *$", record, re.MULTILINE) or "lic_" in shown.popitem()[0]
    assert re.search(r"^failed +0 *$", record, re.MULTILINE)
