"""`gridengine join`: adds a bare machine to a cell as a host, with a token of its master host.

Owns the connection to the master, which is authenticated only by the certificate fingerprint in the token, and the files on this
host: its keys, and `common/` without a shared disk. The TLS key is made here and never leaves the host. Called by `program`.
Source: adr/0153, docs/security.md.
"""

from __future__ import annotations

import errno
import hashlib
import hmac
import http.client
import json
import os
import pwd
import random
import shutil
import socket
import ssl
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from clients.admin.authority import give
from clients.admin.cell import CellFiles, InstalledCell, optional_text, read_cell
from clients.admin.cell_plan import QMASTER_PORT
from clients.admin.certificate import make_request
from clients.admin.errors import AdminError
from clients.admin.host_resources import Machine, this_machine
from clients.admin.installation import Installation
from clients.admin.settings_files import write_settings
from clients.admin.sge_root import provide
from clients.admin.umask import readable_by_all
from gridengine.addresses import split_port
from gridengine.errors import InvalidValueError, UnavailableError
from gridengine.files.durable import write_new
from gridengine.protocols.joining import LONGEST_ADMISSION_S, REQUEST, JoinToken, parse_token

_CONNECT_S = 10.0
#: the privileged ports that programs choose freely; source: rresvport(3), and NFS clients
ROOT_PORTS = range(665, 1024)


def join_cell(
    master: str, text: str, name: str, root: Path | None, installation: Installation, machine: Machine | None = None
) -> tuple[InstalledCell, str]:
    """Join the cell of a master, HOST or HOST:PORT, as the host `name`; return the cell on this host, and the host's name in the
    cell.

    `root`: directory for its files, None for the master's directory. `machine`: resources of this machine, None to detect them.
    AdminError: the master's reason, or a file cannot be written.
    """
    try:
        token = parse_token(text)
    except InvalidValueError as fault:
        raise AdminError(f"the token: {fault}") from None
    made = make_request(name)
    fields = {"token": text, "host": name, "request": made.certificate.decode()}
    given = request_admission(master, token, fields | asdict(machine or this_machine()))
    files, host = CellFiles(Path(os.path.abspath(root or given["root"])), str(given["cell"])), str(given["host"])
    try:
        with readable_by_all():
            return _write_files(files, given, made.key, installation), host
    except (OSError, AdminError) as error:
        reason = f"{error.filename}: {error.strerror}" if isinstance(error, OSError) else str(error)
        text = f"the master has admitted this host, but {reason}; then join by another token (gridengine token join {host})"
        raise AdminError(text) from error


def request_admission(master: str, token: JoinToken, fields: dict[str, Any]) -> dict[str, Any]:
    """The data from the master. A request without an answer is repeated with the same key, which the master accepts."""
    with suppress(_NoAnswerError):
        return _request_once(master, token, fields)
    try:
        return _request_once(master, token, fields)
    except _NoAnswerError:  # TLS 1.3 accepts the connection first, and authenticates the client then
        raise AdminError(f"{master} does not accept this host: the token has expired, is used up, or was revoked") from None


class _NoAnswerError(UnavailableError):
    """The right master ended the connection without an answer."""


def _connect(host: str, port: int) -> socket.socket:
    """A connection, from a privileged port if the caller is root, so that the master knows it is root. Raises OSError."""
    for own in random.SystemRandom().sample(ROOT_PORTS, len(ROOT_PORTS)) if os.geteuid() == 0 else ():
        try:
            return socket.create_connection((host, port), _CONNECT_S, ("", own))
        except OSError as error:
            if error.errno in (errno.EACCES, errno.EPERM):  # root of a container
                break
            if error.errno not in (errno.EADDRINUSE, errno.EADDRNOTAVAIL):
                raise
    return socket.create_connection((host, port), _CONNECT_S)


def _request_once(master: str, token: JoinToken, fields: dict[str, Any]) -> dict[str, Any]:
    """The data from the master. Nothing is sent before the master has shown the certificate of the token. Raises _NoAnswerError.
    """
    try:
        host, port = split_port(master, QMASTER_PORT)
    except InvalidValueError as fault:
        raise AdminError(f"{fault}: give the master as HOST or HOST:PORT") from None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE  # the fingerprint authenticates the master
    known = False
    try:
        with _connect(host, port) as plain:
            plain.settimeout(LONGEST_ADMISSION_S + _CONNECT_S)
            with context.wrap_socket(plain, server_hostname=host) as tls:
                shown = hashlib.sha256(tls.getpeercert(binary_form=True) or b"").digest()
                if not hmac.compare_digest(shown, token.fingerprint):
                    raise AdminError(f"{master} is not the master that made this token: nothing was sent to it")
                known = True
                return _read_answer(tls, master, fields)
    except OSError as error:
        if known and not isinstance(error, TimeoutError):
            raise _NoAnswerError from error
        raise AdminError(f"{master} does not answer: {error.strerror or error}") from None


def _read_answer(tls: ssl.SSLSocket, master: str, fields: dict[str, Any]) -> dict[str, Any]:
    connection = http.client.HTTPConnection(*split_port(master, QMASTER_PORT))
    connection.sock = tls
    try:
        connection.request("POST", f"/v1/{REQUEST}", json.dumps(fields), {"Connection": "close"})
        answer = json.loads(connection.getresponse().read())
        if answer["status"] == 0:
            return dict(answer["data"])
        reason = "; ".join(text for _, text in answer["answers"])
    except OSError:  # RemoteDisconnected is an HTTPException too
        raise
    except (http.client.HTTPException, ValueError, KeyError, TypeError) as error:
        raise AdminError(f"{master} gives no valid answer: {error}") from None
    raise AdminError(reason.removeprefix("denied: "))


def _write_files(files: CellFiles, given: dict[str, Any], key: bytes, installation: Installation) -> InstalledCell:
    """Raises OSError."""
    if files.cell_id.exists():
        if optional_text(files.cell_id) != given["files"].get("cell_id"):
            raise AdminError(f"{files.common} belongs to another cell: give another directory with --root")
    else:
        _write_common(files, given, installation)
        provide(files.root, installation)
    cell = read_cell(files)
    owner = cell.settings["admin_user"]
    host_spool = cell.execd_spool_dir / given["host"]
    host_spool.mkdir(mode=0o755, parents=True, exist_ok=True)
    draft = host_spool / "keys.new"
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(mode=0o700)
    for name, content in {"tls.key": key.decode(), "tls.crt": given["certificate"], "gdi_key": given["gdi_key"]}.items():
        write_new(draft / name, content.encode(), 0o600)
    for path in (cell.execd_spool_dir, host_spool, draft, *draft.iterdir()):
        give(path, owner)
    shutil.rmtree(host_spool / "keys", ignore_errors=True)
    draft.rename(host_spool / "keys")
    return cell


def _write_common(files: CellFiles, given: dict[str, Any], installation: Installation) -> None:
    """Write `common/` as on the master host; atomically, so that an interrupted join can be repeated."""
    draft = files.directory / ".join"
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(mode=0o755, parents=True)
    for name, text in given["files"].items():
        write_new(draft / Path(name).name, text.encode(), 0o644)
    settings = dict(line.split(None, 1) for line in given["files"]["bootstrap"].splitlines())
    try:
        pwd.getpwnam(settings["admin_user"])
    except KeyError:
        raise AdminError(f"this host has no user {settings['admin_user']}, the owner of the cell: create that user") from None
    write_settings(draft, files, int(settings["qmaster_port"]), installation)
    for path in (files.directory, draft, *draft.iterdir()):
        give(path, settings["admin_user"])
    draft.rename(files.common)
