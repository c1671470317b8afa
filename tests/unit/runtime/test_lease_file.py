"""The file from which the processes of a host read until when it is the master."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from daemons.runtime import lease_file
from daemons.runtime.lease_file import LeaseFile


@pytest.mark.statement("SH-3")
def test_a_reader_knows_at_once_when_the_lease_has_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(lease_file, "boottime", lambda: now)
    participant = LeaseFile(tmp_path / "lease")
    qmaster = LeaseFile(tmp_path / "lease")
    assert not qmaster.is_leader()
    participant.extend(105.0, 3)
    assert qmaster.is_leader()
    assert qmaster.epoch() == 3
    now = 105.0
    assert not qmaster.is_leader()
    participant.extend(110.0, 3)
    assert qmaster.is_leader()
    participant.extend(-math.inf, 0)
    assert not qmaster.is_leader()


def test_a_file_of_another_size_means_no_lease(tmp_path: Path) -> None:
    (tmp_path / "lease").write_bytes(b"something else")
    assert not LeaseFile(tmp_path / "lease").is_leader()
