"""Notices of alarms: to a real HTTP server and through a real program as the mailer, once at begin and once at end."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from daemons.runtime.backoff import Backoff
from daemons.web.alarms.alarm_settings import AlarmSettings
from daemons.web.alarms.book import AlarmBook
from daemons.web.alarms.notices import Webhook
from daemons.web.alarms.view import Thresholds
from daemons.web.alarms.watch import AlarmWatch
from daemons.web.shared import Web
from gridengine.protocols.delivery import Load
from tests.harness import Cell
from tests.integration.cells import PATIENCE_S
from tests.unit.web.followed import Followed, web_of

MAILER = """#!/bin/sh
printf '%s\\n' "$@" >> "{log}"
cat >> "{log}"
echo END >> "{log}"
"""


class Receiver:
    """A server of webhooks. `statuses`: of the next answers, 200 for all later ones; `received`: the JSON of each request."""

    def __init__(self, *statuses: int) -> None:
        self.statuses = list(statuses)
        self.received: list[Any] = []
        self.url = ""

    async def answer(self, request: web.Request) -> web.Response:
        self.received.append(await request.json())
        status = self.statuses.pop(0) if self.statuses else 200
        return web.Response(status=status, headers={"Location": "/elsewhere"} if 300 <= status < 400 else {})


@asynccontextmanager
async def receiving(receiver: Receiver) -> AsyncIterator[Receiver]:
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", receiver.answer)
    async with TestServer(app) as server:
        receiver.url = str(server.make_url("/alarms"))
        yield receiver


async def until(condition: Callable[[], bool]) -> None:
    """Wait for a condition."""
    async with asyncio.timeout(PATIENCE_S):
        while not condition():
            await asyncio.sleep(0.02)


@pytest.fixture
def followed(tmp_path: Path) -> Followed:
    return Followed(Cell(tmp_path))


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rounds follow each other at once."""
    monkeypatch.setattr("daemons.web.alarms.watch.ROUND_S", 0.05)


@asynccontextmanager
async def watching(followed: Followed, directory: Path, **settings: Any) -> AsyncIterator[tuple[AlarmWatch, Web]]:
    """A watch without a delay, on the host that sends notices; its rounds are those of the test."""
    shared, _ = web_of(followed, directory)
    shared.alarms = AlarmBook(directory / "alarms.json", 0.0)
    settings.setdefault("sender", "h1")
    watch = AlarmWatch(shared, AlarmSettings(Thresholds(host_away_s=0), 0.0, **settings))
    try:
        yield watch, shared
    finally:
        await watch.stop()


def lose(followed: Followed) -> None:
    followed.cell.master.lose_host("h2")
    followed.cell.master.flush()
    followed.take()


def restore(followed: Followed) -> None:
    followed.cell.report("h2", Load(followed.cell.now, {}, full=True, incarnation="boot2"))
    followed.cell.master.flush()
    followed.take()


def test_mail_is_sent_once_at_begin_and_once_at_end(followed: Followed, tmp_path: Path) -> None:
    log, mailer = tmp_path / "log", tmp_path / "mailer"
    log.touch()
    log.chmod(0o666)
    mailer.write_text(MAILER.format(log=log))
    mailer.chmod(0o755)
    for directory in (tmp_path, *tmp_path.parents[:2]):
        directory.chmod(directory.stat().st_mode | 0o055)
    followed.cell.configure("configuration", "global", mailer=str(mailer))

    async def play() -> list[str]:
        async with watching(followed, tmp_path, mail=("ops@example.org",)) as (watch, _):
            lose(followed)
            await watch.evaluate(1000.0)
            await watch.evaluate(1001.0)
            await until(lambda: log.read_text().count("END") == 1)
            restore(followed)
            await watch.evaluate(1002.0)
            await watch.evaluate(1003.0)
            await until(lambda: log.read_text().count("END") == 2)
        return log.read_text().split("END\n")

    begin, end, rest = asyncio.run(play())
    assert begin.splitlines()[:3] == ["-s", "Grid Engine cell default: warning: Hosts away: h2", "ops@example.org"]
    assert "The host sends no reports." in begin and "Command: gridengine start" in begin
    assert end.splitlines()[1] == "Grid Engine cell default: over: Hosts away: h2"
    assert rest == ""


def test_a_webhook_gets_begin_and_end(followed: Followed, tmp_path: Path, quick: None) -> None:
    async def play() -> list[Any]:
        async with receiving(Receiver()) as receiver, watching(followed, tmp_path, webhook=receiver.url) as (watch, _):
            watch.start()
            lose(followed)
            await until(lambda: len(receiver.received) == 1)
            restore(followed)
            await until(lambda: len(receiver.received) == 2)
        return receiver.received

    begin, end = asyncio.run(play())
    assert begin["cell"] == "default" and begin["text"].endswith("warning: Hosts away: h2")
    assert [each["subject"] for each in begin["begun"]] == ["h2"] and begin["ended"] == []
    assert [each["subject"] for each in end["ended"]] == ["h2"] and end["begun"] == []
    assert end["ended"][0]["end"] > 0


def deliver(receiver: Receiver, book: AlarmBook, condition: Callable[[Webhook], bool]) -> Webhook:
    """Deliver the notices of a book until the condition holds."""

    async def play() -> Webhook:
        async with receiving(receiver):
            webhook = Webhook(receiver.url, book, Backoff(0.01, 0.02))
            task = asyncio.create_task(webhook.run())
            await until(lambda: condition(webhook))
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            return webhook

    return asyncio.run(play())


def book_with(path: Path, *texts: str, time: float = 4e9) -> AlarmBook:
    book = AlarmBook(path)
    book.unsent.extend({"text": text, "time": time} for text in texts)
    return book


@pytest.mark.parametrize("status", [302, 404, 500])
def test_a_notice_is_repeated_until_it_is_accepted_and_redirects_are_not_followed(tmp_path: Path, status: int) -> None:
    receiver, book = Receiver(status, status), book_with(tmp_path / "alarms.json", "a", "b")
    # the file, too: a restart does not send them again
    webhook = deliver(receiver, book, lambda webhook: not book.unsent and not AlarmBook(tmp_path / "alarms.json").unsent)
    assert [each["text"] for each in receiver.received] == ["a", "a", "a", "b"]
    assert webhook.fault is None


def test_the_failure_of_a_webhook_is_known_until_it_works(tmp_path: Path) -> None:
    book = book_with(tmp_path / "alarms.json", "a")
    webhook = deliver(Receiver(*[503] * 100), book, lambda webhook: webhook.fault is not None)
    assert webhook.fault is not None and webhook.fault.text == "the receiver answers with status 503"


def test_a_notice_of_yesterday_is_dropped(tmp_path: Path) -> None:
    receiver, book = Receiver(), book_with(tmp_path / "alarms.json", "old", time=1.0)
    deliver(receiver, book, lambda webhook: not book.unsent)
    assert receiver.received == []


def test_an_unreachable_webhook_holds_up_no_round(followed: Followed, tmp_path: Path, quick: None) -> None:
    async def play() -> Any:
        async with watching(followed, tmp_path, webhook="http://127.0.0.1:1/") as (watch, shared):
            watch.start()
            lose(followed)
            await until(lambda: any(entry.alarm.rule == "webhook" for entry in shared.alarms.active))
            return [entry.alarm.cause for entry in shared.alarms.active], len(shared.alarms.unsent)

    (_, cause), waiting = asyncio.run(play())
    assert cause.startswith("Notices of alarms cannot be delivered: no connection to the receiver") and waiting >= 1


@pytest.mark.parametrize(
    ("settings", "count"), [({"severity": "critical"}, 0), ({"sender": "h2"}, 0), ({"sender": ""}, 0), ({}, 1)]
)
def test_mild_alarms_and_other_hosts_send_nothing(
    followed: Followed, tmp_path: Path, settings: dict[str, str], count: int
) -> None:
    async def play() -> int:
        async with watching(followed, tmp_path, webhook="http://127.0.0.1:1/", **settings) as (watch, shared):
            lose(followed)
            await watch.evaluate(1000.0)
            return len(shared.alarms.unsent)

    assert asyncio.run(play()) == count


def test_an_alarm_that_becomes_severe_is_sent_then(followed: Followed, tmp_path: Path) -> None:
    async def play() -> list[int]:
        async with watching(followed, tmp_path, webhook="http://127.0.0.1:1/", severity="critical") as (watch, shared):
            lose(followed)
            await watch.evaluate(1000.0)
            counts = [len(shared.alarms.unsent)]
            followed.mirror.state.tasks_on["h2"] = {(1, 1)}  # a task is found to be there
            await watch.evaluate(1001.0)
            return [*counts, len(shared.alarms.unsent)]

    assert asyncio.run(play()) == [0, 1]


def test_alarms_of_a_restarted_server_are_not_sent_again(followed: Followed, tmp_path: Path) -> None:
    async def play() -> list[int]:
        counts = []
        for _ in range(2):
            async with watching(followed, tmp_path, webhook="http://127.0.0.1:1/") as (watch, shared):
                lose(followed)
                await watch.evaluate(1000.0)
                counts.append(len(shared.alarms.unsent))
        return counts

    assert asyncio.run(play()) == [1, 1]
    assert json.loads((tmp_path / "alarms.json").read_text())["active"][0]["notified"] is True
