"""The result of starting a daemon that does not come up."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from tests.integration.cells import PATIENCE_S

TOP = Path(__file__).parents[3]


def test_a_daemon_that_does_not_start_is_waited_for_to_its_end(tmp_path: Path) -> None:
    """A start that follows at once must not find it running."""
    program = """
import os, sys, time
from daemons.runtime.daemon import become_daemon
become_daemon(False, "sge_x").failed("the disk is full")
time.sleep(0.5)
open(sys.argv[1], "w").close()
os._exit(1)
"""
    over = tmp_path / "over"
    done = subprocess.run([sys.executable, "-c", program, str(over)], cwd=TOP, capture_output=True, text=True)
    assert over.exists() and (done.returncode, done.stderr) == (1, "the disk is full\n")


def test_the_driver_that_creates_the_actors_ends_when_its_supervisor_is_killed() -> None:
    """The process lived on for 100 s, and called the head of the next supervisor all the time."""
    driver = """
import time
from daemons.qmaster.serve import start_actors as module
module.start_actors = lambda *_: time.sleep(600)
module.main()
"""
    supervisor = """
import os, subprocess, sys
driver = subprocess.Popen([sys.executable, "-c", sys.argv[1], "10.0.0.1:6446", "session", str(os.getpid())])
print(driver.pid, flush=True)
driver.wait()
"""
    with subprocess.Popen([sys.executable, "-c", supervisor, driver], cwd=TOP, stdout=subprocess.PIPE, text=True) as killed:
        assert killed.stdout is not None
        number = int(killed.stdout.readline())
        descriptor = os.pidfd_open(number)
        killed.kill()
    try:
        assert select.select([descriptor], [], [], PATIENCE_S)[0], "the driver lives on"
    finally:
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(descriptor, signal.SIGKILL)
        os.close(descriptor)
