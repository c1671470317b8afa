"""The lines in `messages` about hosts that are lost and come back."""

from __future__ import annotations

import logging
from collections.abc import Callable

import pytest

from daemons.qmaster.serve.hosts.host_log import HostLog
from gridengine.protocols.delivery import Inventory, Load
from tests.harness import LOAD, Cell

Logged = Callable[[], list[str]]


@pytest.fixture
def logged(caplog: pytest.LogCaptureFixture) -> Logged:
    """Gives the lines that came since it was called last."""
    caplog.set_level(logging.WARNING)

    def lines() -> list[str]:
        new = [record.getMessage() for record in caplog.records if record.name == HostLog.__module__]
        caplog.clear()
        return new

    return lines


def lose(cell: Cell, host: str) -> None:
    cell.master.lose_host(host)
    cell.master.flush()


@pytest.mark.statement("GC-4", "QI-3")
def test_loss_and_return_are_a_line_each_with_how_long_it_took(cell: Cell, logged: Logged) -> None:
    log = HostLog(cell.master)
    job = cell.submit()
    cell.cycle()
    host = cell.running[job, 1, 1]
    cell.report(host, Inventory([(job, 1, 1)], "boot1"))
    log.note_contact(host)
    cell.pass_time(4.5)
    assert logged() == []
    lose(cell, host)
    assert logged() == [f"host {host} is lost: nothing heard for 4.5 s"]
    cell.pass_time(72)
    cell.report(host, Load(cell.now, dict(LOAD), full=True, incarnation="boot1"))
    assert logged() == [f"host {host} answers again after 1 min 12 s; 1 task ran on"]
    cell.report(host, Load(cell.now, dict(LOAD), full=True, incarnation="boot1"))
    assert logged() == []


def test_a_clock_that_is_set_changes_no_duration(cell: Cell, logged: Logged) -> None:
    log = HostLog(cell.master)
    log.note_contact("h1")
    cell.set_clock(-3600)
    cell.pass_time(5)
    lose(cell, "h1")
    assert logged() == ["host h1 is lost: nothing heard for 5.0 s"]


def test_a_host_whose_daemon_is_ended_is_not_lost(cell: Cell, logged: Logged) -> None:
    log = HostLog(cell.master)
    log.note_contact("h1")
    log.note_shutdown("h1")
    cell.master.lose_host("h1", orderly=log.was_stopped("h1"))
    cell.master.flush()
    assert logged() == ["the daemon of host h1 was stopped in order"]
    cell.master.execd_started("h1", "boot1/2")
    assert not log.was_stopped("h1"), "another daemon serves it"
    cell.report("h1", Load(cell.now, dict(LOAD), full=True, incarnation="boot1"))
    lose(cell, "h1")
    assert logged()[-1].startswith("host h1 is lost: ")


@pytest.mark.statement("EX-10")
def test_a_reboot_is_a_line_but_not_the_first_boot_that_is_known(cell: Cell, logged: Logged) -> None:
    HostLog(cell.master)
    cell.master.flush()
    logged()
    known = cell.state.hosts["h1"].incarnation
    cell.report("h1", Inventory([], "boot8"))
    assert logged() == (["host h1 was rebooted: no process that ran there is left"] if known else [])
    cell.report("h1", Inventory([], "boot8"))
    assert logged() == []
    cell.report("h1", Inventory([], "boot9"))
    assert logged() == ["host h1 was rebooted: no process that ran there is left"]
