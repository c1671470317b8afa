"""The alarm rules: from when on each condition is an alarm, how severe it is, and what to do."""

from __future__ import annotations

from typing import Any

import pytest

from daemons.web.alarms.load_alarms import load_alarms
from daemons.web.alarms.rules import MAX_SUBJECTS, OTHERS, RULES, Alarm, alarms
from daemons.web.alarms.view import AlarmView, Certificate, LoadAlarm, LocalFacts, LocalFault, Thresholds
from daemons.web.job_rows import JobFilter, JobRows
from daemons.web.metric_families import SpoolFigures
from daemons.web.quota_uses import QuotaUse
from gridengine.protocols.delivery import Load
from gridengine.protocols.devices import Device
from gridengine.state.state import State
from tests.harness import LOAD, Cell
from tests.unit.qmaster.test_resource_maps import add_complex, set_values, start
from tests.unit.web.followed import Followed

NOW = 1_800_000_000.0
DAY_S = 86_400.0


def view_of(followed: Followed, later_s: float = 0.0, **more: Any) -> AlarmView:
    """The view of a followed cell, some seconds later."""
    followed.take()
    rows = JobRows(followed.mirror)
    errors, waiting = (rows.select_rows(JobFilter(state=state)).rows for state in ("error", "waiting"))
    return AlarmView(followed.mirror.state, followed.cell.now + later_s, errors=errors, waiting=waiting, **more)


def local(**facts: Any) -> AlarmView:
    """A view with facts of the host of the web server alone."""
    return AlarmView(State(), NOW, ready=False, local=LocalFacts(**facts))


def by_rule(view: AlarmView, now: float = NOW, **thresholds: Any) -> dict[str, list[Alarm]]:
    """The alarms by rule."""
    of_rule: dict[str, list[Alarm]] = {}
    for alarm in alarms(view, now, Thresholds(**thresholds)):
        of_rule.setdefault(alarm.rule, []).append(alarm)
    return of_rule


def test_a_healthy_cell_has_no_alarms(followed: Followed) -> None:
    followed.cell.submit()
    followed.cell.cycle()
    assert by_rule(view_of(followed, 3600)) == {}


def test_a_host_that_is_away_for_longer_than_the_threshold_is_an_alarm(followed: Followed) -> None:
    cell = followed.cell
    cell.submit(tasks="1-12")
    cell.cycle()
    for name in ("h2", "h3"):
        cell.master.lose_host(name)
    cell.master.flush()
    cell.admin("drain_hosts", hosts=["h3"], reason="new disk")
    assert "host_away" not in by_rule(view_of(followed, 59))
    lost, drained = by_rule(view_of(followed, 61))["host_away"]
    assert (lost.subject, lost.severity, lost.since, lost.address) == ("h2", "critical", cell.now, "/hosts/h2")
    assert lost.cause == "The host sends no reports. 4 tasks ran there." and lost.command == "gridengine start"
    assert (drained.subject, drained.severity) == ("h3", "info") and "new disk" in drained.cause
    assert "host_away" not in by_rule(view_of(followed, 61), host_away_s=100)


def test_a_host_without_tasks_is_a_warning(followed: Followed) -> None:
    followed.cell.master.lose_host("h1")
    followed.cell.master.flush()
    (alarm,) = by_rule(view_of(followed, 100))["host_away"]
    assert (alarm.severity, alarm.cause) == ("warning", "The host sends no reports.")


def failed_job(cell: Cell, code: int, reason: str) -> int:
    number = cell.submit(name="sim")
    cell.cycle()
    cell.end(number, failed=code, reason=reason)
    return number


def test_a_queue_instance_in_error_has_its_reason_and_the_command(followed: Followed) -> None:
    failed_job(followed.cell, 8, "the prolog ended with 1")
    (alarm,) = by_rule(view_of(followed))["queue_error"]
    assert alarm.severity == "warning" and "prolog" in alarm.cause and alarm.cause.endswith(".")
    assert alarm.command == f"qmod -c {alarm.subject}" and alarm.address == f"/instances/{alarm.subject}"


def test_an_ambiguous_queue_instance_names_attribute_and_host_groups(followed: Followed) -> None:
    followed.cell.add("host_group", "@a", hostlist="h1")
    followed.cell.add("host_group", "@b", hostlist="h1 h2")
    followed.cell.configure("cluster_queue", "all.q", seq_no="0,[@a=1],[@b=2]")
    (alarm,) = by_rule(view_of(followed))["queue_ambiguous"]
    assert (alarm.subject, alarm.severity) == ("all.q@h1", "warning")
    assert alarm.cause == "The attribute seq_no is ambiguous: @a, @b set different values."


def test_an_orphaned_queue_instance_is_for_information(followed: Followed) -> None:
    cell = followed.cell
    cell.submit(tasks="1-12")
    cell.cycle()
    cell.configure("cluster_queue", "all.q", hostlist="h1 h2")
    (alarm,) = by_rule(view_of(followed))["queue_orphaned"]
    assert (alarm.subject, alarm.severity, alarm.address) == ("all.q@h3", "info", "/instances/all.q@h3")


def test_a_closed_unit_is_an_alarm_with_its_reason_and_its_job(followed: Followed) -> None:
    cell = followed.cell
    assert not add_complex(cell) and not set_values(cell, "h1", "gpu=2(0 1)")
    start(cell)
    devices = [Device("nvidia", 0, "GPU-a", fault="critical errors (XID 79)"), Device("nvidia", 1, "GPU-b", fault="lost")]
    cell.report("h1", Load(cell.now, dict(LOAD), devices=devices))
    first, second = by_rule(view_of(followed))["unit_closed"]
    assert (first.subject, first.severity, first.address) == ("gpu/0 of h1", "warning", "/hosts/h1")
    assert first.cause == "The unit is closed: critical errors (XID 79). It stays with job 1. No other job gets it."
    assert second.cause == "The unit is closed: lost. No other job gets it." and second.command == "gridengine devices h1"
    cell.report("h1", Load(cell.now, dict(LOAD), devices=[]))
    assert "unit_closed" not in by_rule(view_of(followed))


def test_a_load_alarm_has_value_and_threshold(followed: Followed) -> None:
    cell = followed.cell
    cell.configure("cluster_queue", "all.q", load_thresholds="np_load_avg=1.75")
    cell.report("h1", Load(cell.now, {**LOAD, "np_load_avg": "2.50"}, full=True, incarnation="boot1"))
    cell.master.lose_host("h3")
    cell.master.flush()
    view = view_of(followed)
    (alarm,) = by_rule(view._replace(loads=load_alarms(view.state)))["load_alarm"]
    assert (alarm.subject, alarm.severity, alarm.command) == ("all.q@h1", "info", "qstat -explain a -q all.q@h1")
    assert alarm.cause == "np_load_avg is 2.50, at its threshold 1.75: no further task starts there."
    (unknown,) = by_rule(view._replace(loads=[LoadAlarm("all.q@h2", "np_load_avg", "", "1.75")]))["load_alarm"]
    assert unknown.cause == "np_load_avg is not reported, with the threshold 1.75: no further task starts there."


def test_a_job_in_error_has_its_reason_and_the_command(followed: Followed) -> None:
    number = failed_job(followed.cell, 26, "cannot open /no/where")
    (alarm,) = by_rule(view_of(followed))["job_error"]
    assert (alarm.subject, alarm.command, alarm.address) == (f"job {number}", f"qmod -cj {number}", f"/jobs/{number}")
    assert "cannot open /no/where" in alarm.cause and "Job sim of alice." in alarm.cause


def test_a_job_that_waits_too_long_is_an_alarm_from_its_earliest_start_on(followed: Followed) -> None:
    cell = followed.cell
    waiting = cell.submit(hard=["arch=nosuch"])
    cell.submit(hard=["arch=nosuch"], start_after=cell.now + DAY_S)
    cell.submit(holds="u")
    assert by_rule(view_of(followed, DAY_S - 1)) == {}
    (alarm,) = by_rule(view_of(followed, DAY_S + 1))["job_pending"]
    assert (alarm.subject, alarm.command, alarm.since) == (f"job {waiting}", f"qexplain {waiting}", cell.now)
    assert len(by_rule(view_of(followed, 2 * DAY_S))["job_pending"]) == 2, "never the held job"
    assert "job_pending" not in by_rule(view_of(followed, DAY_S + 1), job_pending_s=2 * DAY_S)


@pytest.mark.parametrize(("started", "severity"), [(False, "warning"), (True, "critical")])
def test_a_reservation_with_errors_is_critical_once_it_runs(followed: Followed, started: bool, severity: str) -> None:
    cell = followed.cell
    cell.admin("reserve", start_time=cell.now + 60, duration=600.0)
    view = view_of(followed)
    (reservation,) = view.state.reservations.values()
    assert "reservation" not in by_rule(view)
    reservation.errors, reservation.started = ["host h1 is unknown", "another"], started
    (alarm,) = by_rule(view)["reservation"]
    assert (alarm.severity, alarm.subject) == (severity, f"reservation {reservation.id}")
    assert alarm.cause == "host h1 is unknown. 1 more error."


def test_a_quota_at_its_limit_is_only_information(followed: Followed) -> None:
    full = QuotaUse("people/1", "users alice", "slots", "4", "4", 1.0)
    limits = (full, full._replace(rule="people/2", used="3", part=0.75), full._replace(limit="0", used="0"))
    (alarm,) = by_rule(view_of(followed, limits=limits))["quota_full"]
    assert (alarm.severity, alarm.subject) == ("info", "people/1 slots (users alice)")
    assert alarm.cause.startswith("4 of 4 are in use") and alarm.command == "qconf -mrqs people"
    assert len(by_rule(view_of(followed, limits=limits), quota_part=0.7)["quota_full"]) == 2


@pytest.mark.parametrize(
    ("facts", "rule", "subject", "severity"),
    [
        ({"spool": SpoolFigures(2**29, 2**34, 0)}, "spool_disk", "spool", "warning"),
        ({"spool": SpoolFigures(2**20, 2**34, 0)}, "spool_disk", "spool", "critical"),
        ({"certificates": [Certificate("host", "n1", NOW + 29 * DAY_S)]}, "certificate", "host n1", "warning"),
        ({"certificates": [Certificate("master", "/k", NOW + 2 * DAY_S)]}, "certificate", "master host", "critical"),
        ({"certificates": [Certificate("web", "/k", NOW - 1)]}, "certificate", "web server", "critical"),
        ({"newest_backup": NOW - 2 * DAY_S}, "backup_old", "daily backup", "warning"),
        ({"shadows": ["m2"]}, "shadow_behind", "m2", "warning"),
        ({"unsent_mail": LocalFault(NOW - 3599, 'mail "x" to bob was not sent: no disk')}, "mail", "mailer", "warning"),
        ({"missing_mailer": "/usr/bin/mail"}, "mail", "mailer", "info"),
    ],
)
def test_a_fact_of_the_master_host_is_an_alarm(facts: dict[str, Any], rule: str, subject: str, severity: str) -> None:
    found = by_rule(local(**facts))
    assert list(found) == [rule]
    (alarm,) = found[rule]
    assert (alarm.subject, alarm.severity) == (subject, severity)
    assert alarm.cause.endswith(".") and alarm.step.endswith(".")


@pytest.mark.parametrize(
    "facts",
    [
        {"spool": SpoolFigures(2**30, 2**34, 0)},
        {"certificates": [Certificate("authority", "/k", NOW + 31 * DAY_S)]},
        {"newest_backup": NOW - 2 * DAY_S + 1},
        {"unsent_mail": LocalFault(NOW - 3600, "x")},
    ],
)
def test_a_fact_within_its_threshold_is_no_alarm(facts: dict[str, Any]) -> None:
    assert by_rule(local(**facts)) == {}


def test_the_keys_of_a_host_are_renewed_by_its_name() -> None:
    (alarm,) = by_rule(local(certificates=[Certificate("host", "n1", NOW)]))["certificate"]
    assert alarm.command == "gridengine host keys n1"


def test_a_silent_qmaster_and_a_webhook_that_fails_are_alarms_without_a_state() -> None:
    assert by_rule(local()._replace(mirror_age_s=59)) == {}
    view = local()._replace(mirror_age_s=61, webhook=LocalFault(NOW - 5, "the receiver answers with status 500"))
    found = by_rule(view)
    assert [(alarm.rule, alarm.severity, alarm.since) for of in found.values() for alarm in of] == [
        ("mirror_behind", "critical", NOW - 61), ("webhook", "warning", NOW - 5),
    ]


def test_a_rule_that_is_off_has_no_alarms() -> None:
    view = local(shadows=["m2"], missing_mailer="/x")
    assert list(by_rule(view, off=frozenset(["mail"]))) == ["shadow_behind"]


def test_very_many_alarms_of_a_rule_are_summed_up() -> None:
    found = by_rule(local(shadows=[f"m{number:03}" for number in range(MAX_SUBJECTS + 20)]))["shadow_behind"]
    assert len(found) == MAX_SUBJECTS + 1
    assert (found[-1].subject, found[-1].cause) == (OTHERS, "20 more alarms of this rule.")


def test_every_rule_has_a_title() -> None:
    titles = [rule.title for rule in RULES.values()]
    assert all(titles) and len(set(titles)) == len(RULES)
