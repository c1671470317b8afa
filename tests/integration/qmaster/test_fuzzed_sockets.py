"""Some seconds of the fuzzer on the sockets of a running cell; `make fuzz` plays longer."""

from __future__ import annotations

import os
import random

import pytest

from tests.fuzz.__main__ import tracebacks
from tests.fuzz.sockets import SocketFuzzer
from tests.integration.cells import DemoCell

REQUESTS = 600
SLOW_S = 20.0
"""A loaded machine may be slow; `make fuzz` is strict."""


@pytest.mark.statement("GD-10")
def test_no_request_on_a_socket_breaks_anything(demo_cell: DemoCell) -> None:
    seed = 1 if "CI" in os.environ else random.randrange(2**32)
    sockets = [demo_cell.place / "run" / name for name in ("gdi.sock", "gateway.sock")]
    findings = SocketFuzzer(sockets, seed, SLOW_S).run(lambda asked: asked < REQUESTS)
    assert not findings.counts, f"seed {seed}: {findings}"
    assert findings.requests >= REQUESTS and findings.accepted
    assert not tracebacks(demo_cell.place / "spool")
