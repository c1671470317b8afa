"""Advance reservations: their shape, state code and errors, and the index over all of them.

Owns the shapes and the index; only `gridengine.state.apply` writes them. `daemons.qmaster.decide` decides on permissions and
grants. Source: qrsub(1), qrstat(1); statements AR-28, AR-53 … AR-64.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from msgspec import Struct, field

from gridengine.protocols.gdi.reservation_request import RESERVATION_FIELDS, ReservationRequest
from gridengine.state.bookings import Amounts, Bookings, Holder, bookings_of
from gridengine.state.field_changes import FieldChanges, field_changes
from gridengine.state.jobs import Grant, GrantedUnits


class AdvanceReservation(ReservationRequest, omit_defaults=True):
    """A granted reservation: its requests, its grants (`granted`) and its state. `id`: its number. Times are epoch seconds."""

    id: int
    owner: str
    group: str
    submit_time: float
    start_time: float
    end_time: float
    hard: dict[str, str] = field(default_factory=dict)
    #: -now y
    immediate: bool = False
    #: users and `@lists` of -u
    allowed: list[str] = field(default_factory=list)
    #: users and `@lists` of -u with `!` in front
    denied: list[str] = field(default_factory=list)
    granted: list[Grant] = field(default_factory=list)
    granted_pe: str = ""
    #: amounts for each granted slot, or once for JOB consumables, as in `Task.resources`
    resources: dict[str, str] = field(default_factory=dict)
    #: units of resource maps whose classes it holds: its jobs get units like these (adr/0340)
    units: list[GrantedUnits] = field(default_factory=list)
    #: its start time has passed
    started: bool = False
    #: `x` its end time has passed, `d` it was deleted; the reservation exists until the last of its jobs is gone
    ending: Literal["", "x", "d"] = ""
    #: problems of its instances, a text each
    errors: list[str] = field(default_factory=list)
    #: the first one's number for the occurrences of a recurring reservation, 0 otherwise
    series: int = 0
    #: when it was last used
    idle_since: float = 0.0

    @property
    def slots(self) -> int:
        return sum(grant.slots for grant in self.granted)

    @property
    def holds_from(self) -> float:
        """Begin of its hold on the slots; 0 once started, so it keeps them even if the clock is set back before its start."""
        return 0.0 if self.started else self.start_time

    @property
    def state(self) -> str:
        """The state code of qrstat: w W r E x d. Source: AR-53."""
        if self.ending:
            return self.ending
        if self.errors:
            return "E" if self.started else "W"
        return "r" if self.started else "w"

    @property
    def is_usable(self) -> bool:
        """Whether jobs may start in it now; with -he y only while it has no errors (AR-60, AR-61)."""
        return self.started and not self.ending and not (self.hard_errors and self.errors)


if TYPE_CHECKING:

    class ReservationChanges(FieldChanges, frozen=True):
        """Changes of a reservation by `qralter` or healing: its requests and its grants."""

else:
    _RESOLVED = (
        "start_time", "end_time", "hard", "immediate", "allowed", "denied", "granted", "granted_pe", "resources", "units",
    )
    ReservationChanges = field_changes("ReservationChanges", AdvanceReservation, (*RESERVATION_FIELDS, *_RESOLVED))


class JobReservation(Struct, array_like=True):
    """The reservation for a pending task of a -R y job: made by one scheduling run, replaced by the next (SC-7).

    `granted`, `pe`, `resources` as in a task that runs, `units` as in a reservation; times: epoch seconds.
    """

    job_id: int
    task_id: int
    start_time: float
    end_time: float
    granted: list[Grant]
    pe: str = ""
    resources: dict[str, str] = {}
    units: list[GrantedUnits] = []


Span = tuple[float, float, float]
"""(begin, end, amount); the end is exclusive."""
_NO_SPANS: dict[int, Span] = {}


class ReservationIndex:
    """The index of all reservations: their bookings, and the use by their jobs.

    `of_instance`: numbers of the reservations with slots in it. `held[id]`: all bookings of a reservation; `used[id]`: the
    bookings of its running jobs. `jobs[id]`: the jobs that request it. `granted_at[id]`: revision of the state before it
    was granted or moved. `spans[holder][consumable][id]`: time and amount of a booking.
    """

    def __init__(self) -> None:
        self.of_instance: dict[str, set[int]] = {}
        self.held: dict[int, Bookings] = {}
        self.used: dict[int, Bookings] = {}
        self.jobs: dict[int, set[int]] = {}
        self.granted_at: dict[int, int] = {}
        self.spans: dict[Holder, dict[str, dict[int, Span]]] = {}

    def copy(self) -> ReservationIndex:
        """A copy for `add`, `note_window`, `take_out` and `forget`. Use is shared with the original."""
        made = ReservationIndex()
        made.of_instance = {name: set(numbers) for name, numbers in self.of_instance.items()}
        made.held, made.used, made.jobs = dict(self.held), dict(self.used), dict(self.jobs)
        made.granted_at = dict(self.granted_at)
        made.spans = {holder: {name: dict(spans) for name, spans in of.items()} for holder, of in self.spans.items()}
        return made

    def add(self, reservation: AdvanceReservation, amounts: Amounts, revision: int) -> None:
        """Add the bookings of a reservation. `amounts`: its resources as numbers."""
        number = reservation.id
        for grant in reservation.granted:
            self.of_instance.setdefault(grant.instance, set()).add(number)
        held = self.held[number] = Bookings()
        held.book(bookings_of(reservation.granted, amounts, reservation.granted_pe))
        self.note_window(reservation)
        self.used.setdefault(number, Bookings())
        self.jobs.setdefault(number, set())
        self.granted_at[number] = revision

    def note_window(self, reservation: AdvanceReservation) -> None:
        """Set the spans of its bookings: the reservation was added, or has started."""
        for holder, name, amount in self.held[reservation.id].entries():
            span = (reservation.holds_from, reservation.end_time, amount)
            self.spans.setdefault(holder, {}).setdefault(name, {})[reservation.id] = span

    def take_out(self, reservation: AdvanceReservation) -> None:
        """Remove its bookings: the reservation is gone, or about to be added again with other grants."""
        for grant in reservation.granted:
            numbers = self.of_instance.get(grant.instance, set())
            numbers.discard(reservation.id)
            if not numbers:
                self.of_instance.pop(grant.instance, None)
        for holder, name, _ in self.held.pop(reservation.id).entries():
            del self.spans[holder][name][reservation.id]
            if not self.spans[holder][name]:
                del self.spans[holder][name]
            if not self.spans[holder]:
                del self.spans[holder]
        self.granted_at.pop(reservation.id, None)

    def forget(self, reservation: AdvanceReservation) -> None:
        """Remove it completely."""
        self.take_out(reservation)
        self.used.pop(reservation.id, None)
        self.jobs.pop(reservation.id, None)

    def slots(self, holder: Holder) -> Mapping[int, Span]:
        """The reservations with bookings in a holder, each with its slots: a reservation always holds slots."""
        held = self.spans.get(holder)
        return held["slots"] if held is not None else _NO_SPANS

    def slots_used(self, instance: str) -> int:
        """Slots of an instance that jobs in reservations use."""
        return sum(self.used[number].slots(instance) for number in self.of_instance.get(instance, ()))
