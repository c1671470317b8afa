"""What the files of a running task say, whatever is done to the host's clock (EX-16)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from daemons.execd.active_jobs import running_seconds

TICKS_PER_S = os.sysconf("SC_CLK_TCK")


@pytest.mark.statement("EX-16")
def test_running_time_counts_from_the_start_of_the_process(tmp_path: Path) -> None:
    assert running_seconds(tmp_path, 1000.0) == 0, "it has not begun"
    job_pid = tmp_path / "job_pid"
    job_pid.write_text(f"4711 {900 * TICKS_PER_S}\n")
    for written in (0, 2**31):
        os.utime(job_pid, (written, written))
        assert running_seconds(tmp_path, 1000.0) == 100
    job_pid.write_text("4711 0\n")
    assert running_seconds(tmp_path, 1000.0) == 0, "it was over before anybody looked"
