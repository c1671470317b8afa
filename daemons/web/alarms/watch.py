"""The watch: evaluates the alarm rules every few seconds, keeps the book, and has notices sent.

Owns the loops, and the gathering of the view from the mirror. A failure of one round is logged; the next round goes on. Called by
`daemons.web.server`. Source: adr/0280.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from daemons.qmaster.queries.quotas import quotas
from daemons.qmaster.queries.selection import Listing
from daemons.runtime.log_once import LogOnce
from daemons.runtime.mail_sender import MailSender
from daemons.web.alarms.alarm_settings import AlarmSettings
from daemons.web.alarms.book import AlarmBook, AlarmEntry
from daemons.web.alarms.facts import gather_facts
from daemons.web.alarms.load_alarms import load_alarms
from daemons.web.alarms.notices import Webhook, mail_of, webhook_notice
from daemons.web.alarms.rules import SEVERITIES, alarms
from daemons.web.alarms.view import AlarmView, LoadAlarm, LocalFacts
from daemons.web.job_rows import JobFilter
from daemons.web.metric_families import ANONYMOUS
from daemons.web.notice_sender import configured_mailer, is_notice_sender
from daemons.web.quota_uses import quota_uses
from daemons.web.shared import Web

_log = logging.getLogger(__name__)

ROUND_S = 5.0
"""Seconds between two evaluations of the rules."""
FACTS_S = 60.0
"""Seconds between two readings of the facts of this host."""
LOADS_S = 30.0
"""Seconds between two looks at the load thresholds of all queue instances."""


class AlarmWatch:
    """The watch of one web server, on the running event loop. `web_certificate`: the file in `common/web`, or None."""

    def __init__(self, shared: Web, settings: AlarmSettings, web_certificate: Path | None = None) -> None:
        self._shared, self._settings, self._certificate = shared, settings, web_certificate
        self._local = LocalFacts()
        self._loads: list[LoadAlarm] = []
        self._loads_at = -math.inf
        self._begin = time.monotonic()
        self._logged = LogOnce()
        self._mail = MailSender(self._mailer) if settings.mail else None
        self._webhook = Webhook(settings.webhook, shared.alarms) if settings.webhook else None
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        """Begin the loops."""
        loops = [
            self._repeat(lambda: self.evaluate(time.time()), ROUND_S, "rules"),
            self._repeat(self.read_facts, FACTS_S, "facts"),
        ]
        if self._webhook is not None:
            loops.append(self._webhook.run())
        self._tasks = [asyncio.get_running_loop().create_task(each) for each in loops]

    async def stop(self) -> None:
        """End the loops."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._mail is not None:
            await self._mail.stop()

    async def _repeat(self, step: Callable[[], Awaitable[None]], pause_s: float, subject: str) -> None:
        while True:
            try:
                await step()
                self._logged.clear(subject)
            except Exception:  # noqa: BLE001 - a bug in one rule must not end the watch
                if self._logged.is_new("failed", subject):
                    _log.exception("the watch of alarms failed: %s", subject)
            await asyncio.sleep(pause_s)

    async def read_facts(self) -> None:
        """Read the facts of this host. While a disk hangs, the last facts stay."""
        self._local = await gather_facts(self._shared.cell, self._mailer(), self._certificate)

    async def evaluate(self, now: float) -> None:
        """Evaluate the rules once at the time `now` (epoch s), update the book, and have notices sent."""
        book, view = self._shared.alarms, self._view()
        changes = book.update(alarms(view, now, self._settings.thresholds), now, complete=view.ready)
        begun, ended = self._notices(book, changes.ended)
        if begun or ended:
            self._add_to_webhook(begun, ended, now)
        if changes.begun or changes.ended or begun:
            await self._save()
        if begun or ended:
            self._send(begun, ended)

    def _notices(self, book: AlarmBook, ended: Sequence[AlarmEntry]) -> tuple[list[AlarmEntry], list[AlarmEntry]]:
        """The alarms with a begin, and with an end, that is to be sent now: each once."""
        if not (self._mail or self._webhook) or not is_notice_sender(self._shared.cell, self._settings.sender):
            return [], []
        least = SEVERITIES.index(self._settings.severity)
        begun = [each for each in book.active if not each.notified and SEVERITIES.index(each.alarm.severity) <= least]
        for each in begun:
            each.notified = True
        return begun, [each for each in ended if each.notified]

    def _add_to_webhook(self, begun: Sequence[AlarmEntry], ended: Sequence[AlarmEntry], now: float) -> None:
        if self._webhook is not None:
            self._shared.alarms.unsent.append(webhook_notice(self._shared.cell.name, begun, ended, now))

    def _send(self, begun: Sequence[AlarmEntry], ended: Sequence[AlarmEntry]) -> None:
        if self._webhook is not None:
            self._webhook.wake()
        if self._mail is not None:
            shared = self._shared
            self._mail.send([mail_of(shared.cell.name, self._settings.mail, begun, ended, shared.zone)])

    async def _save(self) -> None:
        try:
            await self._shared.alarms.save()
            self._logged.clear("file")
        except OSError as error:
            if self._logged.is_new(str(error.strerror), "file"):
                _log.error("cannot save alarms: %s", error.strerror)

    def _mailer(self) -> str | None:
        return configured_mailer(self._shared.mirror)

    def _load_alarms(self) -> list[LoadAlarm]:
        """The load alarms, at most `LOADS_S` old."""
        if (now := time.monotonic()) - self._loads_at >= LOADS_S:
            self._loads, self._loads_at = load_alarms(self._shared.mirror.state), now
        return self._loads

    def _view(self) -> AlarmView:
        shared, mirror = self._shared, self._shared.mirror
        # a mirror without a state has heard nothing since the start of this server
        age_s = mirror.age_s if mirror.ready else time.monotonic() - self._begin
        webhook = self._webhook.fault if self._webhook is not None else None
        if not mirror.ready:
            return AlarmView(mirror.state, mirror.now, False, age_s, local=self._local, webhook=webhook)
        limits = quotas(Listing(mirror.state), {"users": ["*"]}, ANONYMOUS, mirror.now)
        return AlarmView(
            state=mirror.state,
            state_time=mirror.now,
            mirror_age_s=age_s,
            errors=shared.jobs.select_rows(JobFilter(state="error")).rows,
            waiting=shared.jobs.select_rows(JobFilter(state="waiting")).rows,
            limits=quota_uses(mirror.state, limits),
            loads=self._load_alarms(),
            local=self._local,
            webhook=webhook,
        )
