"""The users of a simulated cell, who repeat each request until it is answered, over a network that loses answers.

Owns the requests, each a coroutine of its own; a user who gets no answer asks again under the same key for a while, as commands
do. `Promises` receives the acknowledged requests. Called by the simulation.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from gridengine.protocols.gdi.requests import Answer, Caller
from tests.simulation.promises import Altered, JobRequest, Promises, Reserved
from tests.simulation.simulated_network import LONG_S, Network, NoAnswer

USERS = {"root": Caller("root", 0, "root", 0, "master"), "alice": Caller("alice", 1001, "users", 1001, "h1")}
TRIES, PAUSE_S = 8, 0.5
ARRAYS = {"": (1,), "1-4": (1, 2, 3, 4), "2-6:2": (2, 4, 6)}
Report = Callable[[str], None]


#: of jobs, and how often they are submitted
KINDS = (
    ("plain", 6), ("array", 4), ("parallel", 4), ("licence", 5), ("held", 2), ("after", 5), ("session", 1), ("reserved", 4),
)  # fmt: skip


class Users:
    """`report(line)` receives a line for each answer. `clock`: theirs, epoch seconds."""

    def __init__(
        self, network: Network, dice: random.Random, promises: Promises, clock: Callable[[], float], report: Report
    ) -> None:
        self._network, self._dice, self.promises, self._clock, self._report = network, dice, promises, clock, report
        self._requests = 0

    async def ask(self, name: str, user: str = "alice", /, **fields: Any) -> Answer | None:
        """Repeat the request until it is answered; None if its outcome remains unknown."""
        self._requests += 1
        number, body = self._requests, msgspec.json.encode(fields)
        for _ in range(TRIES):
            try:
                answer = await self._network.call(
                    f"user{number % 5}", "qmaster", lambda service: service.answer(name, body, USERS[user], f"key{number}")
                )
            except NoAnswer:
                await asyncio.sleep(PAUSE_S)
                continue
            self._report(f"{number} {name} {fields.get('targets') or fields.get('name', '')}: {answer.status} {_first(answer)}")
            if answer.status == 0:
                self.promises.acknowledged += 1
            else:
                self.promises.refused += 1
            return answer
        self._report(f"{number} {name}: no answer")
        self.promises.in_doubt += 1
        return None

    def _any(self) -> JobRequest | None:
        known = self.promises.there
        return self._dice.choice(known) if known else None

    # --- jobs ----------------------------------------------------------------------------------------------

    async def submit(self) -> None:
        """A job of any kind."""
        dice = self._dice
        kind = dice.choices(*zip(*KINDS, strict=True))[0]
        fields: dict[str, Any] = {"rerun": dice.choice((None, True, False))}
        request = self.promises.new_request()
        if kind == "array":
            fields["tasks"] = dice.choice(("1-4", "2-6:2"))
            request.tasks = ARRAYS[fields["tasks"]]
            fields["task_concurrency"] = request.concurrency = dice.choice((0, 1, 2))
        elif kind == "parallel":
            fields |= {"pe": "mpi", "pe_range": dice.choice(("2", "2-4"))}
        elif kind == "licence":
            request.licences = dice.choice((1, 2, 3))
            fields["hard"] = [f"lic={request.licences}"]
        elif kind == "held":
            fields["holds"], request.held = "u", True
        elif kind == "after" and (before := self._any()):
            fields["hold_jid"] = [str(before.id)]
            request.after.append(before)
        elif kind == "session":
            fields |= {"kind": "qrsh", "now": dice.choice((True, False))}
            request.fleeting = fields["now"]
        elif kind == "reserved" and self.promises.reserved:
            fields["ar"] = request.reservation = dice.choice(sorted(self.promises.reserved))
        if kind == "plain" and dice.random() < 0.5:
            fields["script"] = "#!/bin/sh\nwork\n"
        else:
            fields["binary"] = True
        await self._submit(request, fields)

    async def _submit(self, request: JobRequest, fields: dict[str, Any]) -> None:
        answer = await self.ask("submit", name=request.name, script_file="work", **fields)
        if answer is not None and answer.status == 0:
            request.id = int(answer.data["job_id"])  # type: ignore[index,call-overload]

    async def delete(self) -> None:
        if request := self._any():
            request.deleting = True
            if await self._done("delete_jobs", targets=[str(request.id)]):
                request.deleted = True

    async def hold(self) -> None:
        if request := self._any():
            await self._done("hold_jobs", targets=[str(request.id)], holds="u")

    async def release(self) -> None:
        if request := self._any():
            request.released = True
            await self._done("hold_jobs", targets=[str(request.id)], holds="u", release=True)

    async def alter(self) -> None:
        if request := self._any():
            await self._alter(request.account, f"a{self._requests + 1}", lambda account: self._done(
                "alter_jobs", targets=[str(request.id)], changes={"account": account}
            ))  # fmt: skip

    async def _alter(self, what: Altered, value: str, change: Callable[[str], Awaitable[bool]]) -> None:
        """The last acknowledged alteration counts."""
        what.ask(value)
        done = await change(value)
        if not done:
            await asyncio.sleep(LONG_S[1])  # what was asked may still arrive
        what.answered(value, done)

    async def suspend(self) -> None:
        if request := self._any():
            action = self._dice.choice(("suspend", "unsuspend"))
            await self._done("change_states", action=action, what="job", targets=[str(request.id)])

    async def reschedule(self) -> None:
        if request := self._any():
            await self._done("change_states", "root", action="reschedule", what="job", targets=[str(request.id)])

    async def inherit(self) -> None:
        """The master of a parallel job starts a task on one of its hosts, as far as it may."""
        if request := self._any():
            host = self._dice.choice(("h1", "h2", "h3"))
            await self.ask("start_slave", job_id=request.id, task_id=1, host=host, command="work")

    async def _done(self, name: str, user: str = "alice", /, **fields: Any) -> bool:
        answer = await self.ask(name, user, **fields)
        return answer is not None and answer.status == 0

    # --- reservations --------------------------------------------------------------------------------------

    async def reserve(self) -> None:
        dice = self._dice
        start = int(self._clock()) + dice.choice((1, 2, 5, 10))
        fields: dict[str, Any] = {"start_time": start, "duration": dice.choice((5, 10, 20)), "heal": dice.random() < 0.5}
        if dice.random() < 0.5:
            fields |= {"pe": "mpi", "pe_range": dice.choice(("2", "3"))}
        if dice.random() < 0.3:
            fields["hard"] = ["lic=1"]
        answer = await self.ask("reserve", name=f"r{self._requests}", hard_errors=dice.random() < 0.3, **fields)
        if answer is not None and answer.status == 0:
            number = int(answer.data["id"])  # type: ignore[index,call-overload]
            self.promises.reserved[number] = Reserved(number, start + fields["duration"])

    async def alter_reservation(self) -> None:
        """Its end moves; until that is acknowledged either may count."""
        if self.promises.reserved:
            one = self._dice.choice(sorted(self.promises.reserved.values(), key=lambda each: each.id))
            duration = self._dice.choice((4, 8, 15))
            one.altering = True
            await self.ask("alter_reservations", targets=[str(one.id)], changes={"duration": duration})

    async def delete_reservation(self) -> None:
        if self.promises.reserved:
            one = self._dice.choice(sorted(self.promises.reserved.values(), key=lambda each: each.id))
            one.deleting = True
            for request in self.promises.requests.values():  # its jobs go with it
                request.deleting = request.deleting or request.reservation == one.id
            await self.ask("delete_reservations", targets=[str(one.id)])

    # --- administration ------------------------------------------------------------------------------------

    async def toggle_queue(self) -> None:
        action = self._dice.choice(("disable", "enable", "enable", "suspend", "unsuspend", "unsuspend"))
        target = self._dice.choice(("all.q@h1", "all.q@h2")) if action in ("disable", "suspend") else "*"
        await self.ask("change_states", "root", action=action, what="queue", targets=[target])

    async def configure(self) -> None:
        """An attribute of the queue."""
        queue = {"verb": "modify", "kind": "cluster_queue", "name": "all.q"}
        await self._alter(self.promises.number, str(self._requests + 1), lambda number: self._done(
            "config_attributes", "root", **queue, changes=[("seq_no", number)]
        ))  # fmt: skip

    async def drain_host(self) -> None:
        end = self._dice.random() < 0.7
        hosts = ["h1", "h2", "h3"] if end else [self._dice.choice(("h1", "h2"))]
        await self.ask("drain_hosts", "root", hosts=hosts, reason="" if end else "work", end=end)


def _first(answer: Answer) -> str:
    return answer.answers[0][1].partition("\n")[0] if answer.answers else ""
