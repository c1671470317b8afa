"""What a user can ask of an advance reservation and it keeps as it was asked: as `job_request` for jobs. Source: qrsub(1)."""

from __future__ import annotations

from msgspec import Struct

from gridengine.gdi.bounds import Name, Names, Pattern, Patterns, Seconds


class ReservationRequest(Struct, kw_only=True):
    """Texts are as the user gave them. Its times, resources and users are resolved on the way: a field of either side."""

    name: Name = ""
    account: Name = "sge"
    hard_queues: Patterns = ()
    master_queues: Patterns = ()
    pe: Pattern = ""
    pe_range: Pattern = ""
    #: -alloc: before the PE's rule (AR-126)
    allocation_rule: Name = ""
    checkpoint: Name = ""
    #: -he y: no job starts in it while something is wrong
    hard_errors: bool = False
    mail_options: Name = ""
    mail_list: Names = ()
    #: move lost shares to other hosts
    heal: bool = False
    #: seconds without a job after which it is given back, 0 for never
    idle_limit: Seconds = 0.0


RESERVATION_FIELDS = ReservationRequest.__struct_fields__
