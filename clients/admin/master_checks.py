"""The checks of `gridengine doctor` on the master: the running daemon matches the cell's files, and the web server of this host
follows the master.

Owns these checks. Called by `doctor`.
"""

from __future__ import annotations

import http.client
import ssl
from collections.abc import Iterator

from clients.admin.cell import InstalledCell, optional_text
from clients.admin.finding import Finding
from clients.admin.local_daemons import QMASTER, answers, is_master_here, is_shadow_here, process_of, qmaster_or_shadowd, web_of
from gridengine.addresses import ANY, ANY_6, canonical, is_loopback
from gridengine.cell_files import parse_settings
from gridengine.errors import InvalidValueError, plain_fault
from gridengine.protocols import web

_ANSWER_S = 5.0
_READY = 200


def check_roles(cell: InstalledCell) -> Iterator[Finding]:
    """The qmaster or shadow daemon that runs on this host matches the files of the cell."""
    daemon = qmaster_or_shadowd(cell)
    if daemon is None or not (answers(daemon.socket) or process_of(daemon) is not None):
        return
    if daemon.program == QMASTER and not is_master_here(cell):
        yield Finding(
            f"{daemon} runs on this host, but {cell.files.act_qmaster} names {cell.master_host}",
            f"gridengine stop here if {cell.master_host} is the master; gridengine status there says whether it is",
        )
    elif not (is_master_here(cell) or is_shadow_here(cell)):
        fix = "gridengine stop here, or gridengine shadow add this host again"
        yield Finding(f"{daemon} runs on this host, which {cell.files.common}/shadow_masters does not name", fix)
    else:
        yield Finding(f"{daemon} matches {cell.files.act_qmaster}")


def check_pages(cell: InstalledCell) -> Iterator[Finding]:
    """The web server of this host follows the master. No finding if there is none."""
    daemon = web_of(cell)
    if process_of(daemon) is None and not answers(daemon.socket):
        return
    try:
        status, text = _readiness(cell)
    except (OSError, http.client.HTTPException, InvalidValueError, ValueError) as error:
        yield Finding(f"{daemon} does not answer /readyz: {plain_fault(error)}", "gridengine web --stop, and gridengine web")
        return
    if status == _READY:
        yield Finding(f"{daemon} follows the master")
    else:
        log = daemon.pid_file.parent / "messages"
        fix = f"gridengine start on the master host; then gridengine web --stop && gridengine web here (see {log})"
        yield Finding(f"{daemon} does not follow the master: {text}", fix)


def _readiness(cell: InstalledCell) -> tuple[int, str]:
    """Status and text of `/readyz`. Raises OSError, HTTPException, InvalidValueError, ValueError."""
    path = cell.files.common / web.SETTINGS_FILE
    settings = parse_settings(optional_text(path), path)
    address, port = canonical(settings.get("address", web.ADDRESS)), int(settings.get("port", web.PORT))
    tls = "certificate" in settings or not is_loopback(address)
    address = web.ADDRESS if address in (ANY, ANY_6) else address
    connection: http.client.HTTPConnection
    if tls:
        # only the readiness is read, no data is sent: any certificate is accepted
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        connection = http.client.HTTPSConnection(address, port, timeout=_ANSWER_S, context=context)
    else:
        connection = http.client.HTTPConnection(address, port, timeout=_ANSWER_S)
    try:
        connection.request("GET", "/readyz")
        answer = connection.getresponse()
        return answer.status, answer.read(1000).decode(errors="replace").strip()
    finally:
        connection.close()
