"""An exec host for tests: a cell on disk, the stand-in master and `sge_execd`, as processes on this machine."""

from __future__ import annotations

import json
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil

from clients.admin.authority import Authority
from clients.admin.cell import CellFiles
from clients.admin.certificate import utc_now
from tests.integration.cells import PATIENCE_S, ROOT, cell_ports, eventually

HOST = "h1"
USER = pwd.getpwuid(os.geteuid()).pw_name
QUEUE = {"tmpdir": "/tmp", "shell": "/bin/sh", "shell_start_mode": "posix_compliant", "notify_s": 60, "min_cpu_interval_s": 300}
CONFIGURATION = {
    "load_report_time": "00:00:02",
    "login_shells": "",
    "loglevel": "log_info",
    "min_uid": "0",
    "min_gid": "0",
    "gid_range": "none",
    "execd_params": "INHERIT_ENV=false",
}


class ExecHost:
    """The cell and its processes. `record`: reports to the stand-in master."""

    def __init__(self) -> None:
        self.place = Path(tempfile.mkdtemp(prefix="ge-execd-", dir="/tmp"))
        self.place.chmod(0o755)
        self.record = self.place / "record"
        self.spool = self.place / "spool" / HOST
        self.gateway = self.place / "run" / "gateway.sock"
        qmaster_port, ray_port, ray_ports = cell_ports(32)
        common = self.place / "default" / "common"
        (common / "secrets").mkdir(parents=True, mode=0o700)
        settings = {
            "admin_user": USER,
            "qmaster_spool_dir": self.place / "qmaster",
            "execd_spool_dir": self.place / "spool",
            "run_dir": self.place / "run",
            "qmaster_port": qmaster_port,
            "ray_port": ray_port,
            "ray_ports": ray_ports,
        }
        (common / "bootstrap").write_text("".join(f"{key} {value}\n" for key, value in settings.items()))
        (common / "act_qmaster").write_text("node0\n")
        (common / "host_aliases").write_text(f"node0 localhost {socket.gethostname()}\n{HOST} localhost\n")
        authority = Authority(CellFiles(self.place, "default"), self.place / "qmaster", USER)
        authority.found("node0", [], utc_now())
        authority.add(HOST, [], utc_now())
        self.environment = {**os.environ, "SGE_ROOT": str(self.place), "SGE_CELL": "default", "PYTHONPATH": str(ROOT)}
        self.master: subprocess.Popen[str] | None = None
        self.execd: subprocess.Popen[str] | None = None
        self._started: list[subprocess.Popen[str]] = []

    # --- processes ------------------------------------------------------------------------------------------------

    def start_master(self) -> None:
        """Start the stand-in master and wait until it serves."""
        log = (self.place / "master.log").open("a")
        self.master = subprocess.Popen(
            [sys.executable, "-m", "tests.integration.execd.stand_in", str(self.record)],
            env=self.environment, cwd=ROOT, stdout=subprocess.PIPE, stderr=log, text=True,
        )
        self._started.append(self.master)
        assert self.master.stdout is not None
        assert self.master.stdout.readline() == "ready\n", (self.place / "master.log").read_text()

    def start_execd(self) -> None:
        """Start `sge_execd` in the foreground."""
        log = (self.place / "execd.log").open("a")
        self.execd = subprocess.Popen(
            [sys.executable, "-m", "daemons.execd", "--foreground", "--host-name", HOST],
            env=self.environment, cwd=ROOT, stderr=log, text=True,
        )
        self._started.append(self.execd)

    def remove(self) -> None:
        """End everything and remove the cell."""
        for process in self._started:
            process.kill()
            process.wait(PATIENCE_S)
        for directory in self.spool.glob("active_jobs/*"):
            for name in ("pid", "job_pid"):
                self._kill_recorded(directory / name)
        eventually("nothing writes there any more", self._is_deserted)
        shutil.rmtree(self.place)

    def _is_deserted(self) -> bool:
        """Whether no process of the cell is left; kills the remaining processes."""
        left = self.find()
        for process in left:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        return not left

    def find(self, *tokens: str) -> list[psutil.Process]:
        """The living processes of this cell whose command line contains all of these strings, shepherds excepted.

        Their children are left out: a child looks like its parent until it executes its program.
        """
        found = {}
        for process in psutil.process_iter():
            try:
                line = " ".join(process.cmdline())
                mine = str(self.place) in line or process.environ().get("SGE_ROOT") == str(self.place)
                # a shepherd, a fork of the launcher, has its command line
                living = process.status() != psutil.STATUS_ZOMBIE and process.name() != "sge_shepherd"
                if mine and living and all(token in line for token in tokens):
                    found[process] = process.ppid()
            except psutil.Error:
                continue
        pids = {process.pid for process in found}
        return [process for process, parent in found.items() if parent not in pids]

    def job_process(self, job_id: int) -> psutil.Process:
        """The process of a job that has begun."""
        path = self.spool / "active_jobs" / f"{job_id}.1" / "job_pid"
        eventually(f"job {job_id} runs", lambda: path.exists() and not path.read_text().startswith("-"))
        return psutil.Process(int(path.read_text().split()[0]))

    def kill(self, *tokens: str) -> None:
        """kill -9 the one process with these strings in its command line, and wait until it is gone."""
        found: list[psutil.Process] = []

        def one() -> bool:
            found[:] = self.find(*tokens)
            return len(found) == 1

        eventually(f"there is one process of {tokens}", one)
        found[0].kill()
        psutil.wait_procs(found, timeout=PATIENCE_S)

    # --- requests -------------------------------------------------------------------------------------------------

    def post(self, request: str, body: Any) -> dict[str, Any]:
        """Send a request through the gateway, with plain sockets as commands do."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        with self.connect(request, data) as connection, connection.makefile("rb") as file:
            _, _, content = file.read().partition(b"\r\n\r\n")
        answer: dict[str, Any] = json.loads(content)
        return answer

    def connect(self, request: str, data: bytes) -> socket.socket:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.settimeout(PATIENCE_S)
        connection.connect(str(self.gateway))
        head = f"POST /v1/{request} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {len(data)}\r\n\r\n"
        connection.sendall(head.encode() + data)
        return connection

    def deliver(self, *instructions: dict[str, Any]) -> list[dict[str, Any]]:
        """Have the execd actor carry out instructions; repeated until it is there, as the qmaster does."""
        answer: dict[str, Any] = {}
        scripts = {each["job"]["id"]: _base64(each["text"]) for each in instructions if "text" in each}

        def delivered() -> bool:
            try:
                answer.update(self.post("deliver", {"host": HOST, "instructions": instructions, "scripts": scripts}))
            except (OSError, ValueError):
                return False
            return answer["status"] == 0 and not any(each.get("again") for each in answer["data"])

        eventually(f"the instructions are carried out ({answer})", delivered)
        acknowledgements: list[dict[str, Any]] = answer["data"]
        return acknowledgements

    def configure(self, **changes: str) -> None:
        self.deliver({"type": "configure", "configuration": {**CONFIGURATION, **changes}})

    def start(self, job_id: int, script: str, **changes: Any) -> dict[str, Any]:
        """Start attempt 1 of a job that runs `script`; returns the acknowledgement."""
        return self.deliver(self.start_instruction(job_id, script, **changes))[0]

    def start_instruction(self, job_id: int, script: str, **changes: Any) -> dict[str, Any]:
        entry = pwd.getpwnam(USER)
        job = {
            "id": job_id, "name": f"job{job_id}", "owner": USER, "uid": entry.pw_uid, "group": "g", "gid": 0,
            "submit_time": 1.0, "cwd": str(self.place), **changes,
        }
        return {
            "type": "start",
            "key": [job_id, 1, 1],
            "job": job,
            "granted": [["all.q@h1", 1]],
            "queue": QUEUE,
            "environment": {"GREETING": "hello"},
            "script": True,
            "text": script,
        }

    # --- reports --------------------------------------------------------------------------------------------------

    def reports(self, kind: str, job_id: int | None = None) -> list[dict[str, Any]]:
        """All reports of a kind, of one job or of all."""
        if not self.record.exists():
            return []
        whole, _, _ = self.record.read_text().rpartition("\n")  # the last line may still be being written
        found = [json.loads(line) for line in whole.splitlines()]
        return [each for each in found if each["type"] == kind and job_id in (None, each.get("key", [None])[0])]

    def end_of(self, job_id: int) -> dict[str, Any]:
        """The job's end, once reported and always the same."""
        eventually(f"the end of job {job_id} is reported", lambda: self.reports("ended", job_id))
        ends = self.reports("ended", job_id)
        assert all(end == ends[0] for end in ends)
        return ends[0]

    @staticmethod
    def _kill_recorded(path: Path) -> None:
        try:
            os.kill(int(path.read_text().split()[0]), signal.SIGKILL)
        except (OSError, ValueError, IndexError):
            pass


def _base64(script: str) -> str:
    import base64

    return base64.b64encode(script.encode()).decode()


def measured(action: Callable[[], object]) -> float:
    """Seconds that `action` takes, for a person who looks at the figures."""
    began = time.monotonic()
    action()
    return time.monotonic() - began
