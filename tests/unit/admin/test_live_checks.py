"""`gridengine doctor` checks the running cell: orphan tasks, membership of hosts, clocks, users, mail."""

from __future__ import annotations

import os
import pwd
import socket
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from clients.admin import live_checks, membership
from clients.admin.cell import CellFiles, InstalledCell
from clients.admin.certificate import utc_now
from clients.gdi import Answer, Unreachable
from gridengine.protocols.protocol import CGROUPS_FILE, MASTER_REPLY_FILE, SENSOR_FAULTS_FILE


@pytest.fixture
def cell(tmp_path: Path) -> InstalledCell:
    """A cell whose master host is another machine, and whose host h1 is here."""
    (tmp_path / "execd/h1").mkdir(parents=True)
    (tmp_path / "execd/h1/execd.pid").write_text("")
    (tmp_path / "qmaster").mkdir()
    settings = {"execd_spool_dir": str(tmp_path / "execd"), "qmaster_spool_dir": str(tmp_path / "qmaster")}
    settings |= {"qmaster_port": "6444", "run_dir": str(tmp_path)}
    return InstalledCell(CellFiles(tmp_path, "c"), settings, "elsewhere")


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The answers of the qmaster: data by the name of the request; a missing entry is an unreachable qmaster."""
    known: dict[str, Any] = {}

    def call(name: str, body: object, **_seconds: float) -> Answer:
        if name not in known:
            raise Unreachable("away")
        return Answer(0, [], known[name])

    monkeypatch.setattr(live_checks.gdi, "call", call)
    for name in ("SGE_ROOT", "SGE_CELL"):
        monkeypatch.setenv(name, "")
    return known


def wrong(findings) -> list[str]:
    return [finding.what for finding in findings if finding.wrong]


def write_reply(cell: InstalledCell, text: str) -> None:
    (cell.execd_spool_dir / "h1" / MASTER_REPLY_FILE).write_text(text)


def test_membership_of_a_host_by_replies_and_by_the_master(cell: InstalledCell, answers: dict[str, Any]) -> None:
    def state_of_host(just_begun: bool = False) -> tuple[str, str]:
        return tuple(membership.membership(cell, "h1", just_begun))

    unanswered = ("waits", "h1 waits for the master host elsewhere, which has not answered it yet")
    assert state_of_host(just_begun=True) == unanswered
    assert state_of_host() == ("waits", "h1 waits for the master host elsewhere, which does not answer")
    answers |= {"ping": {"name": "execd"}, "status": {"queues": [{"total": 2}]}}
    assert state_of_host(just_begun=True) == unanswered, "that was the daemon before"
    assert state_of_host() == ("joined", "h1 has joined, 2 slots"), "a daemon of an earlier release records no reply"
    answers["ping"] = {}
    assert state_of_host() == unanswered
    answers.clear()
    write_reply(cell, 'denied: host "h1" is no execution host\n')
    assert state_of_host() == ("refused", 'the master refuses h1: host "h1" is no execution host')
    write_reply(cell, "")
    assert state_of_host() == ("waits", "h1 waits for the master host elsewhere, which does not answer")
    answers["ping"] = {}
    state, text = state_of_host()
    assert state == "waits" and text.startswith("h1 is about to join; if this persists, a firewall")
    answers["ping"] = {"name": "execd"}
    answers["status"] = {"queues": [{"total": 3}, {"total": 1}]}
    assert state_of_host() == ("joined", "h1 has joined, 4 slots")
    answers["status"] = {"queues": [{"total": 1}]}
    assert state_of_host() == ("joined", "h1 has joined, 1 slot")
    answers["status"] = {"queues": []}
    assert state_of_host()[1] == "h1 has joined, no queue has slots there yet (qconf -mq)"


def test_a_host_that_is_refused_is_found_with_what_to_do(cell: InstalledCell, answers: dict[str, Any], monkeypatch) -> None:
    monkeypatch.setattr(live_checks, "process_of", lambda daemon: "process")
    write_reply(cell, "denied: no")
    (finding,) = live_checks.check_membership(cell)
    assert finding.what == "the master refuses h1: no" and finding.fix.startswith("correct that; a host that was removed: ")
    monkeypatch.setattr(live_checks, "process_of", lambda daemon: None)
    assert not list(live_checks.check_membership(cell)), "a daemon that does not run is another finding"


def test_clocks_that_are_apart_are_found(
    cell: InstalledCell, answers: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not list(live_checks.check_master_clock(cell))
    monkeypatch.setattr(time, "time", lambda: 1_800_000_000.0)
    answers["ping"] = {"start": time.time() - 100, "run": 100}
    assert wrong(live_checks.check_master_clock(cell)) == []
    answers["ping"] = {"start": time.time() - 100, "run": 190}
    (text,) = wrong(live_checks.check_master_clock(cell))
    assert text.startswith("the clock here is 1 min 30 s behind")


def test_owners_of_jobs_who_are_unknown_here_are_found(cell: InstalledCell, answers: dict[str, Any]) -> None:
    assert not list(live_checks.check_users(cell))
    here = pwd.getpwuid(os.geteuid()).pw_name
    rows = [[1, 0, "job", name] for name in (here, "no-such-user", "another-one", here)]
    answers["status"] = {"jobs": {"running": rows[:2], "pending": rows[2:]}}
    assert wrong(live_checks.check_users(cell)) == ["users with jobs who do not exist on this host: another-one, no-such-user"]
    answers["status"] = {"jobs": {"running": rows[:1], "pending": []}}
    assert [str(finding) for finding in live_checks.check_users(cell)] == ["ok     the 1 users with jobs exist on this host"]


def test_a_mailer_that_is_missing_or_has_failed_is_found(cell: InstalledCell, answers: dict[str, Any], monkeypatch) -> None:
    monkeypatch.setattr(live_checks, "is_master_here", lambda cell: True)
    now = utc_now()

    def found(mailer: str) -> list[str]:
        answers["config_show"] = [{"name": "global", "attributes": {"mailer": mailer}}]
        return [str(finding).splitlines()[0] for finding in live_checks.check_mail(cell, now)]

    assert found("none") == ["ok     no mail is sent: the configuration has no mailer"]
    assert found("/bin/sh") == found("daemon@/bin/sh") == ["ok     the mailer is /bin/sh"]
    assert found("/no/such") == ["note   no mail is sent: /no/such is not on this host"]
    assert not [finding for finding in live_checks.check_mail(cell, now) if finding.wrong]
    reason = 'mail "x" to bob was not sent: /bin/sh ended with exit status 1: no room'
    day = f"{now.astimezone():%m/%d/%Y}"
    (cell.qmaster_spool_dir / "messages").write_text(f"{day} 10:00:00|worker|h|E|{reason}\n{day} 11:00:00|worker|h|I|x\n")
    assert found("/bin/sh") == [f"WRONG  {reason}"]
    now += timedelta(days=3)
    assert found("/bin/sh") == ["ok     the mailer is /bin/sh"]


def test_tasks_that_the_cell_does_not_know_are_listed(cell, monkeypatch):
    rows = [["h1", 77, 1, "bob", 1_800_000_000.0], ["h2", 78, 2, "", 0.0]]
    monkeypatch.setattr(live_checks.gdi, "call", lambda name, body, **_: live_checks.gdi.Answer(0, [], {name: rows}))
    assert wrong(live_checks.check_orphans(cell)) == [
        'host h1 has task 77.1 of user "bob", submitted 2027-01-15 08:00, which this cell does not know',
        'host h2 has task 78.2 of user "?" which this cell does not know',
    ]
    assert "qdel -f 77.1" in next(iter(live_checks.check_orphans(cell))).fix
    rows.clear()
    assert wrong(live_checks.check_orphans(cell)) == []
    refusal = live_checks.gdi.Answer(1, [["error", "internal error"]], None)
    monkeypatch.setattr(live_checks.gdi, "call", lambda name, body, **_: refusal)
    assert wrong(live_checks.check_orphans(cell)) == ["the qmaster does not report orphan tasks: internal error"]


def test_orphans_are_not_reported_while_the_qmaster_does_not_answer(cell, monkeypatch):
    def silent(name, body, **_):
        raise live_checks.gdi.Unreachable("no qmaster")

    monkeypatch.setattr(live_checks.gdi, "call", silent)
    assert not list(live_checks.check_orphans(cell))


def test_sensors_that_do_not_report_are_named(cell: InstalledCell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_checks, "process_of", lambda daemon: object())
    assert list(live_checks.check_sensors(cell)) == []
    noted = cell.execd_spool_dir / "h1" / SENSOR_FAULTS_FILE
    noted.write_text("load sensor /a ended with status 3\nload sensor /b has not answered for 60 s\n")
    faults = ["h1: load sensor /a ended with status 3", "h1: load sensor /b has not answered for 60 s"]
    assert wrong(live_checks.check_sensors(cell)) == faults
    monkeypatch.setattr(live_checks, "process_of", lambda daemon: None)
    assert list(live_checks.check_sensors(cell)) == []


@pytest.mark.statement("EX-6")
def test_a_host_whose_cgroups_limit_no_memory_is_named_with_the_reason(
    cell: InstalledCell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_checks, "process_of", lambda daemon: object())
    assert list(live_checks.check_cgroups(cell)) == [], "they are switched off"
    noted = cell.execd_spool_dir / "h1" / CGROUPS_FILE
    noted.write_text("none\n/sys/fs/cgroup cannot be written to\n")
    (found,) = live_checks.check_cgroups(cell)
    assert found.what == "h1: cgroups do not limit the memory of jobs: /sys/fs/cgroup cannot be written to"
    assert found.note and "ENABLE_CGROUPS=false" in found.fix
    noted.write_text("v2 (memory)\n\n")
    (found,) = live_checks.check_cgroups(cell)
    assert (found.what, found.fix) == ("h1: jobs have cgroups v2 (memory)", "")


@pytest.mark.parametrize("name", ["check_orphans", "check_master_clock", "check_users", "check_mail"])
def test_no_check_retries_at_the_socket_of_a_daemon_that_has_ended(
    cell: InstalledCell, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Each of them took as long as a command that waits for a restart."""
    for ended in ("gdi.sock", "gateway.sock"):
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(cell.run_dir / ended))
    (cell.files.common).mkdir(parents=True)
    (cell.files.common / "bootstrap").write_text(f"run_dir {cell.run_dir}\n")
    connect, attempts = live_checks.gdi.wire.connect, []
    monkeypatch.setattr(live_checks.gdi.wire, "connect", lambda *where: attempts.append(connect(*where)) or attempts[-1])
    monkeypatch.setattr(live_checks, "is_master_here", lambda _: name == "check_mail")
    assert list(getattr(live_checks, name)(cell, *([utc_now()] if name == "check_mail" else []))) == []
    assert attempts == [(None, True)]
