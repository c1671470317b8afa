"""A few seeds of `make fuzz-methods`: broken methods in all combinations, commands, and deaths of shepherds."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.fuzz.methods import play
from tests.needs import need_open_checkout


@pytest.mark.statement("EX-1", "EX-3", "EX-7", "EX-10")
def test_a_job_that_has_ended_is_over_and_each_fault_has_its_code() -> None:
    need_open_checkout()
    findings: list[str] = []
    assert play(range(1, 13), findings.append, Counter()) == 0, "\n".join(findings)
