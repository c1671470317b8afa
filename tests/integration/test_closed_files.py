"""Files of a cell with running jobs that another user of a host can read and write: every file and directory, by one walk."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.integration.cells import TEST_PREFIX, TestbedCell, eventually

#: Of a cell's tree on one host as a user sees it: path, kind and what that user may do there. No link is followed.
WALK = """
import json, os, stat, sys
found = []
def look(path):
    status = os.lstat(path)
    if stat.S_ISLNK(status.st_mode):
        return
    kind = "directory" if stat.S_ISDIR(status.st_mode) else "socket" if stat.S_ISSOCK(status.st_mode) else "file"
    sticky = kind == "directory" and bool(status.st_mode & stat.S_ISVTX)
    found.append((path, kind, os.access(path, os.R_OK), os.access(path, os.W_OK) and not sticky))
for root in sys.argv[1:]:
    look(root)
    for place, directories, files in os.walk(root):
        for name in directories + files:
            look(os.path.join(place, name))
json.dump(found, sys.stdout)
"""
#: of the cell: what qconf and qstat show, and what all commands read
COMMON = (
    r"(accounting|act_qmaster|bootstrap|cell_id|cluster_name|host_aliases|modulefile|reporting|settings\.c?sh|shadow_masters|tls\.crt|web)"
    r"|initial-config/[\w./@-]+|\.shared_with_master"
)
#: of a task: numbers of processes, its cgroups and its hosts, which ps, /proc and qstat show; no environment, arguments or script
TASK = r"(addgrpid|cgroup|job_pid|pe_hostfile|pid|usage)"
READABLE = re.compile(
    rf"{TEST_PREFIX}/cells/(test/common/({COMMON})|util/[\w./-]+)"
    r"|/var/spool/gridengine/test/(execd/t\d/(cell_id|cgroups|execd\.pid|master_word|messages|sensor_faults|tries|active_jobs/[\d.]+/"
    rf"{TASK})|(dbwriter|web)/(messages|\w+\.pid))"
)
SOCKETS = re.compile(r"/run/gridengine/test/(dbwriter|gateway|gdi|web)\.sock")
RAY = "import os, time, ray\nray.init()\nopen(os.environ['MARK'], 'w').close()\ntime.sleep(600)\n"


def seen_by(user: str, cell: TestbedCell, host: str, *roots: str) -> list[tuple[str, str, bool, bool]]:
    done = cell.as_user(user, host, "python3", "-c", WALK, *roots)
    assert done.returncode == 0, done.stderr
    return [tuple(each) for each in json.loads(done.stdout)]


@pytest.fixture
def busy(testbed_cell: TestbedCell) -> Iterator[TestbedCell]:
    """With jobs of alice on t1: a script with a variable, a session and a Ray cluster of her own."""
    cell = testbed_cell
    with TemporaryDirectory(dir="/var/tmp", prefix="ge-closed-") as name:
        work = Path(name)
        work.chmod(0o1777)
        (work / "cluster.py").write_text(RAY)
        (work / "job.sh").write_text("#!/bin/sh\ntouch $TMPDIR/own $MARK\nsleep 600\n")
        python = next((TEST_PREFIX / "libraries").glob("*/bin/python3"))
        there = ("-l", "h=t1", "-o", "/dev/null", "-e", "/dev/null")
        ray = ("gridengine", "ray", "--python", str(python), "-pe", "mpi", "2", *there)
        marks = [work / kind for kind in ("script", "ray")]
        for command in (
            ("qsub", *there, "-v", f"MARK={marks[0]},SECRET=of-alice", f"{work}/job.sh"),
            (*ray, "-v", f"MARK={marks[1]}", f"{work}/cluster.py"),
        ):
            done = cell.as_user("alice", "t1", *command)
            assert done.returncode == 0, done.stderr
        session = cell.start_as("alice", "t1", "qrsh", *there[:2], "echo there; sleep 600")
        try:
            assert session.stdout is not None and session.stdout.readline() == b"there\n"
            eventually("both jobs run", lambda: all(mark.exists() for mark in marks))
            yield cell
        finally:
            cell.on(cell.master, "qdel", "-u", "alice")
            session.kill()
            session.communicate()
            cell.until_empty()


def test_another_user_reads_and_writes_nothing_but_what_is_listed_here(busy: TestbedCell) -> None:
    for host in (busy.master, "t1"):
        cells = (f"{TEST_PREFIX}/cells/test", f"{TEST_PREFIX}/cells/util", "/var/spool/gridengine/test", "/run/gridengine/test")
        found = seen_by("bob", busy, host, *cells, "/tmp", "/dev/shm")
        assert [path for path, _, _, writable in found if writable and not SOCKETS.fullmatch(path)] == []
        read = [path for path, kind, readable, _ in found if readable and kind == "file"]
        assert [path for path in read if not READABLE.fullmatch(path)] == []
    paths = {path for path, *_ in found}
    scratch = [path for path in paths if re.fullmatch(r"/tmp/\d+\.1\.all\.q", path)]
    assert len(scratch) == 3, "one of each job, and nothing of what is in them"
    assert any(path.endswith("/pe_hostfile") for path in read), "the walk was where tasks are"
    everything = {path for path, *_ in seen_by("alice", busy, "t1", "/tmp")}
    assert any(path.endswith("/own") for path in everything), "which their owner sees"
    installed = seen_by("bob", busy, "t1", str(TEST_PREFIX))
    assert [path for path, _, _, writable in installed if writable] == []
