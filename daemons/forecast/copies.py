"""Copies of a state for forward runs, which change it: a child process each, by fork.

Owns the children and their pipes. A fork copies no memory until it is written, and children use all processors.
Called by the program of this package.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import NamedTuple

import msgspec

from gridengine.state.state import State


class Reached(NamedTuple):
    """The outcome of a forward run. `starts`: job -> start; `until`: the time of the last step; `is_complete`: nothing more can
    happen; `endless`: running tasks without an end. Times in epoch s."""

    starts: dict[int, float]
    until: float
    is_complete: bool
    endless: int


Work = Callable[[State], Reached]
OnCopy = Callable[[Work], Callable[[], Reached]]
"""Begins work on a copy of the state; the result is a function that waits for the outcome."""


def fork_for(state: State) -> OnCopy:
    """Copies by fork. A child that dies without an outcome counts as a run that came nowhere."""

    def begin(work: Work) -> Callable[[], Reached]:
        reading, writing = os.pipe()
        child = os.fork()
        if not child:
            _work(work, state, writing)
        os.close(writing)
        return lambda: _wait(child, reading)

    return begin


def _work(work: Work, state: State, writing: int) -> None:
    """The life of the child; never returns."""
    status = 1
    try:
        with os.fdopen(writing, "wb") as pipe:
            pipe.write(msgspec.msgpack.encode(work(state)))
        status = 0
    finally:
        os._exit(status)


def _wait(child: int, reading: int) -> Reached:
    with os.fdopen(reading, "rb") as pipe:
        outcome = pipe.read()
    os.waitpid(child, 0)
    return msgspec.msgpack.decode(outcome, type=Reached) if outcome else Reached({}, 0.0, False, 0)
