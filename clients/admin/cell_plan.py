"""The plan of a new cell: the options of `gridengine init` with defaults, every value checked.

Owns the defaults of a new cell. Pure except for lookups of users, host names, free ports and the resources of this machine.
Called by `program` and `demo`.
"""

from __future__ import annotations

import os
import pwd
import re
import secrets
import socket
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from clients.admin.cell import CellFiles
from clients.admin.errors import AdminError
from clients.admin.free_ports import free_cell_ports
from clients.admin.host_consumables import memory_size
from clients.admin.host_resources import Machine, this_machine
from gridengine.addresses import (
    explain_link_local,
    family_of,
    host_addresses,
    is_address,
    is_loopback,
    is_numeric,
)
from gridengine.files import bootstrap

#: The registered port of Grid Engine. The second, of sge_execd, is not needed here; the third is Ray's.
QMASTER_PORT = 6444
RAY_PORT = 6446
#: Ports of Ray's nodes and of interactive sessions; a node needs RAY_BLOCK of them (docs/security.md).
RAY_PORTS = "{}-{}".format(*bootstrap.RAY_PORTS)
RAY_BLOCK = bootstrap.PORT_BLOCK

#: A Unix socket's path may have 107 bytes, and the longest name in the run directory is `dbwriter.sock`.
RUN_DIR_BYTES = 107 - len("/dbwriter.sock")

_PATH = re.compile(r"/[A-Za-z0-9/._+@-]*")
_CELL_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
HOST_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?")


@dataclass(frozen=True, slots=True)
class CellPlan:
    """A cell to be made. Ports are TCP ports, `slots` counts per exec host; `load_thresholds`: None for the default of the
    configuration; `aliases`: other names of hosts; `arco`: with an accounting database; `memory`, `gpus`: capacity of exec hosts
    where memory and GPUs are consumables.
    """

    files: CellFiles
    admin_user: str
    master_host: str
    qmaster_port: int
    ray_port: int
    ray_ports: str
    run_dir: Path
    spool_dir: Path
    exec_hosts: tuple[str, ...]
    slots: int
    load_thresholds: str | None
    aliases: dict[str, list[str]]
    arco: bool = False
    memory: dict[str, str] = field(default_factory=dict)
    gpus: dict[str, int] = field(default_factory=dict)

    def addresses(self, host: str) -> list[str]:
        """The addresses of a host by its name and its aliases."""
        return list(host_addresses((host, *self.aliases.get(host, ()))))

    @property
    def arco_settings(self) -> dict[str, str]:
        """The lines of `common/arco`. Source: gridengine/protocols/arco.py."""
        return {"database": f"duckdb:{self.spool_dir / 'dbwriter' / 'arco' / 'arco.duckdb'}"}

    @property
    def bootstrap(self) -> dict[str, str]:
        """The lines of the bootstrap file. Source: sge_bootstrap(5), docs/architecture.md section 3."""
        return {
            "admin_user": self.admin_user,
            "spooling_method": "sqlite",
            "qmaster_spool_dir": str(self.spool_dir / "qmaster"),
            "execd_spool_dir": str(self.spool_dir / "execd"),
            "run_dir": str(self.run_dir),
            "qmaster_port": str(self.qmaster_port),
            "ray_port": str(self.ray_port),
            "ray_ports": self.ray_ports,
            "security_mode": "tls",
        }


@dataclass(slots=True)
class CellOptions:
    """The options of `gridengine init` as given; None for the default."""

    root: Path | None = None
    cell: str = "default"
    master_host: str | None = None
    admin_user: str | None = None
    qmaster_port: int | None = None
    ray_port: int | None = None
    ray_ports: str | None = None
    run_dir: Path | None = None
    spool_dir: Path | None = None
    exec_hosts: list[str] = field(default_factory=list)
    slots: int | None = None
    load_thresholds: str | None = None
    aliases: list[str] = field(default_factory=list)
    arco: bool = True
    memory: str = ""


def plan_cell(options: CellOptions, inspect: Callable[[], Machine] = this_machine) -> CellPlan:
    """Fill in the defaults and check everything that can be checked before a file is written.

    `inspect`: reads the resources of this machine, called if it is an exec host. AdminError: a name or path of the wrong form, a
    port out of range or used twice, an unknown user, a host name that does not resolve and has no alias, an admin user other than
    the caller without root's rights.
    """
    if options.root is None:
        raise AdminError("give --root DIRECTORY (or set SGE_ROOT): the directory of the new cell")
    if not _CELL_NAME.fullmatch(options.cell):
        raise AdminError(f'--cell "{options.cell}": a cell name consists of letters, digits and . _ -')
    admin_user = _admin_user(options.admin_user)
    root = _path("--root", options.root)
    aliases = _aliases(options.aliases)
    master_host = _host("--master-host", options.master_host or socket.gethostname(), aliases)
    exec_hosts = tuple(dict.fromkeys(_host("--exec-host", name, aliases) for name in options.exec_hosts))
    for name in exec_hosts:
        require_one_family(name, _address(name, aliases), master_host, _address(master_host, aliases))
    is_root = os.geteuid() == 0
    if not is_root and (options.qmaster_port, options.ray_port, options.ray_ports) == (None, None, None):
        # a user's own cell, beside the cells of other users on this machine
        options.qmaster_port, options.ray_port, options.ray_ports = free_cell_ports(4 * RAY_BLOCK)
    qmaster_port, ray_port = _ports(options)
    run_dir = options.run_dir or (
        Path("/run/gridengine") / options.cell if is_root else Path(f"/tmp/ge-{os.geteuid()}-{secrets.token_hex(4)}")
    )
    spool_dir = options.spool_dir or (
        Path("/var/spool/gridengine") / options.cell if is_root else root / options.cell / "spool"
    )
    run_dir = _path("--run-dir", run_dir)
    if len(str(run_dir)) > RUN_DIR_BYTES:
        raise AdminError(f"--run-dir {run_dir}: at most {RUN_DIR_BYTES} bytes, as it holds sockets")
    slots = options.slots if options.slots is not None else os.cpu_count() or 1
    if not 0 <= slots <= 9999999:
        raise AdminError(f"--slots {slots}: from 0 to 9999999")
    here = [name for name in exec_hosts if name in (master_host, socket.gethostname())]
    machine = inspect() if here else None
    memory = _memory(options.memory, here, exec_hosts, machine)
    return CellPlan(
        CellFiles(root, options.cell),
        admin_user,
        master_host,
        qmaster_port,
        ray_port,
        _port_range(options.ray_ports or RAY_PORTS, (qmaster_port, ray_port)),
        run_dir,
        _path("--spool-dir", spool_dir),
        exec_hosts,
        slots,
        # the only user of a machine knows its other load
        "NONE" if options.load_thresholds is None and not is_root else options.load_thresholds,
        aliases,
        options.arco,
        memory,
        dict.fromkeys(here, machine.gpus) if machine and machine.gpus else {},
    )


def _memory(requested: str, here: list[str], exec_hosts: tuple[str, ...], machine: Machine | None) -> dict[str, str]:
    """The memory capacity by exec host; for hosts other than this machine only from the option."""
    if requested == "total":
        return dict.fromkeys(here, f"{machine.memory}M") if machine else {}
    if requested:
        memory_size("--memory", requested)
    return dict.fromkeys(exec_hosts, requested) if requested else {}


def _admin_user(requested: str | None) -> str:
    caller = pwd.getpwuid(os.geteuid()).pw_name
    if requested is None or requested == caller:
        return caller
    try:
        pwd.getpwnam(requested)
    except KeyError as error:
        raise AdminError(f"--admin-user {requested}: there is no such user on this host") from error
    if os.geteuid() != 0:
        raise AdminError(f"--admin-user {requested}: only root can make a cell for another user; you are {caller}")
    return requested


def _path(option: str, path: Path) -> Path:
    absolute = os.path.abspath(path)
    if not _PATH.fullmatch(absolute):
        raise AdminError(f'{option} "{absolute}": a path of a cell consists of letters, digits and / . _ + @ -')
    return Path(absolute)


def _ports(options: CellOptions) -> tuple[int, int]:
    ports = {
        "--qmaster-port": QMASTER_PORT if options.qmaster_port is None else options.qmaster_port,
        "--ray-port": RAY_PORT if options.ray_port is None else options.ray_port,
    }
    for option, port in ports.items():
        if not 1 <= port <= 65535:
            raise AdminError(f"{option} {port}: a port is from 1 to 65535")
    qmaster_port, ray_port = ports.values()
    if qmaster_port == ray_port:
        raise AdminError(f"--qmaster-port and --ray-port are both {ray_port}: they must differ")
    return qmaster_port, ray_port


def _port_range(text: str, others: tuple[int, int]) -> str:
    match = re.fullmatch(r"(\d{1,5})-(\d{1,5})", text, re.ASCII)
    low, high = (int(bound) for bound in match.groups()) if match else (0, 0)
    if not (1 <= low and high <= 65535 and high - low + 1 >= RAY_BLOCK):
        raise AdminError(f'--ray-ports "{text}": give FIRST-LAST, {RAY_BLOCK} ports or more from 1 to 65535')
    if any(low <= port <= high for port in others):
        raise AdminError(f"--ray-ports {text}: --qmaster-port and --ray-port must lie outside")
    return text


def _aliases(texts: list[str]) -> dict[str, list[str]]:
    aliases: dict[str, list[str]] = {}
    for text in texts:
        name, _, other = text.partition("=")
        is_name = HOST_NAME.fullmatch(name) and not is_numeric(name)
        if not is_name or not (HOST_NAME.fullmatch(other) or is_address(other)):
            raise AdminError(f'--alias "{text}": the form is NAME=OTHER, a host name and another name or an address')
        aliases.setdefault(name, []).append(other)
    return aliases


def _host(option: str, name: str, aliases: dict[str, list[str]]) -> str:
    """Return the name of a host, as given. AdminError: the name does not resolve and has no alias."""
    if not HOST_NAME.fullmatch(name):
        raise AdminError(f'{option} "{name}": that is no host name')
    if not _address(name, aliases):
        if reason := explain_link_local((name, *aliases.get(name, ()))):
            raise AdminError(f"{option} {name}: {reason}")
        if name not in aliases:
            raise AdminError(f"{option} {name}: the name does not resolve on this host")
    return name


def _address(name: str, aliases: dict[str, list[str]]) -> str:
    return next(host_addresses((name, *aliases.get(name, ()))), "")


def require_one_family(host: str, address: str, master_host: str, masters_address: str) -> None:
    """AdminError: one of the two hosts is used by IPv4 and the other by IPv6, where Ray cannot connect both. Source: adr/0220."""
    hosts = {master_host: masters_address, host: address}
    if "" in hosts.values() or any(map(is_loopback, hosts.values())) or len({*map(family_of, hosts.values())}) == 1:
        return
    by_4 = next(name for name, used in hosts.items() if family_of(used) == socket.AF_INET)
    raise AdminError(
        f'host "{host}" is used at {address}, and the master {master_host} at {masters_address}: hosts of a cell need addresses '
        f'of one family; if {by_4} has an IPv6 address, give it as an alias of {by_4} (host_aliases)'
    )
