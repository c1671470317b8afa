"""The master host is lost, cut off or handed over: another host takes over, nothing acknowledged is lost, and two masters never
answer."""

from __future__ import annotations

import shutil
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.integration.cells import ROOT, TEST_PREFIX, TESTBED, TestbedCell, eventually, hosts_ready, run
from tests.integration.test_backup import commands
from tests.integration.upgrade_play import ASKED_S, Asker, Play

MASTER, SHADOW = "fm", "f1"
"""f1 is an exec host, too; f2 and f3 are only exec hosts, and f2 or f3 is a witness."""
LEASE_S = 6.0
TRIES = 3
"""A machine that is too busy for seconds costs a master its office, as it should; not each time."""


class CellOfTwo(TestbedCell):
    """A cell whose master `fm` may be taken over by `f1`."""

    master = MASTER
    hosts = ("f1", "f2", "f3")

    def __init__(self) -> None:
        super().__init__()
        self.environment |= {"CELL": "fail", "MASTER": MASTER, "EXEC": "f"}

    def bring_up(self) -> None:
        """Bring the cell up, with its shadow ready."""
        self.up()
        done = self.on(MASTER, "gridengine", "shadow", "add", SHADOW)
        assert done.returncode == 0, done.stderr
        self.start(SHADOW)
        self.until_ready()

    def until_ready(self) -> None:
        """Until either host could take over from the other."""
        eventually("a host could take over", lambda: self.on(self.leader(), "gridengine", "shadow", "show").returncode == 0)

    def witness(self) -> str:
        """The exec host that votes."""
        sets: list[set[str]] = []

        def known() -> bool:
            shown = self.on(self.leader(), "gridengine", "shadow", "show").stdout
            sets[:] = [set(line.split()[1:]) for line in shown.splitlines() if line.startswith("voters")]
            return len(sets) == 1  # there are two while the voters change

        eventually("it is known who votes", known)
        (witness,) = sets[0] - {MASTER, SHADOW}
        return witness

    def leader(self) -> str:
        return (TEST_PREFIX / "cells" / "fail" / "common" / "act_qmaster").read_text().strip()

    def answers(self, host: str) -> bool:
        """Whether a command on a host is answered at once."""
        return self.on(host, "timeout", "4", "qconf", "-sel").returncode == 0


@pytest.fixture(scope="module")
def cell(installed: None) -> Iterator[CellOfTwo]:
    cell = CellOfTwo()
    try:
        cell.bring_up()
        yield cell
    finally:
        cell.remove()
        cell.install()  # an upgrade that failed midway leaves another release in use


class Submitter:
    """alice on an exec host: she submits jobs one by one, and notes the acknowledged jobs."""

    def __init__(self, cell: CellOfTwo, host: str = "f3") -> None:
        self._cell, self._host, self._ended = cell, host, threading.Event()
        self._thread = threading.Thread(target=self._submit, daemon=True)
        self.acknowledged: list[str] = []
        self.refused = 0

    def __enter__(self) -> Submitter:
        self._thread.start()
        try:
            eventually("jobs come in", lambda: len(self.acknowledged) > 3)
        except BaseException:
            self._ended.set()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _submit(self) -> None:
        while not self._ended.wait(ASKED_S):
            done = self._cell.as_user("alice", self._host, *"qsub -terse -h -b y -o /dev/null -j y true".split())
            assert "Traceback" not in done.stderr
            self.acknowledged += done.stdout.split()
            self.refused += done.returncode != 0

    def goes_on(self) -> None:
        known = len(self.acknowledged)
        eventually("jobs come in again", lambda: len(self.acknowledged) > known + 3)

    def check_jobs(self) -> None:
        """Each acknowledged job is there once, and no unknown job is there. Deletes these jobs."""
        done = self._cell.on(self._host, "qstat", "-s", "h", "-u", "alice")
        assert done.returncode == 0, done.stderr
        known = [row.split()[0] for row in done.stdout.splitlines()[2:]]
        self._cell.on(self._host, "qdel", *known)
        assert [job for job in known if job in self.acknowledged] == self.acknowledged
        assert len(known) <= len(self.acknowledged) + self.refused, "jobs that nobody asked for"


@contextmanager
def cut(cell: CellOfTwo, one: str, other: str) -> Iterator[None]:
    """No packet passes between two hosts, which reach all other hosts."""
    addresses = dict(line.split()[:2] for line in run([str(TESTBED / "hosts"), "list"]).stdout.splitlines())
    ways = [(one, addresses[other]), (other, addresses[one])]
    for host, address in ways:
        assert cell.on(host, "ip", "route", "add", "blackhole", f"{address}/32").returncode == 0
    try:
        yield
    finally:
        for host, address in ways:
            cell.on(host, "ip", "route", "del", "blackhole", f"{address}/32")


def started(cell: CellOfTwo, job: str) -> str:
    """When and where a running job began, as its row says; nothing while it waits."""
    rows = [row.split() for row in cell.on("f3", "qstat", "-s", "r", "-u", "*").stdout.splitlines()[2:]]
    return next((" ".join((*row[4:8], row[0])) for row in rows if row[0] == job and row[4] == "r"), "")


@pytest.mark.statement("SH-1", "SH-2", "SH-3")
def test_a_lost_master_host_is_replaced(cell: CellOfTwo) -> None:
    """The host follows the other master when it is back."""
    job = cell.as_user("alice", "f3", *"qsub -terse -b y -l h=f3 -o /dev/null -j y sleep 600".split()).stdout.strip()
    eventually("it runs", lambda: started(cell, job))
    began = started(cell, job)
    with Submitter(cell) as alice:
        cell.until_ready()
        cell.power("kill", MASTER)
        alice.goes_on()
    assert cell.leader() == SHADOW
    alice.check_jobs()
    eventually("all hosts are there", lambda: hosts_ready(cell.on("f3", "qstat", "-f").stdout) >= {"f1", "f2", "f3"})
    assert started(cell, job) == began, "it has run on"
    cell.power("boot", MASTER)
    cell.start(MASTER)
    cell.until_ready()
    eventually("its users are answered by the other one", lambda: cell.answers(MASTER))


@pytest.mark.statement("SH-4")
def test_the_master_moves_at_an_administrators_request(cell: CellOfTwo) -> None:
    for _ in range(TRIES):
        cell.until_ready()
        other = MASTER if cell.leader() == SHADOW else SHADOW
        with Submitter(cell) as alice:
            done = cell.on(other, "gridengine", "shadow", "take-over")
            assert (done.returncode, done.stdout) == (0, f"host {other} is the master\n"), done.stderr
            alice.goes_on()
        alice.check_jobs()
        if cell.leader() == other:
            assert alice.refused < 2, "commands wait for it"
            return
    pytest.fail("it moves back each time")


@pytest.mark.statement("SH-3")
def test_an_isolated_master_steps_down_before_there_is_another(cell: CellOfTwo) -> None:
    cell.until_ready()
    with Submitter(cell) as alice:
        cell.until_ready()
        alone = cell.leader()
        cell.power("cut", alone)
        alice.goes_on()
        assert not cell.answers(alone)
        assert cell.leader() != alone
    cell.power("mend", alone)
    alice.check_jobs()
    cell.until_ready()
    eventually("its users are answered by the other one", lambda: cell.answers(alone))


@pytest.mark.parametrize(("one", "other"), [(MASTER, SHADOW), (MASTER, "witness"), (SHADOW, "witness")])
@pytest.mark.statement("SH-3")
def test_two_hosts_that_lose_each_other_change_nothing(cell: CellOfTwo, one: str, other: str) -> None:
    for _ in range(TRIES):
        cell.until_ready()
        leader = cell.leader()
        hosts = [cell.witness() if name == "witness" else name for name in (one, other)]
        submit_host = next(host for host in ("f3", "f2") if host not in hosts)
        with Submitter(cell, submit_host) as alice, cut(cell, *hosts):
            time.sleep(LEASE_S + 2)
            alice.goes_on()
        alice.check_jobs()
        if cell.leader() == leader:
            return
    pytest.fail("it moves each time")


@pytest.mark.statement("SH-1")
def test_no_host_takes_over_from_a_cell_that_was_shut_down(cell: CellOfTwo) -> None:
    for _ in range(TRIES):
        cell.until_ready()
        leader = cell.leader()
        assert cell.on(leader, "qconf", "-km").returncode == 0
        rests = cell.leader()  # another one if it has moved just before
        time.sleep(LEASE_S + 2)
        assert cell.leader() == rests
        cell.start(rests)
        goes_on = cell.leader()
        cell.until_ready()
        if rests == goes_on == leader:
            return
    pytest.fail("it moves each time, before or after")


@contextmanager
def small_disk(cell: CellOfTwo, host: str) -> Iterator[str]:
    """The spool of the master lies on a disk of 8 MiB; its directory."""
    spool = "/var/spool/gridengine/fail"

    def around(script: str) -> None:
        assert cell.on(host, "gridengine", "stop").returncode == 0
        done = cell.on(host, "sh", "-ec", f"cd {spool}; {script}")
        assert done.returncode == 0, done.stderr
        cell.start(host)
        cell.until_ready()

    around("mv qmaster real; mkdir qmaster; mount -t tmpfs -o size=8m,mode=700 tmpfs qmaster; cp -a real/. qmaster/")
    yield f"{spool}/qmaster"
    around("rm -r real/*; cp -a qmaster/. real/; umount qmaster; rmdir qmaster; mv real qmaster")


@pytest.mark.statement("SH-1", "SP-3")
def test_a_master_whose_disk_is_full_is_relieved(cell: CellOfTwo) -> None:
    """The host follows the other master when its disk has space."""
    cell.until_ready()
    leader = cell.leader()
    with small_disk(cell, leader) as spool:
        with Submitter(cell) as alice:
            cell.on(leader, "dd", "if=/dev/zero", f"of={spool}/fill", "bs=4k")
            eventually("the other one is the master", lambda: cell.leader() != leader)
            alice.goes_on()
        alice.check_jobs()
        assert cell.on(leader, "rm", f"{spool}/fill").returncode == 0
        cell.until_ready()
    cell.until_ready()


def install_another(directory: Path) -> str:
    """`make install` of docs/operations.md, with this checkout as a later version; the name of the release."""
    assert "\n    make install\n" in (ROOT / "docs" / "operations.md").read_text()
    for name in ("gridengine", "shepherd", "daemons", "clients", "cluster-config", "tools", "docs"):
        shutil.copytree(ROOT / name, directory / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "requirements.lock", "Makefile", "README.md", "CHANGELOG.md"):
        shutil.copy(ROOT / name, directory)
    own = directory / "gridengine" / "__init__.py"
    own.write_text(own.read_text().replace('__version__ = "', '__version__ = "9.', 1))
    python = getattr(sys, "_base_executable", sys.executable)
    done = run(["make", "-C", str(directory), "install", f"PREFIX={TEST_PREFIX}", f"PYTHON={python}"], timeout=1800)
    assert done.returncode == 0, done.stdout + done.stderr
    return (TEST_PREFIX / "current").resolve().name


def releases(cell: CellOfTwo) -> dict[tuple[str, str], str]:
    """The release of each host's daemon, as the table shows it."""
    shown = cell.on(cell.leader(), "gridengine", "upgrade", "--check")
    assert shown.returncode == 0, shown.stderr
    rows = [line.split() for line in shown.stdout.splitlines()[1:]]
    return {(row[0], row[1]): row[2] for row in rows}


def losses(cell: CellOfTwo, leader: str) -> str:
    """The lines in which a master took a host for lost."""
    return cell.on(leader, "grep", "is lost", "/var/spool/gridengine/fail/qmaster/messages").stdout


def no_way_back(cell: CellOfTwo, leader: str, before: str) -> None:
    """To a release that cannot read the spool; nothing is touched."""
    path = TEST_PREFIX / "releases" / before / "release.json"
    facts = path.read_text()
    path.write_text(facts.replace('"spool": ', '"spool": -'))
    try:
        refused = cell.on(leader, "gridengine", "upgrade", "--back")
    finally:
        path.write_text(facts)
    assert refused.returncode == 1 and "there is no way back" in refused.stderr, refused
    assert (TEST_PREFIX / "current").resolve().name != before


@pytest.mark.statement("EX-9", "SH-4")
def test_the_commands_of_the_page_upgrade_a_cell_beneath_its_jobs(cell: CellOfTwo) -> None:
    """And bring it back; refused are a spool that the older release cannot read, and a release that cannot be loaded."""
    cell.until_ready()
    leader, before = cell.leader(), (TEST_PREFIX / "current").resolve().name
    lost = losses(cell, leader)
    with TemporaryDirectory(dir="/var/tmp", prefix="ge-upgrade-") as name:
        work = Path(name)
        work.chmod(0o1777)
        play = Play(cell, work, "f3")
        try:
            play.begin()
            (work / "source").mkdir()
            with Asker(cell, "f3") as bob:
                after = install_another(work / "source")
                bob.goes_on()
            assert bob.failures == [], f"{bob.asked} commands amid the install"
            assert set(releases(cell).values()) == {before} != {after}
            no_way_back(cell, leader, before)
            with Asker(cell, "f3") as bob:
                for command in commands("Upgrade"):
                    done = cell.on(leader, *command.split(), timeout=1800)
                    assert done.returncode == 0, done.stdout + done.stderr
                    if command != "gridengine upgrade --check":
                        expected = before if "--back" in command else after
                        assert set(releases(cell).values()) == {expected}, done.stdout
                        play.run_on()
            # a list that is on its way when the qmaster ends is lost; whatever changes something is asked for again
            assert [failure for failure in bob.failures if not failure.startswith(("qstat", "qhost"))] == []
            assert losses(cell, leader) == lost
            play.end()
        finally:
            play.clean()
    assert cell.leader() == leader
