"""Facts of this host for the alarm rules: disk, backups, certificates, shadow hosts and mail.

Owns the reading; the rules decide. Files that the web server cannot read, and facts of other hosts, are left out. Called by
`watch`. Source: adr/0280.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path

import msgspec
from cryptography import x509

from daemons.runtime.cell import Cell, CellError
from daemons.runtime.keys import known_hosts, master_keys
from daemons.runtime.local_request import NoLocalAnswerError, post_local
from daemons.web.alarms.view import Certificate, LocalFacts, LocalFault
from daemons.web.metric_families import SpoolFigures, spool_figures
from gridengine.files.unsent_mail import last_unsent_mail

_ANSWER_S = 10.0


class _Status(msgspec.Struct):
    """The answer of a master candidate: `leads`: its host is the master; `in_sync`: hosts that could take over."""

    host: str
    leads: bool
    in_sync: list[str]


async def gather_facts(cell: Cell, mailer: str | None, web_certificate: Path | None) -> LocalFacts:
    """The facts. `mailer`: as in the configuration of the cell; `web_certificate`: the file in `common/web`. Disks may hang, so a
    thread reads them."""
    local = await asyncio.to_thread(_read_facts, cell, mailer, web_certificate)
    return local._replace(shadows=await _shadows_behind(cell))


def _read_facts(cell: Cell, mailer: str | None, web_certificate: Path | None) -> LocalFacts:
    spool = spool_figures(cell)
    certificates = tuple(_certificates(cell, web_certificate, spool is not None))
    if spool is None:  # not the master host
        return LocalFacts(certificates=certificates)
    path = (mailer or "").rpartition("@")[2]
    faults = [last_unsent_mail(directory / "messages") for directory in (cell.qmaster_spool_dir, cell.web_spool)]
    return LocalFacts(
        spool=spool,
        newest_backup=_newest_backup(cell, spool),
        certificates=certificates,
        unsent_mail=max((LocalFault(*fault) for fault in faults if fault is not None), default=None),
        missing_mailer=path if path and not os.access(path, os.X_OK) else "",
    )


def _newest_backup(cell: Cell, spool: SpoolFigures) -> float | None:
    """The time of the last backup, or of the cell; None if daily backups are switched off."""
    if not cell.backup_keep:
        return None
    try:
        made = (cell.common / "bootstrap").stat().st_mtime
    except OSError:
        made = 0.0
    return max(spool.backup, made)


def _certificates(cell: Cell, web_certificate: Path | None, on_master: bool) -> Iterator[Certificate]:
    files: list[tuple[Path, Certificate]] = []
    authority = cell.common / "tls.crt"
    files.append((authority, Certificate("authority", str(authority), 0.0)))
    if on_master:
        own = master_keys(cell).certificate
        files.append((own, Certificate("master", str(own), 0.0)))
        files += [(path, Certificate("host", path.parent.name, 0.0)) for path in sorted(known_hosts(cell).glob("*/tls.crt"))]
    if web_certificate is not None:
        files.append((web_certificate, Certificate("web", str(web_certificate), 0.0)))
    for path, certificate in files:
        try:
            end = x509.load_pem_x509_certificate(path.read_bytes()).not_valid_after_utc
        except (OSError, ValueError):
            continue  # another daemon, or `gridengine doctor`, reports a damaged file
        yield certificate._replace(end=end.timestamp())


async def _shadows_behind(cell: Cell) -> tuple[str, ...]:
    """The master candidates that could not take over now; none on a host that is not the master."""
    try:
        candidates = cell.candidate_hosts()
        if not candidates:
            return ()
        _, answer = await post_local(cell.participant_socket, "status", b"{}", _ANSWER_S)
        status = msgspec.json.decode(answer, type=_Status)
    except (CellError, OSError, NoLocalAnswerError, msgspec.DecodeError):
        return ()
    if not status.leads:
        return ()
    return tuple(host for host in candidates if host not in (*status.in_sync, status.host))
