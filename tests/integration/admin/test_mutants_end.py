"""Tests of mutants end: no process of theirs is left behind."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.integration.cells import eventually
from tools import mutants

LIMITS_S = (1.0, 10.0, 100.0)
"""One second is long enough for a shell to start, also on a loaded machine."""


def gone(pid: int) -> bool:
    """Whether a process has ended, collected or not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def test_a_test_that_takes_too_long_ends_with_what_it_has_started(tmp_path: Path) -> None:
    """Its processes hold the pipe of its output: the test would wait for any remaining process."""
    script = "sleep 600 & echo $! > child; echo $$ > leader; touch began; wait"
    for limit_s in LIMITS_S:
        with pytest.raises(subprocess.TimeoutExpired):
            mutants.run_alone(("sh", "-c", script), tmp_path, dict(os.environ), limit_s)
        if (tmp_path / "began").exists():
            break
    leader, child = (int((tmp_path / name).read_text()) for name in ("leader", "child"))
    with pytest.raises(ProcessLookupError):
        os.kill(leader, 0)
    eventually("the child of the test has ended", lambda: gone(child))
