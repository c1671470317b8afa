"""HyperQueue's Python package: its server with a worker for each exec host, 50 processors claimed for each."""

from __future__ import annotations

import shlex
from pathlib import Path

from bench.hyperqueue import command_of
from bench.peers.system import EXEC_HOSTS, SLOTS, System, hosts

_ONE_PROCESS = "Its Python package runs workers in the process of the server alone, so this includes them."
_PROCESS = "Each submission is a process of Python: its package has no command."


class HyperQueue(System):
    """Run by the interpreter `python`, which has the package. Jobs run as root, since that is who may read the checkout."""

    label, host_prefix = "HyperQueue", "bq"
    environment = {"TQDM_DISABLE": "1"}  # no progress bar
    unable = {"list_ms": "Its Python package lists no jobs."}
    remarks = {
        "submit_ms": _PROCESS,
        "single_per_s": _PROCESS,
        "sync_ms": "Its Python package asks the server once a second.",
        "master_ms": _ONE_PROCESS,
        "master_mb": _ONE_PROCESS,
    }

    def __init__(self, python: Path) -> None:
        self._python = str(python.absolute())
        self._drained = 0

    def up(self) -> None:
        if not Path(self._python).exists():
            raise FileNotFoundError(f"its Python package is not installed in {self._python}")
        self._drained = 0
        hosts("up", self.master, *self.exec_hosts)
        serve = self._line("serve", self.shared, EXEC_HOSTS, SLOTS)
        self.on(self.master, "bash", "-c", f"mkdir -p {self.shared}; setsid {serve} </dev/null >{self.shared}/log 2>&1 &")
        self.until("its server is ready", f"[ -e {self.shared}/hq-current/access.json ]")
        self.drain()

    def user(self, line: str) -> str:
        return self.on(self.exec_hosts[0], "bash", "-c", line)

    def submission(self, tasks: int = 0, wait: bool = False) -> str:
        return self._line("sync" if wait else "submit", self.shared, tasks or 1)

    def tiny(self, tasks: int) -> tuple[str, int]:
        return self.submission(tasks), tasks

    def waiting(self) -> bool:
        self.records()
        return False

    def records(self) -> int:
        self._drained += 1
        return int(self.user(self._line("drain", self.shared))) - self._drained

    def version(self) -> str:
        query = "from importlib.metadata import version; print('hyperqueue', version('hyperqueue'))"
        return self.user(shlex.join([self._python, "-c", query])).strip()

    def _line(self, verb: str, *arguments: Path | int) -> str:
        return shlex.join(command_of(self._python, verb, *map(str, arguments)))
