"""Decision: the result of a request handler, and the facts outside the state that a handler may read.

Owns the shapes that `decide` handlers return and take. Handlers are pure: all varying facts are arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, tzinfo

from msgspec import Struct, field

from gridengine.protocols.gdi.requests import Answer
from gridengine.state.events import AnyEvent
from gridengine.usage.accounting import AccountingRecord


class Payload(Struct):
    """The parts of a job that only its start needs: script (None for binaries) and environment."""

    script: bytes | None
    environment: dict[str, str]


class Receipt(Struct, frozen=True):
    """The key of an answer. `key`: the idempotency key of the request. `request`: a digest of the whole request; `part`: a digest
    of the part that was carried out."""

    user: str
    key: str
    request: bytes
    part: bytes


class World(Struct):
    """Facts from outside the state, at one moment."""

    #: epoch s
    now: float
    #: unique name of a host, None if there is none of this name
    resolve_host: Callable[[str], str | None]
    #: name of the host of this master
    master_host: str = ""
    admin_user: str = "root"
    #: the time zone of calendars and of times in texts
    zone: tzinfo = UTC
    #: a monotonic clock that cannot be set: seconds since an arbitrary moment
    steady: float = 0.0
    #: when this qmaster started, epoch s: a host without a report since then may only be late
    started: float = 0.0
    #: script and environment of a job
    payload: Callable[[int], Payload] = lambda job_id: Payload(None, {})
    #: whether an ended job succeeded, None if unknown
    outcome: Callable[[int], bool | None] = lambda job_id: None
    #: the accounting records of a task, by the numbers of job and task
    accounted: Callable[[int, int], list[AccountingRecord]] = lambda job_id, task_id: []
    #: whether a path is a file that can be executed
    is_program: Callable[[str], bool] = lambda path: True
    #: the ids of the jobs that match names and patterns, if they were looked up before (`daemons.qmaster.serve.requests.slices`)
    looked_up: Mapping[str, list[int]] = field(default_factory=dict)


Accounted = tuple[int, int, AccountingRecord]
"""Job and task of an ended attempt, and its record."""

Record = tuple[str, list[object]]
"""A record of the reporting file: its type and its remaining fields."""


class Decision(Struct):
    """The `answer` and the `events` of one request; a decision without events changes nothing. `world`: the facts of its moment.

    `payloads`: new scripts and environments, by job number; `refused`: the request was refused, and the events are dropped.
    `records`: records of the reporting file that no event causes. `receipt`: the key under which the answer is remembered. `why`:
    job and task -> the reason why this attempt ended or will end, as a text for the log that is not stored.
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
        """Append the events, records and answers of another part. That part must not be a refusal."""
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
        """Turn the decision into a refusal: the error text and the exit code, without any event or success text.

        `hint`: a suggestion for the user, such as a similar name.
        """
        self.answer.answers = [answer for answer in self.answer.answers if answer[0] != "info"]
        self.answer.error(text, status, hint)
        self.events.clear()
        self.payloads.clear()
        self.refused = True
        return self
