"""The alarms of a running cell: `gridengine alarms` and the REST API have the same."""

from __future__ import annotations

import json
from urllib.request import Request, urlopen

import pytest

from tests.integration.cells import DemoCell


@pytest.mark.statement("DM-5")
def test_the_command_and_the_api_have_the_same_alarms(demo_cell: DemoCell, server: tuple[str, str]) -> None:
    address, token = server
    done = demo_cell.command("gridengine", "alarms", "--json")
    listed = json.loads(done.stdout)
    assert done.returncode == int(any(each["severity"] != "info" for each in listed)), done.stderr
    with urlopen(Request(f"{address}/api/v1/alarms", headers={"Authorization": f"Bearer {token}"})) as answer:
        known = {each["id"] for each in json.load(answer)["items"]}
    assert {each["id"] for each in listed} <= known, "an alarm may have begun in between"
