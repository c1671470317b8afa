"""Things that the pages name exist: files and directories, links, decisions, requests, targets of make."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from daemons.qmaster.queries import PARTS
from daemons.qmaster.serve.requests.endpoints import ENDPOINTS
from tests.tidy.sources import ROOT, table_of

#: all but the statements, which quote the manuals of Grid Engine
PAGES = [page for page in sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]) if page.name != "statements.md"]
_TOP = "gridengine|daemons|shepherd|clients|tests|tools|bench|docs|cluster-config|packaging"
_PATH = re.compile(rf"`((?:{_TOP})/[A-Za-z0-9_./-]*)`")
_LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
_DECISION = re.compile(r"\badr/(\d{4})")
_TARGET = re.compile(r"`make ([a-z-]+)(?=`| [A-Z-])|^ {4}make ([a-z-]+)", re.MULTILINE)


def faults_of(page: Path, text: str) -> Iterator[str]:
    """The missing files, headings and names that a page cites."""
    for path in _PATH.findall(text):
        if not (ROOT / path).exists() and not (ROOT / f"{path}.py").exists():
            yield path
    for link in _LINK.findall(text):
        if "://" not in link and not (page.parent / link).exists():
            yield link
    for number in _DECISION.findall(text):
        if not list((ROOT / "docs/adr").glob(f"{number}-*")):
            yield f"adr/{number}"
    rules = re.findall(r"^([a-z -]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    targets = {target for rule in rules for target in rule.split()}
    for first, second in _TARGET.findall(text):
        if (first or second) not in targets:
            yield f"make {first or second}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_thing_that_a_page_names_exists(page: Path) -> None:
    assert list(faults_of(page, page.read_text())) == []


def test_names_of_missing_things_are_found() -> None:
    text = "`daemons/nobody/nothing` [x](nowhere.md) adr/9999\n\n    make haste\n`gridengine/kinds` `make test`"
    assert list(faults_of(ROOT / "docs/x.md", text)) == ["daemons/nobody/nothing", "nowhere.md", "adr/9999", "make haste"]


def _named(*header: str) -> set[str]:
    return {name for cells in table_of("docs/gdi.md", *header) for name in re.findall(r"`([a-z_]+)`", cells[0])}


def test_the_page_of_requests_lists_all_of_them() -> None:
    assert _named("request", "body", "data") == ENDPOINTS.keys()


def test_the_page_of_requests_lists_all_parts_of_status() -> None:
    assert _named("part", "body", "data") == PARTS.keys()
