"""The whole play: a cell, users at work, faults, healing, and the verdict.

Defines the order of these steps, and the preparation of the cell. Called by `python -m tests.torture` and by a test.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from tests.integration.cells import TestbedCell, eventually, hosts_ready
from tests.torture import plan
from tests.torture.evidence import Evidence, read_accounting, read_lines
from tests.torture.faults import Faults, small_spool, victims
from tests.torture.journal import Journal, Request, now
from tests.torture.leftovers import left_over
from tests.torture.load import LICENCES, SLOTS, User
from tests.torture.plan import MASTER
from tests.torture.scripts import Scripts
from tests.torture.verdict import breaches

USERS = ("alice", "bob", "alice", "root")
_PE = (
    "pe_name spread\nslots 999\nuser_lists NONE\nxuser_lists NONE\nstart_proc_args NONE\nstop_proc_args NONE\n"
    "allocation_rule $round_robin\ncontrol_slaves TRUE\njob_is_first_task TRUE\nurgency_slots min\n"
    "accounting_summary FALSE\nqsort_args NONE\n"
)
QUIET_S = 120.0
"""In which all must be over after the last fault was mended; jobs take seconds."""
_PAUSE_S = 0.5


@dataclass(slots=True)
class Outcome:
    """The outcome of a run: its breaches, and figures for people."""

    breaches: list[str]
    faults: Counter[str]
    acknowledged: Counter[str]
    doubtful: int
    tries: int
    failed: Counter[int]
    quiet_s: float
    evidence: Path = field(default_factory=Path)

    def __str__(self) -> str:
        faults = ", ".join(f"{number} {kind}" for kind, number in self.faults.most_common())
        kinds = ", ".join(f"{number} {what}" for what, number in self.acknowledged.most_common())
        failed = ", ".join(f"{number} with {code}" for code, number in self.failed.most_common()) or "none"
        return (
            f"faults: {self.faults.total()} ({faults})\nacknowledged: {self.acknowledged.total()} ({kinds})\n"
            f"without an answer, or refused: {self.doubtful}\n"
            f"tries seen by jobs: {self.tries}; records of failed tries: {failed}\n"
            f"quiet {self.quiet_s:.1f} s after the last fault was mended\n"
            + ("\n".join(self.breaches) or "every rule held")
        )


def play(cell: TestbedCell, seed: int, seconds: float, shadowed: bool = False, racked: bool = False) -> Outcome:
    """Torture a running cell for so long. The files of the run stay in a directory, which the outcome names.

    `shadowed`: another host takes over when the master is lost. `racked`: the exec hosts form one rack.
    """
    place = Path(tempfile.mkdtemp(prefix=f"torture.{seed}.", dir="/var/tmp"))
    place.chmod(0o755)
    scripts, journal = Scripts(place), Journal(place / "journal")
    with small_spool(cell):
        _prepare(cell, place)
        if shadowed:
            _add_shadow(cell)
        if racked:
            _make_rack(cell)
        faults = Faults(cell, journal)
        stop = threading.Event()
        users = [User(name, index, cell, scripts, journal, seed) for index, name in enumerate(USERS)]
        with ThreadPoolExecutor(len(users)) as terminals:
            working = [terminals.submit(user.work, stop) for user in users]
            try:
                kinds = plan.KINDS_OF_TWO if shadowed else plan.KINDS
                of_host = plan.OF_HOST_IN_RACK if racked else plan.OF_EXEC_HOST
                _break(faults, plan.faults(seed, int(seconds) + 1, kinds, of_host), seconds)
            finally:
                stop.set()
        for each in working:
            each.result()  # a user who broke down has asked for nothing since
        faults.heal()
        healed = now()
        still_there = _release_all(cell, journal)
        evidence = _gather(cell, journal, scripts)
        evidence.left += still_there
        journal.close()
        return _outcome(evidence, place, max(0.0, now() - healed))


def _prepare(cell: TestbedCell, place: Path) -> None:
    """Few slots, few licences, a parallel environment, so that every job waits for a resource."""
    (place / "pe").write_text(_PE)
    (place / "complexes").write_text(cell.on(MASTER, "qconf", "-sc").stdout + "lic lic INT <= YES YES 0 0\n")
    eventually("all hosts are there", lambda: hosts_ready(cell.on(MASTER, "qstat", "-f").stdout) == set(plan.EXEC_HOSTS))
    for command in (
        ("qconf", "-Ap", f"{place}/pe"),
        ("qconf", "-Mc", f"{place}/complexes"),
        ("qconf", "-aattr", "exechost", "complex_values", f"lic={LICENCES}", "global"),
        ("qconf", "-aattr", "queue", "pe_list", "spread", "all.q"),
        ("qconf", "-rattr", "queue", "slots", str(SLOTS), "all.q"),
        ("qconf", "-au", "alice,bob", "arusers"),
    ):
        done = cell.on(MASTER, *command)
        assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"


def _add_shadow(cell: TestbedCell) -> None:
    done = cell.on(MASTER, "gridengine", "shadow", "add", plan.SHADOW)
    assert done.returncode == 0, done.stderr
    cell.start(plan.SHADOW)
    eventually("it could take over", lambda: not cell.on(MASTER, "gridengine", "shadow", "show").returncode)


def _make_rack(cell: TestbedCell) -> None:
    done = cell.on(MASTER, "gridengine", "host", "add", *plan.EXEC_HOSTS, "--rack", "r1")
    assert done.returncode == 0, done.stderr
    for host in plan.EXEC_HOSTS:
        eventually(f"{host} is in the rack", lambda host=host: victims(host, "execd in a rack"))
    eventually("all hosts are there", lambda: hosts_ready(cell.on(MASTER, "qstat", "-f").stdout) == set(plan.EXEC_HOSTS))


def _break(inflicting: Faults, faults: list[plan.Fault], seconds: float) -> None:
    until = time.monotonic() + seconds
    for fault in faults:
        time.sleep(min(fault.after_s, max(0.0, until - time.monotonic())))
        if time.monotonic() >= until:
            return
        print(f"{now():.1f} {fault}", flush=True)
        inflicting.inflict(fault)


def _release_all(cell: TestbedCell, journal: Journal) -> list[str]:
    """Release all holds and clear all errors; wait until no job is there. The jobs that are still there."""
    until = now() + QUIET_S
    while waiting := _waiting(cell):
        if now() > until:
            return [*(f"still there: {line}" for line in waiting), cell.on(MASTER, "qstat", "-f").stdout]
        cell.on(MASTER, "qmod", "-cq", "*")
        for line in waiting:
            _free(cell, journal, *line.split()[:5:4])
        time.sleep(_PAUSE_S)
    # hosts are told a moment later that they may forget the last tasks
    while any("active_jobs" in line for line in left_over(cell)) and now() < until:
        time.sleep(_PAUSE_S)
    return []


def _waiting(cell: TestbedCell) -> list[str]:
    """The lines of qstat and qrstat; an answer that does not come is no emptiness."""
    jobs, reservations = (cell.on(MASTER, name, "-u", "*") for name in ("qstat", "qrstat"))
    if jobs.returncode or reservations.returncode:
        return [jobs.stderr + reservations.stderr]
    return jobs.stdout.splitlines()[2:] + reservations.stdout.splitlines()[2:]


def _free(cell: TestbedCell, journal: Journal, job: str, state: str = "") -> None:
    """Remove the obstacle of a job that would wait forever: a hold, or an error."""
    if "h" in state and job.isdigit():
        asked = now()
        done = cell.on(MASTER, "qrls", job)
        journal.add(Request("release", "root", asked, now(), not done.returncode, int(job)))
    if "E" in state:
        cell.on(MASTER, "qmod", "-cj", job)


def _gather(cell: TestbedCell, journal: Journal, scripts: Scripts) -> Evidence:
    evidence = Evidence(journal.requests, journal.broken)
    read_lines(evidence, scripts.lines.read_text().splitlines())
    common = Path(cell.environment["PREFIX"]) / "cells" / cell.environment["CELL"] / "common"
    read_accounting(evidence, (common / "accounting").read_text().splitlines())
    queue = cell.on(MASTER, "qconf", "-sq", "all.q").stdout
    evidence.queue = {line.split()[0]: line.split()[1] for line in queue.splitlines() if len(line.split()) > 1}
    evidence.left = list(left_over(cell))
    return evidence


def _outcome(e: Evidence, place: Path, quiet_s: float) -> Outcome:
    found = Outcome(
        breaches=breaches(e),
        faults=Counter(each.text.split()[0] for each in e.broken),
        acknowledged=Counter(each.what for each in e.requests if each.sure),
        doubtful=sum(not each.sure for each in e.requests),
        tries=len(e.tries),
        failed=Counter(each.failed for each in e.records if each.failed),
        quiet_s=quiet_s,
        evidence=place,
    )
    if not found.breaches and "KEEP" not in os.environ:
        shutil.rmtree(place)
    return found
