"""Some seconds of the fuzzer in this process; `make fuzz` plays longer, and on the sockets of a cell, too."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from tests.fuzz.in_process import Fuzzer

REQUESTS = 15_000
SLOW_S = 10.0
"""Processor time, a hundred times the limit of `make fuzz`, since this test measures nothing."""


@pytest.mark.statement("GD-10")
def test_no_request_breaks_anything(tmp_path: Path) -> None:
    seed = 1 if "CI" in os.environ else random.randrange(2**32)
    findings = Fuzzer(tmp_path, seed, SLOW_S).run(lambda asked: asked < REQUESTS)
    assert not findings.counts, f"seed {seed}: {findings}"
    assert findings.accepted > REQUESTS / 10, "most of it is refused, but not nearly all"
