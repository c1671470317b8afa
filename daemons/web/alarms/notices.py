"""Notices of alarms that begin and end: their texts, by mail and to a webhook.

Owns the form of mail and JSON, and the delivery to the webhook: an HTTP POST with a timeout, repeated with growing pauses,
without redirects. Mail is sent by the configured mailer (`daemons.runtime.mail_sender`). Called by `watch`. Source: adr/0280.
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Sequence
from datetime import tzinfo
from typing import Any

import aiohttp

from daemons.runtime.backoff import Backoff
from daemons.runtime.log_once import LogOnce
from daemons.web.alarms.book import AlarmBook, AlarmEntry
from daemons.web.alarms.rules import RULES
from daemons.web.alarms.view import LocalFault
from gridengine.mail import Mail
from gridengine.values.units import counted, format_moment

_log = logging.getLogger(__name__)

POST_S = 10.0
"""Seconds that one delivery may take."""
FIRST_PAUSE_S, LONGEST_PAUSE_S = 2.0, 300.0
MAX_AGE_S = 86_400.0
"""Seconds after which a notice is no longer delivered."""
_MOST_NAMED = 50
"""Alarms in a mail message."""


def summary(begun: Sequence[AlarmEntry], ended: Sequence[AlarmEntry]) -> str:
    """One line: `critical: Hosts away: node3`, or the numbers of alarms."""
    if len(begun) + len(ended) == 1:
        entry = (*begun, *ended)[0]
        state = entry.alarm.severity if begun else "over"
        return f"{state}: {RULES[entry.alarm.rule].title}: {entry.alarm.subject}"
    texts = ((begun, "begins", "begin"), (ended, "is over", "are over"))
    return ", ".join(f"{counted(len(of), 'alarm')} {one if len(of) == 1 else many}" for of, one, many in texts if of)


def mail_of(
    cell: str, recipients: tuple[str, ...], begun: Sequence[AlarmEntry], ended: Sequence[AlarmEntry], zone: tzinfo
) -> Mail:
    """The mail message about the alarms of one moment. `zone`: of its times."""
    lines: list[str] = []
    for entry in (*begun, *ended)[:_MOST_NAMED]:
        alarm = entry.alarm
        state = f"over since {format_moment(entry.end, zone)}" if entry.end else alarm.severity
        lines += [f"{RULES[alarm.rule].title}: {alarm.subject} ({state})", f"  since {format_moment(entry.since, zone)}"]
        lines.append(f"  {alarm.cause}")
        if not entry.end:
            lines.append(f"  {alarm.step}" + (f" Command: {alarm.command}" if alarm.command else ""))
        lines.append("")
    if (more := len(begun) + len(ended) - _MOST_NAMED) > 0:
        lines += [f"and {more} more", ""]
    lines.append("gridengine alarms lists all alarms; the page Alarms of the web console acknowledges them.")
    return Mail(recipients, f"Grid Engine cell {cell}: {summary(begun, ended)}", "\n".join(lines) + "\n")


def webhook_notice(cell: str, begun: Sequence[AlarmEntry], ended: Sequence[AlarmEntry], now: float) -> dict[str, Any]:
    """The JSON object that the webhook gets. `text`: one line, as chat programs show it."""
    return {
        "cell": cell, "time": now, "text": f"Grid Engine cell {cell}: {summary(begun, ended)}",
        "begun": [entry.public() for entry in begun], "ended": [entry.public() for entry in ended],
    }


class Webhook:
    """The delivery of the book's notices to `url`, in order. `fault`: the present failure, None after a success."""

    def __init__(self, url: str, book: AlarmBook, pauses: Backoff | None = None) -> None:
        self._url, self._book = url, book
        self._pauses = pauses or Backoff(FIRST_PAUSE_S, LONGEST_PAUSE_S, random.random)
        self._has_notices = asyncio.Event()
        self._logged = LogOnce()
        self.fault: LocalFault | None = None
        self.wake()

    def wake(self) -> None:
        """Deliver the notices of the book."""
        self._has_notices.set()

    async def run(self) -> None:
        """Deliver notices until cancelled."""
        timeout = aiohttp.ClientTimeout(total=POST_S)
        async with aiohttp.ClientSession(timeout=timeout) as session:
            while True:
                await self._has_notices.wait()
                self._has_notices.clear()
                while self._book.unsent:
                    await self._deliver_first(session)

    async def _deliver_first(self, session: aiohttp.ClientSession) -> None:
        """Deliver the oldest notice, or wait after a failure."""
        notice = self._book.unsent[0]
        if time.time() - notice.get("time", 0.0) > MAX_AGE_S:
            _log.error("a notice of alarms was not delivered within a day: %s", notice.get("text", ""))
        elif reason := await _post(session, self._url, notice):
            if self.fault is None:
                self.fault = LocalFault(time.time(), reason)
            self.fault = self.fault._replace(text=reason)
            if self._logged.is_new(reason):
                _log.warning("the webhook does not accept a notice of alarms: %s", reason)
            await asyncio.sleep(self._pauses.next_s())
            return
        else:
            self.fault = None
            self._logged.clear()
            self._pauses.reset()
        if self._book.unsent and self._book.unsent[0] is notice:  # a full list drops the oldest
            self._book.unsent.popleft()
        try:
            await self._book.save()
        except OSError as error:
            if self._logged.is_new(str(error), "file"):
                _log.warning("cannot save alarms: %s", error.strerror)


async def _post(session: aiohttp.ClientSession, url: str, notice: dict[str, Any]) -> str:
    """The reason why the notice was not accepted, "" if it was. The reason has no part of the URL, which may be secret."""
    try:
        async with session.post(url, json=notice, allow_redirects=False) as answer:
            return "" if 200 <= answer.status < 300 else f"the receiver answers with status {answer.status}"
    except TimeoutError:
        return f"the receiver does not answer within {POST_S:g} s"
    except aiohttp.ClientConnectorError as error:
        return f"no connection to the receiver: {error.strerror or type(error.os_error).__name__}"
    except (aiohttp.ClientError, OSError, ValueError) as error:
        return f"no answer of the receiver: {type(error).__name__}"
