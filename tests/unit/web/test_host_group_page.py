"""Host groups as a graph: layers, lines, related groups, and users of a group."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from daemons.web.drawing.host_groups import lay_out, related
from tests.unit.web.browsing import text_of, visiting
from tests.unit.web.followed import ROOT, Followed

NESTED = {
    "@all": ["@rack1", "@rack2", "h9"],
    "@rack1": ["h1", "h2"],
    "@rack2": ["@row", "h3", "@gone"],
    "@row": ["h4"],
    "@fast": ["@row", "@rack1"],
    "@alone": [],
}


@pytest.mark.statement("GU-1")
def test_each_group_is_to_the_right_of_all_that_hold_it() -> None:
    graph = lay_out(NESTED)
    boxes = {box.name: box for box in graph.boxes}
    assert boxes.keys() == NESTED.keys()
    lines = {(line.holder, line.held) for line in graph.lines}
    assert lines == {("@all", "@rack1"), ("@all", "@rack2"), ("@rack2", "@row"), ("@fast", "@row"), ("@fast", "@rack1")}
    assert all(boxes[holder].x < boxes[held].x for holder, held in lines)
    assert len({(box.x, box.y) for box in graph.boxes}) == len(NESTED), "no two are at one place"
    assert (boxes["@rack2"].hosts, boxes["@rack2"].groups) == (1, 1)
    assert graph.width >= max(box.x for box in graph.boxes) and graph.height >= max(box.y for box in graph.boxes)


def test_nothing_and_a_circle_are_drawn_as_well() -> None:
    assert lay_out({}) == ([], [], 0, 0)
    graph = lay_out({"@a": ["@b"], "@b": ["@a"], "@c": ["@a"]})
    assert {box.name for box in graph.boxes} == {"@a", "@b", "@c"}


def test_few_lines_cross() -> None:
    """Ten pairs, named so that the order of the alphabet crosses all of them."""
    members = {f"@a{number}": [f"@z{9 - number}"] for number in range(10)} | {f"@z{number}": [] for number in range(10)}
    rows = {box.name: box.y for box in lay_out(members).boxes}
    assert all(rows[f"@a{number}"] == rows[f"@z{9 - number}"] for number in range(10))


def test_related_groups_are_above_and_below() -> None:
    assert related(NESTED, "@rack2") == {"@all", "@rack2", "@row", "@gone"}
    assert related(NESTED, "@alone") == {"@alone"}


@pytest.mark.statement("GU-1")
def test_the_page_of_a_group(followed: Followed, tmp_path: Path) -> None:
    for name, hosts in (("@one", "h1"), ("@both", "@one h2 h1")):
        followed.cell.add("host_group", name, hostlist=hosts)
    followed.cell.configure("cluster_queue", "all.q", slots="2,[@one=1]")
    followed.take()

    async def play() -> list[Any]:
        async with visiting(followed, tmp_path, ROOT) as visitor:
            shown = await visitor.get("/hostgroups?group=@one")
            near = await visitor.get("/hostgroups?group=@both&near=yes")
            await visitor.get("/hostgroups?group=@nosuch")
            return [shown, near, visitor.status]

    shown, near, status = asyncio.run(play())
    uses = text_of(shown.xpath("//section[h2='Used by']")[0])
    assert "cluster queue all.q slots" in uses and "host group @both hostlist" in uses
    titles = [title.text.partition(":")[0] for title in shown.xpath("//main//a/title")]
    assert sorted(titles) == ["@allhosts", "@both", "@one"]
    assert "2 hosts of 3 members" in text_of(near)
    assert "@allhosts" not in text_of(near.xpath("//main//svg")[0])
    assert status == 404
