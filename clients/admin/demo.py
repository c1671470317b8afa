"""`gridengine demo`: a throw-away cell on this machine, real jobs of four kinds, and nothing left behind.

Owns the sequence of the demo. The demo uses the installed commands as any user does, by name in a shell's environment. Called by
`program`.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import psutil
import typer

from clients.admin.cell import InstalledCell, read_cell
from clients.admin.cell_plan import RAY_BLOCK, CellOptions, CellPlan, plan_cell
from clients.admin.certificate import utc_now
from clients.admin.creation import create_cell
from clients.admin.errors import AdminError
from clients.admin.free_ports import free_cell_ports, free_ports
from clients.admin.installation import Installation, find_installation
from clients.admin.local_daemons import daemons_of_this_machine, execd_of, qmaster_of, start, stop, web_of
from clients.admin.progress import Progress
from gridengine.extensions import require_libraries
from gridengine.protocols import web

MASTER = "demo0"
HOSTS = ("demo1", "demo2", "demo3")
SLOTS = 4

#: Limit for all jobs of the demo together, in seconds; a busy machine is slow.
JOBS_S = 120.0
_KILLED_S = 60.0

_SCRIPT = """\
#!/bin/sh
#$ -N script
#$ -j y
echo "job $JOB_ID of $USER on $HOSTNAME in queue $QUEUE"
sleep 3
"""


class Demo:
    """One run of the demo in `directory`, which the caller removes. `pages`: for a browser, until Ctrl-C."""

    def __init__(self, installation: Installation, progress: Progress, directory: Path, pages: bool) -> None:
        self._installation = installation
        self._progress = progress
        self._directory = directory
        self._pages = pages
        self._work = directory / "work"
        self._cell: InstalledCell | None = None

    def run(self) -> None:
        """Make the cell, run the jobs, show them. AdminError: a step failed."""
        with self._progress.step("making a cell"):
            plan = demo_plan(self._directory)
            self._work.mkdir()
            create_cell(plan, self._installation, utc_now())
            self._cell = read_cell(plan.files)
        with self._progress.step("starting sge_qmaster"):
            start(qmaster_of(self._cell), self._cell, self._installation)
        with self._progress.step(f"starting sge_execd for {', '.join(HOSTS)}"):
            for host in HOSTS:
                start(execd_of(self._cell, host), self._cell, self._installation)
            self._wait("all hosts report", lambda: self._hosts_that_report() == set(HOSTS))
        if self._pages:
            self._serve_pages()
        jobs = self._submit_jobs()
        self._show_jobs(jobs)
        if self._pages:
            self._run_until_interrupted()

    def clean_up(self) -> None:
        """End the daemons in order, then all other processes with this cell in their environment."""
        try:
            if self._cell is not None:
                stop(daemons_of_this_machine(self._cell))
        finally:
            end_processes_of(self._directory)

    def _serve_pages(self) -> None:
        """Start the web server, and print the link for this user."""
        assert self._cell is not None
        with self._progress.step("starting sge_web"):
            (self._cell.files.common / web.SETTINGS_FILE).write_text(f"port {free_ports(1)[0]}\n")
            start(web_of(self._cell), self._cell, self._installation)
        self._progress.show("gridengine web --login", self._command("gridengine", "web", "--login"))

    def _run_until_interrupted(self) -> None:
        """Keep jobs and a reservation in the cell until the user presses Ctrl-C."""
        for arguments in (["-N", "runs", "-t", "1-4", "sleep", "600"], ["-N", "waits", "-l", "h_vmem=1T", "sleep", "60"]):
            self._command("qsub", "-b", "y", "-cwd", *arguments)
        self._command("qrsub", "-N", "tonight", "-a", _in_an_hour(), "-d", "1:00:00", "-pe", "mpi", "4")
        ends = {signal.SIGINT, signal.SIGTERM}
        with suppress(KeyboardInterrupt):
            signal.pthread_sigmask(signal.SIG_BLOCK, ends)  # else a signal just before the wait would be missed
            self._progress.show("Ctrl-C ends it", "The cell runs on, for the browser.")
            while signal.sigtimedwait(ends, 1.0) is None:
                pass
        signal.pthread_sigmask(signal.SIG_UNBLOCK, ends)

    def _submit_jobs(self) -> dict[str, str]:
        (self._work / "hello.sh").write_text(_SCRIPT)
        output = ["-cwd", "-j", "y"]
        binary = [*output, "-b", "y"]
        jobs = {}
        with self._progress.step("submitting a script, a binary, an array and two parallel jobs"):
            for kind, arguments in {
                "script": ["-cwd", "hello.sh"],
                "binary": [*binary, "-N", "binary", "sleep", "3"],
                "array": [*binary, "-N", "array", "-t", "1-6", "sleep", "2"],
                "smp": [*binary, "-N", "smp", "-pe", "smp", "2", "sleep", "3"],
                "mpi": [*binary, "-N", "mpi", "-pe", "mpi", "6", "sleep", "3"],
            }.items():
                jobs[kind] = self._command("qsub", "-terse", *arguments).split(".")[0].strip()
        return jobs

    def _show_jobs(self, jobs: dict[str, str]) -> None:
        with self._progress.step("the scheduler places them"):
            self._wait("jobs run", self._jobs_have_begun)
        self._progress.show("qstat -f", self._command("qstat", "-f"))
        with self._progress.step("the jobs run to their end"):
            self._wait("jobs end", lambda: not self._command("qstat", "-u", "*").strip())
        for kind, job in jobs.items():
            records = self._command("qacct", "-j", job)
            _check_records(kind, job, records)
            if kind in {"script", "mpi"}:
                self._progress.show(f"qacct -j {job}", records)
        output = self._work / f"script.o{jobs['script']}"
        self._progress.show(f"cat {output.name}", output.read_text())

    def _jobs_have_begun(self) -> bool:
        """Whether some jobs run, or all have ended."""
        shown = self._command("qstat", "-u", "*")
        return " r " in shown or not shown.strip()

    def _hosts_that_report(self) -> set[str]:
        """Return the exec hosts with queue instances that accept jobs."""
        lines = self._command("qstat", "-f").splitlines()
        rows = [line.split() for line in lines if line.startswith("all.q@")]
        return {row[0].split("@")[1] for row in rows if len(row) == 5}

    def _environment(self) -> dict[str, str]:
        assert self._cell is not None
        path = f"{self._installation.bin}:{os.environ.get('PATH', os.defpath)}"
        return {**os.environ, **self._cell.environment(), "PATH": path}

    def _command(self, name: str, *arguments: str) -> str:
        command = [self._installation.program(name), *arguments]
        done = subprocess.run(
            command, env=self._environment(), cwd=self._work, capture_output=True, text=True, timeout=JOBS_S
        )
        if done.returncode != 0:
            output = (done.stderr or done.stdout).strip() or "nothing"
            raise AdminError(f"{' '.join([name, *arguments])} ended with exit code {done.returncode}, output: {output}")
        return done.stdout

    def _wait(self, what: str, condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + JOBS_S
        while not condition():
            if time.monotonic() > deadline:
                raise AdminError(f"{what}: not within {JOBS_S:.0f} s; {self._command('qstat', '-f')}")
            time.sleep(0.1)


def _in_an_hour() -> str:
    """A time as qrsub takes it."""
    return time.strftime("%Y%m%d%H%M", time.localtime(time.time() + 3600))


def run_demo(installation: Installation, progress: Progress, pages: bool) -> None:
    """Run the demo in a new directory and remove it, however the demo ends."""
    directory = Path(tempfile.mkdtemp(prefix="ge-demo-", dir="/tmp"))
    directory.chmod(0o755)
    demo = Demo(installation, progress, directory, pages)
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        demo.run()
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        with progress.step("stopping everything and cleaning up"):
            try:
                demo.clean_up()
            finally:
                shutil.rmtree(directory, ignore_errors=True)


def demo_plan(directory: Path) -> CellPlan:
    """Return the plan of a cell of HOSTS on this machine, all its files below `directory`, on ports that are free now."""
    qmaster_port, ray_port, ray_ports = free_cell_ports(RAY_BLOCK * (1 + len(HOSTS)))
    return plan_cell(
        CellOptions(
            root=directory,
            cell="demo",
            qmaster_port=qmaster_port,
            ray_port=ray_port,
            ray_ports=ray_ports,
            run_dir=directory / "run",
            spool_dir=directory / "spool",
            exec_hosts=list(HOSTS),
            slots=SLOTS,
            arco=False,
            load_thresholds="NONE",  # of one machine, whose load would close all hosts at once
            master_host=MASTER,
            # each host has its own loopback address, so that no name service is needed
            aliases=[
                f"{MASTER}=127.0.0.10",
                f"{MASTER}={socket.gethostname()}",
                *(f"{host}=127.0.0.{number}" for number, host in enumerate(HOSTS, start=11)),
            ],
        )
    )


def end_processes_of(root: Path) -> None:
    """Kill the processes of this user that have `root` as their SGE_ROOT, until there are none: daemons' children and
    jobs left over.
    """
    deadline = time.monotonic() + _KILLED_S
    while (left := _processes_of(root)) and time.monotonic() < deadline:
        for process in left:
            with suppress(psutil.Error):
                process.kill()
        psutil.wait_procs(left, timeout=1.0)


def _processes_of(root: Path) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if process.environ().get("SGE_ROOT") == str(root) and process.pid != os.getpid():
                found.append(process)
    return found


def _check_records(kind: str, job: str, records: str) -> None:
    """AdminError: an accounting record of `job` shows a failure."""
    for name in ("failed", "exit_status"):
        values = re.findall(rf"^{name} +(\S.*?) *$", records, re.MULTILINE)
        if not values or any(value != "0" for value in values):
            raise AdminError(f"the {kind} job {job} did not end well: {name} is {', '.join(values) or 'missing'}")


def _interrupt(_signal: int, _frame: object) -> None:
    raise KeyboardInterrupt


def demo(
    pages: Annotated[bool, typer.Option("--web", help="With its pages for a browser; it runs until Ctrl-C then.")] = False,
) -> None:
    """Run a throw-away cell of three exec hosts on this machine, show its jobs, and leave nothing behind."""
    if pages:
        require_libraries("web")
    run_demo(find_installation(), Progress(steps=8 if pages else 7), pages)
