"""The book of alarms: delays at begin and end, acknowledgements, history, and the file over a restart."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from daemons.web.alarms import book as books
from daemons.web.alarms.book import AlarmBook
from daemons.web.alarms.rules import Alarm

NOW, HOLD_S = 1_800_000_000.0, 30.0


def alarm(subject: str = "h1", rule: str = "host_away", **more: object) -> Alarm:
    fields = {"severity": "warning", "cause": "It is away.", "step": "Start it.", **more}
    return Alarm(rule, subject=subject, **fields)  # type: ignore[arg-type]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "alarms.json"


@pytest.fixture
def book(path: Path) -> AlarmBook:
    return AlarmBook(path, HOLD_S)


def begin(book: AlarmBook, *alarms: Alarm) -> None:
    """Let alarms begin at NOW."""
    book.update(alarms, NOW - HOLD_S)
    book.update(alarms, NOW)


def subjects(entries: list[books.AlarmEntry]) -> list[str]:
    return [entry.alarm.subject for entry in entries]


def test_an_alarm_begins_once_its_condition_has_held(book: AlarmBook) -> None:
    assert book.update([alarm()], NOW) == ([], [])
    assert book.update([alarm()], NOW + 29) == ([], [])
    (entry,) = book.update([alarm()], NOW + 30).begun
    assert (entry.number, entry.begin, entry.since) == (1, NOW + 30, NOW)
    assert book.update([alarm()], NOW + 35) == ([], []), "only once"
    assert book.active == [entry]


def test_an_alarm_ends_once_its_condition_has_been_gone(book: AlarmBook) -> None:
    begin(book, alarm())
    assert book.update([], NOW + 10) == ([], [])
    assert book.update([], NOW + 39) == ([], [])
    assert subjects(book.active) == ["h1"]
    (entry,) = book.update([], NOW + 40).ended
    assert (entry.end, book.active, book.history) == (NOW + 40, [], [entry])


def test_a_condition_that_comes_and_goes_neither_begins_nor_ends(book: AlarmBook) -> None:
    for second in range(0, 200, 20):
        assert book.update([alarm()] if second % 40 else [], NOW + second) == ([], [])
    assert book.active == [] and book.history == []
    begin(book, alarm())
    for second in range(0, 200, 20):
        assert book.update([alarm()] if second % 40 else [], NOW + second) == ([], [])
    assert len(book.active) == 1


def test_an_alarm_that_comes_back_is_another_one(book: AlarmBook) -> None:
    begin(book, alarm())
    asyncio.run(book.acknowledge(book.active, "root", "known", NOW))
    book.update([], NOW + 1)
    book.update([], NOW + 40)
    begin(book, alarm())
    (entry,) = book.active
    assert (entry.number, entry.acknowledged) == (2, None)


def test_the_start_of_the_condition_stays(book: AlarmBook) -> None:
    begin(book, alarm(since=NOW - 500))
    book.update([alarm(since=NOW - 3, severity="critical")], NOW + 5)
    (entry,) = book.active
    assert (entry.since, entry.alarm.severity) == (NOW - 500, "critical")


def test_no_alarm_ends_while_the_rules_are_not_complete(book: AlarmBook) -> None:
    begin(book, alarm())
    for second in (10, 100):
        assert book.update([], NOW + second, complete=False) == ([], [])
    assert subjects(book.active) == ["h1"]


def test_a_clock_that_is_set_back_delays_nothing(book: AlarmBook) -> None:
    book.update([alarm()], NOW)
    book.update([alarm()], NOW - 10_000)
    assert book.update([alarm()], NOW - 9_970).begun


def test_alarms_acknowledgements_and_history_survive_a_restart(book: AlarmBook, path: Path) -> None:
    begin(book, alarm(), alarm("h2"))
    book.unsent.append({"text": "x"})
    asyncio.run(book.acknowledge([book.active[0]], "root", "disk ordered", NOW + 1))
    book.update([alarm()], NOW + 10)
    book.update([alarm()], NOW + 50)
    asyncio.run(book.save())
    again = AlarmBook(path, HOLD_S)
    assert (subjects(again.active), subjects(again.history)) == (["h1"], ["h2"])
    assert again.active[0].public()["acknowledged"] == {"user": "root", "time": NOW + 1, "word": "disk ordered"}
    assert list(again.unsent) == [{"text": "x"}]
    assert again.update([alarm()], NOW + 55) == ([], []), "it does not begin again"
    begin(again, alarm(), alarm("h3"))
    assert [entry.number for entry in again.active] == [1, 3]
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("content", [None, b"", b"{", b'{"active": 1}', b"\xff"])
def test_without_a_readable_file_nothing_is_acknowledged(path: Path, content: bytes | None) -> None:
    if content is not None:
        path.write_bytes(content)
    book = AlarmBook(path, HOLD_S)
    assert (book.active, book.history, list(book.unsent)) == ([], [], [])
    begin(book, alarm())
    asyncio.run(book.save())
    assert subjects(AlarmBook(path).active) == ["h1"]


def test_an_acknowledgement_that_cannot_be_saved_is_refused(book: AlarmBook, path: Path) -> None:
    begin(book, alarm())
    (path.parent / f".{path.name}").mkdir()  # in place of the draft
    with pytest.raises(OSError):
        asyncio.run(book.acknowledge(book.active, "root", "known", NOW))
    assert book.active[0].acknowledged is None


def test_the_badge_counts_alarms_without_acknowledgement(book: AlarmBook) -> None:
    assert book.badge == (0, "off")
    begin(book, alarm(), alarm("h2", severity="critical"), alarm("q", "quota_full", severity="info"))
    assert book.badge == (3, "bad")
    asyncio.run(book.acknowledge([book.active[1]], "root", "known", NOW))
    assert book.badge == (2, "warn")
    assert book.counts() == {("host_away", "warning"): 1, ("host_away", "critical"): 1, ("quota_full", "info"): 1}


def test_the_version_changes_with_what_is_shown(book: AlarmBook) -> None:
    versions = [book.version]
    for alarms, second in (([alarm()], 0), ([alarm()], 30), ([alarm()], 35), ([alarm(cause="Gone.")], 40), ([], 45), ([], 80)):
        book.update(alarms, NOW + second)
        versions.append(book.version)
    changed = [before != after for before, after in zip(versions, versions[1:], strict=False)]
    assert changed == [False, True, False, True, False, True]


def test_the_history_is_bounded(book: AlarmBook, monkeypatch: pytest.MonkeyPatch, path: Path) -> None:
    monkeypatch.setattr(books, "KEPT", 2)
    small = AlarmBook(path, 0.0)
    for number in range(4):
        small.update([alarm(f"h{number}")], NOW + number)
    small.update([], NOW + 10)
    assert subjects(small.history) == ["h3", "h2"]
