"""Accounting records to import from another cell. Called by `requests`. Source: adr/0159."""

from __future__ import annotations

from msgspec import Struct, field

from gridengine.protocols.gdi.bounds import AccountingLines, JobNumber


class AccountingImport(Struct, kw_only=True):
    """`lines` of an accounting file; known records are skipped. `last_job`: new jobs get higher numbers."""

    lines: AccountingLines = field(default_factory=list)
    last_job: JobNumber = 0
