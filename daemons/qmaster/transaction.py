"""Transaction: all changes of one request, as the master passes them to the spool and to subscribers.

Owns its shape. `Master` makes transactions, `spooling.spool` writes them.
"""

from __future__ import annotations

from msgspec import Struct, field

from daemons.qmaster.decision import Accounted, Payload, Receipt
from daemons.qmaster.notifications.held_slots import Held
from daemons.qmaster.notifications.interventions import Intervention
from gridengine.state.affected import Affected
from gridengine.state.events import AnyEvent


class Transaction(Struct):
    """All changes of one request; written whole or not at all."""

    revision: int
    time: float
    user: str
    host: str
    #: in order; the state after them is the state of the revision
    events: list[AnyEvent]
    #: new scripts and environments, by job number
    payloads: dict[int, Payload] = field(default_factory=dict)
    #: jobs that have ended
    dropped: list[int] = field(default_factory=list)
    #: (job id, task id, record) of each ended attempt
    accounting: list[Accounted] = field(default_factory=list)
    #: lines for the reporting file
    records: list[str] = field(default_factory=list)
    #: slots that reservations hold from now on, or held until now
    held: list[Held] = field(default_factory=list)
    #: (kind, name, text before, text after) of configuration objects, JSON or ""
    history: list[tuple[str, str, str, str]] = field(default_factory=list)
    #: key under which the answer is stored, and the answer in JSON
    answered: tuple[Receipt, bytes] | None = None
    #: for notifications
    affected: Affected = field(default_factory=Affected)
    #: for the log
    interventions: list[Intervention] = field(default_factory=list)
