"""Features beyond the first specification: flexible windows, series, healing, giving back, -alloc, why not."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Any

import pytest
from dateutil import rrule as rrule_module

from daemons.qmaster.decide.reservations.series import MOST_EXAMINED
from gridengine.mail import Mail
from gridengine.protocols.delivery import Load
from tests.harness import LOAD
from tests.unit.clients.shell import Shell
from tests.unit.reservations.conftest import ReservingCell
from tests.unit.reservations.outcomes import granted


@pytest.fixture
def shell(cell: ReservingCell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> Shell:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    monkeypatch.setattr("clients.qrsub.time.time", lambda: cell.now)
    return Shell(cell, tmp_path, monkeypatch, capsys)


# --- flexible windows ----------------------------------------------------------------------------------


def test_the_first_window_that_fits_is_taken(tmp_path: Path) -> None:
    cell = ReservingCell(tmp_path, hosts=1, slots=2)
    now = cell.now
    cell.qrsub(at=0, duration=100, pe="smp", pe_range="2")
    cell.qrsub(at=150, duration=50)
    job = cell.submit(hard=["h_rt=1"])
    pair = {"pe": "smp", "pe_range": "2"}
    first = cell.qrsub(at=0, latest=now + 300, duration=50, **pair)
    assert cell.ar(first).start_time == now + 100
    second = cell.qrsub(at=0, latest=now + 300, duration=60, **pair)
    assert cell.ar(second).start_time == now + 200
    third = cell.qrsub(at=0, latest=now + 150, duration=50)
    assert cell.ar(third).start_time == now + 150
    assert cell.refused(at=0, latest=now + 259, duration=60, **pair) == "advance_reservation: no suitable queues"
    assert "earlier than start" in cell.refused(at=10, latest=now + 9, duration=60)
    assert cell.ar(cell.qrsub(at=5000, latest=now + 5000, duration=60)).start_time == now + 5000
    assert not cell.placed(job)


def test_the_end_of_a_running_job_and_the_opening_of_a_calendar_are_looked_at(tmp_path: Path) -> None:
    cell = ReservingCell(tmp_path, hosts=1, slots=1)
    cell.submit(hard=["h_rt=77"])
    cell.cycle()
    number = cell.qrsub(at=0, latest=cell.now + 1000, duration=50)
    assert cell.ar(number).start_time == cell.now + 77
    cell.qdel_ar(number)
    # 15 January 2027 08:00 UTC
    cell.add("calendar", "cal", calendar_name="cal", year="NONE", week="mon-sun=6-9:30=off")
    cell.configure("cluster_queue", "all.q", calendar="cal")
    number = cell.qrsub(at=0, latest=cell.now + 86400, duration=50)
    assert cell.ar(number).start_time == cell.now + 5400


def test_find_lists_windows_and_takes_none(shell: Shell, cell: ReservingCell) -> None:
    cell.qrsub(at=0, duration=3600, pe="mpi", pe_range="12")
    cell.qrsub(at=7200, duration=1800, pe="mpi", pe_range="10")
    outcome = shell("qrsub -d 1:0:0 -pe smp 4 -find 2")
    assert outcome.status == 0
    assert outcome.lines[2:] == [
        "01/15/2027 09:00:00  01/15/2027 10:00:00  all.q@h1=4",
        "01/15/2027 10:30:00  01/15/2027 11:30:00  all.q@h1=4",
    ]
    assert len(cell.state.reservations) == 2
    outcome = shell("qrsub -d 1:0:0 -pe smp 5 -find 2")
    assert (outcome.status, outcome.err) == (1, "advance_reservation: no suitable window\n")


# --- why not -------------------------------------------------------------------------------------------


@pytest.mark.statement("AR-18")
def test_the_report_names_holder_amount_and_end(shell: Shell, cell: ReservingCell) -> None:
    cell.configure("host_group", "@allhosts", hostlist="h1")
    cell.configure("cluster_queue", "all.q", slots="2")
    cell.submit(hard=["h_rt=60"])
    cell.cycle()
    cell.qrsub(duration=3600)
    outcome = shell("qrsub -w v -d 100")
    assert outcome.status == 1
    assert outcome.lines == [
        'queue instance "all.q@h1" dropped because it is full',
        'queue instance "all.q@h1" is held by advance reservation 1 until 01/15/2027 09:00:00',
        'queue instance "all.q@h1" is held by job 1 until 01/15/2027 08:01:00',
        "It would fit from 01/15/2027 08:01:00 on",
        "verification: no suitable queues",
    ]
    assert shell("qrsub -d 100").err.splitlines()[0] == "advance_reservation: no suitable queues"


# --- series --------------------------------------------------------------------------------------------


def test_a_rule_makes_a_reservation_for_each_time(shell: Shell, cell: ReservingCell) -> None:
    outcome = shell("qrsub -a 01180900 -d 2:0:0 -N daily -recur 'FREQ=DAILY;COUNT=4;BYDAY=MO,TU,WE,TH,FR'")
    assert outcome.lines == [f"Your advance reservation {number} has been granted" for number in (1, 2, 3, 4)]
    starts = [time.strftime("%a %H:%M", time.gmtime(cell.ar(number).start_time)) for number in (1, 2, 3, 4)]
    assert starts == ["Mon 09:00", "Tue 09:00", "Wed 09:00", "Thu 09:00"]
    assert "series                         1" in shell("qrstat -ar 3").lines
    assert shell("qrdel 2").status == 0, "one is skipped"
    assert sorted(cell.state.reservations) == [1, 3, 4]
    assert shell("qrdel -series 3").out.count("deleted") == 2, "the series ends"
    assert sorted(cell.state.reservations) == [1]
    cell.restart()
    assert cell.ar(1).series == 1


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        ("FREQ=DAILY", "must have COUNT or UNTIL"),
        ("FREQ=SOMETIMES;COUNT=2", "is not a recurrence rule"),
        ("COUNT=2", "is not a recurrence rule"),
        ("FREQ=HOURLY;COUNT=3", "overlap"),
        ("FREQ=DAILY;COUNT=1000", "more than 366"),
        ("FREQ=DAILY;UNTIL=20200101T000000", "has no occurrence"),
        ("FREQ=YEARLY;COUNT=12", "more than ten years ahead"),
        ("FREQ=MINUTELY;COUNT=2", "FREQ is none of"),
        ("RRULE:FREQ=DAILY;COUNT=2 EXDATE:20260118T090000", "more than one rule"),
        ("DTSTART:00010101T000000 RRULE:FREQ=DAILY;COUNT=2", "more than one rule"),
        ("FREQ=DAILY;COUNT=2;INTERVAL=99999999999999999999", "or none|not a recurrence rule|has no occurrence"),
    ],
)
def test_rules_that_cannot_be(cell: ReservingCell, rule: str, text: str) -> None:
    assert re.search(text, cell.refused(at=100, duration=7200, rule=rule))


@pytest.mark.parametrize(
    "rule",
    [
        "FREQ=HOURLY;COUNT=1;BYMONTH=2;BYMONTHDAY=30",
        "FREQ=DAILY;COUNT=1;BYMONTHDAY=31;BYMONTH=4",
        "FREQ=HOURLY;COUNT=1;BYSETPOS=2",
        "FREQ=YEARLY;COUNT=1;BYYEARDAY=366;BYMONTH=1",
        "FREQ=MONTHLY;COUNT=2;BYMONTHDAY=31;BYMONTH=2",
    ],
)
def test_a_rule_that_means_no_day_is_looked_for_within_bounds(
    cell: ReservingCell, rule: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The library alone looks at every day until the year 9999."""
    looked_at = 0

    class Counting(rrule_module._iterinfo):  # type: ignore[misc,name-defined]
        @property
        def mmask(self) -> object:
            nonlocal looked_at
            looked_at += 1
            assert looked_at <= MOST_EXAMINED + 1
            return self.months

        @mmask.setter
        def mmask(self, months: object) -> None:
            self.months = months

    monkeypatch.setattr(rrule_module, "_iterinfo", Counting)
    assert "more than ten years ahead, or none" in cell.refused(at=100, duration=60, rule=rule)
    assert looked_at == MOST_EXAMINED + 1


@pytest.mark.parametrize("option", ["-latest 01181200", "-find 2"])
def test_a_series_has_its_times(shell: Shell, cell: ReservingCell, option: str) -> None:
    outcome = shell(f"qrsub -a 01180900 -d 10 -recur 'FREQ=DAILY;COUNT=2' {option}")
    assert outcome.status == 1 and "-latest and -find are for single reservations" in outcome.err
    assert not cell.state.reservations


def test_the_report_of_a_series_is_about_the_first_occurrence_that_does_not_fit(shell: Shell, cell: ReservingCell) -> None:
    assert shell("qrsub -a 01190800 -d 2:0:0 -pe mpi 12").status == 0
    lines = shell("qrsub -w v -a 01180900 -d 60 -recur 'FREQ=DAILY;COUNT=3'").lines
    assert (lines[0], lines[-1]) == ("the occurrence of 01/19/2027 09:00:00:", "verification: no suitable queues")
    lines = shell("qrsub -w v -a 01180900 -d 60 -recur 'FREQ=DAILY;COUNT=1'").lines
    assert lines == ["the occurrence of 01/18/2027 09:00:00:", "verification: found suitable queue(s)"]
    assert len(cell.state.reservations) == 1


def test_a_series_is_granted_as_a_whole_or_not_at_all(cell: ReservingCell) -> None:
    cell.configure("configuration", "global", max_advance_reservations="3")
    assert "max_advance_reservations" in cell.refused(at=100, duration=60, rule="FREQ=DAILY;COUNT=4")
    cell.configure("configuration", "global", max_advance_reservations="0")
    cell.qrsub(at=2 * 86400, duration=60000, pe="mpi", pe_range="12")
    text = cell.refused(at=100, duration=60, rule="FREQ=DAILY;COUNT=4")
    assert text == "advance_reservation: no suitable queues for the occurrence of 01/17/2027 08:01:40"
    assert cell.request(at=100, duration=60, rule="FREQ=DAILY;COUNT=2").status == 0


@pytest.mark.statement("AR-28")
def test_a_series_takes_free_numbers_and_goes_on_at_1(cell: ReservingCell) -> None:
    first = cell.qrsub()
    cell.state.next_ar_id = 9_999_998
    answer = cell.request(at=10000, duration=60, rule="FREQ=DAILY;COUNT=4")
    assert first == 1
    assert [text.split()[3] for _, text in answer.answers] == ["9999998", "9999999", "2", "3"]
    assert {cell.ar(number).series for number in (9_999_998, 9_999_999, 2, 3)} == {9_999_998}


# --- healing and giving back ---------------------------------------------------------------------------


def test_a_lost_share_is_moved_to_a_sound_host(tmp_path: Path) -> None:
    cell = ReservingCell(tmp_path, hosts=4, slots=2)
    parameters = cell.state.configuration_text("")["reporting_params"].replace("reporting=false", "reporting=true")
    cell.configure("configuration", "global", reporting_params=parameters)
    number = cell.qrsub(pe="mpi", pe_range="6", heal=True, mail_options="a")
    stays = cell.qrsub(hard=["hostname=h1"], heal=False, at=100000)
    job = cell.submit(ar=number, hard=["hostname=h2"])
    cell.cycle()
    posted: list[Mail] = []
    cell.master.post = posted.extend
    cell.master.lose_host("h1")
    cell.tick()
    mails = [message for message in posted if message.subject == f"Advance Reservation {number} has moved"]
    assert [message.recipients for message in mails] == [("alice",)] and "all.q@h4=2" in str(mails[0].body)
    assert cell.granted(number) == {"all.q@h4": 2, "all.q@h2": 2, "all.q@h3": 2}
    assert cell.ar(number).state == "r"
    assert cell.ar(stays).state == "W"
    log = (tmp_path / "reporting").read_text().splitlines()
    assert any("CHANGED:moved 2 of all.q@h1 (unknown) to 2 of all.q@h4" in line for line in log)
    cell.master.lose_host("h2")
    cell.tick()
    assert cell.granted(number) == {"all.q@h4": 2, "all.q@h2": 2, "all.q@h3": 2}, "nowhere to go, and a job is there"
    assert cell.ar(number).state == "E"
    cell.report("h1", Load(cell.now, dict(LOAD), full=True))
    cell.now += 10 - cell.now % 10
    cell.tick()
    assert cell.granted(number) == {"all.q@h4": 2, "all.q@h2": 1, "all.q@h3": 2, "all.q@h1": 1}
    assert cell.placed(job) == [("all.q@h2", 1)]
    jobs = [cell.submit(ar=number) for _ in range(6)]
    cell.cycle()
    assert sum(bool(cell.placed(each)) for each in jobs) == 5


def test_an_immovable_reservation_does_not_stop_the_healing_of_others(cell: ReservingCell) -> None:
    stays = cell.qrsub(hard=["hostname=h1"], heal=False)
    moves = cell.qrsub(hard_queues=["all.q@h2", "all.q@h3"], heal=True)
    lost = next(iter(cell.granted(moves))).partition("@")[2]
    cell.master.lose_host("h1")
    cell.master.lose_host(lost)
    cell.tick()
    assert cell.ar(stays).state == "E"
    assert cell.ar(moves).state == "r" and cell.granted(moves).keys() == {"all.q@h2", "all.q@h3"} - {f"all.q@{lost}"}


def test_an_idle_reservation_is_given_back(cell: ReservingCell) -> None:
    number, other = cell.qrsub(idle_limit=60), cell.qrsub()
    cell.wait(50)
    job = cell.submit(ar=number)
    cell.cycle()
    cell.wait(100)
    cell.end(job)
    cell.wait(59)
    assert cell.ar(number).state == "r"
    cell.wait(1)
    assert sorted(cell.state.reservations) == [other]
    late = cell.qrsub(at=1000, idle_limit=10)
    cell.wait(1000)
    cell.wait(9)
    assert late in cell.state.reservations, "it counts from its start on"
    cell.wait(1)
    assert late not in cell.state.reservations


# --- -alloc --------------------------------------------------------------------------------------------


@pytest.mark.statement("AR-126")
def test_slots_by_an_allocation_rule_without_a_pe(shell: Shell, cell: ReservingCell) -> None:
    assert shell("qrsub -alloc $fill_up 10 -d 100").status == 0
    assert cell.granted(1) == {"all.q@h1": 4, "all.q@h2": 4, "all.q@h3": 2}
    jobs = [cell.submit(ar=1) for _ in range(11)]
    cell.cycle()
    assert sum(bool(cell.placed(job)) for job in jobs) == 10
    assert shell("qrdel -f 1").status == 0
    assert shell("qrsub -alloc 2 4 -d 100").status == 0
    assert cell.granted(2) == {"all.q@h1": 2, "all.q@h2": 2}
    assert "allocation rule" in shell("qrsub -alloc 2x 4 -d 100").err
    assert "allocation_rule                2" in shell("qrstat -ar 2").lines


@pytest.mark.statement("AR-57", "AR-109")
@pytest.mark.parametrize(
    ("options", "way_out"),
    [
        ("", "qralter -heal y 1 moves its slots to other hosts"),
        ("-heal y", "its slots move to other hosts as soon as they have free slots"),
        ("-heal y -l h=h1", "its request hostname=h1 leaves no other host"),
    ],
)
def test_a_reservation_with_a_lost_host_shows_its_future(
    shell: Shell, cell: ReservingCell, options: str, way_out: str
) -> None:
    number = granted(shell(f"qrsub -d 3600 -pe mpi 12 {options}" if "-l" not in options else f"qrsub -d 3600 {options}"))
    cell.master.lose_host("h1")
    cell.tick()
    outcome = shell(f"qrstat -ar {number}")
    assert "message                        reserved queue all.q@h1 is unknown" in outcome.lines
    assert outcome.err == f"hint: reservation {number}: one of its hosts is lost (qhost); {way_out}\n"
    assert shell("qrstat").err == ""
