"""The demo cell with its web server, for programs outside."""

from __future__ import annotations

from collections.abc import Iterator
from http.client import HTTPConnection

import pytest

from tests.integration.cells import PATIENCE_S, DemoCell, eventually


@pytest.fixture(scope="module")
def server(demo_cell: DemoCell) -> Iterator[tuple[str, str]]:
    """Address and token of the web server of the demo cell."""
    with demo_cell.web_server() as port:
        eventually("it follows the qmaster", lambda: _ready(port))
        yield f"http://127.0.0.1:{port}", demo_cell.must("gridengine", "web", "--token").strip()


def _ready(port: int) -> bool:
    server = HTTPConnection("127.0.0.1", port, PATIENCE_S)
    try:
        server.request("GET", "/readyz")
        return server.getresponse().status == 200
    finally:
        server.close()
