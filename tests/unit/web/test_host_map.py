"""The map of hosts: classes of values, sections by host group, the legend, and the filter of the list."""

from __future__ import annotations

import asyncio
import gzip
import math
from pathlib import Path
from typing import Any

import pytest

from daemons.web.drawing.host_map import fraction_class, range_classes, text_classes
from daemons.web.mirror import StateMirror
from gridengine.protocols.delivery import Load
from tests.harness import LOAD, Cell
from tests.unit.web.browsing import page, rows, text_of, visiting
from tests.unit.web.followed import ROOT, Followed


def cells(shown: Any) -> dict[str, str]:
    """Titles and looks of the cells."""
    return {cell.get("title"): cell.get("class") for cell in shown.findall(".//div[@class='map']/a")}


def legend(shown: Any) -> list[tuple[str, str]]:
    """Text and address of the classes."""
    return [(text_of(each), each.get("href")) for each in shown.findall(".//ul[@class='map legend']/li/a")]


@pytest.mark.parametrize(
    ("value", "name"), [(0, "0"), (0.001, "1"), (0.2, "2"), (0.999, "5"), (1, "full"), (7, "full"), (float("nan"), "unknown")]
)
def test_a_fraction_is_in_one_class(value: float, name: str) -> None:
    assert fraction_class(value) == name


def test_numbers_are_in_classes_of_equal_width() -> None:
    classes, find = range_classes([2, 12, float("nan")], lambda value: f"{value:g}")
    assert [each.label for each in classes] == ["2 to 4", "4 to 6", "6 to 8", "8 to 10", "10 to 12", "unknown"]
    assert [find(value) for value in (2, 5, 12, float("nan"))] == ["1", "2", "5", "unknown"]
    assert range_classes([3, 3], str)[1](3) == "1"
    assert [each.name for each in range_classes([], str)[0]] == ["unknown"]


@pytest.mark.parametrize(("numbers", "found"), [([2.0, 12.0], ["1", "5"]), ([3.0], ["1"]), ([], [])])
def test_an_infinite_number_has_a_class_of_its_own(numbers: list[float], found: list[str]) -> None:
    classes, find = range_classes([*numbers, math.inf], str)
    assert [find(value) for value in (*numbers, math.inf)] == [*found, "unlimited"]
    assert [each.label for each in classes[-2:]] == ["infinity", "unknown"]


def test_the_most_frequent_texts_have_classes() -> None:
    classes, find = text_classes(["a", "b", "b", *"cdefg"])
    assert [each.name for each in classes] == ["b", "a", "c", "d", "e", "f", "other", "unknown"]
    assert [find(text) for text in ("b", "g", "")] == ["b", "other", "unknown"]
    assert len({each.look for each in classes}) == len(classes), "each class has its own look"


def test_hosts_are_coloured_by_load_and_lead_to_their_pages(followed: Followed, browse: Any) -> None:
    cell = followed.cell
    cell.report("h1", Load(cell.now, {**LOAD, "load_avg": "6"}, full=True, incarnation="boot1"))
    cell.master.lose_host("h3")
    cell.master.flush()
    shown = browse(page("/hosts?view=map"))
    assert cells(shown) == {"h1: 150 %": "full", "h2: 2 %": "l1", "h3: unknown": "none"}
    assert shown.find(".//div[@class='map']/a").get("href") == "/hosts/h1"
    assert legend(shown) == [
        ("0 to 20 % 1", "/hosts?colour=load&class=1"), ("100 % and more 1", "/hosts?colour=load&class=full"),
        ("unknown 1", "/hosts?colour=load&class=unknown"),
    ]


def test_a_class_of_the_map_filters_the_list(followed: Followed, browse: Any) -> None:
    followed.cell.submit(tasks="1-12")
    followed.cell.cycle()
    followed.cell.master.lose_host("h3")
    followed.cell.master.flush()
    shown = browse(page("/hosts?view=map&colour=state"))
    assert [text for text, _ in legend(shown)] == ["unreachable 1", "all slots used 2"]
    for address, names in zip((address for _, address in legend(shown)), (["h3"], ["h1", "h2"]), strict=True):
        found = browse(page(address))
        assert [row[0] for row in rows(found)] == names
        assert "State: " in text_of(found.find(".//main"))
    assert rows(browse(page("/hosts?colour=state&class=nosuch"))) == []


@pytest.mark.parametrize(("colour", "titles"), [
    ("memory", {"h1: 25 %", "h2: unknown", "h3: unknown"}),
    ("slots", {"h1: 50 %", "h2: 0 %", "h3: 0 %"}),
    ("arch", {f"h{number}: lx-amd64" for number in (1, 2, 3)}),
    ("num_proc", {f"h{number}: 4" for number in (1, 2, 3)}),
    ("gpu", {"h1: 50 %", "h2: 0 %", "h3: unknown"}),
])
def test_hosts_are_coloured_by_any_value(followed: Followed, browse: Any, colour: str, titles: set[str]) -> None:
    cell = followed.cell
    entry = {"shortcut": "gpu", "type": "INT", "relop": "<=", "requestable": "YES", "consumable": "YES"}
    cell.add("complex", "gpu", **entry, default="0", urgency="0")
    for host in ("h1", "h2"):
        cell.configure("exec_host", host, complex_values="gpu=4")
    cell.report("h1", Load(cell.now, {**LOAD, "mem_used": "1G", "mem_total": "4G"}, full=True, incarnation="boot1"))
    cell.submit(tasks="1-2", hard=["gpu=1", "hostname=h1"])
    cell.cycle()
    assert set(cells(browse(page(f"/hosts?view=map&colour={colour}")))) == titles


def test_an_unknown_colour_is_the_load(browse: Any) -> None:
    assert "h1: 2 %" in cells(browse(page("/hosts?view=map&colour=nosuch")))


def test_before_the_first_snapshot_there_is_no_map_rather_than_an_empty_one(followed: Followed, tmp_path: Path) -> None:
    followed.mirror = StateMirror()

    async def look() -> tuple[int, str]:
        async with visiting(followed, tmp_path) as visitor:
            shown = text_of(await visitor.get("/hosts?view=map"))
            return visitor.status, shown

    status, text = asyncio.run(look())
    assert status == 503 and "does not respond" in text


def test_sections_are_the_smallest_groups(followed: Followed, browse: Any) -> None:
    followed.cell.add("host_group", "@rack1", hostlist="h1 h2")
    shown = browse(page("/hosts?view=map&group=y"))
    assert [text_of(each) for each in shown.findall(".//main//section/h2")] == ["@allhosts 1", "@rack1 2"]


def test_the_filters_of_the_list_hold_for_the_map(browse: Any) -> None:
    assert set(cells(browse(page("/hosts?view=map&name=h[12]")))) == {"h1: 2 %", "h2: 2 %"}
    assert "No matching hosts" in text_of(browse(page("/hosts?view=map&name=x*")))


def test_ten_thousand_hosts_are_a_light_page(tmp_path: Path) -> None:
    """A thousand hosts take a tenth of the promised 100 KB; the rest of the page comes on top."""
    followed = Followed(Cell(tmp_path / "cell", hosts=[f"node{number:05d}" for number in range(1000)]))
    followed.take()

    async def size(address: str) -> int:
        async with visiting(followed, tmp_path, ROOT) as visitor:
            async with visitor.client.get(address) as response:
                return len(gzip.compress(await response.read(), 6))

    whole, frame = (asyncio.run(size(f"/hosts?view=map{more}")) for more in ("", "&name=nosuch"))
    assert whole - frame < 10_000
