"""The index of decisions (docs/adr/README.md) has a row for each page, with its title and a state."""

from __future__ import annotations

import re

from tests.tidy.sources import ROOT, table_of

DIRECTORY = ROOT / "docs/adr"
PAGES = {page.name: page.read_text() for page in DIRECTORY.glob("[0-9]*.md")}
ROWS = [tuple(row) for row in table_of("docs/adr/README.md", "number", "decision", "state", "in one line")]
_NUMBER = re.compile(r"\[(\d+)\]\((\S+)\)")
_STATE = re.compile(r"accepted(; [^;]+ by \d+)?|superseded by \d+")


def rows() -> list[tuple[int, str, str, str]]:
    """Number, file, title and state of each row."""
    matches = [(_NUMBER.fullmatch(number), title, state) for number, title, state, _ in ROWS]
    assert all(match for match, _, _ in matches)
    return [(int(match[1]), match[2], title, state) for match, title, state in matches if match]


def test_each_decision_has_its_row() -> None:
    assert [file for _, file, _, _ in rows()] == sorted(PAGES)
    assert [f"{number:04}" for number, _, _, _ in rows()] == [file[:4] for file in sorted(PAGES)]


def test_page_and_row_have_one_title() -> None:
    assert [file for number, file, title, _ in rows() if not PAGES[file].startswith(f"# {number}. {title}\n")] == []


def test_page_and_row_have_one_state() -> None:
    for _, file, _, state in rows():
        assert _STATE.fullmatch(state), file
        status = re.search(r"^Status: (accepted|superseded)\b(.*)", PAGES[file], re.MULTILINE)
        assert status and status[1] == re.split(r"[; ]", state)[0], file
        assert all(f"adr/{int(number):04}" in status[2] for number in re.findall(r"by (\d+)", state)), file


def test_a_decision_is_changed_by_one_that_exists() -> None:
    numbers = {number for number, _, _, _ in rows()}
    assert {int(number) for _, _, _, state in rows() for number in re.findall(r"by (\d+)", state)} <= numbers
