"""The result of starting a daemon that does not come up."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

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
