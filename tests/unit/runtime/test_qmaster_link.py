"""What a user reads when the qmaster cannot be reached."""

from __future__ import annotations

import asyncio
import socket
import ssl
from pathlib import Path

import pytest

from daemons.runtime.cell import Cell, read_cell
from daemons.runtime.qmaster_link import HostProof, LocalCaller, NoQmaster, QmasterLink


@pytest.fixture
def cell(tmp_path: Path) -> Cell:
    """A cell whose master host is this one, where nobody listens."""
    common = tmp_path / "c" / "common"
    common.mkdir(parents=True)
    (common / "act_qmaster").write_text("m\n")
    (common / "host_aliases").write_text("m localhost\n")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    (common / "bootstrap").write_text(
        f"admin_user root\nqmaster_spool_dir {tmp_path}/q\nexecd_spool_dir {tmp_path}/e\nrun_dir {tmp_path}/run\n"
        f"qmaster_port {port}\nray_port 2\n"
    )
    return read_cell({"SGE_ROOT": str(tmp_path), "SGE_CELL": "c"})


def test_a_master_that_does_not_run_refuses(cell: Cell) -> None:
    async def ask() -> str:
        link = QmasterLink(cell, "h1", HostProof("key", ssl.create_default_context()))
        try:
            with pytest.raises(NoQmaster) as caught:
                await link.post("/v1/execd_hello", b"{}", LocalCaller("root", 0, "root", 0))
        finally:
            await link.close()
        assert not caught.value.sent
        return str(caught.value)

    assert asyncio.run(ask()) == f'unable to contact qmaster on host "m" port {cell.qmaster_port}: connection refused'
