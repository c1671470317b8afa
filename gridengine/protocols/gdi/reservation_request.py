"""The options that an advance reservation keeps unchanged from its request, as in `job_request` for jobs. Source: qrsub(1)."""

from __future__ import annotations

from msgspec import Struct

from gridengine.protocols.gdi.bounds import Name, Names, Pattern, Patterns, Seconds


class ReservationRequest(Struct, kw_only=True):
    """Texts are as the user gave them. Times, resources and users are resolved: request and reservation have separate fields."""

    name: Name = ""
    account: Name = "sge"
    hard_queues: Patterns = ()
    master_queues: Patterns = ()
    pe: Pattern = ""
    pe_range: Pattern = ""
    #: -alloc: overrides the PE's rule (AR-126)
    allocation_rule: Name = ""
    checkpoint: Name = ""
    #: -he y: no job starts in it while it has an error
    hard_errors: bool = False
    mail_options: Name = ""
    mail_list: Names = ()
    #: move lost shares to other hosts
    heal: bool = False
    #: seconds without a job after which it ends, 0 for never
    idle_limit: Seconds = 0.0


RESERVATION_FIELDS = ReservationRequest.__struct_fields__
