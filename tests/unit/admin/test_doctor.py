"""`gridengine doctor`: each fault is found, and named with its fix."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
from datetime import timedelta
from pathlib import Path

import pytest

from clients.admin import doctor, local_daemons, master_checks
from clients.admin.authority import Authority
from clients.admin.cell import CellFiles, InstalledCell
from clients.admin.certificate import VALIDITY, make_authority, utc_now
from clients.admin.installation import find_installation
from clients.admin.local_daemons import qmaster_of
from clients.admin.uninstall import remains

NOW = utc_now()


@pytest.fixture
def cell(tmp_path: Path) -> InstalledCell:
    """A sound cell of the current user whose daemons do not run."""
    files = CellFiles(tmp_path, "c")
    files.secrets.mkdir(parents=True, mode=0o700)
    files.bootstrap.write_text("admin_user x\n")
    files.act_qmaster.write_text("localhost\n")
    for directory in ("spool/qmaster", "spool/execd/h1", "run"):
        (tmp_path / directory).mkdir(parents=True)
    authority = Authority(files, tmp_path / "spool/qmaster", pwd.getpwuid(os.geteuid()).pw_name)
    authority.found("localhost", [], NOW)
    authority.add("h1", [], NOW, tmp_path / "spool/execd/h1/keys")
    settings = {
        "admin_user": pwd.getpwuid(os.geteuid()).pw_name,
        "qmaster_spool_dir": str(tmp_path / "spool/qmaster"),
        "execd_spool_dir": str(tmp_path / "spool/execd"),
        "run_dir": str(tmp_path / "run"),
        "qmaster_port": "1",
        "ray_port": "2",
    }
    return InstalledCell(files, settings, "localhost")


def wrong(findings) -> list[str]:
    return [finding.what for finding in findings if finding.wrong]


def test_a_sound_cell_has_no_findings(cell):
    for check in (doctor.check_owners, doctor.check_names, doctor.check_spool):
        assert wrong(check(cell)) == []
    assert wrong(doctor.check_secrets(cell, NOW)) == []
    assert wrong(doctor.check_clock(cell, utc_now())) == []


def read_only_below(monkeypatch: pytest.MonkeyPatch, directory: Path) -> None:
    """All below a directory is mounted read-only, as the system has it."""
    real = os.statvfs

    def call(path):
        found = list(real(path))
        if Path(path).is_relative_to(directory):
            found[8] |= os.ST_RDONLY  # f_flag
        return os.statvfs_result(found)

    monkeypatch.setattr(os, "statvfs", call)


@pytest.mark.parametrize("place", ["spool/qmaster", "spool/execd", "spool/execd/h1", "spool/execd/h1/active_jobs"])
def test_a_spool_that_is_mounted_read_only_is_named(cell, place, monkeypatch):
    directory = cell.files.root / place
    directory.mkdir(exist_ok=True)
    monkeypatch.setattr(doctor, "is_master_here", lambda cell: True)
    read_only_below(monkeypatch, directory)
    assert f"{directory} is mounted read-only" in wrong(doctor.check_spool(cell))


def test_a_spool_that_is_missing_on_a_read_only_disk_is_not_to_be_made(cell, monkeypatch):
    shutil.rmtree(cell.qmaster_spool_dir)
    monkeypatch.setattr(doctor, "is_master_here", lambda cell: True)
    read_only_below(monkeypatch, cell.files.root)
    findings = list(doctor.check_spool(cell))
    assert f"{cell.qmaster_spool_dir} is mounted read-only" in wrong(findings)
    assert not any("mkdir" in finding.fix for finding in findings)


def test_an_open_secret_is_found(cell):
    (cell.execd_spool_dir / "h1/keys/gdi_key").chmod(0o640)
    assert "gdi_key is open to other users" in wrong(doctor.check_secrets(cell, NOW))[0]


def test_an_open_password_of_the_database_is_found(cell):
    settings = cell.files.common / "arco"
    settings.write_text("database postgresql://arco:secret@db/arco\n")
    settings.chmod(0o644)
    (found,) = wrong(doctor.check_secrets(cell, NOW))
    assert f"{settings}, which may hold a password, is open to other users" in found and "secret@" not in found
    settings.chmod(0o600)
    assert wrong(doctor.check_secrets(cell, NOW)) == []


@pytest.mark.parametrize("name", ["tls.crt", "gdi_key", "tls.key"])
def test_a_missing_secret_is_found_and_the_command_that_makes_it(cell, name):
    (cell.execd_spool_dir / "h1/keys" / name).unlink()
    (finding,) = (finding for finding in doctor.check_secrets(cell, NOW) if finding.wrong)
    assert name in finding.what and "gridengine host keys h1" in finding.fix


def test_an_empty_key_is_found(cell):
    (cell.execd_spool_dir / "h1/keys/gdi_key").write_bytes(b"\n")
    assert "gdi_key is empty" in wrong(doctor.check_secrets(cell, NOW))[0]


def test_a_foreign_authority_is_found(cell):
    cell.files.certificate.write_bytes(make_authority("x", NOW).certificate)
    assert "is not of the authority" in wrong(doctor.check_secrets(cell, NOW))[0]


def test_a_host_that_has_moved_is_found(cell, monkeypatch):
    monkeypatch.setattr("clients.admin.doctor.addresses_of_host", lambda *_: iter(["10.9.8.7"]))
    assert "is not for 10.9.8.7, where h1 is reached now" in wrong(doctor.check_secrets(cell, NOW))[0]


def test_a_key_of_another_host_is_found(cell):
    keys = cell.execd_spool_dir / "h1/keys"
    (keys / "tls.key").write_bytes((cell.qmaster_spool_dir / "keys/tls.key").read_bytes())
    assert "was not made for" in wrong(doctor.check_secrets(cell, NOW))[0]


@pytest.mark.parametrize(
    ("later", "reason"), [(VALIDITY - timedelta(days=3), "ends at"), (timedelta(days=-2), "valid from")]
)
def test_the_dates_of_the_certificate_are_looked_at(cell, later, reason):
    assert reason in wrong(doctor.check_secrets(cell, NOW + later))[0]


def test_a_damaged_certificate_is_found(cell):
    (cell.execd_spool_dir / "h1/keys/tls.crt").write_text("no certificate")
    assert len(wrong(doctor.check_secrets(cell, NOW))) == 1


def test_a_file_that_others_can_write_is_found(cell):
    cell.files.bootstrap.chmod(0o666)
    assert "can be written by others" in wrong(doctor.check_owners(cell))[0]


def test_a_file_that_users_cannot_read_is_found(cell):
    cell.files.bootstrap.chmod(0o600)
    assert "cannot be read by all users" in wrong(doctor.check_owners(cell))[0]


def test_an_unknown_admin_user_is_found(cell):
    cell.settings["admin_user"] = "nobody-of-this-name"
    assert "does not exist" in wrong(doctor.check_owners(cell))[0]


def test_a_clock_before_the_cell_was_made_is_found(cell):
    assert "before the cell was made" in wrong(doctor.check_clock(cell, NOW - timedelta(days=1)))[0]


def test_a_missing_spool_directory_is_found(cell):
    shutil.rmtree(cell.execd_spool_dir)
    assert "is missing" in wrong(doctor.check_spool(cell))[0]


def test_a_master_whose_name_does_not_resolve_is_found(cell, monkeypatch):
    def unknown(*_arguments):
        raise OSError(-2, "Name or service not known")

    monkeypatch.setattr("socket.getaddrinfo", unknown)
    assert "does not resolve" in wrong(doctor.check_names(cell))[0]


def test_a_full_disk_is_found(cell, monkeypatch):
    monkeypatch.setattr("shutil.disk_usage", lambda _: shutil._ntuple_diskusage(1, 1, 1024))
    assert "0 MB left" in wrong(doctor.check_spool(cell))[0]


def test_backups_that_are_missing_or_old_are_found(cell, monkeypatch):
    monkeypatch.setattr(doctor, "is_master_here", lambda cell: True)
    backups, now = cell.qmaster_spool_dir / "backups", utc_now()
    assert list(doctor.check_backups(cell, now)) == [], "a young cell has none yet"
    later = now + timedelta(days=3)
    assert wrong(doctor.check_backups(cell, later)) == [f"{backups} has no backup"]
    backups.mkdir()
    made = backups / f"{cell.files.name}-20270101T020000Z.tar.gz"
    made.touch()
    os.utime(made, (now.timestamp(), now.timestamp()))
    assert str(next(doctor.check_backups(cell, now))) == "ok     the newest of 1 daily backups is 0 hours old"
    (finding,) = doctor.check_backups(cell, later)
    assert finding.what == f"the newest backup in {backups} is 3 days old" and "qmaster/messages says why" in finding.fix
    cell.settings["backup_keep"] = "0"
    assert list(doctor.check_backups(cell, later)) == []


def test_a_daemon_whose_files_are_closed_is_not_called_dead(cell, monkeypatch):
    monkeypatch.setattr(doctor, "daemons_of_this_machine", lambda cell: [qmaster_of(cell)])
    monkeypatch.setattr(doctor, "is_closed", lambda daemon: True)
    monkeypatch.setattr(doctor, "answers", lambda path: True)
    assert wrong(doctor.check_daemons(cell)) == []
    monkeypatch.setattr(doctor, "answers", lambda path: False)
    assert wrong(doctor.check_daemons(cell)) == ["sge_qmaster (localhost) does not run"]


BOOTSTRAP = (
    "admin_user root\nspooling_method sqlite\nsecurity_mode tls\nqmaster_spool_dir /q\nexecd_spool_dir /e\nrun_dir /r\n"
    "qmaster_port 6444\nray_port 6446\n"
)


@pytest.mark.parametrize(
    ("line", "instead", "reason"),
    [
        ("qmaster_port 6444\n", "qmaster_port 64x44\n", 'qmaster_port "64x44" is not a port'),
        ("qmaster_port 6444\n", "qmaster_port 99999999999999\n", "is not a port"),
        ("qmaster_port 6444\n", "", "does not set qmaster_port"),
        ("qmaster_port 6444\n", "qmaster_port\n", "qmaster_port has no value"),
        ("run_dir /r\n", "run_dir r\n", 'run_dir "r" is not an absolute path'),
        ("run_dir /r\n", "run_dir /r\nfoo bar\n", "foo is no setting of it"),
        ("run_dir /r\n", "run_dir /r\nray_ports 6447\n", 'ray_ports "6447" is not FIRST-LAST'),
        ("run_dir /r\n", "run_dir /r\nexecd_port ten\n", 'execd_port "ten" is not a port'),
        ("run_dir /r\n", "run_dir /r\nshadow_port -1\n", 'shadow_port "-1" is not a port'),
        ("run_dir /r\n", "run_dir /r\nbackup_keep many\n", 'backup_keep "many" is not a number'),
        ("run_dir /r\n", "run_dir /r\nanswers_wait_for two\n", 'answers_wait_for "two" is not one of'),
    ],
)
def test_a_broken_bootstrap_gives_a_finding(cell, line, instead, reason):
    cell.files.bootstrap.write_text(BOOTSTRAP.replace(line, instead))
    assert reason in "; ".join(wrong(doctor.examine(cell.files, find_installation(), NOW)))


def test_a_check_that_fails_is_a_finding(cell):
    def check_of_something(cell):
        raise KeyError("qmaster_port")
        yield

    assert "the check of of something failed: KeyError" in wrong(doctor.findings_of(check_of_something, cell))[0]


def test_running_daemons_are_seen_independent_of_the_files(cell, monkeypatch):
    """A qmaster that runs here though act_qmaster names another host: in status, stop, uninstall and doctor."""
    elsewhere = InstalledCell(cell.files, cell.settings, "another")
    assert local_daemons.daemons_of_this_machine(elsewhere) == []
    ticks = Path(f"/proc/{os.getpid()}/stat").read_text().rpartition(")")[2].split()[19]
    (cell.qmaster_spool_dir / "qmaster.pid").write_text(f"{os.getpid()} {ticks}\n")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(cell.run_dir / "gdi.sock"))
        listening.listen()
        (found,) = local_daemons.daemons_of_this_machine(elsewhere)
        assert found.program == "sge_qmaster" and local_daemons.process_of(found) is not None
        assert "runs on this host, but" in wrong(master_checks.check_roles(elsewhere))[0]
        assert found in remains(elsewhere).daemons
    (found,) = local_daemons.daemons_of_this_machine(elsewhere)
    assert found in remains(elsewhere).daemons


def test_a_host_that_has_joined_is_to_run_its_execution_daemon(cell):
    elsewhere = InstalledCell(cell.files, cell.settings, "another")
    (cell.execd_spool_dir / socket.gethostname() / "keys").mkdir(parents=True)
    (found,) = local_daemons.daemons_of_this_machine(elsewhere)
    assert (found.program, found.host) == ("sge_execd", socket.gethostname())
    (cell.files.common / "shadow_masters").write_text(f"another\n{socket.gethostname()}\n")
    assert [each.program for each in local_daemons.daemons_of_this_machine(elsewhere)] == ["sge_shadowd"]


def test_a_former_master_that_is_a_shadow_is_called_one(cell):
    (cell.files.common / "shadow_masters").write_text(f"another\n{socket.gethostname()}\n")
    (found,) = local_daemons.daemons_of_this_machine(InstalledCell(cell.files, cell.settings, "another"))
    assert found.program == "sge_shadowd"


@pytest.mark.parametrize(("status", "text", "reason"), [(200, "ok", None), (503, "nothing has been mirrored yet", "nothing has")])
def test_pages_that_do_not_follow_are_found(cell, monkeypatch, status, text, reason):
    monkeypatch.setattr(master_checks, "answers", lambda path: True)
    monkeypatch.setattr(master_checks, "_readiness", lambda cell: (status, text))
    found = wrong(master_checks.check_pages(cell))
    assert (reason is None and not found) or (reason is not None and reason in found[0])
