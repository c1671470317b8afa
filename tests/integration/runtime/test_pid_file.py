"""The pid file of a daemon that was killed: the next daemon waits for the kernel to end the last of it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from daemons.runtime.daemon import DaemonError, PidFile, start_ticks

#: the child has the lock too, as a thread of the killed process that the kernel has not ended yet
_DAEMON = """
import os, sys
from pathlib import Path
from daemons.runtime.daemon import PidFile
PidFile(Path(sys.argv[1]), "sge_x")
if os.fork() == 0:
    os.close(1)
    sys.stdin.read()
    os._exit(0)
print("locked", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def killed(tmp_path: Path) -> subprocess.Popen[str]:
    """A dead daemon, still a zombie, whose lock is released when its standard input is closed."""
    command = [sys.executable, "-c", _DAEMON, str(tmp_path / "x.pid")]
    daemon = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert daemon.stdout is not None and daemon.stdout.readline() == "locked\n"
    os.kill(daemon.pid, signal.SIGKILL)
    os.waitid(os.P_PID, daemon.pid, os.WEXITED | os.WNOWAIT)
    assert start_ticks(daemon.pid) == 0, "a zombie does not run"
    return daemon


@pytest.mark.parametrize("number", ["its own", "of another process by now"])
def test_a_daemon_starts_as_soon_as_the_lock_of_a_killed_daemon_is_released(
    killed: subprocess.Popen[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: str
) -> None:
    if number != "its own":
        (tmp_path / "x.pid").write_text(f"{os.getpid()} {start_ticks(os.getpid()) + 1} 0.2.0-1\n")

    def release(_seconds: float) -> None:
        killed.communicate()

    monkeypatch.setattr("time.sleep", release)
    PidFile(tmp_path / "x.pid", "sge_x").release()


def test_a_lock_that_a_killed_daemon_leaves_to_others_is_reported(killed: subprocess.Popen[str], tmp_path: Path) -> None:
    try:
        with pytest.raises(DaemonError, match=f"sge_x has not ended yet, as process {killed.pid} "):
            PidFile(tmp_path / "x.pid", "sge_x", patience_s=0.2)
    finally:
        killed.communicate()
