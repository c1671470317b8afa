"""The mail of the last month's report: once, by one host, also after restarts and a late start."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from daemons.web.reports import monthly_mail
from daemons.web.reports.monthly_mail import MonthlyMail
from daemons.web.reports.report_settings import SETTINGS, ReportSettings, parse_report_settings
from daemons.web.reports.report_source import ReportError
from gridengine.errors import InvalidValueError
from gridengine.mail import Mail
from tests.accounting_lines import accounting_line
from tests.harness import MASTER
from tests.tidy.sources import table_of
from tests.unit.web.followed import Followed, web_of

TO_ROOT = ReportSettings(mail=("root",))


def moment(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


class Office:
    """Web servers of one host, one after the other. `sent`: all mail messages; `host`: the name of the host."""

    def __init__(self, followed: Followed, directory: Path) -> None:
        self._followed, self._directory = followed, directory
        self.sent: list[Mail] = []
        self.host = MASTER
        self.path = directory / "report.json"

    def run(self, *moments: str, settings: ReportSettings = TO_ROOT, each: Callable[[MonthlyMail], Any] | None = None) -> None:
        """Start a web server that looks at the calendar at these moments, and stop it."""

        async def play() -> None:
            shared, _ = web_of(self._followed, self._directory)
            shared.cell.own_name = lambda: self.host  # type: ignore[method-assign]
            mail = MonthlyMail(shared, settings, "http://localhost:8646", self.path)
            for text in moments:
                await mail.step(moment(text))
            await mail.stop()

        asyncio.run(play())


@pytest.fixture
def office(followed: Followed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Office:
    (tmp_path / "accounting").write_bytes(b"".join([
        accounting_line(moment("2026-09-15"), 3600, project="physics"),
        accounting_line(moment("2026-10-15"), 7200, project="physics"),
    ]))
    made = Office(followed, tmp_path)

    class Sender:
        """Stands for the mailer's queue."""

        def __init__(self, mailer: Any) -> None:
            pass

        def send(self, mails: list[Mail]) -> None:
            made.sent.extend(mails)

        async def stop(self) -> None:
            pass

    monkeypatch.setattr(monthly_mail, "MailSender", Sender)
    return made


def test_a_month_is_sent_once(office: Office) -> None:
    office.run("2026-10-20", "2026-10-31 23:59", "2026-11-01", "2026-11-01 00:01", "2026-11-30")
    (mail,) = office.sent
    assert mail.recipients == ("root",)
    assert mail.subject == "Grid Engine cell default: report by project, 2026-10-01 to 2026-10-31"
    assert "\nphysics " in mail.body and "2.0 slot hours (+100 %)" in mail.body
    assert mail.body.endswith("http://localhost:8646/reports?by=project&period=2026-10\n")


def test_a_restart_sends_nothing_again(office: Office) -> None:
    office.run("2026-10-20", "2026-11-01")
    office.run("2026-11-01 00:01", "2026-11-20")
    assert len(office.sent) == 1


def test_a_late_start_sends_the_missed_report_once(office: Office) -> None:
    office.run("2026-08-20")
    office.run("2026-11-17", "2026-11-18")
    assert [mail.subject.partition(", ")[2] for mail in office.sent] == ["2026-10-01 to 2026-10-31"]


def test_the_first_start_sends_nothing(office: Office) -> None:
    office.run("2026-11-17", "2026-11-18")
    assert office.sent == []
    office.run("2026-12-01")
    assert len(office.sent) == 1


def test_a_clock_that_is_set_back_sends_nothing(office: Office) -> None:
    office.run("2026-10-20", "2026-11-01", "2026-10-31", "2026-11-01")
    assert len(office.sent) == 1


def test_another_host_sends_nothing_and_neither_after_a_failover(office: Office) -> None:
    office.host = "h1"
    office.run("2026-10-20", "2026-11-01")
    assert office.sent == []
    office.host = MASTER
    office.run("2026-11-02")
    assert office.sent == []
    office.run("2026-12-01", settings=ReportSettings(mail=("root",), sender="h1"))
    assert office.sent == []


def test_a_note_that_cannot_be_written_sends_nothing(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    office.run("2026-10-20")

    def fail(path: Path, content: bytes) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(monthly_mail, "durable_write", fail)
        with pytest.raises(OSError, match="No space"):
            office.run("2026-11-01")
    assert office.sent == []
    office.run("2026-11-02")
    assert len(office.sent) == 1


def test_without_the_accounting_file_the_report_is_sent_later(office: Office, tmp_path: Path) -> None:
    office.run("2026-10-20")
    (tmp_path / "accounting").rename(tmp_path / "away")
    with pytest.raises(ReportError, match="cannot read"):
        office.run("2026-11-01")
    (tmp_path / "away").rename(tmp_path / "accounting")
    office.run("2026-11-02")
    assert len(office.sent) == 1


def test_a_damaged_note_counts_as_a_first_start(office: Office) -> None:
    office.path.write_bytes(b"{")
    office.run("2026-11-17")
    assert office.sent == []


def test_settings_are_read() -> None:
    texts = {"report_mail": "root, ops@example.org", "report_by": "user", "report_sender": "Web1"}
    assert parse_report_settings(texts) == (("root", "ops@example.org"), "user", "web1")
    assert parse_report_settings({}) == ReportSettings()


@pytest.mark.parametrize(("name", "text"), [("report_mail", "-x"), ("report_by", "colour")])
def test_a_wrong_setting_is_named(name: str, text: str) -> None:
    with pytest.raises(InvalidValueError, match=f"^{name}: "):
        parse_report_settings({name: text})


def test_the_page_lists_all_settings() -> None:
    rows = table_of("docs/web.md", "report setting", "default", "meaning")
    assert set(SETTINGS) <= {row[0].strip("`") for row in rows}
