"""The writer on both databases: the rows of records, each once, despite any interruption. DB-2 … DB-12."""

from __future__ import annotations

import gzip
import shutil
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from daemons.dbwriter.database import DatabaseError, SchemaError
from daemons.dbwriter.opening import open_database
from daemons.dbwriter.schema import upgrade, version_of, versions
from daemons.dbwriter.writer import Writer
from tests.integration.dbwriter.plays import DyingDatabase, Play
from tests.integration.dbwriter.reporting_lines import DAY, acct, job_log, new_job, reservation

AR_CHILDREN = [("sge_ar_attribute", "ara"), ("sge_ar_usage", "aru"), ("sge_ar_log", "arl"), ("sge_ar_resource_usage", "arru")]


@pytest.fixture
def play(tmp_path: Path, address: str) -> Play:
    return Play(tmp_path, address)


@pytest.mark.statement("DB-1")
def test_a_database_of_version_4_becomes_one_of_version_5_in_place_and_once(play: Play) -> None:
    database = play.open()
    first = versions()[0]
    database.script(first.sql)
    database.run("INSERT INTO sge_version VALUES ($1, $2, current_timestamp)", [first.id, first.name])
    database.load_columns()
    database.run("INSERT INTO sge_job (j_id, j_job_number) VALUES (1, 7)")
    database.run("INSERT INTO sge_job_usage (ju_id, ju_parent) VALUES (1, 1)")
    assert version_of(database) == 4
    upgrade(database)
    assert database.rows("SELECT v_version FROM sge_version WHERE v_id = 5") == [("6.2",)]
    assert database.rows("SELECT ju_ar_number FROM sge_job_usage") == [(0,)]
    upgrade(database)
    assert database.rows("SELECT count(*) FROM sge_version WHERE v_id = 5") == [(1,)]
    database.close()


def test_a_database_of_a_newer_schema_is_left_alone(play: Play) -> None:
    play.append([new_job(1, DAY)])
    play.write()
    database = play.open()
    database.run("INSERT INTO sge_version VALUES (102, 'later', current_timestamp)")
    database.close()
    play.append([acct(1, DAY, DAY + 5)])
    with pytest.raises(SchemaError, match="version 102 of the schema; this program knows versions up to 101"):
        play.write()
    assert play.rows("SELECT count(*) FROM sge_job_usage") == [(0,)]


@pytest.mark.statement("DB-9")
def test_a_job_is_in_the_accounting_view_with_its_times(play: Play) -> None:
    play.append([new_job(1, DAY), acct(1, DAY + 30, DAY + 100, submission_time=DAY, cpu=2.5, maxvmem=1048576.0, arid=3)])
    play.write()
    question = (
        'SELECT job_number, task_number, pe_taskid, name, "group", username, account, project, department, ar_number, '
        "cpu, maxvmem, "
        "extract(epoch FROM submission_time)::bigint, extract(epoch FROM wait_time)::bigint, "
        "extract(epoch FROM turnaround_time)::bigint, extract(epoch FROM job_duration)::bigint FROM view_accounting"
    )
    group_by = ("sleep", "users", "alice", "sge", "NONE", "defaultdepartment")
    assert play.rows(question) == [(1, 0, "NONE", *group_by, 3, 2.5, 1048576.0, DAY, 30, 100, 70)]


@pytest.mark.statement("DB-9")
def test_a_record_that_starts_before_its_submission_is_not_in_the_view(play: Play) -> None:
    play.append([acct(1, DAY, DAY + 5, submission_time=DAY + 1), acct(2, DAY, DAY + 5)])
    play.write()
    assert play.rows("SELECT job_number FROM view_accounting") == [(2,)]


@pytest.mark.statement("DB-10")
def test_job_times_leave_out_slave_tasks_and_records_of_running_jobs(play: Play) -> None:
    play.append([acct(1, DAY, DAY + 5), acct(1, DAY, DAY + 5, pe_taskid="1.h2"), acct(2, DAY, DAY + 5, exit_status=-1)])
    play.write()
    assert play.rows("SELECT job_number, pe_taskid FROM view_job_times") == [(1, "NONE")]
    assert play.rows("SELECT count(*) FROM view_accounting") == [(3,)]


@pytest.mark.statement("DB-2", "DB-3", "DB-4", "DB-5", "DB-6", "DB-11", "DB-14", "X-12")
def test_a_reservation_is_in_its_tables_and_views(play: Play) -> None:
    play.append(reservation(5, DAY, DAY + 100, DAY + 400, name="maintenance"))
    play.write()
    made = "SELECT ar_number, ar_owner, extract(epoch FROM ar_submission_time)::bigint FROM sge_ar"
    assert play.rows(made) == [(5, "alice", DAY)]
    attributes = "SELECT owner, name, account, extract(epoch FROM end_time - start_time)::bigint, granted_pe"
    assert play.rows(f"{attributes} FROM view_ar_attribute") == [("alice", "maintenance", "sge", 300, "mpi")]
    assert play.rows("SELECT extract(epoch FROM ara_curr_time)::bigint FROM sge_ar_attribute") == [(DAY,)]
    log = play.rows("SELECT event, state, message FROM view_ar_log ORDER BY time")
    assert log == [("CREATED", "w", "made"), ("START TIME REACHED", "r", "the start time has come"), ("TERMINATED", "x", "over")]
    usage = "SELECT queue, hostname, slots, extract(epoch FROM termination_time)::bigint FROM view_ar_usage ORDER BY 2"
    assert play.rows(usage) == [("all.q", "h1", 1, DAY + 400), ("all.q", "h2", 1, DAY + 400)]
    assert play.rows("SELECT variable, value FROM view_ar_resource_usage ORDER BY 1") == [("lic", "4"), ("slots", "2")]


@pytest.mark.statement("DB-5", "X-12")
def test_the_log_of_a_reservation_names_the_host_that_a_message_is_about(play: Play) -> None:
    lines = reservation(5, DAY, DAY + 100, DAY + 400)
    play.append([*lines, f"{DAY + 5}:ar_log:{DAY + 5}:{DAY}:5:W:RESOURCES UNSATISFIED:reserved queue all.q@h2.site is in error"])
    play.write()
    assert play.rows("SELECT arl_host FROM sge_ar_log WHERE arl_event = 'RESOURCES UNSATISFIED'") == [("h2.site",)]


@pytest.mark.statement("DB-6")
def test_resources_of_a_changed_reservation_replace_those_before(play: Play) -> None:
    play.append(reservation(5, DAY, DAY + 100, DAY + 400))
    play.write()
    play.append([f"{DAY + 7}:ar_attribute:{DAY + 7}:{DAY}:5:other:sge:{DAY + 100}:{DAY + 900}:NONE:slots=9"])
    play.write()
    assert play.rows("SELECT variable, value FROM view_ar_resource_usage") == [("slots", "9")]
    assert play.rows("SELECT name FROM view_ar_attribute ORDER BY end_time") == [("",), ("other",)]
    assert play.rows("SELECT extract(epoch FROM ar_duration)::bigint FROM view_ar_time_usage") == [(800,)]


def test_the_file_of_8_1_9_itself_is_understood(play: Play) -> None:
    """Its records, as tests/data has them; ours are held against them in the tests of the qmaster."""
    sample = Path(__file__).parents[2] / "data" / "reporting-8.1.9.txt"
    lines = [line for line in sample.read_text().splitlines() if line and not line.startswith("#")]
    play.append(lines)
    play.write()
    assert play.rows("SELECT rl_line, rl_reason FROM sge_rejected_line") == []
    named = "SELECT account, granted_pe FROM view_ar_attribute WHERE name = 'myar'"
    assert play.rows(named) == [("acct", "make")]
    kinds = "job_usage job_log share_log host_values queue_values ar_log ar_usage"
    filled = [f"sge_{kind}" for kind in kinds.split()]
    assert [table for table in filled if play.rows(f"SELECT count(*) FROM {table}") == [(0,)]] == []


@pytest.mark.statement("DB-11", "DB-7")
def test_time_usage_sums_the_jobs_of_a_reservation_and_shows_one_without_jobs(play: Play) -> None:
    play.append([*reservation(5, DAY, DAY + 100, DAY + 400), *reservation(6, DAY, DAY + 100, DAY + 200)])
    jobs = [(DAY + 110, DAY + 150), (DAY + 200, DAY + 320)]
    play.append([acct(number, *times, arid=5) for number, times in enumerate(jobs, start=1)])
    play.append([acct(9, DAY + 110, DAY + 190)])
    play.write()
    question = (
        "SELECT ar_number, extract(epoch FROM job_duration)::bigint, extract(epoch FROM ar_duration)::bigint "
        "FROM view_ar_time_usage ORDER BY 1"
    )
    assert play.rows(question) == [(5, 160, 300), (6, 0, 100)]
    assert play.rows("SELECT ju_ar_number, count(*) FROM sge_job_usage GROUP BY 1 ORDER BY 1") == [(0, 1), (5, 2)]


@pytest.mark.statement("DB-8")
def test_a_child_without_a_parent_is_refused(play: Play) -> None:
    play.write()
    database = play.open()
    for table, prefix in AR_CHILDREN:
        with pytest.raises(DatabaseError):
            database.run(f"INSERT INTO {table} ({prefix}_id, {prefix}_parent) VALUES (1, 77)")
    database.close()


def test_values_of_queues_and_hosts(play: Play) -> None:
    play.append(
        [
            f"{DAY}:queue:all.q:h1:{DAY}:au",
            f"{DAY}:queue_consumable:all.q:h1:{DAY}::slots=1.000000=4.000000,lic=0.5=2",
            f"{DAY}:host:h1:{DAY}:X:cpu=99.5,arch=lx-amd64",
            f"{DAY}:host_consumable:global:{DAY}:X:lic=2.0=5.0",
        ]
    )
    play.write()
    columns = "hostname, variable, str_value, num_value, num_config"
    queues = f"SELECT qname, {columns} FROM view_queue_values WHERE variable NOT LIKE '__utilized' ORDER BY 3"
    assert play.rows(queues) == [
        ("all.q", "h1", "lic", "0.5", 0.5, 2.0),
        ("all.q", "h1", "slots", "1.000000", 1.0, 4.0),
        ("all.q", "h1", "state", "au", None, None),
    ]
    hosts = f"SELECT {columns} FROM view_host_values WHERE str_value IS NOT NULL ORDER BY 1, 2"
    loads = [("h1", "arch", "lx-amd64", None, None), ("h1", "cpu", "99.5", 99.5, None)]
    assert play.rows(hosts) == [("global", "lic", "2.0", 2.0, 5.0), *loads]


def test_shares_and_the_log_and_requests_of_a_job(play: Play) -> None:
    category = "-u alice -l h_vmem=1G,arch=lx-amd64 -q all.q -pe mpi 4"
    play.append([f"{DAY}:sharelog:{DAY}:0:/default:alice::10:2:1.0:0.5:0.1:0.2:0.3:4:5:6:7:8:9:10:"])
    play.append([job_log(1, DAY, "pending", -1), acct(1, DAY, DAY + 5, category=category)])
    play.write()
    shares = "SELECT sl_node, sl_user, sl_shares, sl_job_count, sl_level, sl_short_target_share, sl_usage, sl_ltio"
    assert play.rows(f"{shares} FROM sge_share_log") == [("/default", "alice", 10, 2, 1.0, 0.2, 4.0, 10.0)]
    assert play.rows("SELECT job_number, event, state, initiator, host, message FROM view_job_log") == [
        (1, "pending", "r", "alice", "h1", "a message: with a colon")
    ]
    assert play.rows("SELECT jr_variable, jr_value FROM sge_job_request ORDER BY 1") == [
        ("arch", "lx-amd64"),
        ("h_vmem", "1G"),
        ("pe", "mpi"),
        ("q", "all.q"),
    ]


# each record once


def jobs(numbers: range) -> list[str]:
    return [line for number in numbers for line in (new_job(number, DAY), acct(number, DAY + 10, DAY + 20, submission_time=DAY))]


def once(play: Play, numbers: range) -> None:
    """Each of these jobs has one record, and no other has any."""
    rows = play.rows("SELECT j_job_number, count(*) FROM sge_job JOIN sge_job_usage ON ju_parent = j_id GROUP BY 1 ORDER BY 1")
    assert rows == [(number, 1) for number in numbers]
    assert play.rows("SELECT count(*) FROM sge_job") == [(2 * len(numbers),)]  # the job, and its task


@pytest.mark.statement("DB-12")
def test_a_restart_reads_on_where_it_was(play: Play) -> None:
    play.append(jobs(range(1, 6)))
    play.write()
    play.append(jobs(range(6, 9)))
    play.write()
    play.write()
    once(play, range(1, 9))


@pytest.mark.statement("DB-12")
def test_a_line_that_is_still_being_written_is_read_when_it_is_whole(play: Play) -> None:
    first, second = acct(1, DAY + 10, DAY + 20, submission_time=DAY), acct(2, DAY + 10, DAY + 20, submission_time=DAY)
    with play.file.open("w") as file:
        file.write(f"{new_job(1, DAY)}\n{first}\n{second[:40]}")
    play.write()
    once(play, range(1, 2))
    with play.file.open("a") as file:
        file.write(f"{second[40:]}\n{new_job(2, DAY)}\n")
    play.write()
    once(play, range(1, 3))


@pytest.mark.statement("DB-12")
@pytest.mark.parametrize("packed", [False, True])
def test_rotated_files_are_read_to_their_ends_in_order(play: Play, packed: bool) -> None:
    play.append(jobs(range(1, 4)))
    play.write()
    play.append(jobs(range(4, 6)))
    play.file.rename(play.file.with_name("reporting.1"))
    play.append(jobs(range(6, 8)))
    play.file.rename(play.file.with_name("reporting.0"))
    play.append(jobs(range(8, 10)))
    if packed:
        old = play.file.with_name("reporting.1")
        new = play.file.with_name("reporting.1.gz")
        with gzip.open(new, "wb") as file:
            file.write(old.read_bytes())
        shutil.copystat(old, new)
        old.unlink()
    play.write()
    once(play, range(1, 10))


@pytest.mark.statement("DB-12")
def test_a_file_that_was_emptied_after_a_copy_is_followed(play: Play) -> None:
    play.append(jobs(range(1, 4)))
    play.write()
    shutil.copy2(play.file, play.file.with_name("reporting.1"))
    play.file.write_text("")
    play.write()
    play.append(jobs(range(4, 6)))
    play.write()
    once(play, range(1, 6))


def test_a_missing_file_is_logged_and_the_next_file_read(play: Play, caplog: pytest.LogCaptureFixture) -> None:
    play.append(jobs(range(1, 4)))
    play.write()
    play.file.unlink()
    play.append(jobs(range(4, 6)))
    play.write()
    once(play, range(1, 6))
    assert "of which line 6 was read last is gone" in caplog.text


@pytest.mark.statement("DB-12")
@pytest.mark.parametrize("after", [False, True])
def test_a_death_at_any_step_neither_loses_nor_doubles_a_record(play: Play, after: bool) -> None:
    play.write()
    number = 0
    for step in range(1, 12):
        number += 1
        play.append(jobs(range(number, number + 1)))
        real = open_database(play.address)
        writer = Writer(play.settings, partial(DyingDatabase, real, step, after), lambda: play.now)  # type: ignore[arg-type]
        with suppress(KeyboardInterrupt):
            writer.run(once=True)
        real.close()
        play.write()
        once(play, range(1, number + 1))


# bad input


def test_lines_that_are_no_records_are_kept_with_their_numbers_and_reasons(play: Play) -> None:
    play.append(["rubbish", new_job(1, DAY), f"{DAY}:new_moon:1:2", f"{DAY}:acct:all.q:h1", f"{DAY}:queue:all.q:h1:tomorrow:"])
    play.append([f"{acct(1, DAY + 10, DAY + 20, submission_time=DAY)}:one:field:more"])
    play.write()
    once(play, range(1, 2))
    rejected = play.rows("SELECT rl_line, rl_reason FROM sge_rejected_line ORDER BY 1")
    assert rejected == [
        (1, '"" is no kind of record that this program knows'),
        (3, '"new_moon" is no kind of record that this program knows'),
        (4, "an accounting record has 45 fields; this one has 2"),
        (5, "a queue record: invalid literal for int() with base 10: 'tomorrow'"),
    ]


@pytest.mark.parametrize("junk", [b"\0\0\0", b"\xff\xfe:\x80", b":" * 500, b"9" * 400 + b":acct:1", b"-1:new_job:1"])
def test_a_line_that_is_not_text_is_rejected_and_later_lines_are_written(play: Play, junk: bytes) -> None:
    play.file.write_bytes(junk + b"\n")
    play.append(jobs(range(1, 3)))
    play.write()
    once(play, range(1, 3))
    assert play.rows("SELECT count(*) FROM sge_rejected_line") == [(1,)]


def test_numbers_beyond_the_columns_are_rejected_and_others_pass(play: Play) -> None:
    play.append([acct(2**31, DAY + 10, DAY + 20), acct(2, DAY + 10, DAY + 20, slots=10**12)])
    play.append([acct(3, DAY + 10, DAY + 20, cpu="1e400"), acct(4, DAY + 10, DAY + 20, ru_maxrss=2**40)])
    play.write()
    assert play.rows("SELECT job_number FROM view_accounting ORDER BY 1") == [(3,), (4,)]


def test_a_record_that_only_the_database_refuses_is_kept(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    play.write()
    database = play.open()
    database.run("CREATE UNIQUE INDEX one ON sge_user (u_user)")
    database.close()
    writer = play.writer()
    load_parent_ids = "daemons.dbwriter.loader.Loader._load_parent_ids"
    play.append([acct(1, DAY, DAY + 5, owner="bob")])
    play.write()
    monkeypatch.setattr(load_parent_ids, lambda self, table: None)
    play.append(acct(number, DAY, DAY + 5, owner=owner) for number, owner in [(2, "carol"), (3, "bob"), (4, "dave")])
    writer.run(once=True)
    assert play.rows("SELECT job_number FROM view_accounting ORDER BY 1") == [(1,), (2,), (4,)]
    assert play.rows("SELECT count(*) FROM sge_rejected_line") == [(1,)]
