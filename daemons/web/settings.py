"""`common/web`: the address and the names of a cell's web server, its alarms and its monthly report.

Owns the names of the settings and their defaults; the file is optional. Called at the start. Source: adr/0134.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from daemons.runtime.cell import Cell, CellError, read_settings_file
from daemons.web.alarms.alarm_settings import SETTINGS as ALARM_SETTINGS
from daemons.web.alarms.alarm_settings import AlarmSettings, parse_alarm_settings
from daemons.web.reports.report_settings import SETTINGS as REPORT_SETTINGS
from daemons.web.reports.report_settings import ReportSettings, parse_report_settings
from gridengine.addresses import LOOPBACK, LOOPBACK_6, canonical, is_address, is_link_local, is_loopback, join_port
from gridengine.errors import InvalidValueError
from gridengine.protocols.web import ADDRESS, PORT, SETTINGS_FILE

SETTINGS = ("address", "port", "names", "certificate", "key", *ALARM_SETTINGS, *REPORT_SETTINGS)
"""Names of all settings."""
_NAME = re.compile(r"[a-z0-9]([a-z0-9.-]{0,252}[a-z0-9])?")


@dataclass(frozen=True, slots=True)
class WebSettings:
    """`address`, `port`: at which the server listens; `names`: of the server, for browsers; links have the first name.
    `certificate`, `key`: files of a certificate that browsers trust; None: other hosts get the certificate of this host.
    `alarms`: thresholds, and receivers of notices; `reports`: receivers of the monthly report."""

    address: str
    port: int
    names: tuple[str, ...]
    certificate: Path | None
    key: Path | None
    alarms: AlarmSettings
    reports: ReportSettings

    @property
    def is_local(self) -> bool:
        """Whether only programs on this host can connect."""
        return is_loopback(self.address)

    @property
    def tls(self) -> bool:
        """Whether the server uses HTTPS: always for other hosts."""
        return not self.is_local or self.certificate is not None

    def base(self) -> str:
        """The address of the pages, without a path."""
        return f"{'https' if self.tls else 'http'}://{join_port(self.names[0], self.port)}"


def read_settings(cell: Cell, host: str) -> WebSettings:
    """The settings for a server on `host`. Raises CellError: invalid setting."""
    path = cell.common / SETTINGS_FILE
    try:
        texts = read_settings_file(path, SETTINGS) if path.exists() else {}
    except OSError as error:
        raise CellError(f"cannot read {path}: {error.strerror}") from None
    if ("certificate" in texts) != ("key" in texts):
        raise CellError(f"{path}: certificate and key go together")
    address, port = canonical(texts.get("address", ADDRESS)), texts.get("port", str(PORT))
    if not address or is_link_local(address):
        reason = "is link-local: browsers cannot open it" if address else "is no IP address"
        raise CellError(f'{path}: address "{texts["address"]}" {reason}')
    local = is_loopback(address)
    if not (port.isascii() and port.isdigit() and len(port) < 6 and 1 <= int(port) <= 65535):
        raise CellError(f'{path}: port "{port}" is not a port from 1 to 65535')
    given_names = texts.get("names", "").lower().replace(",", " ").split()
    for name in given_names:
        if not _NAME.fullmatch(name) and not is_address(name):
            raise CellError(f'{path}: "{name}" is no name of a host')
    own_names = ("localhost", LOOPBACK, LOOPBACK_6, host.lower())  # the first name, in links, must be reachable
    names = (*(canonical(name) or name for name in given_names), *(own_names if local else reversed(own_names)), address)
    certificate, key = (Path(texts[name]) if name in texts else None for name in ("certificate", "key"))
    try:
        alarms, reports = parse_alarm_settings(texts), parse_report_settings(texts)
    except InvalidValueError as fault:
        raise CellError(f"{path}: {fault}") from None
    return WebSettings(address, int(port), tuple(dict.fromkeys(names)), certificate, key, alarms, reports)
