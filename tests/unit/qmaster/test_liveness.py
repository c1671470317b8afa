"""The answers to qping: the recent activity of the parts of the qmaster, and the status of an exec host."""

from __future__ import annotations

import re

import pytest

from daemons.qmaster.serve.liveness import ERROR_S, EVENTS, MAIN, SCHEDULER, TIMER, WARNING_S, Liveness, ping_answer
from tests.harness import MASTER, Cell


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def liveness(clock: Clock) -> Liveness:
    return Liveness(clock)


@pytest.mark.statement("QP-1")
def test_a_part_that_is_late_is_seen(liveness: Liveness, clock: Clock) -> None:
    clock.now += WARNING_S + 1
    liveness.note_activity(MAIN)
    liveness.note_activity(EVENTS)
    status, info = liveness.info()
    assert status == 1
    assert info.startswith("MAIN: R (0.00) | timer000: W (11.00) | ")
    assert info.endswith(f"{SCHEDULER}: R (11.00) | WARNING"), "one that waits for work is in order"
    clock.now += ERROR_S
    assert liveness.info()[0] == 2
    for part in (MAIN, TIMER, EVENTS):
        liveness.note_activity(part)
    assert liveness.info()[0] == 0
    assert liveness.info()[1].endswith("| OK")


@pytest.mark.statement("QP-1")
def test_requests_in_progress_are_counted(liveness: Liveness) -> None:
    liveness.writing, liveness.connections = lambda: 3, lambda: 7
    with liveness.request(), liveness.request():
        assert {name: liveness.answer()[name] for name in ("reading", "writing", "clients")} == {
            "reading": 1,
            "writing": 3,
            "clients": 7,
        }
    assert liveness.answer()["reading"] == 0


@pytest.mark.statement("QP-2")
def test_statistics_of_each_interval(liveness: Liveness, clock: Clock) -> None:
    for _ in range(40):
        liveness.note_activity(TIMER)
    clock.now += 10
    assert liveness.statistics(0.0) == "" == liveness.answer()["monitor"]
    for _ in range(20):
        liveness.note_activity(TIMER)
    clock.now += 9
    assert liveness.statistics(10.0) == ""
    clock.now += 1
    assert re.search(r"\| timer000: runs: 2\.00r/s \| ", line := liveness.statistics(10.0))
    assert liveness.answer()["monitor"] == line
    assert liveness.statistics(10.0) == "", "once an interval"


@pytest.mark.statement("QP-1")
def test_an_exec_host_is_as_its_reports_say(cell: Cell, liveness: Liveness) -> None:
    def ask(host: str, name: str = "execd", port: int = 6445) -> dict[str, object]:
        return ping_answer(cell.state, liveness, {"name": name, "port": port}, host, cell.master.world())

    cell.master.execd_started("h1", "boot1/7")
    first = ask("h1")
    assert (first["name"], first["status"]) == ("execd", 0)
    cell.now += 5
    assert ask("h1")["run"] == pytest.approx(5.0)
    cell.master.execd_started("h1", "boot1/8")
    assert ask("h1")["run"] == pytest.approx(5.0), "it is another process, heard of since the last report"
    cell.master.lose_host("h1")
    assert ask("h1") == {} == ask("nobody")


@pytest.mark.statement("QP-1")
def test_the_qmaster_is_at_one_port_of_one_host(cell: Cell, liveness: Liveness) -> None:
    liveness.port = 6444

    def name_of(host: str, name: str, port: int) -> object:
        return ping_answer(cell.state, liveness, {"name": name, "port": port}, host, cell.master.world()).get("name", "")

    assert name_of(MASTER, "qmaster", 6444) == "qmaster"
    assert name_of(MASTER, "nonsense", 6444) == "qmaster", "and says so to whoever asks for something else"
    assert name_of(MASTER, "qmaster", 22) == name_of("h1", "qmaster", 6444) == ""
