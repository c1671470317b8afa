"""The daily backup as the supervisor sees it: a process of its own, started when a backup is due.

Owns the schedule and the process; the backup itself is `daemons.qmaster.backup`'s. A failure does not affect the cell. Called by
the supervisor. Source: adr/0141.
"""

from __future__ import annotations

import asyncio
import logging
import time

from daemons.qmaster.backup.due import is_due
from daemons.runtime import children
from daemons.runtime.cell import Cell
from daemons.runtime.daemon import module_command, module_environment

_log = logging.getLogger(__name__)
LOOK_S = 600.0
"""Seconds between two checks, and before the first: a cell that lives for minutes has no backups."""
_AGAIN_S = 3600.0


class DailyBackup:
    """Makes a backup of the cell every day, for as long as `run` is not cancelled."""

    def __init__(self, cell: Cell) -> None:
        self._cell = cell

    async def run(self) -> None:
        while True:
            await asyncio.sleep(LOOK_S)
            try:
                if is_due(self._cell, time.time()) and not await self._save():
                    await asyncio.sleep(_AGAIN_S)
            except Exception:  # noqa: BLE001 - a failure must not prevent the next day's backup
                _log.exception("no daily backup was made")

    async def _save(self) -> bool:
        """Have the backup made; whether it was. Raises OSError."""
        child = await children.begin(
            *module_command("daemons.qmaster.backup"),
            "daily",
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env={**module_environment(), **self._cell.environment()},
        )
        try:
            output, errors = await child.communicate()
        except asyncio.CancelledError:
            child.terminate()
            await child.wait()  # all processes must have closed the spool before it is made one file
            raise
        if child.returncode:
            lines = errors.decode(errors="replace").strip().splitlines()
            _log.error("no daily backup was made: %s", lines[-1] if lines else f"exit code {child.returncode}")
        else:
            _log.info("daily backup %s", output.decode(errors="replace").strip())
        return not child.returncode
