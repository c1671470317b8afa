"""The pictures of the documentation: at most 20, each behind a sentence of a page; the tool makes the pictures of the console."""

from __future__ import annotations

import re

from tests.integration.web.pictures import PICTURES
from tests.tidy.sources import ROOT

DOCS = ROOT / "docs"
FORMATS = {".png", ".svg", ".gif", ".jpg", ".jpeg", ".webp"}
#: a paragraph with a sentence, then the picture in a paragraph of its own
_PICTURE = re.compile(r"[.:]\n\n!\[[^\]]+\]\(([^)]+)\)\n")


def test_each_picture_is_behind_a_sentence_of_a_page() -> None:
    files = {path for path in DOCS.rglob("*") if path.suffix in FORMATS}
    used = [page.parent / link for page in DOCS.rglob("*.md") for link in _PICTURE.findall(page.read_text())]
    assert sorted(used) == sorted(files), "each of them once"
    assert len(files) <= 20


def test_the_tool_makes_the_pictures_of_the_console() -> None:
    assert {path.name for path in (DOCS / "pictures").iterdir()} == {f"{name}.png" for name in PICTURES}
