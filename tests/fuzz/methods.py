"""`make fuzz-methods SEEDS= FROM=`: tasks with broken methods of all kinds on a shepherd of this host, and the outcome of each.

A seed is one task: a fault, or none, for each of its methods, its starter, its job, the commands of its queue for suspending,
resuming and terminating, and of its checkpointing interface, and its commands while it runs, or when its shepherd dies. The
rule: the task ends with the code of `_expected`, and leaves nothing behind; a job that has run to its end runs again only after
99, 100 or a migration. `_expected` is written from docs/reliability.md and sge_shepherd(8), not from the program.
"""

from __future__ import annotations

import argparse
import os
import pwd
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from daemons.qmaster.rules.failures import Fault, Then, judge
from gridengine.protocols.delivery import Ended
from gridengine.values.task_key import TaskKey
from shepherd import task_files
from tests.integration.shepherd.cell import Cell, Task, alive
from tests.integration.shepherd.launcher_server import LauncherServer

BEFORE = {"prolog": 7, "pe_start": 9, "pe_stop": 12, "epilog": 14}
IN = {"prolog": 8, "pe_start": 10, "pe_stop": 13, "epilog": 15}
STEPS = tuple(IN)
AFTER_JOB_STEPS = ("pe_stop", "epilog")
CONTROL = ("suspend_method", "resume_method", "terminate_method")
CHECKPOINTING = ("ckpt_command", "migr_command", "clean_command")
#: what may be wrong with a file, and what is in it that can be run
NOT_EXECUTABLE = ("missing", "no x bit")
NOT_A_PROGRAM = ("directory", "bad interpreter")
SCRIPTS = {
    "fine": "#!/bin/sh\nexit 0\n",
    "no #!": "exit 0\n",
    "environment": '#!/bin/sh\necho FUZZ=1 >>"$SGE_JOB_SPOOL_DIR/environment" 2>/dev/null\nexit 0\n',
    "exit 1": "#!/bin/sh\nexit 1\n",
    "exit 2": "#!/bin/sh\nexit 2\n",
    "exit 99": "#!/bin/sh\nexit 99\n",
    "exit 100": "#!/bin/sh\nexit 100\n",
    "exit 255": "#!/bin/sh\nexit 255\n",
    "signal": "#!/bin/sh\nkill -9 $$\n",
    "hangs": "#!/bin/sh\nexec sleep 1000\n",
}
SOUND = ("fine", "no #!", "environment")
FAULTS = (*SCRIPTS, *NOT_EXECUTABLE, *NOT_A_PROGRAM)
JOB = 'echo begins >>"$HOME/runs"\n{work}\necho ends >>"$HOME/runs"\nexit {status}\n'
METHOD_S, PATIENCE_S, ENOUGH_S = 0.4, 40.0, 1.5


class Broken(AssertionError):
    """Something does not hold."""


class Played:
    """One seed: its task, and the breaches of the rule."""

    def __init__(self, cell: Cell, seed: int) -> None:
        self._random, self._cell = random.Random(seed), cell
        self._place = cell.spool / f"methods-{seed}"
        self._place.mkdir()
        self._place.chmod(0o755)
        self.faults: dict[str, str] = {}
        self.commands: list[str] = []
        self.status = self._random.choice((0, 0, 0, 1, 3, 99, 100, 137, 255))
        self.end: dict[str, Any] = {}
        self.runs: list[str] = []

    def play(self) -> None:
        """Raises Broken."""
        for path in self._cell.home.iterdir():
            path.unlink()
        task = self._cell.task(self._script(), method_timeout_s=METHOD_S, **self._config())
        pid = task.start()
        if self._random.random() < 0.2:
            self._kill(task, pid)
        else:
            self._send_commands(task)
        self._await_end(task)
        runs = self._cell.home / "runs"
        self.runs = runs.read_text().split() if runs.exists() else []
        self._judge(task)

    def _kill(self, task: Task, pid: int) -> None:
        """The shepherd dies at some moment, and the launcher with it or not."""
        self.commands.append("SIGKILL")
        time.sleep(self._random.random() * 0.3)
        (self._cell.home / "go").touch()
        time.sleep(self._random.random() * 0.1)
        both = self._random.random() < 0.5
        if both:
            self._cell.stop_launcher(signal.SIGKILL)
        if task_files.running(task.directory / "pid") == pid:
            os.kill(pid, signal.SIGKILL)
        if both:
            self._cell.start_launcher()

    def _await_end(self, task: Task) -> None:
        until = time.monotonic() + PATIENCE_S
        while not (task.directory / "exit").exists():
            if time.monotonic() > until:
                raise Broken("the task does not end")
            time.sleep(0.01)
        self.end = task.exit

    def _script(self) -> str:
        self._waits = self._random.random() < 0.4
        work = 'until [ -e "$HOME/go" ]; do sleep 0.02; done' if self._waits else ":"
        return JOB.format(work=work, status=self.status)

    def _config(self) -> dict[str, Any]:
        config: dict[str, Any] = {}
        for name in STEPS:
            if self._random.random() < 0.7:
                config[name] = self._program(name)
        if self._random.random() < 0.25:
            config["starter_method"] = self._program("starter_method", '#!/bin/sh\nexec /bin/sh "$@"\n')
        for name in CONTROL:
            if self._waits and self._random.random() < 0.6:
                config[name] = self._program(name)
        if self._waits and self._random.random() < 0.3:
            config["ckpt_interface"] = "application-level"
            config |= {name: self._program(name) for name in CHECKPOINTING}
        return config

    def _program(self, name: str, fine: str = "") -> str:
        fault = self._random.choice(FAULTS if self._random.random() < 0.5 else SOUND)
        if fault == "hangs" and name == "starter_method":
            fault = "fine"  # that is a job that runs
        self.faults[name] = fault
        path = self._place / name
        if fault == "directory":
            path.mkdir()
        elif fault != "missing":
            text = "#!/no/such/interpreter\nexit 0\n" if fault == "bad interpreter" else SCRIPTS.get(fault, SCRIPTS["fine"])
            path.write_text(fine if fine and fault in ("fine", "environment") else text)
            path.chmod(0o644 if fault == "no x bit" else 0o755)
        return str(path)

    def _send_commands(self, task: Task) -> None:
        """Commands to a job that waits, in any order; then it may end, and is ended if it does not."""
        until = time.monotonic() + ENOUGH_S
        while self._waits and time.monotonic() < until and not (self._cell.home / "runs").exists():
            if (task.directory / "exit").exists():
                return
            time.sleep(0.01)
        if not self._waits:
            return
        choices = ("suspend", "resume", "usage", "terminate", *(("migrate",) if "ckpt_command" in self.faults else ()))
        for _ in range(self._random.randrange(4)):
            self._command(task, self._random.choice(choices))
            time.sleep(self._random.choice((0.0, 0.05)))
        (self._cell.home / "go").touch()
        until = time.monotonic() + ENOUGH_S
        while not (task.directory / "exit").exists():
            if time.monotonic() > until:
                self._command(task, "end" if "kill" in self.commands else "kill")
                until = time.monotonic() + ENOUGH_S
            time.sleep(0.01)

    def _command(self, task: Task, name: str) -> None:
        self.commands.append(name)
        task.client.ask(op="signal", directory=str(task.directory), command=name)

    # --- what must hold -------------------------------------------------------------------------------------------

    def _judge(self, task: Task) -> None:
        failed = self.end["failed"]
        if self.runs.count("begins") > 1:
            raise Broken("the job began twice")
        if not self.commands and failed != (expected := self._expected()):
            raise Broken(f"failed {failed}, expected {expected}")
        method, fault = self.end.get("method", ""), self.end.get("fault", "")
        rule = judge(Ended(TaskKey(1, 1, 1), failed, method=method, fault=fault), False)
        asked = failed in (24, 25, 30)
        if "ends" in self.runs and not asked and rule.then is not Then.OVER:
            raise Broken(f"a job that has ended runs again: {rule}")
        if "ends" in self.runs and not asked and not self.commands and self.end["exit_status"] != self.status:
            raise Broken(f"exit status {self.end['exit_status']} of a job that ended with {self.status}")
        sound = all(fault in SOUND for fault in self.faults.values())
        if rule.fault is Fault.QUEUE and sound and "SIGKILL" not in self.commands:
            raise Broken(f"a queue is in error, and no method had a fault: {rule}")
        followed = not self.faults.keys().isdisjoint((*AFTER_JOB_STEPS, "clean_command"))
        if (task.directory / "job_end").exists() and not self.commands and not followed:
            raise Broken("the note of the end of the job has no later file")
        self._nothing_is_left(task)

    def _nothing_is_left(self, task: Task) -> None:
        mark = f"SGE_JOB_SPOOL_DIR={task.directory}".encode()
        for process in Path("/proc").glob("[0-9]*"):
            try:
                if mark in (process / "environ").read_bytes().split(b"\0") and alive(int(process.name)):
                    raise Broken(f"process {process.name} is left: {(process / 'cmdline').read_bytes()!r}")
            except OSError:
                continue

    def _expected(self) -> int:
        """The code of a task that received no command, by the rules for methods before, in and after the job."""
        failed, before = 0, False
        for name in ("prolog", "pe_start"):
            if not before:
                failed = self._code(name)
                before = failed != 0
        if not before:
            starter = self.faults.get("starter_method", "fine")
            failed = 27 if starter in (*NOT_EXECUTABLE, *NOT_A_PROGRAM) else _of_job(self._job_status(starter))
            before = failed == 27
        for name in AFTER_JOB_STEPS:
            skipped = name == "pe_stop" and self._code("prolog") != 0
            if not skipped and (code := self._code(name)) and not (before or failed in (25, 30)):
                failed = code
        return failed

    def _job_status(self, starter: str) -> int:
        """The exit code of the job's process: a broken starter does not call the job."""
        own = {"exit 1": 1, "exit 2": 2, "exit 99": 99, "exit 100": 100, "exit 255": 255, "no #!": 0, "signal": -9, "hangs": -9}
        return own.get(starter, self.status)

    def _code(self, name: str) -> int:
        fault = self.faults.get(name, "fine")
        if fault in NOT_EXECUTABLE:
            return BEFORE[name] if name in AFTER_JOB_STEPS else 27
        if fault in NOT_A_PROGRAM:
            return 27
        if fault in ("exit 99", "exit 100"):
            return 25 if fault == "exit 99" else 30
        return IN[name] if fault in ("exit 1", "exit 2", "exit 255", "signal", "hangs") else 0


def _of_job(status: int) -> int:
    return {99: 25, 100: 30}.get(status, 100 if status < 0 else 0)


def play(seeds: range, report: Callable[[str], None], codes: Counter[int]) -> int:
    """Play seeds on a launcher of this user; how many have broken a rule. `codes`: with which they ended, counted."""
    base = Path(tempfile.mkdtemp(prefix="ge-methods-"))
    base.chmod(0o755)
    broken = 0
    with LauncherServer(None, PATIENCE_S) as server:
        cell = Cell(base, pwd.getpwuid(os.geteuid()).pw_name, server)
        cell.start_launcher()
        try:
            for seed in seeds:
                played = Played(cell, seed)
                try:
                    played.play()
                    codes[played.end["failed"]] += 1
                except Broken as error:
                    broken += 1
                    report(f"seed {seed}: {error}")
                    report(f"    {played.faults}, job exits {played.status}, commands {played.commands}")
                    report(f"    {played.runs} {played.end.get('failed')} {played.end.get('reason')}")
        finally:
            cell.stop_launcher()
            shutil.rmtree(base, ignore_errors=True)
    return broken


def main() -> int:
    parser = argparse.ArgumentParser(prog="make fuzz-methods")
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--from", dest="first", type=int, default=1)
    options = parser.parse_args()
    begun, codes = time.monotonic(), Counter[int]()
    broken = play(range(options.first, options.first + options.seeds), lambda line: print(line, flush=True), codes)
    counts = ", ".join(f"{code}: {count}" for code, count in sorted(codes.items()))
    print(f"{options.seeds} tasks in {time.monotonic() - begun:.0f} s, {broken} broke a rule; by failed: {counts}")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
