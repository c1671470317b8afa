"""`gridengine doctor`: checks an installation and a cell from this host, and shows each fault with its fix.

Owns the checks; each check is a function that yields findings and changes nothing. Called by `program`.
"""

from __future__ import annotations

import os
import platform
import pwd
import shutil
import socket
import stat
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import datetime, timedelta
from importlib import metadata
from pathlib import Path

import typer

from clients.admin.cell import CellFiles, InstalledCell, cell_of_environment, read_cell
from clients.admin.cell_options import CellName, Root
from clients.admin.certificate import is_key_of, is_signed_by, names_of, utc_now, validity
from clients.admin.device_checks import check_device_files
from clients.admin.errors import AdminError
from clients.admin.file_checks import check_bootstrap, check_files
from clients.admin.finding import Finding
from clients.admin.installation import Installation, find_installation
from clients.admin.live_checks import (
    check_cgroups,
    check_devices,
    check_mail,
    check_master_clock,
    check_membership,
    check_orphans,
    check_qmaster,
    check_sensors,
    check_users,
)
from clients.admin.local_daemons import (
    addresses_of_host,
    answers,
    daemons_of_this_machine,
    host_aliases,
    is_closed,
    is_master_here,
    process_of,
)
from clients.admin.master_checks import check_pages, check_roles
from clients.admin.port_checks import check_firewall
from clients.admin.racks import check_racks
from clients.admin.systemd_checks import check_units
from gridengine.errors import plain_fault
from gridengine.protocols import arco
from gridengine.python_range import PYTHON_RANGE, runs_here
from gridengine.thresholds import BACKUP_AGE_S, CERTIFICATE_LEFT_S, LEAST_FREE_BYTES

#: fixes for a spool without free space, on exec hosts and on the master host
_LOW_SPACE_FIXES = (
    "free some space: this host takes no jobs while it cannot write, and its queue instances show E",
    "free some space: the qmaster refuses every change while it cannot write; qstat and other queries work",
)
#: Libraries that the daemons cannot start without.
LIBRARIES = ("ray", "psutil", "pydantic", "msgspec", "aiohttp", "apsw", "lark", "cryptography")


def examine(files: CellFiles, installation: Installation, now: datetime) -> list[Finding]:
    """Return the findings of all checks, in the order in which they should be fixed."""
    findings = [*findings_of(check_python), *findings_of(check_programs, installation), *findings_of(check_bootstrap, files)]
    try:
        cell = read_cell(files)
    except AdminError as refusal:
        fix = "correct the file, make a cell (gridengine init), or copy its common directory here"
        return findings if any(finding.wrong for finding in findings) else [*findings, Finding(str(refusal), fix)]
    checks: list[tuple[Callable[..., Iterator[Finding]], tuple[object, ...]]] = [
        (check_owners, (cell,)),
        (check_files, (cell,)),
        (check_racks, (cell,)),
        (check_secrets, (cell, now)),
        (check_names, (cell,)),
        (check_spool, (cell,)),
        (check_backups, (cell, now)),
        (check_clock, (cell, now)),
        (check_master_clock, (cell,)),
        (check_users, (cell,)),
        (check_mail, (cell, now)),
        (check_daemons, (cell,)),
        (check_units, (cell,)),
        (check_roles, (cell,)),
        (check_pages, (cell,)),
        (check_membership, (cell,)),
        (check_sensors, (cell,)),
        (check_cgroups, (cell,)),
        (check_device_files, (cell,)),
        (check_ports, (cell,)),
        (check_firewall, (cell,)),
        (check_qmaster, (cell, installation)),
        (check_orphans, (cell,)),
        (check_devices, (cell,)),
    ]
    return [*findings, *(finding for check, arguments in checks for finding in findings_of(check, *arguments))]


def findings_of(check: Callable[..., Iterator[Finding]], *arguments: object) -> Iterator[Finding]:
    """The findings of a check. A check that fails gives a finding too, and does not stop other checks."""
    try:
        yield from check(*arguments)
    except AdminError as refusal:
        yield Finding(str(refusal), "correct that; then run gridengine doctor again")
    except Exception as error:  # a broken check must not hide the others
        subject = check.__name__.removeprefix("check_").replace("_", " ")
        yield Finding(
            f"the check of {subject} failed: {type(error).__name__}: {plain_fault(error)}",
            "check whether the files of the cell and its spool can be read from this host",
        )


def check_python() -> Iterator[Finding]:
    """The interpreter's version, and the libraries that the daemons load."""
    version = platform.python_version()
    if runs_here():
        yield Finding(f"Python {version}")
    else:
        yield Finding(f"Python {version}", f"install with Python {PYTHON_RANGE}: make install PYTHON=...")
    missing = []
    for library in LIBRARIES:
        try:
            metadata.version(library)
        except metadata.PackageNotFoundError:
            missing.append(library)
    if missing:
        yield Finding(f"libraries missing: {', '.join(missing)}", "install again: make install")
    else:
        yield Finding(f"libraries are there, Ray {metadata.version('ray')}")


def check_programs(installation: Installation) -> Iterator[Finding]:
    """The programs of the installation."""
    programs = ("qsub", "qstat", "qdel", "qconf", "qhost", "qacct", "qmod", "sge_qmaster", "sge_execd")
    missing = [name for name in programs if not os.access(installation.bin / name, os.X_OK)]
    if missing:
        yield Finding(f"not in {installation.bin}: {', '.join(missing)}", "install again: make install")
    else:
        yield Finding(f"programs in {installation.bin}")


def check_owners(cell: InstalledCell) -> Iterator[Finding]:
    """The files of `common` exist, are readable by all users, and writable by the admin user alone."""
    admin_user = cell.settings["admin_user"]
    try:
        admin_uid = pwd.getpwnam(admin_user).pw_uid
    except KeyError:
        yield Finding(f"the admin user {admin_user} does not exist on this host", f"create the user {admin_user}")
        return
    wrong = False
    for path in (cell.files.common, cell.files.bootstrap, cell.files.act_qmaster, cell.files.certificate):
        try:
            status = path.stat()
        except OSError as error:
            wrong = True
            yield Finding(f"{path}: {error.strerror}", "copy the file from the master host")
            continue
        if status.st_uid != admin_uid:
            wrong = True
            yield Finding(f"{path} belongs to user {status.st_uid}", f"chown {admin_user} {path}")
        if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            wrong = True
            yield Finding(f"{path} can be written by others than its owner", f"chmod go-w {path}")
        if not status.st_mode & stat.S_IROTH:
            wrong = True
            yield Finding(f"{path} cannot be read by all users", f"chmod a+rX {path}")
    if not wrong:
        yield Finding(f"files of {cell.files.common} belong to {admin_user}")


def check_secrets(cell: InstalledCell, now: datetime) -> Iterator[Finding]:
    """The keys of this machine's hosts are secret and complete; their certificates are signed by the authority and valid now."""
    master = cell.qmaster_spool_dir / "keys"
    directories = {master: f"remove {cell.qmaster_spool_dir}/authority, then gridengine start"} if is_master_here(cell) else {}
    for path in sorted(cell.execd_spool_dir.glob("*/keys")):
        directories[path] = f"gridengine host keys {path.parent.name} on the master host"
    for directory, again in directories.items():
        try:
            yield from _check_keys(directory, again, cell, now)
        except PermissionError:
            owner = cell.settings["admin_user"]
            yield Finding(f"{directory} is closed to you, as it should be (run the doctor as {owner})")
        except (OSError, ValueError) as error:
            yield Finding(f"{directory}: {plain_fault(error)}", again)
    database = cell.files.common / arco.SETTINGS_FILE
    with suppress(OSError):
        if database.stat().st_mode & 0o077 and "postgres" in database.read_text(errors="replace"):
            yield Finding(f"{database}, which may hold a password, is open to other users", f"chmod go= {database}")


def _check_keys(directory: Path, again: str, cell: InstalledCell, now: datetime) -> Iterator[Finding]:
    names = ("tls.key", "tls.crt") if directory.parent == cell.qmaster_spool_dir else ("tls.key", "tls.crt", "gdi_key")
    for path in (directory, *(directory / name for name in names)):
        if path.stat().st_mode & 0o077:
            yield Finding(f"{path} is open to other users", f"chmod go= {path} ({again})")
        if path != directory and not path.read_bytes().strip():
            yield Finding(f"{path} is empty", again)
    certificate = (directory / "tls.crt").read_bytes()
    begin, end = validity(certificate)
    if not is_key_of((directory / "tls.key").read_bytes(), certificate):
        yield Finding(f"{directory}/tls.crt was not made for tls.key beside it", again)
    if not is_signed_by(certificate, cell.files.certificate.read_bytes()):
        yield Finding(f"{directory}/tls.crt is not of the authority {cell.files.certificate}", again)
    host = cell.master_host if directory.parent == cell.qmaster_spool_dir else directory.parent.name
    address = next(addresses_of_host(cell, host), "")
    if address and address not in names_of(certificate):
        yield Finding(f"{directory}/tls.crt is not for {address}, where {host} is reached now", again)
    if now < begin:
        yield Finding(f"the certificate is valid from {begin:%Y-%m-%d %H:%M} UTC, which is in the future", "set the clock")
    elif now > end - timedelta(seconds=CERTIFICATE_LEFT_S):
        yield Finding(f"the certificate {directory}/tls.crt ends at {end:%Y-%m-%d %H:%M} UTC", again)
    else:
        yield Finding(f"the certificate {directory}/tls.crt is valid until {end:%Y-%m-%d}")


def check_names(cell: InstalledCell) -> Iterator[Finding]:
    """The master host's name and this host's own resolve."""
    aliases = {unique: alias for alias, unique in host_aliases(cell).items()}
    for role, name in (("master host", cell.master_host), ("this host", socket.gethostname())):
        try:
            addresses = {entry[4][0] for entry in socket.getaddrinfo(aliases.get(name, name), None)}
        except OSError as error:
            yield Finding(
                f"the name of the {role}, {name}, does not resolve: {error.strerror}",
                f"add {name} to the name service or /etc/hosts, or to {cell.files.host_aliases}",
            )
            continue
        yield Finding(f"{role} {name} is {', '.join(sorted(str(address) for address in addresses))}")


def check_spool(cell: InstalledCell) -> Iterator[Finding]:
    """The spool directory of this host exists, is on a local disk, is writable, and has free space."""
    directory = cell.qmaster_spool_dir if is_master_here(cell) else cell.execd_spool_dir
    yield from _read_only_spools(cell)
    if not directory.is_dir():
        if _is_read_only(directory):
            return
        owner = cell.settings["admin_user"]
        yield Finding(f"{directory} is missing", f"mkdir -p {directory} && chown {owner} {directory}")
        return
    kind = _file_system(directory)
    if kind.startswith("nfs"):
        yield Finding(f"{directory} is on {kind}", "use a local disk: SQLite's journal is not safe over a network")
    free = shutil.disk_usage(directory).free
    if free < LEAST_FREE_BYTES:
        yield Finding(f"{directory} has {free // 2**20} MB left", _LOW_SPACE_FIXES[is_master_here(cell)])
    else:
        yield Finding(f"{directory} is on {kind} with {free // 2**20} MB left")


def _read_only_spools(cell: InstalledCell) -> Iterator[Finding]:
    """Read-only spool directories of this machine, and read-only mounts inside them."""
    directories = [cell.qmaster_spool_dir] if is_master_here(cell) else []
    for host in [cell.execd_spool_dir, *_entries(cell.execd_spool_dir)]:
        directories += [host, host / "active_jobs"]
    reported: list[Path] = []
    for directory in directories:
        if _is_read_only(directory) and not any(directory.is_relative_to(other) for other in reported):
            reported.append(directory)
            fix = f"look for faults of the disk (dmesg), then mount it writable: mount -o remount,rw {_mount_of(directory)}"
            yield Finding(f"{directory} is mounted read-only", fix)


def _entries(directory: Path) -> list[Path]:
    try:
        return sorted(path for path in directory.iterdir() if path.is_dir())
    except OSError:
        return []


def _is_read_only(path: Path) -> bool:
    """Whether the file system that holds a path, or is to hold it, is mounted read-only."""
    for directory in (path, *path.parents):
        try:
            return bool(os.statvfs(directory).f_flag & os.ST_RDONLY)
        except FileNotFoundError:
            continue
        except OSError:
            return False
    return False


def check_backups(cell: InstalledCell, now: datetime) -> Iterator[Finding]:
    """The master host has a recent backup. No finding if the caller may not read the directory, or backups are disabled."""
    directory = cell.qmaster_spool_dir / "backups"
    if not is_master_here(cell) or cell.settings.get("backup_keep") == "0" or not os.access(cell.qmaster_spool_dir, os.R_OK):
        return
    made = [path.stat().st_mtime for path in (cell.files.bootstrap, *directory.glob(f"{cell.files.name}-*.tar.gz"))]
    age = timedelta(seconds=max(0.0, now.timestamp() - max(made)))
    if age > timedelta(seconds=BACKUP_AGE_S):
        fix = f"gridengine backup FILE makes one; {cell.qmaster_spool_dir}/messages says why the qmaster made none"
        what = f"the newest backup in {directory} is {age.days} days old" if made[1:] else f"{directory} has no backup"
        yield Finding(what, fix)
    elif made[1:]:
        yield Finding(f"the newest of {len(made) - 1} daily backups is {age.days * 24 + age.seconds // 3600} hours old")


def check_clock(cell: InstalledCell, now: datetime) -> Iterator[Finding]:
    """The clock is not behind the cell's own files: certificates and accounting need the right time."""
    made = cell.files.bootstrap.stat().st_mtime
    if now.timestamp() < made:
        yield Finding(
            f"the clock says {now:%Y-%m-%d %H:%M} UTC, which is before the cell was made", "set the clock (use NTP)"
        )
    else:
        yield Finding(f"the clock says {now:%Y-%m-%d %H:%M} UTC")


def check_daemons(cell: InstalledCell) -> Iterator[Finding]:
    """The daemons of this host run."""
    for daemon in daemons_of_this_machine(cell):
        if process_of(daemon) is None and not (is_closed(daemon) and answers(daemon.socket)):
            log = daemon.pid_file.parent / "messages"
            yield Finding(f"{daemon} does not run", f"gridengine start (if it ends again: see {log})")
        elif not answers(daemon.socket):
            yield Finding(f"{daemon} does not answer on {daemon.socket}", "gridengine stop && gridengine start")
        else:
            yield Finding(f"{daemon} runs")


def check_ports(cell: InstalledCell) -> Iterator[Finding]:
    """On the master host: its own ports answer; before the start no other program uses them. From other hosts: `check_firewall`.
    """
    if not is_master_here(cell):
        return
    down = not answers(cell.run_dir / "gdi.sock")
    master = next(addresses_of_host(cell, cell.master_host), cell.master_host)
    for key in ("qmaster_port", "ray_port"):
        port = int(cell.settings[key])
        taken = _connects(master, port)
        if down and taken:
            yield Finding(f"another program has {key} {port}", f"end it, or change {key} in {cell.files.bootstrap}")
        elif not down and not taken:
            yield Finding(f"{cell.master_host} does not answer on {key} {port}", "gridengine stop, and gridengine start")
        else:
            yield Finding(f"{key} {port} {'is free' if down else 'answers'}")


def _connects(host: str, port: int) -> bool:
    try:
        with socket.create_connection((host, port), timeout=2.0):
            return True
    except OSError:
        return False


def _file_system(directory: Path) -> str:
    """Return the type of the file system that holds `directory`."""
    return _mount(directory)[1]


def _mount_of(directory: Path) -> str:
    return _mount(directory)[0]


def _mount(directory: Path) -> tuple[str, str]:
    """Return where the file system that holds `directory` is mounted, and its type, by the longest mount point above it."""
    best = ("", "an unknown file system")
    for line in Path("/proc/self/mounts").read_text().splitlines():
        _, mount, kind, *_ = line.split()
        if directory.resolve().is_relative_to(mount) and len(mount) >= len(best[0]):
            best = (mount, kind)
    return best


def doctor(root: Root = None, cell: CellName = "default") -> None:
    """Check this installation and the cell, and show each fault with its fix. Exit code 1: there are faults."""
    findings = examine(cell_of_environment(root, cell), find_installation(), utc_now())
    for finding in findings:
        typer.echo(str(finding))
    wrong = sum(finding.wrong for finding in findings)
    typer.echo(f"{len(findings)} checks, {wrong or 'none'} found something wrong")
    raise typer.Exit(1 if wrong else 0)
