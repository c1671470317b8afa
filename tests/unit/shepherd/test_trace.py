"""The trace of a task shows arguments, which are its owner's."""

from __future__ import annotations

import os
from pathlib import Path

from shepherd.task_files import TRACE, Trace


def test_no_other_user_reads_the_trace(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        Trace(tmp_path)("job is process 4711: /bin/tool --password secret")
    finally:
        os.umask(before)
    assert (tmp_path / TRACE).stat().st_mode & 0o777 == 0o600
