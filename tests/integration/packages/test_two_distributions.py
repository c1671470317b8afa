"""A cell whose master host and one exec host are Debian 12, and the other exec host Debian 13, all by the Debian package.

Each host has a root file system of its own, and so its own copies of programs and of the cell's files.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests import needs
from tests.integration import debian
from tests.integration.cells import Done, eventually, hosts_ready
from tests.integration.packages.builds import BUILDERS, debian_root, must, put
from tests.integration.packages.rooted_host import RootedHost
from tests.integration.test_clusters import LIBRARIES, python_with
from tests.integration.test_ipv6 import PE
from tests.integration.test_tight_integration import RING, records_in
from tests.machines.steps import INSTALL_NEWER

pytestmark = pytest.mark.apart

MASTER, OLD, NEW = "dm", "d12", "d13"
SUITES = {MASTER: "bookworm", OLD: "bookworm", NEW: "trixie"}
#: of an exec host -> what its /etc/debian_version begins with
VERSIONS = {OLD: "12.", NEW: "13."}
IN_CELL = ("env", "SGE_ROOT=/opt/gridengine/cells", "SGE_CELL=default")
SPOOL = "/var/spool/gridengine/default"
GATE = "/tmp/gate"
MPI = "/opt/mpi"


class Cell:
    """The cell, by its hosts."""

    def __init__(self, hosts: dict[str, RootedHost]) -> None:
        self._hosts = hosts

    def on(self, host: str, *command: str, **options: object) -> Done:
        """Run a command as root."""
        return self._hosts[host].on(*IN_CELL, *command, **options)

    def must(self, host: str, *command: str, **options: object) -> str:
        """Run a command as root that must succeed, and return its stdout."""
        return self._hosts[host].must(*IN_CELL, *command, **options)

    def alice(self, *command: str, **options: object) -> str:
        """Run a command as alice on the master host, which must succeed, and return its stdout."""
        ids = ("setpriv", "--reuid", "alice", "--regid", "alice", "--init-groups", "env", "-C", "/home/alice", "HOME=/home/alice")
        return self.must(MASTER, *ids, *command, **options)

    def submit(self, script: str, *options: str) -> str:
        """Submit a script of alice; return the number of the job."""
        command = ("qsub", "-terse", "-S", "/bin/sh", "-j", "y", *options)
        return self.alice(*command, input=script, stdin=None).partition(".")[0].strip()

    def states(self) -> list[str]:
        """The states of all jobs and tasks."""
        return [line.split()[4] for line in self.must(MASTER, "qstat", "-u", "*").splitlines()[2:]]

    def records(self, job: str) -> list[tuple[str, str, str]]:
        """`records_in` the accounting of a job."""
        return records_in(self.on(MASTER, "qacct", "-j", job).stdout)

    def await_hosts(self) -> None:
        eventually("both hosts take jobs", lambda: hosts_ready(self.must(MASTER, "qstat", "-f")) == {OLD, NEW})

    def make(self) -> None:
        """Make the cell as the guide says."""
        self.must(MASTER, "gridengine", "init", "--load-thresholds", "NONE", "--no-arco")
        self.must(MASTER, "gridengine", "start")
        for host in VERSIONS:
            token = self.must(MASTER, "gridengine", "token", "join")
            self.must(host, "gridengine", "join", MASTER, "--token", "-", input=token, stdin=None)
            self.must(host, "gridengine", "start")
        self.must(MASTER, "qconf", "-rattr", "queue", "slots", "2", "all.q")
        self.must(MASTER, "qconf", "-Ap", "/dev/stdin", input=PE, stdin=None)
        self.must(MASTER, "qconf", "-aattr", "queue", "pe_list", "tight", "all.q")
        self.await_hosts()


def mpi_with_ring(place: Path) -> Path:
    """A directory with MPICH from its wheel, the same for all distributions, and `bin/ring`, compiled on this machine.

    Open MPI would not do: Debian 12 has version 4.1, Debian 13 has 5.0.
    """
    programs = python_with(LIBRARIES).parent
    (place / "ring.c").write_text(RING)
    must([f"{programs}/mpicc", f"-Wl,-rpath,{MPI}/lib", str(place / "ring.c"), "-o", f"{programs}/ring"])
    return programs.parent


@pytest.fixture(scope="module")
def cell(release: Path) -> Iterator[Cell]:
    needs.need_testbed()
    debian.need_packages(*BUILDERS)
    hosts: dict[str, RootedHost] = {}
    with TemporaryDirectory(dir="/var/tmp", prefix="ge-distributions-") as name:
        place = Path(name)
        mpi = mpi_with_ring(place)
        for suite in set(SUITES.values()):
            root = debian_root(place / suite, suite)
            root.must(f"dpkg -i {put(release, '*.deb', root)} && useradd --create-home --uid 2001 alice")
            shutil.copytree(mpi, root.path / MPI[1:], symlinks=True)
        try:
            for host, suite in SUITES.items():
                hosts[host] = RootedHost(host, place / suite)
            cell = Cell(hosts)
            cell.make()
            yield cell
        finally:
            for each in hosts.values():
                each.remove()


def test_an_array_runs_on_both_distributions_at_a_time(cell: Cell) -> None:
    waits = f"while [ ! -e {GATE} ]; do sleep 0.2; done; cat /etc/debian_version"
    array = cell.submit(waits, "-t", "1-4", "-o", "/tmp/array.$TASK_ID")
    eventually("all tasks run", lambda: cell.states() == ["r"] * 4)
    for host in VERSIONS:
        cell.must(host, "touch", GATE)
    eventually("the array has ended", lambda: cell.states() == [])
    for host, version in VERSIONS.items():
        shown = cell.must(host, "sh", "-c", "cat /tmp/array.*").splitlines()
        assert len(shown) == 2 and all(line.startswith(version) for line in shown)
    ends = sorted([(host, "0", "0") for host in VERSIONS] * 2)
    eventually("all its tasks are accounted", lambda: sorted(cell.records(array)) == ends)


@pytest.mark.statement("TI-1")
def test_a_parallel_job_has_tasks_on_both_distributions(cell: Cell) -> None:
    script = f"for host in {OLD} {NEW}; do qrsh -inherit $host cat /etc/debian_version || exit; done\n"
    cell.submit(script, "-sync", "y", "-pe", "tight", "2", "-masterq", f"all.q@{OLD}", "-o", "/tmp/tight")
    shown = cell.must(OLD, "cat", "/tmp/tight").splitlines()
    assert [line.partition(".")[0] + "." for line in shown[-2:]] == [*VERSIONS.values()]


@pytest.mark.statement("TI-1", "PE-13")
def test_mpich_runs_on_both_distributions_and_its_status_is_that_of_the_job(cell: Cell) -> None:
    script = f"{MPI}/bin/mpiexec {MPI}/bin/ring || exit\n{MPI}/bin/mpiexec sh -c 'exit 7'\n"
    job = cell.submit(script, "-pe", "tight", "4", "-masterq", f"all.q@{OLD}", "-o", "/tmp/mpi")
    eventually("its end is accounted", lambda: OLD in {host for host, _, _ in cell.records(job)})
    output, ends = cell.must(OLD, "cat", "/tmp/mpi").splitlines(), cell.records(job)
    assert [host for host, _, _ in ends] == [NEW, NEW, OLD] and ends[-1] == (OLD, "0", "7"), (ends, output)
    assert sorted(line.split()[-1] for line in output if line.startswith("hello")) == sorted([*VERSIONS] * 2)
    assert "ring 4" in output, output


def test_sessions_and_doctor_find_nothing_wrong_between_distributions(cell: Cell) -> None:
    for host, version in VERSIONS.items():
        assert cell.alice("qrsh", "-l", f"h={host}", "cat", "/etc/debian_version").startswith(version)
        doctor = cell.on(host, "gridengine", "doctor").stdout
        assert "none found something wrong" in doctor, doctor


def test_an_upgrade_of_all_hosts_leaves_their_jobs_in_the_same_processes(cell: Cell) -> None:
    def processes() -> dict[str, str]:
        return {host: cell.on(host, "pgrep", "-u", "alice", "-x", "sleep").stdout for host in VERSIONS}

    def releases() -> set[str]:
        return {cell.must(host, "sh", "-c", "basename $(readlink /opt/gridengine/current)").strip() for host in SUITES}

    jobs = [cell.submit("exec sleep 100000", "-r", "n", "-o", "/dev/null", "-l", f"h={host}") for host in VERSIONS]
    eventually("both jobs have a process", lambda: all(processes().values()))
    before, old = processes(), releases()
    for host in SUITES:
        assert "installed" in cell.must(host, "bash", "-ec", INSTALL_NEWER)
    cell.must(MASTER, "gridengine", "upgrade")
    cell.await_hosts()
    assert len(old) == len(releases()) == 1 and releases() != old, "one before, and another one now"
    for host in SUITES:
        assert f"release {releases().pop()}" in cell.must(host, "gridengine", "status")
    assert processes() == before and cell.states() == ["r", "r"]
    cell.must(MASTER, "qdel", *jobs)
    eventually("they are gone", lambda: cell.states() == [])


def test_a_host_with_another_ray_is_refused_with_both_versions_and_the_remedy_until_it_has_the_same(cell: Cell) -> None:
    there = "/opt/gridengine/libraries/*/lib/python3*/site-packages/ray-*.dist-info/METADATA"
    cell.must(NEW, "gridengine", "stop")
    cell.must(NEW, "sh", "-c", f"sed -i.kept 's/^Version: .*/Version: 1.0.0/' {there}")
    starts: list[Done] = []

    def answered() -> bool:
        """Whether the master has answered the daemon; a busy master takes longer than a start waits."""
        starts.append(cell.on(NEW, "gridengine", "start"))
        return "waits for the master" not in starts[-1].stderr

    try:
        eventually("the master has answered", answered)
        refused = starts[-1]
        versions = rf"host {NEW} has Ray 1\.0\.0 on Python 3\.\d+, the master Ray [2-9]\S+ on Python 3\.\d+"
        sentence = re.search(rf"the master refuses {NEW}: ({versions}: .*)\n", refused.stderr)
        assert refused.returncode == 1 and sentence, refused
        reason = sentence[1]
        assert reason.endswith(": install the same package on all hosts, then gridengine upgrade")
        for command in ("status", "doctor"):
            done = cell.on(NEW, "gridengine", command)
            assert done.returncode == 1 and reason in done.stdout, done
        assert cell.must(MASTER, "grep", "-c", reason, f"{SPOOL}/qmaster/messages") == "1\n"
        assert cell.must(NEW, "grep", "-c", reason, f"{SPOOL}/execd/{NEW}/messages") == "1\n"
        assert cell.must(MASTER, "qhost", "-h", NEW).splitlines()[-1].split()[-1] == "-"
    finally:
        cell.must(NEW, "sh", "-c", f"for each in {there}; do mv $each.kept $each; done; gridengine stop; gridengine start")
    cell.await_hosts()
