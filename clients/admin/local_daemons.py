"""The daemons of this host: the configured daemons, the running daemons, start and stop.

Owns the life of processes from outside: pid files, signals, waiting. Must not know the inside of a daemon. Called by `program`,
`demo` and `doctor`. Source: docs/architecture.md sections 3 and 5.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil

from clients.admin.cell import InstalledCell, optional_text
from clients.admin.errors import AdminError
from clients.admin.installation import Installation
from gridengine.addresses import canonical, host_addresses
from gridengine.protocols import arco, web

#: Limits for the start and the end of a daemon, in seconds: longer than the daemons' own limits for Ray and a slow
#: disk, with all attempts of a slow host (`daemons.runtime.ray_node`, `daemons.qmaster.serve.supervisor`), so that they
#: report the fault themselves.
START_S = 1500.0
STOP_S = 60.0

QMASTER = "sge_qmaster"
SHADOWD = "sge_shadowd"
EXECD = "sge_execd"
DBWRITER = "sge_dbwriter"
WEB = "sge_web"


@dataclass(frozen=True, slots=True)
class LocalDaemon:
    """A daemon of this machine. `host`: its host name in the cell; `socket`: where it answers when ready."""

    program: str
    host: str
    pid_file: Path
    socket: Path

    def __str__(self) -> str:
        return f"{self.program} ({self.host})"


def qmaster_of(cell: InstalledCell) -> LocalDaemon:
    """Return the qmaster of the cell, as a daemon of the master host."""
    return LocalDaemon(
        QMASTER, cell.master_host, cell.qmaster_spool_dir / "qmaster.pid", cell.run_dir / "gdi.sock"
    )


def qmaster_here(cell: InstalledCell) -> LocalDaemon:
    """Return the qmaster of this machine, which may run here though another host is the master by `act_qmaster`."""
    return LocalDaemon(QMASTER, this_host(cell), qmaster_of(cell).pid_file, qmaster_of(cell).socket)


def shadowd_of(cell: InstalledCell) -> LocalDaemon:
    """Return the shadow daemon of this machine; it has the pid file of the qmaster, because it becomes the qmaster."""
    pid_file = cell.qmaster_spool_dir / "qmaster.pid"
    return LocalDaemon(SHADOWD, this_host(cell), pid_file, cell.run_dir / "seat.sock")


def shadow_masters(cell: InstalledCell) -> list[str]:
    """Return the hosts that may be the master, [] where the file names none. AdminError. Source: shadow_masters(5)."""
    lines = optional_text(cell.files.common / "shadow_masters").splitlines()
    return list(dict.fromkeys(name for line in lines if (name := line.partition("#")[0].strip())))


def is_shadow_here(cell: InstalledCell) -> bool:
    """Whether this machine is a shadow: it keeps a replica of the master's spool, and may take over."""
    return not is_master_here(cell) and bool({socket.gethostname(), this_host(cell)} & set(shadow_masters(cell)))


def dbwriter_of(cell: InstalledCell) -> LocalDaemon:
    """Return the writer of the cell's database, on the host where it was started."""
    pid_file = cell.qmaster_spool_dir.parent / "dbwriter" / arco.PID_FILE
    return LocalDaemon(DBWRITER, cell.master_host, pid_file, cell.run_dir / arco.SOCKET)


def web_of(cell: InstalledCell) -> LocalDaemon:
    """Return the web server of this machine."""
    pid_file = cell.qmaster_spool_dir.parent / "web" / web.PID_FILE
    return LocalDaemon(WEB, this_host(cell), pid_file, cell.run_dir / web.SOCKET)


def has_database(cell: InstalledCell) -> bool:
    """Whether the cell has an accounting database."""
    return (cell.files.common / arco.SETTINGS_FILE).exists()


def execd_of(cell: InstalledCell, host: str) -> LocalDaemon:
    """Return the execution daemon of `host`."""
    spool = cell.execd_spool_dir / host
    return LocalDaemon(EXECD, host, spool / "execd.pid", spool / "launcher.sock")


def host_aliases(cell: InstalledCell) -> dict[str, str]:
    """Return the unique name of every alias in `host_aliases`. AdminError. Source: sge_host_aliases(5)."""
    lines = optional_text(cell.files.host_aliases).splitlines()
    rows = [line.split() for line in lines if not line.startswith("#")]
    return {canonical(alias) or alias.lower(): names[0] for names in rows for alias in names[1:]}


def names_of_host(cell: InstalledCell, host: str) -> list[str]:
    """The unique name of a host and its aliases. AdminError."""
    return [host, *(alias for alias, unique in host_aliases(cell).items() if unique == host)]


def addresses_of_host(cell: InstalledCell, host: str) -> Iterator[str]:
    """The addresses of a host, as `host_addresses`; none if no name of it resolves here. AdminError."""
    return host_addresses(names_of_host(cell, host))


def this_host(cell: InstalledCell) -> str:
    """Return the name of this machine in the cell: its host name, or the unique name for this alias."""
    name = socket.gethostname()
    return host_aliases(cell).get(name.lower(), name)


def is_master_here(cell: InstalledCell) -> bool:
    """Whether this machine is the master host, by its name or by an alias."""
    return cell.master_host in {socket.gethostname(), this_host(cell)}


def exec_hosts_to_start(cell: InstalledCell, installation: Installation) -> list[str]:
    """Return the exec hosts to start on this machine by default: its own name. The master host and master candidates are included
    only if the cell knows them as exec hosts, or they were exec hosts before. AdminError: the qmaster on this host does not
    answer.
    """
    host = this_host(cell)
    plain = not _can_be_master(cell)
    return [host] if plain or execd_of(cell, host).pid_file.exists() or host in known_exec_hosts(cell, installation) else []


def _can_be_master(cell: InstalledCell) -> bool:
    return is_master_here(cell) or is_shadow_here(cell)


def known_exec_hosts(cell: InstalledCell, installation: Installation) -> list[str]:
    """Return the exec hosts that the running qmaster knows."""
    environment = {**os.environ, **cell.environment()}
    asked = subprocess.run([installation.program("qconf"), "-sel"], env=environment, capture_output=True, text=True)
    return asked.stdout.split()


def daemons_of_this_machine(cell: InstalledCell) -> list[LocalDaemon]:
    """Return the running and the configured daemons of this machine, exec hosts first.

    Running daemons are included independent of `act_qmaster` and `shadow_masters`: their copies on this host may be old. The
    execution daemon of a host that has joined is included before its first start.
    """
    found = [execd_of(cell, path.parent.name) for path in sorted(cell.execd_spool_dir.glob("*/execd.pid"))]
    own = execd_of(cell, this_host(cell))
    if not found and (own.pid_file.parent / "keys").is_dir() and not _can_be_master(cell):
        found.append(own)
    if was_left_running(web_of(cell)):
        found.append(web_of(cell))
    writer = dbwriter_of(cell)
    if is_master_here(cell) and has_database(cell) or process_of(writer) is not None:
        found.append(writer)
    return [*found, *([daemon] if (daemon := qmaster_or_shadowd(cell)) else [])]


def qmaster_or_shadowd(cell: InstalledCell) -> LocalDaemon | None:
    """Return the running qmaster or shadow daemon of this machine, else the configured daemon, None for neither.

    The two daemons share a pid file, and become each other. The qmaster's socket shows whether the process is the master.
    """
    master, shadow = qmaster_here(cell), shadowd_of(cell)
    if answers(master.socket):
        return master
    if answers(shadow.socket) and not is_master_here(cell):
        return shadow
    if is_shadow_here(cell):
        return shadow
    return master if is_master_here(cell) or process_of(master) is not None else None


def was_left_running(daemon: LocalDaemon) -> bool:
    """Whether a daemon runs or has crashed: a daemon that was stopped has emptied its pid file."""
    try:
        return daemon.pid_file.stat().st_size > 0
    except OSError:
        return False


def is_ending(daemon: LocalDaemon) -> bool:
    """Whether the daemon is stopping: a new daemon may be started, and waits for the end of this daemon."""
    try:
        return "ending" in daemon.pid_file.read_text(errors="replace").split()[2:]
    except OSError:
        return False


def process_of(daemon: LocalDaemon) -> psutil.Process | None:
    """Return the living process that the pid file names, or None.

    The second field of the file, the start time in clock ticks, distinguishes it from a later process with the same pid.
    """
    try:
        pid, start_ticks = (int(field) for field in daemon.pid_file.read_text().split()[:2])
        process = psutil.Process(pid)
        stat = Path(f"/proc/{pid}/stat").read_text()
        alive = process.status() != psutil.STATUS_ZOMBIE
    except (OSError, ValueError, psutil.NoSuchProcess):
        return None
    # the second field, the command in parentheses, may itself hold blanks and parentheses
    return process if alive and int(stat.rpartition(")")[2].split()[19]) == start_ticks else None


def start(daemon: LocalDaemon, cell: InstalledCell, installation: Installation, options: Iterable[str] = ()) -> None:
    """Start a daemon that does not run, with these options, in a new session; return when the daemon serves.

    AdminError: the daemon's reason, or it does not serve within START_S.
    """
    command = [installation.program(daemon.program), *options]
    if daemon.program == EXECD:
        command += ["--host-name", daemon.host]
    environment = {**os.environ, **cell.environment()}
    try:
        started = subprocess.run(
            command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=START_S
        )
    except subprocess.TimeoutExpired as error:
        log = daemon.pid_file.parent / "messages"
        raise AdminError(f"{daemon} does not answer after {START_S:.0f} s: see {log}") from error
    if started.returncode != 0:
        reason = _last_line(started.stderr).removeprefix(f"{daemon.program}: ")
        raise AdminError(f"{daemon} did not start: {reason or f'exit code {started.returncode}'}")


def stop(daemons: Iterable[LocalDaemon]) -> list[LocalDaemon]:
    """End daemons with SIGTERM, all at once, and wait; running jobs go on. Return the daemons that ran.

    AdminError: a daemon belongs to another user, or has not ended within STOP_S.
    """
    living = [(daemon, process) for daemon in daemons if (process := process_of(daemon)) is not None]
    for daemon, process in living:
        try:
            process.terminate()
        except psutil.AccessDenied as error:
            raise AdminError(f"{daemon} runs as {process.username()}: you may not stop it") from error
        except psutil.NoSuchProcess:
            continue
    _, alive = psutil.wait_procs([process for _, process in living], timeout=STOP_S)
    if alive:
        late = ", ".join(str(daemon) for daemon, process in living if process in alive)
        raise AdminError(f"{late}: still running {STOP_S:.0f} s after SIGTERM")
    return [daemon for daemon, _ in living]


def restart_in_place(daemon: LocalDaemon) -> bool:
    """Have a running daemon restart in place (SIGUSR1). AdminError: the daemon belongs to another user."""
    process = process_of(daemon)
    if process is None:
        return False
    try:
        process.send_signal(signal.SIGUSR1)
    except psutil.AccessDenied as error:
        raise AdminError(f"{daemon} runs as {process.username()}: you may not restart it") from error
    except psutil.NoSuchProcess:
        return False
    return True


def is_closed(daemon: LocalDaemon) -> bool:
    """Whether the caller may not read the daemon's pid file, and so cannot know its process."""
    return daemon.pid_file.parent.is_dir() and not os.access(daemon.pid_file.parent, os.X_OK)


def answers(path: Path) -> bool:
    """Whether a process listens on the Unix socket `path`, even if the caller may not connect."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(2.0)
        try:
            connection.connect(str(path))
        except PermissionError:
            return True
        except OSError:
            return False
    return True


def _last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1] if lines else ""
