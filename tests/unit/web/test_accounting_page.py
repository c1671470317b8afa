"""Rows of the database on a page, whose size is bounded for all rows."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from daemons.web.pages import accounting
from tests.unit.web.browsing import rows, text_of, visiting
from tests.unit.web.followed import Followed

PAGE = "/accounting/sql?sql=SELECT"
MOST_BYTES = 12 * 2**20


def shown(followed: Followed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, columns: list[str], lines: list[Any]) -> Any:
    """The page of an answer, and what was asked."""
    asked: dict[str, Any] = {}

    async def ask(visit: Any, request: str, fields: dict[str, Any]) -> dict[str, Any]:
        asked.update(fields)
        more = {"more": False, "too_large": False}
        return {"columns": columns, "types": ["text"] * len(columns), "rows": lines, **more}

    monkeypatch.setattr(accounting, "_ask", ask)

    async def visit() -> Any:
        async with visiting(followed, tmp_path) as visitor:
            return await visitor.get(PAGE)

    return asyncio.run(visit()), asked


def test_a_page_asks_for_cut_texts(followed: Followed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page, asked = shown(followed, tmp_path, monkeypatch, ["a"], [["x" * 500]])
    assert rows(page) == [["x" * 500]]
    assert asked["cell"] <= 1000 and asked["bytes"] <= 2**22


@pytest.mark.parametrize(
    ("columns", "value"),
    [(1, "x" * 2**20), (50, "&" * 2**12), (100, '"' * 1000), (5000, "y")],
    ids=["long", "escaped", "many columns", "very many columns"],
)
def test_no_answer_makes_a_page_long(
    followed: Followed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, columns: int, value: str
) -> None:
    names = [f"{'n' * 500}{number}" for number in range(columns)]
    page, _ = shown(followed, tmp_path, monkeypatch, names, [[value] * columns] * 100)
    text = page.text_content()
    assert len(text) < MOST_BYTES
    assert len(rows(page)[0]) == min(columns, 100)
    assert (f"{columns - 100:,} more columns are in the CSV only." in text_of(page)) is (columns > 100)
