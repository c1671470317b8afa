"""The request `accounting`: small searches are answered at once, large searches by a process that only reads the spool.

Owns the choice, and the limit of one such process at a time for all callers. Called by `endpoints`. Source: adr/0126.
"""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec

from daemons.qmaster.master import Master
from daemons.qmaster.queries.reading import accounting
from daemons.runtime import children
from daemons.runtime.daemon import module_command
from gridengine.protocols.gdi.requests import Answer, Caller
from gridengine.usage.accounting import record_filter

Body = dict[str, Any]
AT_ONCE = 1000
"""Rows that the qmaster searches itself: some milliseconds."""
_LONGEST_S = 50.0
"""Seconds after which a command would have given up."""


class AccountingReading:
    """Shared by all requests of a master."""

    def __init__(self) -> None:
        self._one_at_a_time = asyncio.Lock()

    async def answer(self, master: Master, body: Body, caller: Caller) -> Answer:
        """The answer to one search, or to its next page. Raises InvalidValueError."""
        record_filter(body)
        if not master.spool.accounted.holds_more_than(AT_ONCE, body):
            return accounting(master, body, caller)
        async with self._one_at_a_time:
            return await self._search_in_process(str(master.spool.path), body)

    async def _search_in_process(self, spool: str, body: Body) -> Answer:
        pipe = asyncio.subprocess.PIPE
        command = module_command("daemons.qmaster.spooling.accounting_reader")
        try:
            child = await children.begin(*command, spool, stdin=pipe, stdout=pipe, stderr=pipe)
        except OSError as error:
            return Answer(1, [("error", f"cannot search the accounting records: {error.strerror}")])
        try:
            async with asyncio.timeout(_LONGEST_S):
                out, err = await child.communicate(msgspec.json.encode(body))
        except TimeoutError:
            return Answer(1, [("error", f"the search in the accounting records did not end within {_LONGEST_S:.0f} s")])
        finally:
            await children.end(child)
        if child.returncode:
            reason = err.decode(errors="replace").strip().rpartition("\n")[2]
            return Answer(1, [("error", f"cannot search the accounting records: {reason or child.returncode}")])
        return Answer(data=msgspec.json.decode(out))
