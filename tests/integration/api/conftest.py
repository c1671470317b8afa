"""The demo cell with its web server, for programs outside."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from clients.admin.free_ports import free_cell_ports
from tests.integration.cells import DemoCell


@pytest.fixture(scope="package")
def server(demo_cell: DemoCell) -> Iterator[tuple[str, str]]:
    """Address and token of the web server of the demo cell."""
    port, _, _ = free_cell_ports(1)
    settings = demo_cell.common / "web"
    settings.write_text(f"port {port}\n")
    demo_cell.must("gridengine", "web")
    yield f"http://127.0.0.1:{port}", demo_cell.must("gridengine", "web", "--token").strip()
    demo_cell.must("gridengine", "web", "--stop")
    settings.unlink()
