"""What is taken over of another cell's accounting. Called by `requests`. Source: adr/0159."""

from __future__ import annotations

from msgspec import Struct, field

from gridengine.gdi.bounds import AccountingLines, JobNumber


class AccountingImport(Struct, kw_only=True):
    """`lines` of an accounting file; those that are there are left out. `last_job`: jobs get numbers behind this one."""

    lines: AccountingLines = field(default_factory=list)
    last_job: JobNumber = 0
