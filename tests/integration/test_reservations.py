"""Advance reservations on real hosts: a host that loses its power puts them into W and E, and its return heals them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.integration.cells import TEST_PREFIX, TestbedCell, eventually


def qrsub(cell: TestbedCell, *arguments: str) -> str:
    """A granted reservation of alice's; its number."""
    done = cell.as_user("alice", "t1", "qrsub", *arguments)
    found = re.search(r"advance reservation (\d+) has been granted", done.stdout)
    assert done.returncode == 0 and found, done
    return found.group(1)


def states(cell: TestbedCell) -> dict[str, str]:
    rows = [line.split() for line in cell.on("tm", "qrstat", "-u", "*").stdout.splitlines()[2:]]
    return {row[0]: next(field for field in row[2:] if len(field) == 1) for row in rows}


def running(cell: TestbedCell) -> set[str]:
    rows = [line.split() for line in cell.on("tm", "qstat", "-u", "*").stdout.splitlines()[2:]]
    return {row[0] for row in rows if row[4] in ("r", "Rr")}


def submit(cell: TestbedCell, *arguments: str) -> str:
    done = cell.as_user("alice", "t1", "qsub", "-terse", "-b", "y", "-o", "/dev/null", "-e", "/dev/null", *arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


COMMON = TEST_PREFIX / "cells" / "test" / "common"
MAILER = """#!/bin/sh
printf '%s|%s|%s\\n' "$2" "$3" "$(sed -n 's/^ //p' | tail -n 1)" >> {log}
"""
"""Records subject, recipient and the last line of each mail message."""


@pytest.fixture
def mail_file(testbed_cell: TestbedCell) -> Iterator[Path]:
    """The file in which a stand-in for the mailer records its mail messages; the reporting file is written as well."""
    with TemporaryDirectory(dir="/var/tmp", prefix="ge-mail-") as name:
        directory = Path(name)
        directory.chmod(0o755)
        log, mailer = directory / "log", directory / "mailer"
        mailer.write_text(MAILER.format(log=log))
        mailer.chmod(0o755)
        log.write_text("")
        log.chmod(0o666)  # mailers run as nobody
        before = testbed_cell.on("tm", "qconf", "-sconf", "global").stdout
        changed = re.sub(r"(?m)^mailer .*$", f"mailer {mailer}", before)
        changed = re.sub(r"(?m)^(reporting_params .*)reporting=false", r"\1reporting=true", changed)
        configure(testbed_cell, directory, changed)
        yield log
        configure(testbed_cell, directory, before)


def configure(cell: TestbedCell, directory: Path, text: str) -> None:
    path = directory / "global"
    path.write_text("\n".join(line for line in text.splitlines() if not line.startswith("#")) + "\n")
    done = cell.on("tm", "qconf", "-Mconf", str(path))
    assert done.returncode == 0, done


def records(number: str) -> list[tuple[str, str]]:
    """(kind, distinguishing field) of the lines about a reservation in the reporting file, in order."""
    found, file = [], COMMON / "reporting"
    for line in file.read_text().splitlines() if file.exists() else ():
        _, kind, *fields = line.split(":")
        known = fields[1 if kind == "new_ar" else 2 :]
        if kind.startswith(("new_ar", "ar_")) and known[0] == number:
            expected = {"ar_log": " ".join(known[1:3]), "ar_acct": ":".join(known[1:])}
            found.append((kind, expected.get(kind, "")))
    return found


@pytest.mark.statement(
    "AR-53", "AR-54", "AR-57", "AR-58", "AR-59", "AR-60", "AR-61", "AR-66", "AR-96", "AR-104",
    "AR-117", "AR-119", "AR-121", "AR-122", "AR-123", "AR-124",
)
def test_a_host_without_power_disturbs_its_reservations_until_it_returns(
    testbed_cell: TestbedCell, mail_file: Path
) -> None:
    testbed_cell.on("tm", "qconf", "-au", "alice", "arusers")
    # as the host says, whatever time zone this process has
    later = testbed_cell.as_user("alice", "t1", "date", "-d", "+10 minutes", "+%Y%m%d%H%M.%S").stdout.strip()
    mail = ("-m", "bea", "-M", "a@b")
    hard = qrsub(testbed_cell, "-q", "all.q@t3", "-pe", "mpi", "2", "-d", "900", "-he", "y", *mail)
    soft = qrsub(testbed_cell, "-q", "all.q@t3,all.q@t2", "-pe", "make", "4", "-d", "900", *mail)
    waiting = qrsub(testbed_cell, "-q", "all.q@t3", "-a", later, "-d", "60", "-he", "y", *mail)
    waiting_soft = qrsub(testbed_cell, "-q", "all.q@t3", "-a", later, "-d", "60", *mail)
    sound = {hard: "r", soft: "r", waiting: "w", waiting_soft: "w"}
    eventually("they have begun", lambda: states(testbed_cell) == sound)
    before = submit(testbed_cell, "-ar", soft, "-l", "h=t2", "sleep", "600")
    lost = submit(testbed_cell, "-ar", hard, "-r", "y", "sleep", "600")
    eventually("the jobs in them run", lambda: {before, lost} <= running(testbed_cell))
    wait_for_mail(mail_file, "started", hard)

    testbed_cell.power("kill", "t3")
    broken = {hard: "E", soft: "E", waiting: "W", waiting_soft: "W"}
    eventually("they are in error and warning", lambda: states(testbed_cell) == broken)
    shown = testbed_cell.as_user("alice", "t1", "qrstat", "-ar", hard).stdout
    assert re.search(r"^message .*all\.q@t3.*unknown", shown, re.M), shown
    on_healthy = submit(testbed_cell, "-ar", soft, "-l", "h=t2", "sleep", "600")
    held_back = submit(testbed_cell, "-ar", hard, "-w", "n", "sleep", "600")
    eventually("soft: the healthy part goes on", lambda: on_healthy in running(testbed_cell))
    assert held_back not in running(testbed_cell)
    wait_for_mail(mail_file, "is in error", hard, waiting)

    testbed_cell.power("boot", "t3")
    testbed_cell.start("t3")
    eventually("they are healed", lambda: states(testbed_cell) == sound)
    eventually("hard: the job starts now, and the lost one again", lambda: {held_back, lost} <= running(testbed_cell))
    wait_for_mail(mail_file, "is satisfied again", hard, waiting)

    assert testbed_cell.as_user("alice", "t1", "qrdel", hard, soft, waiting, waiting_soft).returncode == 0
    eventually("reservations and their jobs are gone", lambda: not states(testbed_cell) and not running(testbed_cell))
    check_records(hard, soft, waiting)
    check_mail(mail_file, hard, waiting)
    usage = testbed_cell.on("tm", "qacct", "-ar", soft).stdout
    assert soft in usage, usage
    job = testbed_cell.on("tm", "qacct", "-j", before).stdout
    assert re.search(rf"^arid\s+{soft}\s*$", job, re.M), job


def check_records(hard: str, soft: str, waiting: str) -> None:
    """The lines of the reporting file about a reservation with an interruption, and about a reservation that never started."""
    unsatisfied, satisfied = "E RESOURCES UNSATISFIED", "r RESOURCES SATISFIED"
    begun = [("new_ar", ""), ("ar_attribute", ""), ("ar_log", "w CREATED"), ("ar_log", "r START TIME REACHED")]
    ended = [("ar_log", "d DELETED"), ("ar_log", "d TERMINATED")]
    troubled = [("ar_log", unsatisfied), ("ar_log", satisfied)]
    whole = [*begun, *troubled, *ended, ("ar_acct", "all.q:t3:2")]

    def over(number: str, instances: int) -> bool:
        return [kind for kind, _ in records(number)[-instances:]] == ["ar_acct"] * instances

    eventually("the file is written", lambda: len(records(hard)) >= len(whole) and over(soft, 2) and over(waiting, 1))
    assert records(hard) == whole
    assert sorted(records(soft)[-2:]) == [("ar_acct", "all.q:t2:2"), ("ar_acct", "all.q:t3:2")]
    never = [("ar_log", "W RESOURCES UNSATISFIED"), ("ar_log", "w RESOURCES SATISFIED")]
    assert records(waiting) == [*begun[:3], *never, *ended, ("ar_acct", "all.q:t3:1")]


READERS = ("alice", "a@b")


def expected(mail_file: Path, number: str, to: str) -> list[str]:
    """The mail that a recipient got about a reservation, in order."""
    lines = [line.split("|") for line in mail_file.read_text().splitlines()]
    about = f"Advance Reservation {number} "
    found = [subject for subject, recipient, _ in lines if subject.startswith(about) and recipient == to]
    return [subject.removeprefix(about) for subject in found]


def wait_for_mail(mail_file: Path, what: str, *numbers: str) -> None:
    """Wait until this is the last mail of all recipients: mailers run in parallel, and a later mail may overtake it."""
    each = [(number, reader) for number in numbers for reader in READERS]
    eventually(f"letters say: {what}", lambda: all(expected(mail_file, *one)[-1:] == [what] for one in each))


def check_mail(mail_file: Path, hard: str, waiting: str) -> None:
    """Recipients and subjects of the mail, in order."""
    wait_for_mail(mail_file, "deleted", hard, waiting)
    for reader in READERS:
        assert expected(mail_file, hard, reader) == ["started", "is in error", "is satisfied again", "deleted"]
        assert expected(mail_file, waiting, reader) == ["is in error", "is satisfied again", "deleted"]
