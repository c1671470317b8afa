"""The demo cell with its web server, for programs outside."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.integration.cells import DemoCell


@pytest.fixture(scope="module")
def server(demo_cell: DemoCell) -> Iterator[tuple[str, str]]:
    """Address and token of the web server of the demo cell."""
    with demo_cell.web_server() as port:
        yield f"http://127.0.0.1:{port}", demo_cell.must("gridengine", "web", "--token").strip()
