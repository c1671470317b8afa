"""The outcomes of reservation commands, for tests that expect one outcome."""

from __future__ import annotations

from tests.unit.clients.shell import Outcome


def granted(outcome: Outcome) -> int:
    assert (outcome.status, outcome.err) == (0, ""), outcome
    return int(outcome.out.split()[3])


def refused(outcome: Outcome) -> str:
    assert outcome.status == 1, outcome
    assert not outcome.out
    return outcome.err.rstrip("\n")
