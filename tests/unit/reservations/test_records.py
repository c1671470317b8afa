"""Traces of reservations: records of the reporting file, mails, accounting."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gridengine.usage.accounting import WIDTH
from tests.unit.clients.shell import Shell
from tests.unit.reservations.conftest import ReservingCell


def reporting(cell: ReservingCell) -> list[list[str]]:
    """The records without their times."""
    path = cell.directory / "reporting"
    if not path.exists():
        return []
    return [line.split(":") for line in path.read_text().splitlines()]


def on(cell: ReservingCell) -> None:
    parameters = cell.state.configuration_text("")["reporting_params"]
    cell.configure("configuration", "global", reporting_params=parameters.replace("reporting=false", "reporting=true"))


@pytest.mark.statement("AR-119", "AR-120", "AR-121", "AR-122")
def test_a_life_in_records(cell: ReservingCell) -> None:
    on(cell)
    cell.complex("lic INT <= YES YES 0")
    cell.configure("exec_host", "global", complex_values="lic=9")
    begin = int(cell.now)
    number = cell.qrsub(at=10, duration=50, pe="mpi", pe_range="6", hard=["lic=1"], name="a:b".replace(":", "_"), account="acct")
    cell.wait(10)
    cell.admin("change_states", action="disable", what="queue", targets=["all.q@h1"])
    cell.tick()
    cell.admin("change_states", action="enable", what="queue", targets=["all.q@h1"])
    cell.tick()
    cell.wait(50)
    known = [str(begin), str(number)]
    found = [record[1:] for record in reporting(cell)]
    times = [str(begin), str(begin + 10), str(begin + 60)]
    resources = "slots=6,lic=6"
    assert found[0] == ["new_ar", *known, "alice"]
    assert found[1] == ["ar_attribute", times[0], *known, "a_b", "acct", times[1], times[2], "mpi", resources]
    logged = [(record[4], record[5]) for record in found if record[0] == "ar_log"]
    assert logged == [
        ("w", "CREATED"),
        ("r", "START TIME REACHED"),
        ("E", "RESOURCES UNSATISFIED"),
        ("r", "RESOURCES SATISFIED"),
        ("x", "END TIME REACHED"),
        ("x", "TERMINATED"),
    ]
    assert [record for record in found if record[0] == "ar_acct"] == [
        ["ar_acct", times[2], *known, "all.q", "h1", "4"],
        ["ar_acct", times[2], *known, "all.q", "h2", "2"],
    ]


@pytest.mark.statement("AR-123", "AR-121")
def test_a_reservation_deleted_before_its_start_has_records(cell: ReservingCell) -> None:
    on(cell)
    number = cell.qrsub(at=1000)
    cell.qdel_ar(number)
    logged = [(record[5], record[6]) for record in reporting(cell) if record[1] == "ar_log"]
    assert logged == [("w", "CREATED"), ("d", "DELETED"), ("d", "TERMINATED")]
    assert [record[1] for record in reporting(cell)][-1] == "ar_acct"


@pytest.mark.statement("AR-118", "AC-1")
def test_the_record_of_a_job_has_the_number_of_its_reservation(cell: ReservingCell) -> None:
    on(cell)
    number = cell.qrsub()
    job = cell.submit(ar=number, name="x", comment="for the index alone")
    cell.cycle()
    cell.end(job)
    (record,) = (record for record in reporting(cell) if record[1] == "acct")
    assert tuple(record[2:]) == cell.records(job)[0][:WIDTH]
    assert record[-2] == str(number)


def test_without_reporting_nothing_is_written(cell: ReservingCell) -> None:
    cell.qrsub()
    assert reporting(cell) == []


@pytest.mark.statement("AR-66")
def test_mail_at_start_end_and_trouble(cell: ReservingCell) -> None:
    mails: list[Any] = []
    cell.master.post = mails.extend
    cell.qrsub(at=10, duration=50, mail_options="abe", mail_list=["ops@example"], hard=["hostname=h1"], name="x")
    cell.qrsub(at=10, duration=50, hard=["hostname=h1"])
    cell.wait(10)
    cell.master.lose_host("h1")
    cell.tick()
    from gridengine.protocols.delivery import Load
    from tests.harness import LOAD

    cell.report("h1", Load(cell.now, dict(LOAD), full=True))
    cell.tick()
    cell.wait(50)
    mails = [mail for mail in mails if not mail.subject.startswith("Host")]
    subjects = [mail.subject for mail in mails]
    begin = "Advance Reservation 1 (x) "
    assert subjects == [begin + event for event in ("started", "is in error", "is satisfied again", "finished")]
    assert {mail.recipients for mail in mails} == {("alice", "ops@example")}
    assert "reserved queue all.q@h1 is unknown" in mails[1].body
    assert "-M" in cell.ask("reserve", mail_list=["|/bin/x"], duration=50).answers[0][1]
    cell.master.post = mails.extend
    deleted = cell.qrsub(mail_options="e", mail_list=["alice"])
    cell.qdel_ar(deleted)
    assert (mails[-1].subject, mails[-1].recipients) == (f"Advance Reservation {deleted} deleted", ("alice",))


@pytest.mark.statement("AR-8")
def test_records_name_the_account_or_sge(cell: ReservingCell) -> None:
    on(cell)
    for fields in ({}, {"account": "mine"}):
        cell.qrsub(**fields)
    assert [record[6] for record in reporting(cell) if record[1] == "ar_attribute"] == ["sge", "mine"]


@pytest.mark.statement("AR-124", "AR-117")
def test_qacct_sums_up_by_reservation(
    cell: ReservingCell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    shell = Shell(cell, tmp_path, monkeypatch, capsys)
    number = cell.qrsub(pe="mpi", pe_range="4")
    for _ in range(2):
        job = cell.submit(ar=number)
        cell.cycle()
        cell.end(job)
    cell.end(_started(cell))
    outcome = shell(f"qacct -ar {number}")
    assert outcome.status == 0
    assert outcome.lines[0].split() == ["AR", "WALLCLOCK", "UTIME", "STIME", "CPU", "MEMORY", "IO", "IOW"]
    sums = [str(number), "2", "0.000", "0.000", "1.000", "0.000", "0.000", "0.000"]
    assert [line.split() for line in outcome.lines[2:]] == [sums], "two jobs of a second and half a second of processor each"


def _started(cell: ReservingCell) -> int:
    job = cell.submit()
    cell.cycle()
    return job
