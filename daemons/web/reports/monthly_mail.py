"""The report of the last month by mail, once a month.

Owns the moment and the note of the last month, which survives restarts: a server that starts later in the month sends the missed
report. The first start only notes the month, and so does a server that is not the sender: after a failover nothing is sent twice.
Source: adr/0305.
"""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import suppress
from pathlib import Path

import msgspec

from daemons.runtime.log_once import LogOnce
from daemons.runtime.mail_sender import MailSender
from daemons.runtime.qmaster_client import NoQmasterError
from daemons.web.notice_sender import configured_mailer, is_notice_sender
from daemons.web.reports.report_settings import ReportSettings
from daemons.web.reports.report_source import LONGEST_S, ReportError
from daemons.web.shared import Web
from gridengine.errors import plain_fault
from gridengine.files.durable import durable_write
from gridengine.mail import Mail
from gridengine.usage.periods import name_of_month, parse_period
from gridengine.usage.report_form import Report, as_text, title

_log = logging.getLogger(__name__)

ROUND_S = 60.0
"""Seconds between two looks at the calendar."""


class _Note(msgspec.Struct):
    """The content of the file. `month`: the last month with a report that was sent, or need not be sent: `2026-10`."""

    month: str


class MonthlyMail:
    """The monthly mail of one web server. `base`: the address of the pages; `path`: of the file with the last month."""

    def __init__(self, shared: Web, settings: ReportSettings, base: str, path: Path) -> None:
        self._shared, self._settings, self._base, self._path = shared, settings, base, path
        self._mail = MailSender(lambda: configured_mailer(shared.mirror)) if settings.mail else None
        self._logged = LogOnce()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to look at the calendar, if the report has receivers."""
        if self._mail is not None:
            self._task = asyncio.get_running_loop().create_task(self._run())

    async def stop(self) -> None:
        """End it."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
        if self._mail is not None:
            await self._mail.stop()

    async def idle(self) -> None:
        """Return when all queued mail messages have been sent."""
        if self._mail is not None:
            await self._mail.idle()

    async def _run(self) -> None:
        while True:
            try:
                await self.step(time.time())
                self._logged.clear()
            except (ReportError, NoQmasterError, OSError) as error:
                reason = plain_fault(error) if isinstance(error, OSError) else str(error)
                if self._logged.is_new(reason):
                    _log.error("cannot send the report of the last month: %s", reason)
            except Exception:  # noqa: BLE001 - a bug must not end the loop
                if self._logged.is_new("bug"):
                    _log.exception("the monthly report failed")
            await asyncio.sleep(ROUND_S)

    async def step(self, now: float) -> None:
        """Send the report of the month before `now` (epoch s), if it is due. Raises ReportError, NoQmasterError, OSError."""
        month, noted = name_of_month(now, self._shared.zone), await asyncio.to_thread(self._noted)
        if noted is not None and noted >= month:
            return
        if noted is None or not is_notice_sender(self._shared.cell, self._settings.sender):
            await self._note(month)
            return
        if not self._shared.mirror.ready:
            return
        period, before = parse_period(month, now, self._shared.zone)
        report = await self._shared.reports.report(self._settings.by, period, before, LONGEST_S)
        if report is not None and self._mail is not None:
            await self._note(month)  # first: a crash in between loses the message rather than send it twice
            self._mail.send([self._message(report)])
            _log.info("the report of %s goes to %s", month, ", ".join(self._settings.mail))

    def _message(self, report: Report) -> Mail:
        name, zone = self._shared.cell.name, self._shared.zone
        page = f"{self._base}/reports?by={report.by}&period={report.period.name}"
        return Mail(self._settings.mail, title(report, name, zone), f"{as_text(report, name, zone)}\n{page}\n")

    def _noted(self) -> str | None:
        """The last month; None without a readable file."""
        try:
            return msgspec.json.decode(self._path.read_bytes(), type=_Note).month
        except FileNotFoundError:
            return None
        except msgspec.DecodeError as error:
            _log.warning("cannot read %s: the report of this month is not sent: %s", self._path, plain_fault(error))
            return None

    async def _note(self, month: str) -> None:
        """Raises OSError."""
        await asyncio.to_thread(durable_write, self._path, msgspec.json.encode(_Note(month)))
