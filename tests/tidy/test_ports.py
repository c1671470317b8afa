"""The ports of a cell are one table, of Operations, with the numbers of the code."""

from __future__ import annotations

import re

import pytest

from clients.admin import cell_plan
from daemons.runtime import cell
from gridengine import web
from tests.tidy.sources import ROOT

HOME = ROOT / "docs/operations.md"
NUMBERS = re.compile(r"^\|.*\b(6444|6445|6446|6447|6462|8646)\b.*\|$", re.MULTILINE)


def test_the_table_has_the_ports_of_the_code() -> None:
    rows = set(re.findall(r"^\| `?(\w+)`? \| ([\d-]+) \| ", HOME.read_text().partition("## Firewall")[2], re.MULTILINE))
    low, high = cell.RAY_PORTS
    assert cell_plan.RAY_PORTS == f"{low}-{high}"
    assert rows == {
        ("qmaster_port", str(cell_plan.QMASTER_PORT)),
        ("shadow_port", str(cell._usual_shadow_port({"qmaster_port": str(cell_plan.QMASTER_PORT)}))),
        ("ray_port", str(cell_plan.RAY_PORT)),
        ("ray_ports", f"{low}-{low + cell.PORT_BLOCK - 2}"),
        ("session", str(low + cell.PORT_BLOCK - 1)),
        ("web", str(web.PORT)),
    }


@pytest.mark.parametrize("name", ["guide/administrators.md", "guide/start.md", "interactive.md", "security.md", "web.md"])
def test_other_pages_have_no_table_of_numbers(name: str) -> None:
    text = (ROOT / "docs" / name).read_text()
    assert NUMBERS.findall(text) == []
    low, high = cell_plan.QMASTER_PORT, cell.RAY_PORTS[1]
    assert all(found == (str(low), str(high)) for found in re.findall(r"TCP (?:ports )?(\d+) to (\d+)", text))
