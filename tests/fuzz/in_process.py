"""A fuzzer of the whole qmaster in this process: random requests of users and administrators, on a cell that works meanwhile.

Runs the requests and defines a finding: an exception out of a request, of the scheduler, of time or of a host's report; a
traceback in the log; a refusal without a reason; an answer that cannot be sent; a request that takes the event loop too long.
Behind the requests stands the service of the qmaster itself, without its sockets.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import time
import traceback
import types
from collections import Counter
from collections.abc import Callable, Coroutine, Generator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

import msgspec

from daemons.qmaster.serve.requests import forecasting
from daemons.qmaster.serve.service import Service
from daemons.schedd.cycle import schedule
from gridengine.config import KINDS
from gridengine.protocols.delivery import Load
from gridengine.protocols.gdi.requests import Answer, Caller
from tests.forecasts import ask_thread
from tests.fuzz.shapes import TYPES, Shapes
from tests.harness import LOAD, MASTER, USERS, Cell
from tests.service_callbacks import IdleCallbacks

WITHOUT = frozenset(("execd_hello", "shutdown"))
"""Requests that would end the cell of this fuzzer."""
ROUND = 1500
"""Number of requests to one cell, before a new cell replaces it."""
WORK_EVERY = 12
"""Requests between two moments at which the cell schedules, delivers, ends tasks and lets time pass."""
MOST_JOBS = 60
MOST_BYTES, MOST_SUBMITTED = 2**20, 2**24
"""Bodies that the server lets in."""


@dataclass
class Findings:
    """Findings by kind: the number, and the first example of each."""

    slow_s: float
    requests: int = 0
    accepted: int = 0
    slowest_s: float = 0.0
    slowest: str = ""
    counts: Counter[str] = field(default_factory=Counter)
    examples: dict[str, str] = field(default_factory=dict)

    def add(self, kind: str, example: str) -> None:
        self.counts[kind] += 1
        self.examples.setdefault(kind, example)

    def __str__(self) -> str:
        lines = [f"{count} x {kind}\n{self.examples[kind]}" for kind, count in self.counts.most_common()]
        return "\n\n".join(lines) or "nothing"


class _Tracebacks(logging.Handler):
    def __init__(self, findings: Findings) -> None:
        super().__init__()
        self._findings = findings

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info or "Traceback" in record.getMessage():
            self._findings.add(f"a traceback in the log: {record.getMessage()[:80]}", logging.Formatter().format(record))


class _Collection:
    """Processor time that the thread has spent in garbage collection, for `gc.callbacks`."""

    def __init__(self) -> None:
        self.spent_s = 0.0
        self._begun = 0.0

    def __call__(self, phase: str, _info: dict[str, int]) -> None:
        now = time.thread_time()
        if phase == "start":
            self._begun = now
        else:
            self.spent_s += now - self._begun


class _Steps:
    """A request step by step, as it holds the event loop, which serves other requests between two steps."""

    def __init__(self, collection: _Collection) -> None:
        self._collection = collection
        #: the longest step so far, and what of it was garbage collection: processor time of the thread
        self.longest_s = self.collecting_s = 0.0

    @types.coroutine
    def of(self, request: Coroutine[Any, Any, Answer]) -> Generator[Any, Any, Answer]:
        """Carry the request out."""
        failure: BaseException | None = None
        while True:
            begun, collecting = time.thread_time(), self._collection.spent_s
            try:
                waited_for = request.throw(failure) if failure is not None else request.send(None)
            except StopIteration as end:
                answer: Answer = end.value
                return answer
            finally:
                if (spent := time.thread_time() - begun) > self.longest_s:
                    self.longest_s, self.collecting_s = spent, self._collection.spent_s - collecting
            try:
                yield waited_for
            except BaseException as raised:  # of what the request waits for: the request ends by it, and gives its locks back
                failure = raised
            else:
                failure = None


class Fuzzer:
    """Plays against cells in `directory`. `slow_s`: processor time for which no request may hold the event loop."""

    def __init__(self, directory: Path, seed: int, slow_s: float) -> None:
        self.findings = Findings(slow_s)
        self.shapes = Shapes(seed, [name for name in TYPES if name not in WITHOUT])
        self._directory = directory
        self._rounds = 0
        self._last = ""
        self._collection = _Collection()

    def run(self, goes_on: Callable[[int], bool]) -> Findings:
        """Play as long as `goes_on(requests so far)`."""
        handler, root = _Tracebacks(self.findings), logging.getLogger("daemons")
        propagates, root.propagate = root.propagate, False
        root.addHandler(handler)
        gc.callbacks.append(self._collection)
        try:
            with patch.object(forecasting, "ask_process", ask_thread):  # a program takes seconds to start
                asyncio.run(self._play(goes_on))
        finally:
            gc.callbacks.remove(self._collection)
            root.removeHandler(handler)
            root.propagate = propagates
        return self.findings

    async def _play(self, goes_on: Callable[[int], bool]) -> None:
        while goes_on(self.findings.requests):
            cell = self._cell()
            service = Service(cell.master, IdleCallbacks())
            # the harness schedules and delivers, at moments that the seed says
            cell.master.subscribers.remove(service.driver._on_commit)
            cell.master.subscribers.remove(service.dispatcher._on_commit)
            for number in range(ROUND):
                if not goes_on(self.findings.requests):
                    break
                await self._ask(cell, service)
                if number % WORK_EVERY == 0 and not self._works(cell):
                    break
            cell.master.spool.close()

    def _cell(self) -> Cell:
        self._rounds += 1
        place = self._directory / str(self._rounds)
        place.mkdir()
        cell = Cell(place, hosts=3, slots=4)
        cell.add("checkpoint", "ckpt")
        cell.add("parallel_environment", "mpi", slots="9", allocation_rule="$fill_up")
        cell.admin("config_add", kind="userset", name="arusers", attributes=_entries("userset", "arusers", entries="alice"))
        cell.configure("scheduler", "", weight_tickets_functional="1000")
        return cell

    async def _ask(self, cell: Cell, service: Service) -> None:
        name, body = self.shapes.request()
        if len(body) > (MOST_SUBMITTED if name == "submit" else MOST_BYTES):
            return
        user = self.shapes.random.choice(("alice", "alice", "bob", "root"))
        caller = Caller(user, USERS[user], "users", USERS[user], MASTER if user == "root" else "h1")
        key = self.shapes.random.choice(("", f"k{self.findings.requests}"))  # as commands ask, and as programs may
        self._last = f"{user}: {name} {body[:2000]!r}, key {key!r}"
        self.findings.requests += 1
        steps = _Steps(self._collection)
        try:
            answer = await steps.of(service.answer(name, body, caller, key))
            data = msgspec.json.encode(answer)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is what is looked for
            self._found("a request raised", error)
            return
        spent, collecting = steps.longest_s, steps.collecting_s
        if spent > self.findings.slowest_s:
            self.findings.slowest_s = spent
            self.findings.slowest = f"({collecting * 1000:.0f} ms of it garbage collection) {self._last}"
        if spent > self.findings.slow_s:
            kind = "garbage collection within" if spent - collecting <= self.findings.slow_s else "a slow request:"
            figures = f"{spent * 1000:.0f} ms, {collecting * 1000:.0f} of it garbage collection"
            self.findings.add(f"{kind} {name}", f"{figures}: {self._last}")
        self._look_at(answer, data)

    def _look_at(self, answer: Answer, data: bytes) -> None:
        if b"internal error" in data:
            self.findings.add("an internal error", self._last)
        self.findings.accepted += not answer.status
        if answer.status and not answer.answers and not answer.data:
            self.findings.add("a refusal without a reason", self._last)

    def _works(self, cell: Cell) -> bool:
        """Run the cell's work between requests; return whether the cell still can."""
        try:
            self._work(cell)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is what is looked for
            self._found("the cell stopped working", error)
            return False
        return True

    def _work(self, cell: Cell) -> None:
        draw = self.shapes.random
        assert cell.mirror.view is not None
        orders = schedule(cell.mirror.view, cell.now)
        for fault in orders.faults:
            self.findings.add(f"a job cannot be scheduled: {fault.reason[:60]}", f"{fault} after {self._last}")
        cell.master.orders(orders)
        cell.master.flush()
        cell.deliver()
        for key in list(cell.running):
            if draw.random() < 0.3 and len(key) == 3:
                cell.end(key[0], key[1], exit_status=draw.choice((0, 1, 99, 100)))
        cell.pass_time(draw.choice((1.0, 1.0, 40.0)))
        for name in cell.names:
            if draw.random() < 0.1:
                cell.report(name, Load(cell.now, dict(LOAD), full=True, incarnation="boot1"))
        if len(cell.state.jobs) > MOST_JOBS:
            cell.admin("delete_jobs", users=["*"], force=True)
        numbers = [str(number) for number in list(cell.state.jobs)[-8:]]
        self.shapes.pools["targets"] = [*numbers, *numbers, "job*", "*"]
        self.shapes.pools["jobs"] = self.shapes.pools["hold_jid"] = numbers
        self.shapes.pools["job_id"] = [int(number) for number in numbers]
        self.shapes.pools["ar"] = list(cell.state.reservations)[-3:]

    def _found(self, what: str, error: Exception) -> None:
        places = [place for place in traceback.extract_tb(error.__traceback__) if "/tests/" not in place.filename]
        where = f"{Path(places[-1].filename).name}:{places[-1].name}" if places else "?"
        text = "".join(traceback.format_exception(error))[-3000:]
        self.findings.add(f"{what}: {type(error).__name__} in {where}", f"{self._last}\n{text}")


def _entries(kind: str, name: str, **changes: str) -> list[tuple[str, str, int]]:
    text = {**KINDS[kind].template(name).attributes(), **changes}
    return [(attribute, value, 1) for attribute, value in text.items()]
