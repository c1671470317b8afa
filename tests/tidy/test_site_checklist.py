"""Each row of the checklist for sites (docs/site-checklist.md) names a test that exists, or says that it was not tried."""

from __future__ import annotations

import re

from tests.tidy.sources import ROOT, cells

_LINES = [cells(line) for line in (ROOT / "docs/site-checklist.md").read_text().splitlines() if line.startswith("| ")]
#: of all tables of the page
ROWS = [line for line in _LINES if line[0] != "question"]


def is_evidence(text: str) -> bool:
    """Whether a cell says `not tried`, or names a file of tests, and a test in it if there is `::`."""
    named = re.fullmatch(r"`([a-z_0-9/]+\.py)(?:::(test_[a-z_0-9]+))?`", text)
    if named is None:
        return text.startswith("not tried")
    path = ROOT / "tests" / named[1]
    return path.is_file() and (named[2] is None or f"def {named[2]}(" in path.read_text())


def test_each_row_has_evidence_or_is_marked_as_not_tried() -> None:
    assert len(ROWS) >= 60
    assert [row for row in ROWS if not is_evidence(row[-1])] == []


def test_a_test_that_does_not_exist_is_no_evidence() -> None:
    assert is_evidence("`tidy/test_site_checklist.py::test_a_test_that_does_not_exist_is_no_evidence`")
    assert not is_evidence("`tidy/test_site_checklist.py::test_nothing`") and not is_evidence("`tidy/test_nothing.py`")
    assert not is_evidence("sure")
