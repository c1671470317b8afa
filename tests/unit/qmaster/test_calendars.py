"""Calendars in force: instances are disabled and suspended at the second, by local time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from gridengine.state.state_codes import instance_state_codes
from tests.harness import Cell
from tests.unit.qmaster.asking import attribute

MONDAY = datetime(2027, 3, 1, tzinfo=UTC).timestamp()


def _codes(cell: Cell, instance: str = "all.q@h1") -> str:
    return instance_state_codes(cell.state, cell.state.instances[instance])


@pytest.fixture
def monday(cell: Cell) -> Cell:
    """A cell at the beginning of a Monday with a calendar that nothing uses yet."""
    cell.now = MONDAY
    for host in cell.state.hosts.values():
        host.last_heard = MONDAY + 10 * 86400
    cell.add("calendar", "night", week="mon-fri=20-6=on mon-fri=6-20=off")
    return cell


@pytest.mark.statement("CA-2", "CA-7", "QI-5", "QC-37")
def test_a_calendar_disables_at_the_second(monday: Cell) -> None:
    attribute(monday, "modify", "cluster_queue", "all.q", "calendar", "night")
    assert _codes(monday) == ""
    for hour, seconds, codes in [(6, -1, ""), (6, 0, "D"), (20, -1, "D"), (20, 0, "")]:
        monday.now = MONDAY + hour * 3600 + seconds
        monday.master.tick()
        assert _codes(monday) == codes, (hour, seconds)


@pytest.mark.statement("CA-2", "QI-7")
def test_a_calendar_suspends_jobs_and_releases_them(monday: Cell) -> None:
    monday.add("calendar", "lunch", week="mon-fri=12-13=suspended")
    attribute(monday, "modify", "cluster_queue", "all.q@h1", "calendar", "lunch")
    job = monday.submit(hard_queues=["all.q@h1"])
    monday.cycle()
    signals = lambda: [command for _, _, command in monday.signals]  # noqa: E731
    for hour, codes, sent in [(12, "C", ["suspend"]), (13, "", ["suspend", "run"])]:
        monday.now = MONDAY + hour * 3600
        monday.master.tick()
        monday.deliver()
        assert (_codes(monday), _codes(monday, "all.q@h2")) == (codes, "")
        assert signals() == sent
    assert monday.placed(job)


@pytest.mark.statement("CA-7")
def test_a_change_of_calendar_or_queue_counts_at_once(monday: Cell) -> None:
    monday.now = MONDAY + 12 * 3600
    attribute(monday, "modify", "cluster_queue", "all.q", "calendar", "night")
    assert _codes(monday) == "D"
    job = monday.submit()
    monday.cycle()
    assert not monday.placed(job)
    monday.configure("calendar", "night", week="mon-fri=6-20=suspended")
    assert _codes(monday) == "C"
    attribute(monday, "modify", "cluster_queue", "all.q@h1", "calendar", "NONE")
    assert (_codes(monday), _codes(monday, "all.q@h2")) == ("", "C")
    monday.add("cluster_queue", "new.q", hostlist="h1", calendar="night")
    assert _codes(monday, "new.q@h1") == "C"


@pytest.mark.statement("CA-7", "QI-13", "SP-3")
def test_calendar_changes_during_a_master_outage_are_applied_later(monday: Cell) -> None:
    attribute(monday, "modify", "cluster_queue", "all.q", "calendar", "night")
    monday.now = MONDAY + 7 * 3600
    monday.restart()
    assert "D" not in _codes(monday)
    monday.master.tick()
    assert "D" in _codes(monday)
    monday.master.flush()
    monday.restart()
    assert "D" in _codes(monday)


@pytest.mark.statement("CA-2")
def test_calendars_mean_local_time(monday: Cell) -> None:
    world = monday.master.world

    def east():  # type: ignore[no-untyped-def]
        found = world()
        found.zone = timezone(timedelta(hours=5))
        return found

    attribute(monday, "modify", "cluster_queue", "all.q", "calendar", "night")
    monday.now = MONDAY + 2 * 3600
    monday.master.tick()
    assert _codes(monday) == ""
    monday.master.world = east
    monday.master.tick()
    assert _codes(monday) == "D", "it is seven o'clock there"


@pytest.mark.statement("US-8", "QF-22")
def test_a_calendar_in_use_is_not_removed(monday: Cell) -> None:
    attribute(monday, "modify", "cluster_queue", "all.q@h1", "calendar", "night")
    answer = monday.admin("config_delete", kind="calendar", name="night")
    assert (answer.status, answer.answers[0][1]) == (
        1,
        'denied: calendar "night" is still referenced in cluster queue "all.q"',
    )


@pytest.mark.statement("QC-38")
def test_a_new_execd_brings_the_initial_states(cell: Cell) -> None:
    cell.configure("cluster_queue", "all.q", initial_state="default,[h1=disabled],[h2=enabled]")
    cell.master.execd_started("h1", "boot/1")
    cell.admin("change_states", action="enable", what="queue", targets=["all.q@h1"])
    cell.admin("change_states", action="disable", what="queue", targets=["all.q@h2", "all.q@h3"])
    cell.master.execd_started("h1", "boot/1")
    assert _codes(cell) == "", "the same process again: its node was restarted, or the master was"
    for host in ("h1", "h2", "h3"):
        cell.master.execd_started(host, "boot/2")
    assert [_codes(cell, f"all.q@{host}") for host in ("h1", "h2", "h3")] == ["d", "", "d"]
    cell.master.flush()
    cell.restart()
    cell.admin("change_states", action="enable", what="queue", targets=["all.q@h1"])
    cell.master.execd_started("h1", "boot/2")
    assert "d" not in _codes(cell)
