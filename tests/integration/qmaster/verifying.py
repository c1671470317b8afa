"""Server verifiers as real processes, and jobs for them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from daemons.qmaster.serve.requests.jsv import ServerVerifier
from gridengine.protocols.gdi.requests import Answer, Caller, Submit
from gridengine.state.configured.configuration import HostConfiguration
from tests.integration.cells import PATIENCE_S

SHARE = Path(__file__).parents[3] / "cluster-config" / "jsv"
#: verifiers may begin slowly
PATIENT = f"jsv_timeout={PATIENCE_S:.0f}"
ALICE = Caller("alice", 1001, "users", 100, "h1")


def submission(name: str = "x") -> dict[str, Any]:
    return {
        "name": name, "binary": True, "script_file": "/bin/sleep", "args": ["1"], "hard": ["mem_free=1M", "arch=*"],
        "context": {"team": "red"}, "environment": {"A": "$(date) `id`", "C": "3", "SGE_O_HOST": "h"},
        "environment_names": ["A", "C"],
    }


def ask(
    path: Path | str, *names: str, params: str = PATIENT, bodies: Sequence[dict[str, Any]] = ()
) -> list[Submit | Answer]:
    """The outcomes of several submissions, in sequence, by one server verifier."""
    configuration = {"jsv_url": f"script:{path}", "qmaster_params": params}

    async def run() -> list[Submit | Answer]:
        server = ServerVerifier(lambda: HostConfiguration.of(configuration))
        requests = [msgspec.convert(body, Submit) for body in (*map(submission, names), *bodies)]
        async with asyncio.timeout(PATIENCE_S):
            outcomes = await asyncio.gather(*(server.verify(request, ALICE, lambda: 7) for request in requests))
            await server.stop()
        return outcomes

    return asyncio.run(run())


def refusal(outcome: Submit | Answer) -> str:
    assert isinstance(outcome, Answer)
    assert outcome.status == 1
    return outcome.answers[0][1]
