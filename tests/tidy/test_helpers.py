"""Each helper of the tests has a row in tests/README.md, and each row a file."""

from __future__ import annotations

import re

from tests.tidy.sources import ROOT, Source

PAGE = (ROOT / "tests/README.md").read_text()
_ROW = re.compile(r"^\| `(tests/[^`]+)` \| \S", re.MULTILINE)


def helpers() -> list[str]:
    """Python files of the tests without tests in them."""
    return [source.path for source in Source.of("tests") if not source.name.startswith("test_") and "/data/" not in source.path]


def test_each_helper_has_one_row() -> None:
    rows = sorted(row for row in _ROW.findall(PAGE) if row.endswith(".py"))
    assert rows == sorted(helpers())


def test_the_page_names_files_that_exist() -> None:
    assert [path for path in re.findall(r"`((?:tests|docs)/[a-zA-Z_/.]+)`", PAGE) if not (ROOT / path).exists()] == []
