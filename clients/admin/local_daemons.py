"""The daemons of this host: which belong here, which live, how they are started and stopped.

Owns the life of processes as seen from outside: pid files, signals, waiting. Must not know what happens inside a
daemon. Called by `program`, `demo` and `doctor`. Source: docs/architecture.md sections 3 and 5.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import psutil

from clients.admin.cell import InstalledCell, optional_text
from clients.admin.installation import Installation
from clients.admin.refusal import Refusal
from gridengine import arco, web

#: How long a daemon may take to start or to end, in seconds: longer than the daemons' own patience with Ray and with a slow
#: disk (`daemons.runtime.ray_node`, `daemons.qmaster.serve.supervisor`), so that they say themselves what is wrong.
START_S = 210.0
STOP_S = 60.0

QMASTER = "sge_qmaster"
SHADOWD = "sge_shadowd"
EXECD = "sge_execd"
DBWRITER = "sge_dbwriter"
WEB = "sge_web"


@dataclass(frozen=True, slots=True)
class LocalDaemon:
    """A daemon that belongs on this machine; `host` is the name that it plays, `socket` where it answers when ready."""

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
    """Return what runs on this machine when it may be the master and is not: with the pid file of a qmaster, which it becomes."""
    pid_file = cell.qmaster_spool_dir / "qmaster.pid"
    return LocalDaemon(SHADOWD, this_host(cell), pid_file, cell.run_dir / "seat.sock")


def shadow_masters(cell: InstalledCell) -> list[str]:
    """Return the hosts that may be the master, [] where the file names none. Refusal. Source: shadow_masters(5)."""
    lines = optional_text(cell.files.common / "shadow_masters").splitlines()
    return list(dict.fromkeys(name for line in lines if (name := line.partition("#")[0].strip())))


def is_shadow_here(cell: InstalledCell) -> bool:
    """Say whether this machine is to keep a copy of the master's spool, and to take over."""
    return not is_master_here(cell) and bool({socket.gethostname(), this_host(cell)} & set(shadow_masters(cell)))


def dbwriter_of(cell: InstalledCell) -> LocalDaemon:
    """Return the writer of the cell's database, which is on the host where it was started."""
    pid_file = cell.qmaster_spool_dir.parent / "dbwriter" / arco.PID_FILE
    return LocalDaemon(DBWRITER, cell.master_host, pid_file, cell.run_dir / arco.SOCKET)


def web_of(cell: InstalledCell) -> LocalDaemon:
    """Return the web server of this machine."""
    pid_file = cell.qmaster_spool_dir.parent / "web" / web.PID_FILE
    return LocalDaemon(WEB, this_host(cell), pid_file, cell.run_dir / web.SOCKET)


def has_database(cell: InstalledCell) -> bool:
    """Say whether the cell has a database of what is used."""
    return (cell.files.common / arco.SETTINGS_FILE).exists()


def execd_of(cell: InstalledCell, host: str) -> LocalDaemon:
    """Return the execution daemon of `host`."""
    spool = cell.execd_spool_dir / host
    return LocalDaemon(EXECD, host, spool / "execd.pid", spool / "launcher.sock")


def host_aliases(cell: InstalledCell) -> dict[str, str]:
    """Return the unique name of every alias in `host_aliases`. Refusal. Source: sge_host_aliases(5)."""
    lines = optional_text(cell.files.host_aliases).splitlines()
    words = [line.split() for line in lines if not line.startswith("#")]
    return {alias.lower(): names[0] for names in words for alias in names[1:]}


def this_host(cell: InstalledCell) -> str:
    """Return the name of this machine in the cell: its host name, or the unique name that this is an alias of."""
    name = socket.gethostname()
    return host_aliases(cell).get(name.lower(), name)


def is_master_here(cell: InstalledCell) -> bool:
    """Say whether this machine is the master host, by its name or by an alias."""
    return cell.master_host in {socket.gethostname(), this_host(cell)}


def exec_hosts_to_start(cell: InstalledCell, installation: Installation) -> list[str]:
    """Return the exec hosts that this machine plays when nobody says: its own name, on the master host and those that may
    be it only if the cell knows it as an exec host, or it was one. Refusal: the qmaster on this host cannot be asked.
    """
    host = this_host(cell)
    plain = not (is_master_here(cell) or is_shadow_here(cell))
    return [host] if plain or execd_of(cell, host).pid_file.exists() or host in known_exec_hosts(cell, installation) else []


def known_exec_hosts(cell: InstalledCell, installation: Installation) -> list[str]:
    """Return the exec hosts that the running qmaster knows."""
    environment = {**os.environ, **cell.environment()}
    asked = subprocess.run([installation.program("qconf"), "-sel"], env=environment, capture_output=True, text=True)
    return asked.stdout.split()


def daemons_of_this_machine(cell: InstalledCell) -> list[LocalDaemon]:
    """Return the daemons that run on this machine or belong here, exec hosts first.

    What runs counts, whatever `act_qmaster` and `shadow_masters` say: their copy on this host may be old.
    """
    found = [execd_of(cell, path.parent.name) for path in sorted(cell.execd_spool_dir.glob("*/execd.pid"))]
    if was_left_running(web_of(cell)):
        found.append(web_of(cell))
    writer = dbwriter_of(cell)
    if is_master_here(cell) and has_database(cell) or process_of(writer) is not None:
        found.append(writer)
    return [*found, *([seat] if (seat := seat_of(cell)) else [])]


def seat_of(cell: InstalledCell) -> LocalDaemon | None:
    """Return the qmaster or the shadow daemon that runs on this machine, else the one that belongs here, None for neither.

    Both have one pid file, and become each other; whether the process is the master is seen by the socket of the qmaster.
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
    """Say whether a daemon runs or has died: one that was ended has emptied its pid file."""
    try:
        return daemon.pid_file.stat().st_size > 0
    except OSError:
        return False


def is_ending(daemon: LocalDaemon) -> bool:
    """Say whether the daemon has been told to end: a new one may be started, which waits until it has."""
    try:
        return "ending" in daemon.pid_file.read_text(errors="replace").split()[2:]
    except OSError:
        return False


def process_of(daemon: LocalDaemon) -> psutil.Process | None:
    """Return the living process that the pid file names, or None.

    The file's second word, the start time in clock ticks, tells it from a later process of the same number.
    """
    try:
        pid, start_ticks = (int(word) for word in daemon.pid_file.read_text().split()[:2])
        process = psutil.Process(pid)
        stat = Path(f"/proc/{pid}/stat").read_text()
        alive = process.status() != psutil.STATUS_ZOMBIE
    except (OSError, ValueError, psutil.NoSuchProcess):
        return None
    # the second field, the command in parentheses, may itself hold blanks and parentheses
    return process if alive and int(stat.rpartition(")")[2].split()[19]) == start_ticks else None


def start(daemon: LocalDaemon, cell: InstalledCell, installation: Installation, options: Iterable[str] = ()) -> None:
    """Start a daemon that does not live, with these options; it leaves our session and this returns when it serves.

    Refusal: it says why it cannot, or does not serve within START_S.
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
        raise Refusal(f"{daemon} does not answer after {START_S:.0f} s: see {log}") from error
    if started.returncode != 0:
        reason = _last_line(started.stderr).removeprefix(f"{daemon.program}: ")
        raise Refusal(f"{daemon} did not start: {reason or f'exit code {started.returncode}'}")


def stop(daemons: Iterable[LocalDaemon]) -> list[LocalDaemon]:
    """End daemons with SIGTERM, all at once, and wait; running jobs go on. Return those that were alive.

    Refusal: one belongs to somebody else, or has not ended within STOP_S.
    """
    living = [(daemon, process) for daemon in daemons if (process := process_of(daemon)) is not None]
    for daemon, process in living:
        try:
            process.terminate()
        except psutil.AccessDenied as error:
            raise Refusal(f"{daemon} runs as {process.username()}: you may not stop it") from error
        except psutil.NoSuchProcess:
            continue
    _, alive = psutil.wait_procs([process for _, process in living], timeout=STOP_S)
    if alive:
        late = ", ".join(str(daemon) for daemon, process in living if process in alive)
        raise Refusal(f"{late}: still there {STOP_S:.0f} s after SIGTERM")
    return [daemon for daemon, _ in living]


def renew(daemon: LocalDaemon) -> bool:
    """Have a daemon that lives make itself anew without ending (SIGUSR1). Refusal: it is somebody else's."""
    process = process_of(daemon)
    if process is None:
        return False
    try:
        process.send_signal(signal.SIGUSR1)
    except psutil.AccessDenied as error:
        raise Refusal(f"{daemon} runs as {process.username()}: you may not have it start anew") from error
    except psutil.NoSuchProcess:
        return False
    return True


def is_closed(daemon: LocalDaemon) -> bool:
    """Say whether the caller may not look at the daemon's pid file, and so cannot know its process."""
    return daemon.pid_file.parent.is_dir() and not os.access(daemon.pid_file.parent, os.X_OK)


def answers(path: Path) -> bool:
    """Say whether a process listens on the Unix socket `path`, be it one that is closed to the caller."""
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
