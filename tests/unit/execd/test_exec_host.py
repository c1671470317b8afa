"""The answers of an execd to batches of instructions, without Ray: its parts are put together by hand."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from daemons.execd.attempt_log import AttemptLog
from daemons.execd.exec_host import ExecHost
from daemons.runtime.ray_session import KEPT
from gridengine.errors import UnavailableError
from gridengine.protocols.delivery import Acknowledgement, Batch, Forget, Instruction, Signal, decode, encode
from tests.unit.execd.instructions import start


class Actor(ExecHost):
    """`troubles`: the exceptions that instructions of these classes raise."""

    def __init__(self, place: Path, **troubles: Exception) -> None:
        self._attempt_log = AttemptLog(place / "tries", 1)
        self._troubles: dict[str, Any] = troubles

    async def _carry_out(self, instruction: Instruction, batch: Batch) -> Acknowledgement:
        if trouble := self._troubles.get(type(instruction).__name__.lower()):
            raise trouble
        return Acknowledgement()


def send(actor: ExecHost, *instructions: Instruction, stamp: tuple[int, int] = (0, 0)) -> Batch:
    return decode(asyncio.run(actor.deliver(encode(Batch(instructions=list(instructions), master=stamp)))))


def test_an_instruction_that_fails_fails_alone(tmp_path: Path) -> None:
    actor = Actor(tmp_path, start=ValueError("binding"), signal=UnavailableError("no launcher"))
    answer = send(actor, start(), Forget((1, 1, 1)), Signal((2, 1, 1), "run"))
    assert answer.acknowledgements == [
        Acknowledgement(False, 1, "ValueError: binding"),
        Acknowledgement(),
        Acknowledgement(False, reason="no launcher", again=True),
    ]


@pytest.mark.statement("EX-9")
def test_a_batch_of_an_earlier_master_is_refused_whole(tmp_path: Path) -> None:
    actor = Actor(tmp_path)
    assert not send(actor, Forget((1, 1, 1)), stamp=(8, 1)).refused
    answer = send(actor, Forget((1, 1, 1)), stamp=(7, 50))
    assert (answer.refused, answer.acknowledgements, answer.master) == (True, [], (8, 1))


def test_ray_repeats_no_call() -> None:
    assert (KEPT["max_task_retries"], KEPT["max_restarts"]) == (0, -1)
