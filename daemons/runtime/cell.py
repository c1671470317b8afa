"""A cell on disk as the daemons see it: bootstrap settings, the master host, host names and addresses.

Owns the reading of `$SGE_ROOT/$SGE_CELL/common/{bootstrap,act_qmaster,host_aliases}`. Must not write them (the admin
program does). Called by every daemon at its start. Source: sge_bootstrap(5), host_aliases(5), GC-5.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, fields
from itertools import islice
from pathlib import Path

from gridengine import cell_files
from gridengine.addresses import canonical, explain_link_local, family_of, host_addresses
from gridengine.errors import InvalidValueError, UserError
from gridengine.files.bootstrap import RAY_PORTS, REQUIRED, WaitFor, read_values


class CellError(UserError):
    """The cell cannot be used; the text is one line that names the file and the reason. A daemon exits with 1."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits on the requests of users: bytes of a request, bytes of a request with a script, connections of one user."""

    max_request_size: int = 2**20
    max_submit_size: int = 2**24
    max_user_connections: int = 512


USUAL_LIMITS = Limits()


@dataclass(frozen=True, slots=True)
class Cell:
    """The settings of one cell. `root`: SGE_ROOT; `limits`: of requests and connections. Ports are TCP ports (`execd_port` 0: a
    free port of `ray_ports`, which is a first and a last port).

    `aliases` maps every other name of a host to its unique one. `backup_hour`: of the day, local time; `backup_keep`: daily
    backups that are kept, 0 for none. `shadow_port`: where candidate hosts and voters reach each other; `answers_wait_for`: how
    many shadow hosts must have a transaction before it is acknowledged (`none`, `one`, `majority`). `json_log`: daemons write
    `messages.json` beside `messages` (docs/formats/messages.md).
    """

    root: Path
    name: str
    admin_user: str
    qmaster_spool_dir: Path
    execd_spool_dir: Path
    run_dir: Path
    qmaster_port: int
    ray_port: int
    execd_port: int = 0
    ray_ports: tuple[int, int] = RAY_PORTS
    limits: Limits = field(default_factory=Limits)
    backup_hour: int = 2
    backup_keep: int = 7
    shadow_port: int = 0
    answers_wait_for: WaitFor = "one"
    spooling_method: str = "sqlite"
    security_mode: str = "tls"
    json_log: bool = False
    ignore_fqdn: bool = False
    default_domain: str = ""
    aliases: Mapping[str, str] = field(default_factory=dict)

    @property
    def common(self) -> Path:
        return self.root / self.name / "common"

    @property
    def secrets(self) -> Path:
        return self.common / "secrets"

    @property
    def act_qmaster(self) -> Path:
        return self.common / "act_qmaster"

    @property
    def spool(self) -> Path:
        """The qmaster's spool file."""
        return self.qmaster_spool_dir / "spool.db"

    @property
    def dbwriter_spool(self) -> Path:
        """The directory of sge_dbwriter, beside the qmaster's spool; it contains the dbwriter's own database."""
        return self.qmaster_spool_dir.parent / "dbwriter"

    @property
    def web_spool(self) -> Path:
        """The directory of sge_web, beside the qmaster's spool, on the host of the web server."""
        return self.qmaster_spool_dir.parent / "web"

    @property
    def backups_dir(self) -> Path:
        """Where the qmaster keeps its daily backups."""
        return self.qmaster_spool_dir / "backups"

    def daily_backups(self) -> list[Path]:
        """The daily backups that exist, oldest first, by the time in their names."""
        return sorted(self.backups_dir.glob(f"{self.name}-????????T??????Z.tar.gz"))

    @property
    def shadow_masters(self) -> Path:
        """Names the hosts that may be the master, the usual one first. Source: shadow_masters(5), SH-1."""
        return self.common / "shadow_masters"

    def candidate_hosts(self) -> tuple[str, ...]:
        """Return the hosts that may be the master, as the file names them now; none unless they are two or more.

        Raises CellError.
        """
        hosts = self.listed_masters()
        return hosts if len(hosts) > 1 else ()

    def listed_masters(self) -> tuple[str, ...]:
        """Return the hosts that the file names now, possibly a single host. Raises CellError."""
        lines = _read(self.shadow_masters).splitlines() if self.shadow_masters.exists() else []
        names = (line.partition("#")[0].strip() for line in lines)
        return tuple(dict.fromkeys(self.unique_name(name) for name in names if name))

    @property
    def cell_id_file(self) -> Path:
        """The file of the id that distinguishes the cell from all others, independent of their names."""
        return self.common / "cell_id"

    @property
    def gdi_socket(self) -> Path:
        return self.run_dir / "gdi.sock"

    @property
    def gateway_socket(self) -> Path:
        return self.run_dir / "gateway.sock"

    @property
    def participant_socket(self) -> Path:
        """The socket of the participant of a master candidate."""
        return self.run_dir / "seat.sock"

    def execd_spool(self, host: str) -> Path:
        """Return the spool directory of one exec host."""
        return self.execd_spool_dir / host

    def environment(self) -> dict[str, str]:
        """Return the variables that direct commands and daemons to this cell."""
        return {"SGE_ROOT": str(self.root), "SGE_CELL": self.name}

    def unique_name(self, name: str) -> str:
        """Return the name under which the cell knows a host, with aliases and domain rules applied.

        Source: host_aliases(5) (the first name of a line is the unique one), sge_bootstrap(5) ignore_fqdn and
        default_domain.
        """
        if address := canonical(name):
            return self.aliases.get(address) or name  # the part before the first dot of an address is no host
        unique = self.aliases.get(name.lower()) or self.aliases.get(name.partition(".")[0].lower()) or name
        if self.ignore_fqdn:
            return unique.partition(".")[0]
        return f"{unique}.{self.default_domain}" if self.default_domain and "." not in unique else unique

    def own_name(self) -> str:
        """Return the unique name of this machine."""
        return self.unique_name(socket.gethostname())

    def master_host(self) -> str:
        """Return the master host that act_qmaster names now; the master may change at any time. Raises CellError."""
        try:
            return cell_files.parse_master_name(_read(self.act_qmaster), self.act_qmaster)
        except InvalidValueError as fault:
            raise CellError(str(fault)) from None

    def address(self, host: str) -> str:
        """Return the address of a host that the cell uses: the first of `host_addresses`. Raises CellError."""
        for address in host_addresses(self._names(host)):
            return address
        reason = explain_link_local(self._names(host)) or "the name does not resolve to an address on this host"
        raise CellError(f'host "{host}": {reason}')

    def addresses(self, host: str) -> list[str]:
        """Return where daemons of a host listen: its address, and its first address of the other family. Raises CellError."""
        first = self.address(host)
        others = (address for address in host_addresses(self._names(host)) if family_of(address) != family_of(first))
        return [first, *islice(others, 1)]

    def _names(self, host: str) -> list[str]:
        unique = self.unique_name(host)
        return [host, *(alias for alias, known in self.aliases.items() if known == unique)]


def read_cell(environment: Mapping[str, str] = os.environ) -> Cell:
    """Read the cell that SGE_ROOT and SGE_CELL (default: `default`) name. Raises CellError."""
    root = environment.get("SGE_ROOT", "")
    if not root:
        raise CellError("SGE_ROOT is not set: source the settings.sh of a cell first")
    name = environment.get("SGE_CELL") or "default"
    common = Path(root).absolute() / name / "common"
    path = common / "bootstrap"
    settings = parse_settings(_read(path), path, REQUIRED)
    try:
        values = read_values(settings)
    except InvalidValueError as fault:
        raise CellError(f"{path}: {fault}") from None
    limits = Limits(**{each.name: values.pop(each.name) for each in fields(Limits) if each.name in values})
    # the port after the qmaster's, which was the port of sge_execd in Grid Engine
    values.setdefault("shadow_port", values["qmaster_port"] + 1)
    aliases = _read_aliases(common / "host_aliases")
    return Cell(root=Path(root).absolute(), name=name, limits=limits, aliases=aliases, **values)


def parse_settings(text: str, path: Path, required: Collection[str] = ()) -> dict[str, str]:
    """Return the `key value` lines of a file; the `required` keys must be among them. Raises CellError with position and
    reason."""
    try:
        return cell_files.parse_settings(text, path, required)
    except InvalidValueError as fault:
        raise CellError(str(fault)) from None


def read_settings_file(path: Path, names: Collection[str], required: Collection[str] = ()) -> dict[str, str]:
    """The settings of another file of `common/`, which has these `names` and no others. Raises CellError, OSError."""
    try:
        settings = parse_settings(path.read_text(), path, required)
    except UnicodeDecodeError as fault:
        raise CellError(f"{path}: {fault}") from None
    for name in sorted(settings.keys() - names):
        raise CellError(f"{path}: {name} is no setting of it ({', '.join(names)})")
    return settings


def parse_aliases(text: str) -> dict[str, str]:
    """Return alias -> unique name of the lines of a host_aliases file. Source: host_aliases(5)."""
    lines = [line.split() for line in text.splitlines() if not line.lstrip().startswith("#")]
    return {canonical(alias) or alias.lower(): names[0] for names in lines for alias in names[1:]}


def _read_aliases(path: Path) -> dict[str, str]:
    return parse_aliases(_read(path)) if path.exists() else {}


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError as error:
        raise CellError(f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise CellError(f"{path} is not a text file") from error
