"""Jobs of all kinds on the test bed, which run until a gate opens, and a user who asks for something all the time.

Used by the test that upgrades a cell beneath them. The note of a job at its start shows whether it was started once.
"""

from __future__ import annotations

import re
import subprocess
import threading
from pathlib import Path

from tests.integration.cells import TestbedCell, eventually

_PE = (
    "pe_name tight\nslots 99\nuser_lists NONE\nxuser_lists NONE\nstart_proc_args NONE\nstop_proc_args NONE\n"
    "allocation_rule $round_robin\ncontrol_slaves TRUE\njob_is_first_task FALSE\nurgency_slots min\n"
    "accounting_summary FALSE\nqsort_args NONE\n"
)
STATUS = "5"
_SESSION = "session"


class Play:
    """Jobs of alice on the hosts of a cell. `work`: a directory that all hosts see and she may use."""

    def __init__(self, cell: TestbedCell, work: Path, submit_host: str) -> None:
        self._cell, self._work, self._from = cell, work, submit_host
        self._gate, self._notes = work / "gate", work / "notes"
        self.jobs: dict[str, str] = {}
        self._session: subprocess.Popen[bytes] | None = None
        self._answered = b""

    def begin(self) -> None:
        """Start the jobs, and return when all of them run."""
        hosts = self._cell.hosts
        (self._work / "pe").write_text(_PE)
        for arguments in (f"-Ap {self._work}/pe", "-aattr queue pe_list tight all.q", "-au alice arusers"):
            assert self._cell.on(self._cell.master, "qconf", *arguments.split()).returncode == 0
        self._notes.mkdir(mode=0o777)
        self._notes.chmod(0o777)
        waits = f'echo x >> {self._notes}/$JOB_ID.$SGE_TASK_ID; while [ ! -e {self._gate} ]; do sleep 0.5; done; exit {STATUS}'
        self._script("wait", waits)
        tight = f"qrsh -inherit {hosts[1]} {self._work}/slave; echo $? >> {self._notes}/slave.end\n{waits}"
        self._script("slave", f"echo x >> {self._notes}/slave; while [ ! -e {self._gate} ]; do sleep 0.5; done; exit 3")
        self._script("tight", tight)
        reserved = self._user("qrsub", "-d", "3600", "-q", f"all.q@{hosts[2]}", "-he", "y")
        assert reserved.returncode == 0, reserved.stdout + reserved.stderr
        self.reservation = reserved.stdout.split()[3]
        for name, options in (
            ("single", ("-l", f"h={hosts[0]}", f"{self._work}/wait")),
            ("array", ("-t", "1-4", f"{self._work}/wait")),
            ("parallel", ("-pe", "tight", "3", "-masterq", f"all.q@{hosts[0]}", f"{self._work}/tight")),
            ("reserved", ("-ar", self.reservation, f"{self._work}/wait")),
        ):
            done = self._user("qsub", "-terse", "-N", name, "-o", "/dev/null", "-j", "y", *options)
            assert done.returncode == 0, done.stderr
            self.jobs[name] = done.stdout.strip().partition(".")[0]
        echo = "while read line; do echo got $line; done; exit 6"
        self._session = self._cell.start_as(
            "alice", self._from, "qrsh", "-now", "n", "-N", _SESSION, "-l", f"h={hosts[1]}", echo
        )
        assert self._echoed() == b"got 0\n"
        # the master task of the parallel job waits for its slave
        begun = {*(f"{self.jobs[name]}.undefined" for name in ("single", "reserved")), "slave"}
        begun |= {f"{self.jobs['array']}.{task}" for task in range(1, 5)}
        eventually(f"all of {begun} have begun", lambda: self._begun() >= begun)
        assert self._begun() == begun

    def run_on(self) -> None:
        """The jobs run, each since its start, the session echoes, and the reservation has not failed."""
        rows = self._rows("-s", "r")
        running = {row[2] for row in rows if row[4] == "r"}
        assert running >= {*(name[:10] for name in self.jobs), _SESSION[:10]}, rows
        assert len(self._echoed()) and all((self._notes / name).read_text() == "x\n" for name in self._begun())
        assert re.search(r"^state +r$", self._user("qrstat", "-ar", self.reservation).stdout, re.MULTILINE)

    def end(self) -> None:
        """Open the gate: all end as they should, once."""
        assert self._session is not None
        self._gate.touch()
        self._session.communicate(timeout=60)
        assert self._session.returncode == 6
        eventually("none of the jobs is left", lambda: not {row[0] for row in self._rows()} & set(self.jobs.values()))
        for name, expected in (("single", 1), ("array", 4), ("reserved", 1)):
            ends = self._ends(self.jobs[name])
            assert ends == [("0", STATUS)] * expected, (name, ends)
        assert sorted(self._ends(self.jobs["parallel"])) == [("0", "3"), ("0", STATUS)]
        assert (self._notes / "slave.end").read_text() == "3\n"
        assert all((self._notes / name).read_text() == "x\n" for name in self._begun())

    def clean(self) -> None:
        """Remove everything, also after a failure."""
        if self._session is not None:
            self._session.kill()
            self._session.communicate()
        self._gate.touch()
        self._cell.on(self._from, "qdel", "-u", "alice,bob")
        self._cell.on(self._from, "qrdel", "-u", "alice")

    def _rows(self, *options: str) -> list[list[str]]:
        done = self._cell.on(self._from, "qstat", "-u", "alice", *options)
        assert done.returncode == 0, done.stderr
        return [row.split() for row in done.stdout.splitlines()[2:]]

    def _begun(self) -> set[str]:
        return {path.name for path in self._notes.iterdir() if path.name != "slave.end"}

    def _ends(self, job: str) -> list[tuple[str, str]]:
        lines = self._cell.on(self._from, "qacct", "-j", job).stdout.splitlines()
        fields = [line.split() for line in lines]
        failed, status = ([each[1] for each in fields if each[:1] == [name]] for name in ("failed", "exit_status"))
        return list(zip(failed, status, strict=True))

    def _echoed(self) -> bytes:
        assert self._session is not None and self._session.stdin is not None and self._session.stdout is not None
        self._session.stdin.write(b"0\n")
        self._session.stdin.flush()
        return self._session.stdout.readline()

    def _script(self, name: str, text: str) -> None:
        path = self._work / name
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)

    def _user(self, *command: str) -> subprocess.CompletedProcess[str]:
        return self._cell.as_user("alice", self._from, *command)


#: between two commands: they would take half of a processor, and the cell's gaps are longer
ASKED_S = 0.3


class Asker:
    """bob submits jobs and queries the cell all the time, and counts the failures."""

    def __init__(self, cell: TestbedCell, host: str) -> None:
        self._cell, self._host, self._ended = cell, host, threading.Event()
        self._thread = threading.Thread(target=self._ask)
        self.asked = 0
        self.failures: list[str] = []

    def __enter__(self) -> Asker:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def goes_on(self) -> None:
        """bob asked some more."""
        asked = self.asked
        eventually("he asks on", lambda: self.asked > asked + 4)

    def _ask(self) -> None:
        commands = ("qsub -terse -h -o /dev/null -j y -b y true", "qstat -u *", "qhost")
        while not self._ended.wait(ASKED_S):
            done = self._cell.as_user("bob", self._host, *commands[self.asked % 3].split())
            self.asked += 1
            if done.returncode:
                self.failures.append(f"{commands[(self.asked - 1) % 3]}: {done.stdout}{done.stderr}")
