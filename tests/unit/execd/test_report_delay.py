"""Reports that wait for other reports, and their delay."""

from __future__ import annotations

from daemons.execd.report_delay import ENDED_DELAY_S, STARTED_DELAY_S, YOUNG_S, ReportDelay
from gridengine.protocols.delivery import Ended, Load, Started

FIRST, SECOND = (1, 1, 1), (2, 1, 1)


def test_an_end_waits_only_while_other_tasks_are_young() -> None:
    delay = ReportDelay()
    assert delay.delay_s(Started(FIRST, 0.0), 0.0) == STARTED_DELAY_S
    assert delay.delay_s(Started(SECOND, 0.0), 0.5) == STARTED_DELAY_S
    assert delay.delay_s(Ended(FIRST), 0.6) == ENDED_DELAY_S
    assert delay.delay_s(Ended(SECOND), 0.6) == 0.0


def test_tasks_that_run_for_long_hold_nothing_up() -> None:
    delay = ReportDelay()
    delay.delay_s(Started(FIRST, 0.0), 0.0)
    assert delay.delay_s(Ended(SECOND), YOUNG_S + 0.1) == 0.0


def test_reports_about_no_task_are_sent_at_once() -> None:
    delay = ReportDelay()
    delay.delay_s(Started(FIRST, 0.0), 0.0)
    assert delay.delay_s(Load(0.0, {}), 0.0) == 0.0
