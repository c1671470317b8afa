"""Two virtual machines with the Debian package installed: the master host m1 and the exec host m2, driven by tests/testbed/vm.

Owns commands on them, and waiting. Emulated machines are 10 to 20 times slower than real ones: the limits are long.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).absolute().parents[2]
VM = ROOT / "tests/testbed/vm"
MASTER, EXEC = "m1", "m2"
BIN = "/opt/gridengine/bin"
SGE_ROOT = "/opt/gridengine/cells"
SETTINGS = f"{SGE_ROOT}/default/common/settings.sh"
QMASTER_MESSAGES = "/var/spool/gridengine/default/qmaster/messages"
EXECD_MESSAGES = f"/var/spool/gridengine/default/execd/{EXEC}/messages"
#: limits in seconds: for a condition, and for one command
LONG_S, COMMAND_S = 900.0, 600.0
_PAUSE_S = 3.0


class FailedStepError(Exception):
    """The system behaved wrongly; the text has one line or several."""


def vm(*arguments: str, timeout_s: float = 1800.0) -> str:
    """Run tests/testbed/vm; return its output. FailedStepError: it failed."""
    environment = {"VM_BED": "machines", "VM_WAIT": "1200", "VM_PACKAGES": "nfs-kernel-server nfs-common", **os.environ}
    environment.setdefault("VM_DEBS", str(package()))
    done = subprocess.run([str(VM), *arguments], env=environment, capture_output=True, text=True, timeout=timeout_s)
    if done.returncode:
        raise FailedStepError(f"vm {' '.join(arguments)}: {(done.stderr or done.stdout).strip()[-2000:]}")
    return done.stdout.strip()


def package() -> Path:
    """The Debian package that `make deb` has built. FailedStepError: there is none."""
    found = sorted((ROOT / "build/deb").glob("*.deb"))
    if len(found) != 1:
        raise FailedStepError(f"build/deb has {len(found)} packages: make deb")
    return found[0]


def on(machine: str, command: str) -> str:
    """Run a shell command as root, with the settings of the cell; return its output. FailedStepError: it failed."""
    return vm("on", machine, "sh", "-c", _with_settings(command), timeout_s=COMMAND_S)


def try_on(machine: str, command: str) -> str:
    """The same, with the output of a command that failed, too; stderr is part of it."""
    return on(machine, f"({command}) 2>&1 || true")


def as_alice(command: str) -> str:
    """Run a shell command as a user on the master host. FailedStepError: it failed."""
    return vm("as", "alice", MASTER, "sh", "-c", _with_settings(command), timeout_s=COMMAND_S)


def _with_settings(command: str) -> str:
    return f"[ ! -e {SETTINGS} ] || . {SETTINGS}; {command}"


def eventually(what: str, condition: Callable[[], bool], limit_s: float = LONG_S) -> float:
    """Wait until a condition holds; return the seconds. FailedStepError: not in time."""
    begin = time.monotonic()
    while True:
        try:
            if condition():
                return time.monotonic() - begin
        except (FailedStepError, subprocess.TimeoutExpired) as fault:
            last = str(fault)
        else:
            last = ""
        if time.monotonic() - begin > limit_s:
            raise FailedStepError(f"not within {limit_s:.0f} s: {what} {last}")
        time.sleep(_PAUSE_S)


def require(what: str, holds: bool, seen: object = "") -> None:
    """FailedStepError if the condition is false."""
    if not holds:
        raise FailedStepError(f"{what}: {seen}")


def note(text: str) -> None:
    """Print an observation."""
    print(f"    {time.strftime('%H:%M:%S')} {text}", flush=True)
