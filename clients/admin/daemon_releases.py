"""Daemons of this host and their releases: the running release, and the restart on the installed release.

Owns the restart: SIGHUP for a daemon that re-executes itself, systemd or stop and start for other daemons. Called by `upgrade`
and `program`. Source: docs/adr/0149.
"""

from __future__ import annotations

import signal
import subprocess

import psutil

from clients.admin.cell import InstalledCell
from clients.admin.errors import AdminError
from clients.admin.installation import Installation, find_installation
from clients.admin.local_daemons import EXECD, QMASTER, SHADOWD, LocalDaemon, process_of, start, stop
from clients.admin.systemd_units import unit_of_process
from gridengine.errors import plain_fault

_BY_ITSELF = (QMASTER, SHADOWD, EXECD)
_TRIAL_S, _RESTART_S = 60.0, 120.0


def release_of(daemon: LocalDaemon) -> str:
    """The release of a daemon of this host, "" if its pid file has none."""
    try:
        fields = daemon.pid_file.read_text(errors="replace").split()
    except OSError:
        return ""
    return fields[2] if len(fields) > 2 and fields[2] != "ending" else ""


def release_text(daemon: LocalDaemon) -> str:
    """The release of a daemon of this host in readable form, with its date if this host has it; "" if its pid file has none."""
    name = release_of(daemon)
    try:
        return str(find_installation().releases().read(name)) if name else ""
    except AdminError:
        return name


def release_mismatch(program: str, release: str) -> str:
    """Try to load a program; the reason why it is not of that release, "" if it is."""
    try:
        done = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=_TRIAL_S, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{program} cannot be started: {plain_fault(error)}"
    lines = (done.stdout if done.returncode == 0 else done.stderr).splitlines()
    output = [line for line in lines if any(character.isalnum() for character in line)]
    if done.returncode or output[-1:] != [release]:
        return f"{program} does not report release {release}: {output[-1] if output else 'no output'}"
    return ""


def restart_on_release(daemon: LocalDaemon, cell: InstalledCell, installation: Installation) -> None:
    """Have a daemon re-execute itself on the installed release, or start it. AdminError: the daemon is another user's, or
    does not start.
    """
    process = process_of(daemon)
    if process is not None and daemon.program in _BY_ITSELF and release_of(daemon):
        try:
            process.send_signal(signal.SIGHUP)
        except psutil.AccessDenied as error:
            raise AdminError(f"{daemon} runs as {process.username()}: you may not restart it on another release") from error
        except psutil.NoSuchProcess:
            pass
        return
    if process is not None and (unit := unit_of_process(process.pid)):
        done = subprocess.run(["systemctl", "restart", unit], capture_output=True, text=True, timeout=_RESTART_S)
        if done.returncode:
            raise AdminError(f"{daemon}: systemctl restart {unit}: {done.stderr.strip()}")
        return
    stop([daemon])
    start(daemon, cell, installation)
