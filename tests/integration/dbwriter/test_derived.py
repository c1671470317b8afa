"""Values of hours, days and months, and the retention of each kind of record, on both databases. DB-8, DB-13."""

from __future__ import annotations

from pathlib import Path

import pytest

from daemons.dbwriter.retention import delete_expired
from tests.integration.dbwriter.plays import Play
from tests.integration.dbwriter.reporting_lines import DAY, accounting_line, acct, job_log, reservation, unit_usage

HOUR = 3600


@pytest.fixture
def play(tmp_path: Path, address: str) -> Play:
    return Play(tmp_path, address)


def of_hours(play: Play, view: str, user: str, variable: str) -> list[tuple[object, ...]]:
    """User, hours from DAY on, value."""
    question = (
        f"SELECT {user}, (extract(epoch FROM time_start)::bigint - {DAY}) / {HOUR}, num_value FROM {view} "
        "WHERE variable = $1 ORDER BY 2, 1"
    )
    return play.rows(question, variable)


def slots(time: int, used: int, queue: str = "all.q") -> str:
    return f"{time}:queue_consumable:{queue}:h1:{time}::slots={used:f}=4.000000"


@pytest.mark.statement("DB-13")
def test_the_utilisation_of_a_queue_is_weighted_by_time(play: Play) -> None:
    # 4 of 4 slots for a quarter of the first hour, 2 for the rest of it and half of the next, then none
    play.append([slots(DAY, 4), slots(DAY + HOUR // 4, 2), slots(DAY + HOUR + HOUR // 2, 0), slots(DAY + 2 * HOUR, 0)])
    play.now = DAY + 3 * HOUR + 120
    play.write()
    found = of_hours(play, "view_queue_values", "qname", "h_utilized")
    assert found == [("all.q", 0, pytest.approx(62.5)), ("all.q", 1, pytest.approx(25.0)), ("all.q", 2, 0.0)]


@pytest.mark.statement("DB-13")
def test_a_value_holds_until_the_next_though_hours_lie_between(play: Play) -> None:
    play.append([slots(DAY, 4)])
    play.now = DAY + HOUR + 120
    play.write()
    play.append([slots(DAY + 3 * HOUR, 0)])
    play.now = DAY + 4 * HOUR + 120
    play.write()
    found = of_hours(play, "view_queue_values", "qname", "h_utilized")
    assert found == [("all.q", 0, 100.0), ("all.q", 1, 100.0), ("all.q", 2, 100.0), ("all.q", 3, 0.0)]


@pytest.mark.statement("DB-13")
def test_jobs_are_counted_for_their_users_projects_groups_departments_and_hosts_in_the_hour_of_their_end(play: Play) -> None:
    play.append(
        [
            acct(1, DAY, DAY + 60, cpu=5),
            acct(2, DAY, DAY + HOUR + 60, cpu=7, project="p1", hostname="h2"),
            acct(3, DAY, DAY + HOUR + 61, cpu=9, owner="bob", project="p1", group="staff", department="physics"),
            acct(3, DAY, DAY + HOUR + 61, cpu=100, pe_taskid="1.h2"),
            acct(4, DAY, DAY + HOUR + 61, cpu=100, exit_status=-1),
        ]
    )
    play.now = DAY + 2 * HOUR + 120
    play.write()
    assert of_hours(play, "view_user_values", "username", "h_jobs_finished") == [("alice", 0, 1), ("alice", 1, 1), ("bob", 1, 1)]
    assert of_hours(play, "view_user_values", "username", "h_cpu") == [("alice", 0, 5), ("alice", 1, 7), ("bob", 1, 9)]
    wallclock = [("alice", 0, 60), ("alice", 1, HOUR + 60), ("bob", 1, HOUR + 61)]
    assert of_hours(play, "view_user_values", "username", "h_wallclock") == wallclock
    assert of_hours(play, "view_project_values", "project", "h_jobs_finished") == [("p1", 1, 2)]
    assert of_hours(play, "view_group_values", "groupname", "h_cpu") == [("users", 0, 5), ("staff", 1, 9), ("users", 1, 7)]
    departments = [("defaultdepartment", 0, 1), ("defaultdepartment", 1, 1), ("physics", 1, 1)]
    assert of_hours(play, "view_department_values", "department", "h_jobs_finished") == departments


@pytest.mark.statement("DB-13")
def test_averages_of_hosts_by_hour_day_and_month(play: Play) -> None:
    loads = [(0, 1.0), (600, 3.0), (HOUR, 6.0)]
    play.append([f"{DAY + at}:host:h1:{DAY + at}:X:np_load_avg={load:f},cpu={load * 10:f}" for at, load in loads])
    play.now = DAY + 70 * 86_400
    play.write()
    assert of_hours(play, "view_host_values", "hostname", "h_load") == [("h1", 0, 2.0), ("h1", 1, 6.0)]
    assert of_hours(play, "view_host_values", "hostname", "h_cpu") == [("h1", 0, 20.0), ("h1", 1, 60.0)]
    assert play.rows("SELECT num_value FROM view_host_values WHERE variable = 'd_load'") == [(4.0,)]
    assert play.rows("SELECT num_value FROM view_host_values WHERE variable = 'm_load'") == [(4.0,)]


@pytest.mark.statement("DB-13")
def test_an_hour_is_derived_when_it_is_over_and_not_before(play: Play) -> None:
    play.append([acct(1, DAY, DAY + 60)])
    play.now = DAY + HOUR + 30  # records of its last seconds may still come
    play.write()
    assert of_hours(play, "view_user_values", "username", "h_jobs_finished") == []
    play.now = DAY + HOUR + 61
    play.write()
    assert of_hours(play, "view_user_values", "username", "h_jobs_finished") == [("alice", 0, 1)]


@pytest.mark.statement("DB-13")
def test_an_import_derives_its_hours_anew(play: Play, tmp_path: Path) -> None:
    play.append([acct(1, DAY, DAY + 60)])
    play.write()
    file = tmp_path / "old"
    file.write_text("".join(f"{accounting_line(number, DAY, DAY + 70)}\n" for number in range(2, 5)))
    writer = play.writer()
    writer.request(file)
    writer.run(once=True)
    assert of_hours(play, "view_user_values", "username", "h_jobs_finished") == [("alice", 0, 4)]
    assert play.rows("SELECT num_value FROM view_user_values WHERE variable = 'd_jobs_finished'") == [(4,)]


@pytest.mark.statement("DB-13", "DB-8")
def test_each_kind_of_row_is_deleted_after_its_own_time(play: Play) -> None:
    play.append([slots(DAY, 4), f"{DAY}:host:h1:{DAY}:X:np_load_avg=1.0,other=2.0", job_log(1, DAY, "pending")])
    play.append([acct(1, DAY, DAY + 60), *reservation(5, DAY, DAY + 100, DAY + 400)])
    play.append([unit_usage(1, DAY, DAY + 60, "0", 60, 50, 0.5, "", "", 0)])
    play.write()
    counts = {
        "raw load": "SELECT count(*) FROM view_host_values WHERE variable = 'np_load_avg'",
        "raw slots": "SELECT count(*) FROM view_queue_values WHERE variable = 'slots'",
        "job log": "SELECT count(*) FROM sge_job_log",
        "other load": "SELECT count(*) FROM view_host_values WHERE variable IN ('other', 'h_load')",
        "jobs": "SELECT count(*) FROM view_accounting",
        "devices": "SELECT count(*) FROM view_unit_usage",
        "reservations": "SELECT count(*) FROM view_ar_log",
    }

    def left(days: int, keep_days: int) -> set[str]:
        database = play.open()
        delete_expired(database, DAY + days * 86_400, keep_days)
        there = {name for name, question in counts.items() if database.rows(question)[0][0]}
        database.close()
        return there

    everything = set(counts)
    assert left(6, 0) == everything
    assert left(8, 0) == everything - {"raw load"}
    assert left(32, 0) == {"other load", "jobs", "devices", "reservations"}
    assert left(3 * 366, 0) == {"jobs", "devices", "reservations"}
    assert left(99, 100) == {"jobs", "devices", "reservations"}
    assert left(101, 100) == set()
    assert play.rows("SELECT count(*) FROM sge_job") == [(0,)]
    assert play.rows("SELECT count(*) FROM sge_ar") == [(0,)]


@pytest.mark.statement("DB-12")
def test_a_record_after_a_deletion_creates_its_parent_rows_again(play: Play) -> None:
    """A writer drops its data about a reservation that was deleted."""
    play.settings = type(play.settings)(play.address, "", play.file, 100)
    play.append(reservation(5, DAY, DAY + 100, DAY + 400))
    play.now = DAY + 101 * 86_400
    play.write()
    assert play.rows("SELECT count(*) FROM sge_ar") == [(0,)]
    play.append(reservation(5, DAY, DAY + 100, DAY + 400))
    play.write()
    assert play.rows("SELECT ar_number FROM sge_ar") == [(5,)]
