"""The ports of a cell are one table, of Operations, with the numbers of the code."""

from __future__ import annotations

import re

import pytest

from clients.admin import cell_plan
from gridengine.files import bootstrap
from gridengine.protocols import web
from tests.tidy.sources import ROOT

HOME = ROOT / "docs/operations.md"
NUMBERS = re.compile(r"^\|.*\b(6444|6445|6446|6447|6462|8646)\b.*\|$", re.MULTILINE)


def test_the_table_has_the_ports_of_the_code() -> None:
    rows = set(re.findall(r"^\| `?(\w+)`? \| ([\d-]+) \| ", HOME.read_text().partition("## Firewall")[2], re.MULTILINE))
    low, high = bootstrap.RAY_PORTS
    assert rows == {
        ("qmaster_port", str(cell_plan.QMASTER_PORT)),
        ("shadow_port", str(cell_plan.QMASTER_PORT + 1)),  # as bootstrap(5) says
        ("ray_port", str(cell_plan.RAY_PORT)),
        ("ray_ports", f"{low}-{low + bootstrap.PORT_BLOCK - 2}"),
        ("session", str(low + bootstrap.PORT_BLOCK - 1)),
        ("web", str(web.PORT)),
    }


@pytest.mark.parametrize("name", ["guide/administrators.md", "guide/start.md", "interactive.md", "security.md"])
def test_other_pages_have_no_table_of_numbers(name: str) -> None:
    text = (ROOT / "docs" / name).read_text()
    assert NUMBERS.findall(text) == []
    low, high = cell_plan.QMASTER_PORT, bootstrap.RAY_PORTS[1]
    assert all(found == (str(low), str(high)) for found in re.findall(r"TCP (?:ports )?(\d+) to (\d+)", text))
