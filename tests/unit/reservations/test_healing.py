"""The replacement of a reservation's share on a lost host: the needs of its master task, the use by jobs, the shares of other
reservations."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.unit.reservations.conftest import ReservingCell


def licensed(tmp_path: Path, *hosts: str) -> ReservingCell:
    """Four hosts of two slots; those named have licences, which a job takes once, where its master is."""
    cell = ReservingCell(tmp_path, hosts=4, slots=2)
    cell.complex("lic INT <= YES JOB 0")
    for host in hosts:
        cell.configure("exec_host", host, complex_values="lic=2")
    return cell


@pytest.mark.statement("AR-57", "CX-38")
def test_a_share_without_the_master_may_go_where_the_master_could_not(tmp_path: Path) -> None:
    cell = licensed(tmp_path, "h1")
    number = cell.qrsub(pe="mpi", pe_range="6", hard=["lic=2"], heal=True)
    assert list(cell.granted(number)) == ["all.q@h1", "all.q@h2", "all.q@h3"]
    cell.master.lose_host("h2")
    cell.tick()
    assert cell.granted(number) == {"all.q@h1": 2, "all.q@h3": 2, "all.q@h4": 2}
    assert cell.ar(number).state == "r"


@pytest.mark.statement("AR-57", "CX-38")
@pytest.mark.parametrize(("hosts", "healed"), [(["h1"], False), (["h1", "h4"], True)])
def test_the_masters_share_goes_where_a_master_may_be_or_nowhere(tmp_path: Path, hosts: list[str], healed: bool) -> None:
    cell = licensed(tmp_path, *hosts)
    number = cell.qrsub(pe="mpi", pe_range="6", hard=["lic=2"], heal=True)
    assert next(iter(cell.granted(number))) == "all.q@h1"
    cell.master.lose_host("h1")
    cell.tick()
    assert cell.ar(number).state == ("r" if healed else "E")
    assert next(iter(cell.granted(number))) == ("all.q@h4" if healed else "all.q@h1")


@pytest.mark.statement("AR-57")
def test_slots_held_by_jobs_are_neither_moved_nor_reported(tmp_path: Path) -> None:
    cell = ReservingCell(tmp_path, hosts=4, slots=2)
    parameters = cell.state.configuration_text("")["reporting_params"].replace("reporting=false", "reporting=true")
    cell.configure("configuration", "global", reporting_params=parameters)
    number = cell.qrsub(pe="mpi", pe_range="4", heal=True)
    jobs = [cell.submit(ar=number, hard=["hostname=h1"]) for _ in range(2)]
    cell.cycle()
    for host in ("h1", "h2"):
        cell.master.lose_host(host)
    cell.tick()
    assert cell.granted(number) == {"all.q@h1": 2, "all.q@h3": 2}
    assert [cell.placed(job) for job in jobs] == [[("all.q@h1", 1)]] * 2
    changes = [line for line in (tmp_path / "reporting").read_text().splitlines() if "CHANGED" in line]
    assert len(changes) == 1 and "moved 2 of all.q@h2 (unknown) to 2 of all.q@h3" in changes[0]


@pytest.mark.statement("AR-52", "AR-57")
def test_a_share_does_not_go_to_what_is_kept_for_a_waiting_job(tmp_path: Path) -> None:
    cell = ReservingCell(tmp_path, hosts=3, slots=1)
    cell.configure("scheduler", "", max_reservation="5")
    number = cell.qrsub(hard=["hostname=h1|h2"], heal=True, duration=3600.0)
    other = {"all.q@h1": "h2", "all.q@h2": "h1"}[next(iter(cell.granted(number)))]
    cell.submit(hard=["hostname=h3", "h_rt=600"])
    cell.cycle()
    big = cell.submit(pe="mpi", pe_range="2", reserve=True, hard=["h_rt=60"])
    cell.cycle()
    assert [plan.job_id for plan in cell.state.job_reservations] == [big]
    cell.master.lose_host({"h1": "h2", "h2": "h1"}[other])
    cell.tick()
    assert cell.ar(number).state == "E"


@pytest.mark.statement("AR-57", "AR-66")
def test_the_new_place_of_a_reservation_is_mailed_to_users_who_want_mail(tmp_path: Path) -> None:
    cell = licensed(tmp_path, "h1")
    mails: list[Any] = []
    cell.master.post = mails.extend
    number = cell.qrsub(pe="mpi", pe_range="4", heal=True, mail_options="a")
    cell.qrsub(pe="mpi", pe_range="1", heal=True)
    lost = list(cell.granted(number))[-1]
    cell.master.lose_host(lost.partition("@")[2])
    cell.tick()
    [mail] = [mail for mail in mails if not mail.subject.startswith("Host")]
    assert mail.subject == f"Advance Reservation {number} has moved"
    assert f"moved 2 of {lost}" in mail.body and lost not in mail.body.partition("Slots")[2].partition("\n")[0]
