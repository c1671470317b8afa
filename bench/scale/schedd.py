"""The scheduler of a simulated cell, in a separate process as in a real cell: `python -m bench.scale.schedd SOCKET`."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

from bench.scale.sockets import connect
from daemons.runtime.garbage_collection import tune_collection_for_service
from daemons.schedd.actor import Schedd


async def serve(socket: str) -> None:
    tune_collection_for_service()
    actor = Schedd()

    async def looks() -> Any:
        """Number of jobs in the mirror."""
        view = actor.mirror.view
        return len(view.state.jobs) if view is not None else -1

    link = await connect(socket, "schedd", {"load": actor.load, "cycle": actor.cycle, "jobs": looks})
    await link.run()


if __name__ == "__main__":
    asyncio.run(serve(sys.argv[1]))
