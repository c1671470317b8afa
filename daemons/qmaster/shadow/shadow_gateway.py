"""The gateway of a shadow: forwards the requests of users of its host to the master, like the gateway of an execution host.

Owns the restart after a fault; on an execution host `sge_execd` has a gateway already. Called by the participant.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from daemons.runtime.cell import Cell, CellError
from daemons.runtime.connection_limiter import ConnectionLimiter
from daemons.runtime.gateway import Gateway
from daemons.runtime.qmaster_client import QmasterClient, read_credentials
from daemons.runtime.reexec import Renewal
from gridengine.errors import plain_fault

_RETRY_S = 1.0


async def serve_commands(cell: Cell, host: str, renewal: Renewal, log_error: Callable[[str], None]) -> None:
    """Serve until cancelled. `log_error(text)`: is called with each fault."""
    client = QmasterClient(cell, host, read_credentials(cell, host))
    try:
        while True:
            try:
                await Gateway(cell, client, ConnectionLimiter(), lambda: renewal.is_due).run()
            except (OSError, CellError) as error:
                log_error(f"gateway: {plain_fault(error)}")
            await asyncio.sleep(_RETRY_S)
    finally:
        await client.close()
