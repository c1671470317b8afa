"""The pictures of docs/web.md are there, each page in both sizes and schemes, and no others."""

from __future__ import annotations

import re
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"


def test_each_page_has_its_four_pictures() -> None:
    there = {path.stem for path in (DOCS / "pictures").iterdir()}
    told = set(re.findall(r"\(pictures/([\w-]+)\.png\)", (DOCS / "web.md").read_text()))
    assert told == there
    pages = {name.rsplit("-", 2)[0] for name in there}
    assert there == {f"{page}-{size}-{scheme}" for page in pages for size in ("wide", "phone") for scheme in ("light", "dark")}
