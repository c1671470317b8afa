"""Tests of mutants end: no process of theirs is left behind."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

pytest.importorskip("coverage", reason="coverage is not installed")

from tools import mutants  # noqa: E402


def test_a_test_that_takes_too_long_ends_with_what_it_has_started(tmp_path: Path) -> None:
    """Its processes hold the pipe of its output: whoever is left would be waited for."""
    script = "sleep 600 & echo $! > child; echo $$ > leader; wait"
    with pytest.raises(subprocess.TimeoutExpired):
        mutants.run_alone(("sh", "-c", script), tmp_path, dict(os.environ), 2.0)
    leader, child = (int((tmp_path / name).read_text()) for name in ("leader", "child"))
    with pytest.raises(ProcessLookupError):
        os.kill(leader, 0)
    status = Path(f"/proc/{child}/stat")
    assert not status.exists() or status.read_text().rpartition(")")[2].split()[0] == "Z"
