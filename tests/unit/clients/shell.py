"""A shell for tests: runs q* commands against a cell in this process, without sockets.

Connects `clients.gdi` to the real views and decisions; requests and answers go through JSON as on the wire.
"""

from __future__ import annotations

import importlib
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pytest

from clients import gdi, program, reserving
from daemons.forecast.answers import answer
from daemons.forecast.run_times import RunTimes, ended_tasks
from daemons.qmaster.queries.jobs import split_into_lines
from daemons.qmaster.queries.reading import READERS
from daemons.qmaster.serve.streams.event_clients import EventClients
from gridengine import json_text
from gridengine.errors import InvalidValueError
from gridengine.protocols.gdi.reading import decode_body
from gridengine.protocols.gdi.requests import REQUESTS, Answer, Caller, KillEventClients
from gridengine.state.parts import whole_state
from tests.forecasts import basis, copies
from tests.harness import MASTER, USERS, Cell
from tests.service_callbacks import durable


@dataclass
class Outcome:
    """The output and the exit status of a command."""

    out: str
    err: str
    status: int

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()


class Shell:
    """`shell("qstat -f")` runs a command as `user` on host h1, or as root on the master."""

    def __init__(self, cell: Cell, directory: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
        self.cell = cell
        self.event_clients = EventClients(cell.master, durable)
        self.user = "alice"
        self.root = directory / "root"
        self.home = directory / "home"
        self.cwd = directory / "work"
        self.asked: list[tuple[str, Any]] = []
        self.streamed: list[dict[str, Any]] = []
        (self.root / "default" / "common").mkdir(parents=True)
        for path in (self.home, self.cwd):
            path.mkdir()
        self._capsys = capsys
        self._monkeypatch = monkeypatch
        for name, value in (("SGE_ROOT", self.root), ("HOME", self.home), ("LOGNAME", "alice"), ("PATH", "/bin")):
            monkeypatch.setenv(name, str(value))
        for name in ("SGE_CELL", "SGE_LONG_QNAMES", "SGE_SINGLE_LINE", "SGE_LOAD_AVG", "SGE_DEBUG_LEVEL"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.chdir(self.cwd)
        # users of the tests need not exist on this machine
        self.unknown_users: set[str] = set()
        monkeypatch.setattr(reserving, "is_user", lambda name: name not in self.unknown_users)
        monkeypatch.setattr(gdi, "call", self._call)
        monkeypatch.setattr(gdi, "change", self._call)
        monkeypatch.setattr(gdi, "stream", self._stream)

    @property
    def changes(self) -> list[tuple[str, Any]]:
        """The changing requests that were asked."""
        return [(name, body) for name, body in self.asked if name in REQUESTS]

    @property
    def common(self) -> Path:
        return self.root / "default" / "common"

    def __call__(self, line: str, stdin: str = "") -> Outcome:
        command, *arguments = shlex.split(line)
        module = importlib.import_module(f"clients.{command}")
        if stdin:
            import io

            self._monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(stdin.encode()))))
        self._capsys.readouterr()
        status = program.run_guarded(command, getattr(module, command), arguments)
        captured = self._capsys.readouterr()
        assert "internal error" not in captured.err, captured.err
        return Outcome(captured.out, captured.err, status)

    def as_root(self, line: str) -> Outcome:
        self.user = "root"
        try:
            return self(line)
        finally:
            self.user = "alice"

    @property
    def submitted(self) -> dict[str, Any]:
        """The body of the last `submit`."""
        return next(body for name, body in reversed(self.asked) if name == "submit")

    def _call(self, name: str, body: object, answer_s: float = gdi.ANSWER_S) -> gdi.Answer:
        data = json_text.decode(msgspec.json.encode(self._answer(name, body)))
        return gdi.Answer(data["status"], data["answers"], data["data"])

    def _answer(self, name: str, body: object) -> Answer:
        fields = json_text.decode(json_text.encode(body))
        self.asked.append((name, fields))
        host = MASTER if self.user == "root" else "h1"
        caller = Caller(self.user, USERS[self.user], "users", USERS[self.user], host)
        if name == "event_clients":
            return self.event_clients.listed()
        if name == "kill_event_clients":
            return self.event_clients.kill(KillEventClients(**fields), caller)
        if name in REQUESTS:
            return self.cell.ask(name, self.user, host, **fields)
        if name == "forecast":
            return self._forecast(decode_body(name, msgspec.json.encode(fields)))
        return READERS[name](self.cell.master, decode_body(name, msgspec.json.encode(fields)), caller)

    def _forecast(self, body: dict[str, Any]) -> Answer:
        """As the process of forecasts answers, in this process."""
        master = self.cell.master
        run_times = RunTimes(ended_tasks(record for _, record in master.spool.accounted.records()))
        parts = master.spool.parts(master.state)
        try:
            known = basis(run_times, self.cell.now)
            return Answer(data=answer(whole_state(parts), copies(lambda: whole_state(parts)), known, body))
        except InvalidValueError as fault:
            return Answer(1, [("error", f"denied: {fault}")])

    def _stream(self, name: str, body: object, patience: float | None = None) -> Any:
        if name == "job_list":
            answer = self._answer("status", body)
            yield from (json_text.decode(msgspec.json.encode(value)) for value in split_into_lines(answer))
            return
        self.asked.append((name, body))
        yield from self.streamed
