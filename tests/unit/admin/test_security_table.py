"""docs/security.md: the tests that its table names are there."""

from __future__ import annotations

import re
from pathlib import Path

TESTS = Path(__file__).resolve().parents[2]
TABLE = (TESTS.parent / "docs" / "security.md").read_text().partition("## Findings and their tests")[2]


def test_each_finding_has_a_test_that_exists() -> None:
    rows = [line for line in TABLE.splitlines() if line.startswith("|")][2:]
    assert len(rows) > 30
    for row in rows:
        named = re.findall(r"`([\w/]+\.py)::(\w+)`", row)
        assert named, row
        for path, name in named:
            assert f"def {name}(" in (TESTS / path).read_text(), f"{path}::{name}"
