"""The search at the head of each page."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.unit.web.browsing import Visitor, rows, text_of, visiting
from tests.unit.web.followed import Followed


@pytest.mark.statement("GU-4")
def test_the_search_finds_jobs_hosts_queues_and_settings(followed: Followed, tmp_path: Path) -> None:
    job = followed.cell.submit(name="sim-h2", holds="u")
    followed.take()

    async def play(visitor: Visitor) -> Any:
        return [await visitor.get(f"/search?find={text}") for text in ("h2", "nosuchthing", str(job), "999999")]

    async def playing() -> Any:
        async with visiting(followed, tmp_path) as visitor:
            return await play(visitor)

    shown, nothing, number, no_number = asyncio.run(playing())
    places, jobs, settings = (rows(shown, table) for table in range(3))
    assert ["host", "h2"] in places and ["queue instance", "all.q@h2"] in places
    assert [row[:3] for row in jobs] == [[str(job), "sim-h2", "alice"]]
    assert "h2" in [row[1] for row in settings]
    assert "Nothing found" in text_of(nothing)
    assert text_of(number.find(".//h1")) == f"Job {job} · sim-h2"
    assert text_of(no_number.find(".//h1")) == "Search"
