"""Decision: what a handler makes of a request, and the world outside the state that it may look at.

Owns the shapes that `decide` handlers return and take. Handlers are pure: everything that varies comes in.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, tzinfo

from msgspec import Struct, field

from daemons.qmaster.spooling.answer_table import Receipt
from gridengine.accounting import AccountingRecord
from gridengine.gdi.requests import Answer
from gridengine.state.events import AnyEvent


class Payload(Struct):
    """What a job needs at its start and nobody else needs: script (None for binaries) and environment."""

    script: bytes | None
    environment: dict[str, str]


class World(Struct):
    """Facts from outside the state, as they are at one moment."""

    #: epoch s
    now: float
    #: unique name of a host, None if there is none of this name
    resolve_host: Callable[[str], str | None]
    master_host: str = ""
    admin_user: str = "root"
    #: the time zone that calendars and people mean
    zone: tzinfo = UTC
    #: a clock that nobody sets: seconds, from any moment on
    steady: float = 0.0
    #: script and environment of a job
    payload: Callable[[int], Payload] = lambda job_id: Payload(None, {})
    #: whether an ended job succeeded, None where that is not known
    outcome: Callable[[int], bool | None] = lambda job_id: None
    #: the accounting records of a task, by the numbers of job and task
    accounted: Callable[[int, int], list[AccountingRecord]] = lambda job_id, task_id: []
    #: whether a path is a file that can be executed
    is_program: Callable[[str], bool] = lambda path: True
    #: the jobs that names and patterns mean, where that was looked up before (`daemons.qmaster.serve.slices`)
    looked_up: Mapping[str, list[int]] = field(default_factory=dict)


Accounted = tuple[int, int, AccountingRecord]
"""Job and task of a try that is over, and its record."""

Record = tuple[str, list[object]]
"""A record of the reporting file: its type, and its fields behind that."""


class Decision(Struct):
    """Answer and events of one request; without events nothing changes. `world`: as it was when this was decided.

    `records`: those of the reporting file that no event brings about. `receipt`: under which the answer is remembered.
    `why`: job and task -> why this try of it is, or will be, over, in words for the log; nothing is kept of it.
    """

    answer: Answer = field(default_factory=Answer)
    events: list[AnyEvent] = field(default_factory=list)
    payloads: dict[int, Payload] = field(default_factory=dict)
    accounting: list[Accounted] = field(default_factory=list)
    records: list[Record] = field(default_factory=list)
    world: World | None = None
    refused: bool = False
    receipt: Receipt | None = None
    why: dict[tuple[int, int], str] = field(default_factory=dict)

    @property
    def changes_nothing(self) -> bool:
        return not self.events and not self.accounting and not self.records

    def __iadd__(self, other: Decision) -> Decision:
        """Add what another part decided, which is no refusal: its events, records and answers, behind the own ones."""
        self.answer.status = self.answer.status or other.answer.status
        self.answer.data = other.answer.data if self.answer.data is None else self.answer.data
        self.answer.answers += other.answer.answers
        self.events += other.events
        self.payloads |= other.payloads
        self.accounting += other.accounting
        self.records += other.records
        self.why |= other.why
        return self

    def refuse(self, text: str, status: int = 1, hint: str = "") -> Decision:
        """Turn into a refusal: the error text, the exit code, no event at all, and no word of what would have been done.

        `hint`: what may have been meant.
        """
        self.answer.answers = [answer for answer in self.answer.answers if answer[0] != "info"]
        self.answer.error(text, status, hint)
        self.events.clear()
        self.payloads.clear()
        self.refused = True
        return self
