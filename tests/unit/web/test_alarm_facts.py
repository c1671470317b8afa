"""Facts of the web server's host for the alarm rules, read from the files of a cell."""

from __future__ import annotations

import asyncio
import os
import socket
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from aiohttp import web

from clients.admin.certificate import make_authority, make_certificate
from daemons.runtime.cell import Cell
from daemons.web.alarms.facts import gather_facts
from daemons.web.alarms.view import LocalFacts
from gridengine.files.unsent_mail import last_unsent_mail

MADE = datetime(2026, 1, 1, tzinfo=UTC)
YEARS_10 = timedelta(days=3650)


@pytest.fixture
def installed(tmp_path: Path) -> Cell:
    cell = Cell(tmp_path, "test", "root", tmp_path / "qmaster", tmp_path / "execd", tmp_path / "run", 1, 2)
    for path in (cell.common, cell.backups_dir, cell.web_spool, cell.qmaster_spool_dir / "keys"):
        path.mkdir(parents=True, exist_ok=True)
    cell.act_qmaster.write_text(f"{cell.own_name()}\n")
    (cell.common / "bootstrap").touch()
    return cell


def facts(cell: Cell, mailer: str | None = None, certificate: Path | None = None) -> LocalFacts:
    return asyncio.run(gather_facts(cell, mailer, certificate))


def test_certificates_of_the_authority_and_of_all_hosts_are_found(installed: Cell, tmp_path: Path) -> None:
    authority = make_authority("x", MADE)
    host = make_certificate(authority, "n1", ["127.0.0.1"], MADE)
    (installed.common / "tls.crt").write_bytes(authority.certificate)
    (installed.qmaster_spool_dir / "keys" / "tls.crt").write_bytes(host.certificate)
    known = installed.qmaster_spool_dir / "authority" / "hosts"
    for name, content in (("n1", host.certificate), ("n2", b"damaged")):
        (known / name).mkdir(parents=True)
        (known / name / "tls.crt").write_bytes(content)
    (tmp_path / "web.crt").write_bytes(host.certificate)
    found = facts(installed, certificate=tmp_path / "web.crt").certificates
    assert [each.kind for each in found] == ["authority", "master", "host", "web"]
    assert found[2].name == "n1"
    assert {each.end for each in found} == {(MADE + YEARS_10).timestamp()}


def test_the_newest_backup_is_at_least_as_new_as_the_cell(installed: Cell) -> None:
    made = (installed.common / "bootstrap").stat().st_mtime
    assert facts(installed).newest_backup == made
    backup = installed.backups_dir / "test-20261101T020000Z.tar.gz"
    backup.touch()
    os.utime(backup, (made + 500, made + 500))
    assert facts(installed).newest_backup == made + 500
    assert facts(replace(installed, backup_keep=0)).newest_backup is None


def test_mail_that_was_not_sent_and_a_missing_mailer_are_found(installed: Cell) -> None:
    assert facts(installed, "nobody@/bin/sh").missing_mailer == ""
    assert facts(installed, "/no/such").missing_mailer == "/no/such"
    assert facts(installed, None).missing_mailer == ""
    assert facts(installed).unsent_mail is None
    moment = time.strftime("%m/%d/%Y %H:%M:%S", time.localtime(1_800_000_000))
    line = f'{moment}|worker|h|E|mail "x" to bob was not sent: /bin/sh ended with exit status 1: no disk'
    (installed.web_spool / "messages").write_text(f"{moment}|main|h|I|x\n{line}\n{moment}|main|h|I|y\n")
    fault = facts(installed).unsent_mail
    assert fault is not None
    assert (fault.time, fault.text) == (1_800_000_000, line.rpartition("|")[2])


@pytest.mark.parametrize("content", ["", "x was not sent: y\n", "99/99/2026 10:00:00|w|h|E|x was not sent: y\n"])
def test_other_lines_are_no_unsent_mail(tmp_path: Path, content: str) -> None:
    (tmp_path / "messages").write_text(content)
    assert last_unsent_mail(tmp_path / "messages") is None
    assert last_unsent_mail(tmp_path / "no") is None


def test_another_host_than_the_master_knows_nothing_of_the_spool(installed: Cell) -> None:
    installed.act_qmaster.write_text("another\n")
    found = facts(installed, "/no/such")
    assert (found.spool, found.newest_backup, found.missing_mailer) == (None, None, "")


def test_shadow_hosts_are_not_asked_of_a_participant_that_is_away(installed: Cell) -> None:
    installed.shadow_masters.write_text(f"{socket.gethostname()}\nm2\n")
    assert facts(installed).shadows == ()


@pytest.mark.parametrize(
    ("answer", "behind"),
    [
        ({"host": "m1", "leads": True, "in_sync": ["m1", "m3"]}, ("m2",)),
        ({"host": "m1", "leads": True, "in_sync": ["m1", "m2", "m3"]}, ()),
        ({"host": "m1", "leads": False, "in_sync": ["m1"]}, ()),
        ({"error": "denied"}, ()),
    ],
)
def test_candidates_that_are_not_in_sync_are_found_on_the_master_host(
    installed: Cell, answer: dict[str, object], behind: tuple[str, ...]
) -> None:
    installed.shadow_masters.write_text("m1\nm2\nm3\n")
    installed.run_dir.mkdir()

    async def reply(request: web.Request) -> web.Response:
        return web.json_response(answer)

    async def play() -> tuple[str, ...]:
        app = web.Application()
        app.router.add_post("/v1/status", reply)
        runner = web.AppRunner(app)
        await runner.setup()
        await web.UnixSite(runner, str(installed.participant_socket)).start()
        try:
            return tuple((await gather_facts(installed, None, None)).shadows)
        finally:
            await runner.cleanup()

    assert asyncio.run(play()) == behind
