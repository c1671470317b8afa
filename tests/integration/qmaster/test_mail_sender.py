"""The mailer is run as configured: arguments, body, no shell, an unprivileged user, and nothing waits for it."""

from __future__ import annotations

import asyncio
import logging
import os
import pwd
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from daemons.runtime import mail_sender
from daemons.runtime.mail_sender import MailSender
from gridengine.mail import Mail
from tests import needs
from tests.integration.cells import PATIENCE_S
from tests.integration.debian import unpack

SCRIPT = """#!/bin/sh
body=$(cat)
printf '%s|%s|%s|%s\\n' "$@" "$body" >> "{log}"
"""
TRANSPORT = """#!/bin/sh
{{ echo "ids $(id -u):$(id -G)"; env; cat; }} >> "{log}"
"""
"""The stand-in for sendmail behind a real mailer."""
REAL = {"bsd-mailx": "bsd-mailx", "mail.mailutils": "mailutils"}
"""Program -> Debian's package."""


@pytest.fixture
def place() -> Iterator[Path]:
    """A directory that all users can write to: pytest's own are closed to the user of the mailer."""
    path = Path(tempfile.mkdtemp(prefix="ge-mail-"))
    path.chmod(0o777)
    yield path
    shutil.rmtree(path)


def script(path: Path, text: str) -> Path:
    path.write_text(text)
    path.chmod(0o755)
    return path


@pytest.fixture
def mailer(place: Path) -> Path:
    return script(place / "mailer", SCRIPT.format(log=place / "log"))


@pytest.fixture(scope="session")
def unpacked() -> Iterator[Path]:
    """Debian's packages of the real mailers, beside the system, open to all."""
    path = Path(tempfile.mkdtemp(prefix="ge-mailers-"))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path)


@pytest.fixture(params=REAL)
def real(request: pytest.FixtureRequest, place: Path, unpacked: Path) -> Path:
    """A real mailer that hands its letters to TRANSPORT."""
    name: str = request.param
    program = shutil.which(name) or _unpack(name, unpacked)
    transport = script(place / "sendmail", TRANSPORT.format(log=place / "log"))
    (place / "mailrc").write_text(f"set sendmail={transport}\n")
    libraries = ":".join(str(path) for path in unpacked.glob("**/lib/*-linux-gnu"))
    setting = f"-E 'set sendmail=sendmail:{transport}'" if name == "mail.mailutils" else ""
    variables = f"LD_LIBRARY_PATH={libraries} MAILRC={place}/mailrc"
    return script(place / "mailer", f'#!/bin/sh\n{variables} exec {program} {setting} "$@"\n')


def _unpack(name: str, place: Path) -> str:
    program = place / "usr/bin" / name
    if not program.exists():
        unpack(REAL[name], place)
    return str(program)


def send(mailer: str | None, *mails: Mail, timeout_s: float = PATIENCE_S) -> None:
    async def run() -> None:
        sender = MailSender(lambda: mailer, timeout_s)
        sender.send(mails)
        await asyncio.wait_for(sender.idle(), PATIENCE_S)
        await sender.stop()

    asyncio.run(run())


@pytest.mark.statement("MA-2")
def test_subject_recipient_and_body(mailer: Path, place: Path) -> None:
    send(str(mailer), Mail(("a@b",), "Job 1 ($(touch x); `id`\x1b) Started", "body\n of it\n"))
    assert (place / "log").read_text() == "-s|Job 1 ($(touch x); `id` ) Started|a@b|body\n of it\n"


def test_a_message_that_cannot_be_encoded_or_sent_does_not_end_the_sender(
    mailer: Path, place: Path, caplog: pytest.LogCaptureFixture
) -> None:
    send(str(mailer), Mail(("a",), "s", "name \udcff\n"), Mail(("a",), "s", "next\n"))
    assert (place / "log").read_text() == "-s|s|a|name ?\n-s|s|a|next\n"
    send("/a\0path", Mail(("a",), "first", ""), Mail(("a",), "second", ""))
    assert [record.args[0] for record in caplog.records] == ["first", "second"]  # type: ignore[index]


@pytest.mark.statement("MA-2")
def test_each_recipient_gets_one_and_bad_ones_are_named(
    mailer: Path, place: Path, caplog: pytest.LogCaptureFixture
) -> None:
    send(str(mailer), Mail(("a", "-f/etc/passwd", "|/bin/sh", "b"), "s", "x\n"))
    assert sorted((place / "log").read_text().split("\n")) == ["", "-s|s|a|x", "-s|s|b|x"]
    assert "'-f/etc/passwd' is no mail address" in caplog.text
    assert "'|/bin/sh' is no mail address" in caplog.text


@pytest.mark.statement("MA-2")
def test_a_real_mailer_runs_as_an_unprivileged_user(
    real: Path, place: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("OF_WHO_STARTED_THE_DAEMON", "secret")
    send(str(real), Mail(("alice@h1", "bob"), "Job 1 (x) Started", "Job 1 (x) Started\n a line\n"))
    assert not caplog.records, caplog.text
    log = (place / "log").read_text()
    assert log.count("Subject: Job 1 (x) Started\n") == log.count("\n a line") == 2
    assert "To: alice@h1\n" in log.replace("<", "").replace(">", "")
    assert "OF_WHO_STARTED_THE_DAEMON" not in log
    user = pwd.getpwnam("nobody") if os.geteuid() == 0 else pwd.getpwuid(os.geteuid())
    groups = " ".join(map(str, os.getgrouplist(user.pw_name, user.pw_gid)))
    assert log.count(f"ids {user.pw_uid}:{groups}\n") == 2


@pytest.mark.statement("MA-2", "SO-19")
def test_no_address_makes_a_real_mailer_run_a_program_or_write_a_file(
    real: Path, place: Path, caplog: pytest.LogCaptureFixture
) -> None:
    program = script(place / "program", f"#!/bin/sh\nid > {place}/ran\n")
    wrong = (f"|{program}", f"a@b|{program}", f"{place}/file", f"file://{place}/file", "+folder", "-a@b", "~root", "a,b")
    send(str(real), Mail(wrong, "s", "x\n"))
    assert len(caplog.records) == len(wrong)
    assert {path.name for path in place.iterdir()} == {"mailer", "mailrc", "program", "sendmail"}


@needs.root
def test_a_configured_user_has_his_own_groups_and_directory(place: Path, groups_of_root: None) -> None:
    daemon = pwd.getpwnam("daemon")
    mailer = script(place / "mailer", f'#!/bin/sh\necho "$(id -u):$(id -G):$HOME:$USER" > {place}/log\ncat > /dev/null\n')
    send(f"daemon@{mailer}", Mail(("a",), "s", "x"))
    groups = " ".join(map(str, os.getgrouplist("daemon", daemon.pw_gid)))
    assert (place / "log").read_text() == f"{daemon.pw_uid}:{groups}:{daemon.pw_dir}:daemon\n"


@pytest.mark.statement("MA-2")
def test_mail_of_one_recipient_comes_in_its_order(place: Path) -> None:
    """The mailer takes longer for the first message than for all others."""
    body = f'[ "$2" = 1 ] && while [ ! -e {place}/log2 ] && [ $((n = n + 1)) -lt 10 ]; do sleep 0.1; done; touch {place}/log$2'
    mailer = script(place / "mailer", f"#!/bin/sh\nn=0\n{body}\necho $2 >>{place}/log\ncat >/dev/null\n")
    send(str(mailer), *(Mail(("a",), str(number), "x\n") for number in range(1, 5)))
    assert (place / "log").read_text() == "1\n2\n3\n4\n"


@pytest.mark.statement("MA-2")
def test_a_mailer_that_is_missing_fails_or_hangs_is_named(place: Path, caplog: pytest.LogCaptureFixture) -> None:
    slow = script(place / "slow", "#!/bin/sh\nexec sleep 60\n")
    message = Mail(("a",), "s", "x" * 200_000)
    send(f"{place}/none", message)
    send("/bin/false", message)
    send(str(slow), message, timeout_s=0.3)
    send("nobody-at-all@/bin/true", message)
    reasons = [record.args[2] for record in caplog.records if record.levelno == logging.ERROR]  # type: ignore[index]
    texts = list(map(str, reasons))
    assert len(texts) == 4
    assert "No such file" in texts[0]
    assert "exit status 1" in texts[1] or "Broken pipe" in texts[1]
    assert "did not end within 0.3 s" in texts[2]
    assert 'no user "nobody-at-all"' in texts[3]


@pytest.mark.statement("MA-2")
def test_the_message_of_a_failed_mailer_is_logged_short_and_on_one_line(
    place: Path, caplog: pytest.LogCaptureFixture
) -> None:
    full = script(place / "full", "#!/bin/sh\ncat >/dev/null\nprintf 'cannot send:\\n no room %0999d' 0 >&2\nexit 75\n")
    mute = script(place / "mute", "#!/bin/sh\ncat >/dev/null\nexit 1\n")
    send(str(full), Mail(("a",), "s", "x"))
    send(str(mute), Mail(("a",), "s", "x"))
    first, second = caplog.messages
    assert first.startswith(f'mail "s" to a was not sent: {full} ended with exit status 75: cannot send: no room 000')
    assert len(first) < 450 and second.endswith(f"{mute} ended with exit status 1: it gave no reason")


def test_no_mailer_no_mail_and_a_full_queue_drops(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(mail_sender, "QUEUE_LENGTH", 2)
    send(None, *[Mail(("a",), "s", "x")] * 5)
    assert "3 mails were dropped" in caplog.text
