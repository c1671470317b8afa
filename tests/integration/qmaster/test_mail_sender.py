"""The mailer is run as configured: arguments, body, no shell, and nothing waits for it."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

import pytest

from daemons.qmaster import mail_sender
from daemons.qmaster.mail import Mail
from daemons.qmaster.mail_sender import MailSender
from tests.integration.cells import PATIENCE_S

SCRIPT = """#!/bin/sh
body=$(cat)
printf '%s|%s|%s|%s\\n' "$@" "$body" >> "{log}"
"""


@pytest.fixture
def mailer(tmp_path: Path) -> Path:
    path = tmp_path / "mailer"
    path.write_text(SCRIPT.format(log=tmp_path / "log"))
    path.chmod(0o755)
    return path


def send(mailer: str, *mails: Mail, timeout_s: float = 20.0) -> None:
    async def run() -> None:
        sender = MailSender(lambda: mailer, timeout_s)
        sender.send(mails)
        await asyncio.wait_for(sender.idle(), PATIENCE_S)
        await sender.stop()

    asyncio.run(run())


@pytest.mark.statement("MA-2")
def test_subject_recipient_and_body(mailer: Path, tmp_path: Path) -> None:
    send(str(mailer), Mail(("a@b",), "Job 1 ($(touch x); `id`) Started", "body\n of it\n"))
    assert (tmp_path / "log").read_text() == "-s|Job 1 ($(touch x); `id`) Started|a@b|body\n of it\n"


@pytest.mark.statement("MA-2")
def test_each_recipient_gets_one_and_bad_ones_are_named(
    mailer: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    send(str(mailer), Mail(("a", "-f/etc/passwd", "b"), "s", "x\n"))
    assert sorted((tmp_path / "log").read_text().split("\n")) == ["", "-s|s|a|x", "-s|s|b|x"]
    assert "this is no address" in caplog.text


@pytest.mark.statement("MA-2")
def test_a_mailer_that_is_missing_fails_or_hangs_is_named(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    slow = tmp_path / "slow"
    slow.write_text("#!/bin/sh\nexec sleep 60\n")
    slow.chmod(0o755)
    letter = Mail(("a",), "s", "x" * 200_000)
    send(f"{tmp_path}/none", letter)
    send("/bin/false", letter)
    send(str(slow), letter, timeout_s=0.3)
    send("nobody-at-all@/bin/true", letter)
    reasons = [record.args[2] for record in caplog.records if record.levelno == logging.ERROR]  # type: ignore[index]
    texts = list(map(str, reasons))
    assert len(texts) == 4
    assert "No such file" in texts[0]
    assert "exit status 1" in texts[1] or "Broken pipe" in texts[1]
    assert "did not end within 0.3 s" in texts[2]
    assert 'no user "nobody-at-all"' in texts[3]


def test_no_mailer_no_mail_and_a_full_queue_drops(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(mail_sender, "QUEUE_LENGTH", 2)
    send("none", *[Mail(("a",), "s", "x")] * 5)
    assert "3 mails were dropped" in caplog.text
