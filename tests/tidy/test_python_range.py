"""The versions of Python that run the system are the same for the code, pip and the pages."""

from __future__ import annotations

import re
import tomllib

from gridengine.python_range import NEWEST, OLDEST, PYTHON_RANGE
from tests.tidy.sources import ROOT

README, LOCK, INSTALL = ROOT / "README.md", ROOT / "requirements.lock", ROOT / "docs/guide/install.md"
PAGES = [README, LOCK, *(ROOT / "docs").glob("*.md"), *(ROOT / "docs/guide").glob("*.md")]


def test_pip_knows_the_range_of_the_code() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert project["project"]["requires-python"] == f">=3.{OLDEST[1]},<3.{NEWEST[1] + 1}"
    assert project["tool"]["mypy"]["python_version"] == f"3.{OLDEST[1]}"
    assert project["tool"]["ruff"]["target-version"] == f"py3{OLDEST[1]}"


def test_the_pages_have_the_range_of_the_code() -> None:
    ranges = {page: re.findall(r"\bPython (?:from )?(3\.\d+ to 3\.\d+)", page.read_text()) for page in PAGES}
    assert {found for page in PAGES for found in ranges[page]} == {PYTHON_RANGE}
    assert ranges[README] and ranges[LOCK] and ranges[INSTALL]
