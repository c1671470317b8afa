"""Daemons of this host and their releases: which one each is of, and how it goes on as the one that is installed.

Owns what is asked of them for that: SIGHUP where a daemon goes on by itself, systemd or a new start for the others. Called by
`upgrade` and `program`. Source: docs/adr/0149.
"""

from __future__ import annotations

import re
import signal
import subprocess
from pathlib import Path

import psutil

from clients.admin.cell import InstalledCell
from clients.admin.installation import Installation, find_installation
from clients.admin.local_daemons import EXECD, QMASTER, SHADOWD, LocalDaemon, process_of, start, stop
from clients.admin.refusal import Refusal
from gridengine.errors import plain_fault

_BY_ITSELF = (QMASTER, SHADOWD, EXECD)
_TRIAL_S, _RESTART_S = 60.0, 120.0
_UNIT = re.compile(r"/([\w@.\\-]+\.service)$", re.MULTILINE)


def release_of(daemon: LocalDaemon) -> str:
    """Which release a daemon of this host is of, "" for one that does not say."""
    try:
        words = daemon.pid_file.read_text(errors="replace").split()
    except OSError:
        return ""
    return words[2] if len(words) > 2 and words[2] != "ending" else ""


def release_text(daemon: LocalDaemon) -> str:
    """The release of a daemon of this host for people, with its date where this host has it; "" for one that does not say."""
    name = release_of(daemon)
    try:
        return str(find_installation().releases().read(name)) if name else ""
    except Refusal:
        return name


def says_its_release(program: str, release: str) -> str:
    """Try to load a program; why it is not of that release, "" if it is."""
    try:
        done = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=_TRIAL_S, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{program} cannot be started: {plain_fault(error)}"
    lines = (done.stdout if done.returncode == 0 else done.stderr).splitlines()
    said = [line for line in lines if any(letter.isalnum() for letter in line)]
    if done.returncode or said[-1:] != [release]:
        return f"{program} does not say that it is of release {release}: {said[-1] if said else 'it says nothing'}"
    return ""


def go_on(daemon: LocalDaemon, cell: InstalledCell, installation: Installation) -> None:
    """Have a daemon go on as the release that is installed, or start it. Refusal: it is somebody else's, or does not start."""
    process = process_of(daemon)
    if process is not None and daemon.program in _BY_ITSELF and release_of(daemon):
        try:
            process.send_signal(signal.SIGHUP)
        except psutil.AccessDenied as error:
            raise Refusal(f"{daemon} runs as {process.username()}: you may not have it go on as another release") from error
        except psutil.NoSuchProcess:
            pass
        return
    if process is not None and (unit := _unit(process.pid)):
        done = subprocess.run(["systemctl", "restart", unit], capture_output=True, text=True, timeout=_RESTART_S)
        if done.returncode:
            raise Refusal(f"{daemon}: systemctl restart {unit}: {done.stderr.strip()}")
        return
    stop([daemon])
    start(daemon, cell, installation)


def _unit(pid: int) -> str:
    """The unit of systemd that a process is the service of, "" for none: jobs and shells are in units of other kinds."""
    try:
        found = _UNIT.search(Path(f"/proc/{pid}/cgroup").read_text())
    except OSError:
        return ""
    return found[1] if found and found[1].startswith("sge_") else ""
