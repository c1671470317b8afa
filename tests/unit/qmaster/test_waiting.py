"""Clients that wait for a job: no end is lost that arrives when they start to wait."""

import asyncio

import pytest

from daemons.qmaster.serve.service import Service
from tests.harness import Cell
from tests.service_callbacks import IdleCallbacks


@pytest.mark.statement("SO-34")
def test_decisions_made_during_a_commit_are_waited_for_too(cell: Cell) -> None:
    class Busy(Service):
        """Another decision is made between each commit and the return to its waiter."""

        left = 3

        async def durable(self) -> None:
            await super().durable()
            if self.left:
                self.left -= 1
                cell.undecided("submit", {"binary": True, "script_file": "/bin/true"})

    async def wait() -> None:
        service = Busy(cell.master, IdleCallbacks())
        cell.undecided("submit", {"binary": True, "script_file": "/bin/true"})
        await service.persisted()
        assert not service.left and not cell.master.pending

    asyncio.run(wait())
