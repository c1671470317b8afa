"""A whole cell in one process, on a fake clock: the real master, spool, scheduler and instructions, without Ray or jobs.

Owns the wiring for unit and scenario tests. Hosts are stand-ins that obey instructions at once and end a task when the
test says so; everything that decides is the real code.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec

from daemons.qmaster.decision import Decision, World
from daemons.qmaster.effects import pending_effects
from daemons.qmaster.master import DAEMON, Master
from daemons.qmaster.spooling.spool import Spool
from daemons.schedd.cycle import schedule
from daemons.schedd.mirror import Mirror
from gridengine.config import KINDS
from gridengine.protocols.delivery import (
    Acknowledgement,
    Batch,
    Ended,
    Forget,
    Inventory,
    Load,
    Origin,
    Renice,
    Start,
    decode,
    encode,
)
from gridengine.protocols.gdi.requests import Answer, Caller, decode_request, malformed
from gridengine.state.events import AnyEvent, encode_events
from gridengine.state.invariants import invariants
from gridengine.state.machines.configuration import ObjectSet
from gridengine.usage.accounting import AccountingRecord
from gridengine.values.task_key import TaskKey
from tests.default_cell import default_objects

MASTER, SPOOL = "master", "spool.db"
SMALL = 60
"""Jobs and queue instances of a cell whose laws are checked after each step."""
USERS = {"root": 0, "alice": 1001, "bob": 1002}
_open_spools: list[Spool] = []
LOAD = {"arch": "lx-amd64", "num_proc": "4", "load_avg": "0.1", "np_load_avg": "0.025", "mem_free": "8000.000000M"}


@cache
def _empty_spool() -> bytes:
    """The file of a new spool. Making its tables waits for the disk, in thousands of tests."""
    with TemporaryDirectory() as directory:
        Spool(Path(directory, SPOOL)).close()
        return Path(directory, SPOOL).read_bytes()


@contextmanager
def spools_closed() -> Iterator[None]:
    """At the end, the files of the cells that were opened within are closed: a plain user may have 1,024 files open, and garbage
    is collected rarely.
    """
    earlier = len(_open_spools)
    yield
    while len(_open_spools) > earlier:
        _open_spools.pop().close()


class Cell:
    """A cell with hosts h1 … hN, or of these names, of `slots` slots each in all.q. `now`: the time at first, epoch s."""

    def __init__(self, directory: Path, hosts: int | list[str] = 3, slots: int = 4, now: float = 1_800_000_000.0) -> None:
        self._begin(directory, hosts if isinstance(hosts, list) else [f"h{number}" for number in range(1, hosts + 1)], now)
        events = [ObjectSet(kind, name, text) for kind, name, text in default_objects(self.names, slots)]
        self.master.record(Decision(events=list(events)), DAEMON)
        self.master.flush()
        for name in self.names:
            self.report(name, Load(self.now, dict(LOAD), full=True, incarnation="boot1"))

    @classmethod
    def resumed(cls, directory: Path, hosts: list[str], now: float) -> Cell:
        """A cell that goes on with the spool in the directory, at this time. Its hosts have not been heard yet."""
        cell = cls.__new__(cls)
        cell._begin(directory, hosts, now)
        return cell

    def _begin(self, directory: Path, hosts: list[str], now: float) -> None:
        self.steady, self._set_by = 0.0, now
        self.directory, self.names = directory, hosts
        self.running: dict[TaskKey, str] = {}
        self.missing_programs: set[str] = set()
        self.aliases: dict[str, str] = {}
        """Other names of hosts, with the unique ones."""
        self.signals: list[tuple[str, TaskKey, str]] = []
        self.starts: list[Start] = []
        self.start()

    def _open(self) -> Master:
        known = {MASTER, *self.names}
        resolve = lambda name: self.aliases.get(name, name if name in known or name in ("h8", "h9") else None)  # noqa: E731
        return Master(
            self._spool(),
            self.directory / "accounting",
            lambda: World(
                self.now, resolve, MASTER, "root",
                steady=self.steady,
                is_program=lambda path: path not in self.missing_programs,
            ),
        )

    def _spool(self) -> Spool:
        """No power fails here, so writes need not reach the disk: waiting for that would take a third of the time."""
        path = self.directory / SPOOL
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(_empty_spool())
        spool = Spool(path)
        spool._db.execute("pragma synchronous=off")
        _open_spools.append(spool)
        return spool

    def _mirror(self) -> Mirror:
        """A scheduler's mirror that follows the master by its events."""
        mirror = Mirror()
        mirror.load(self.master.spool.parts(self.master.state))
        self.master.subscribers.append(lambda each: self._feed(each.revision, each.events))
        return mirror

    def _feed(self, revision: int, events: list[AnyEvent]) -> None:
        assert self.mirror.advance(revision - 1, [encode_events(events)])

    def _flush(self) -> None:
        """Write the decided events, and check the invariants of the state. Large cells skip the invariants, which would take
        longest."""
        self.master.flush()
        if len(self.state.jobs) + len(self.state.instances) <= SMALL:
            broken = invariants(self.state)
            assert not broken, "\n".join(broken)

    @property
    def state(self) -> Any:
        return self.master.state

    def restart(self) -> None:
        """kill -9 and start again: only data on disk survive."""
        self.master.spool.close()
        self.start()

    def start(self) -> None:
        """Start on the spool on disk, which no other process may have open."""
        self.master = self._open()
        self.mirror = self._mirror()

    @property
    def now(self) -> float:
        """The time of the clock; setting it lets time pass."""
        return self.steady + self._set_by

    @now.setter
    def now(self, now: float) -> None:
        self.steady = now - self._set_by

    def pass_time(self, seconds: float) -> None:
        """Let time pass for the master alone: the hosts say nothing meanwhile."""
        self.now += seconds
        self.master.tick()
        self._flush()

    def set_clock(self, by: float) -> None:
        """Set the clock of the master's host, as an administrator does."""
        self._set_by += by

    # --- clients -------------------------------------------------------------------------------------------

    def ask(self, name: str, user: str = "alice", host: str = "h1", /, **fields: Any) -> Answer:
        """A changing request as it arrives from the wire."""
        try:
            request = decode_request(name, msgspec.json.encode(fields))
        except msgspec.DecodeError as error:
            return malformed(name, error)
        caller = Caller(user, USERS[user], "root" if user == "root" else "users", USERS[user], host)
        answer = self.master.handle(name, request, caller)
        self._flush()
        return answer

    def undecided(self, name: str, fields: dict[str, Any]) -> None:
        """A request that is decided but never written, as when the master dies just then."""
        caller = Caller("alice", USERS["alice"], "users", USERS["alice"], "h1")
        self.master.handle(name, decode_request(name, msgspec.json.encode(fields)), caller)

    def admin(self, name: str, /, **fields: Any) -> Answer:
        return self.ask(name, "root", MASTER, **fields)

    def submit(self, user: str = "alice", **fields: Any) -> int:
        """A binary job; the job's number."""
        fields.setdefault("binary", True)
        fields.setdefault("script_file", "/bin/sleep")
        answer = self.ask("submit", user, **fields)
        assert answer.status == 0, answer.answers
        return int(answer.data["job_id"])  # type: ignore[index,call-overload]

    def configure(self, kind: str, name: str, **changes: str) -> Answer:
        """Change attributes of an object by its whole file, as qconf -Mx does."""
        text = {**self.state.kind(kind)[name], **changes}
        return self.admin("config_modify", kind=kind, name=name, attributes=[(a, v, 1) for a, v in text.items()])

    def add(self, kind: str, name: str, **changes: str) -> Answer:
        text = {**KINDS[kind].template(name).attributes(), **changes}
        return self.admin("config_add", kind=kind, name=name, attributes=[(a, v, 1) for a, v in text.items()])

    # --- the scheduler and the hosts -----------------------------------------------------------------------

    def cycle(self) -> None:
        """One scheduling cycle, and the delivery of its instructions."""
        self.place()
        self.deliver()

    def place(self) -> None:
        """The orders of one cycle, taken but not delivered."""
        assert self.mirror.view is not None
        self.master.orders(schedule(self.mirror.view, self.now))
        self._flush()

    def deliver(self) -> None:
        for host in self.names:
            instructions = list(pending_effects(self.state, host, self.master.spool.payload))
            answers = []
            for instruction in instructions:
                if isinstance(instruction, Start):
                    self.starts.append(instruction)
                    self.running[instruction.key] = host
                elif isinstance(instruction, Forget):
                    self.running.pop(instruction.key, None)
                elif isinstance(instruction, Renice):
                    self.signals.append((host, instruction.key, f"nice {instruction.nice}"))
                else:
                    self.signals.append((host, instruction.key, instruction.command))  # type: ignore[union-attr]
                answers.append(Acknowledgement())
            self.master.acknowledgements(host, instructions, answers)
            self._flush()

    def report(self, host: str, *reports: Any) -> list[Any]:
        """The master's verdicts on these reports, which are encoded as on the wire."""
        verdicts = self.master.reports(host, decode(encode(Batch(reports=list(reports)))).reports)
        self._flush()
        return verdicts

    def end(
        self, job_id: int, task_id: int = 1, exit_status: int = 0, failed: int = 0, reason: str = "", **more: Any
    ) -> None:
        """The host reports the end of a task that it runs."""
        key = next(key for key in self.running if key[:2] == (job_id, task_id))
        host = self.running.pop(key)
        used = {"ru_wallclock": 1.0, "cpu": 0.5}
        ended = Ended(key, failed, exit_status, 0, reason, self.now, self.now, used, **more)
        self.report(host, ended)

    def inventory(self, host: str) -> list[Any]:
        keys = [key for key, where in self.running.items() if where == host]
        started = {start.key: Origin.of(start) for start in self.starts}
        return self.report(host, Inventory(keys, "boot1", [started.get(key, Origin()) for key in keys]))

    # --- looking -------------------------------------------------------------------------------------------

    def placed(self, job_id: int, task_id: int = 1) -> list[tuple[str, int]]:
        task = self.state.task(job_id, task_id)
        return [(grant.instance, grant.slots) for grant in task.granted] if task else []

    def records(self, job_id: int) -> list[AccountingRecord]:
        return [record for _, record in self.master.spool.accounted.records([job_id])]
