"""The network of the simulation: calls that are lost, doubled, delayed, and arrive when their sender has given them up or died.

Owns the messages under way. Each pair of peers has dice of its own, so the fate of one call does not depend on the order of
other calls. The network must not depend on the content of calls. `broken` counts the faults. Called by the simulation.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, TypeVar

from gridengine.errors import UnavailableError
from tests.simulation.simulated_loop import Killed, Process, SimulatedLoop

_Result = TypeVar("_Result")
SHORT_S, LONG_S = (0.001, 0.02), (0.05, 6.0)
PATIENCE_S = 5.0
"""For how long a caller waits for an answer."""


class NoAnswer(Exception):
    """The call or its answer was lost, or the callee was not there."""


class Network:
    """`places`: the present process at each place. `cut`: names that nothing reaches, and from which nothing comes. `lossless`:
    all is well. `calls`: how many were made."""

    def __init__(self, loop: SimulatedLoop, seed: int) -> None:
        self.places: dict[str, tuple[Process, Any]] = {}
        self.cut: set[str] = set()
        self.lossless = False
        self.broken: Counter[str] = Counter()
        self._loop, self._seed = loop, seed
        self._dice: dict[tuple[str, str], random.Random] = {}
        self._latest: dict[tuple[str, str], int] = {}
        self.calls = 0

    def serve(self, place: str, process: Process, server: Any) -> None:
        """From now on `server` is there, in its process."""
        self.places[place] = process, server

    async def call(
        self, caller: str, called: str, work: Callable[[Any], Awaitable[_Result]], patience_s: float = PATIENCE_S
    ) -> _Result:
        """Have `work` done with the process that is there when the call arrives. Raises NoAnswer, and the exceptions of the
        work."""
        dice = self._dice.get((caller, called))
        if dice is None:
            dice = self._dice[caller, called] = random.Random(f"{self._seed} {caller} {called}")
        answer: asyncio.Future[_Result] = self._loop.create_future()
        self.calls += 1
        for delay_s in self._arrivals(dice):
            arrive = partial(self._arrive, caller, called, self.calls, work, answer, dice)
            self._loop.call_later(delay_s, arrive, context=self._loop.outside)
        try:
            async with asyncio.timeout(patience_s):
                return await answer
        except TimeoutError:
            raise NoAnswer(f"{called} does not answer") from None

    def _arrivals(self, dice: random.Random) -> list[float]:
        """After how many seconds a message arrives; never, once or twice."""
        if self.lossless:
            return [SHORT_S[0]]
        fate = dice.random()
        if fate < 0.04:
            self.broken["lost"] += 1
            return []
        delays = [dice.uniform(*(LONG_S if dice.random() < 0.1 else SHORT_S))]
        if fate < 0.15:
            delays.append(dice.uniform(*LONG_S))
        return delays

    def _arrive(
        self, caller: str, called: str, number: int, work: Callable[[Any], Awaitable[_Result]],
        answer: asyncio.Future[_Result], dice: random.Random,
    ) -> None:  # fmt: skip
        if self.cut & {caller, called}:
            self.broken["cut"] += 1
            return
        process, server = self.places.get(called, (None, None))
        if process is None or not process.alive:
            self._resolve(answer, NoAnswer(f"{called} is not there"))
            return
        pair = caller, called
        self.broken["late"] += number < self._latest.get(pair, 0)
        self.broken["doubled"] += number == self._latest.get(pair)
        self.broken["given up"] += answer.done()
        self._latest[pair] = max(number, self._latest.get(pair, 0))
        task = process.run(self._loop.create_task, _done(work, server))
        task.add_done_callback(partial(self._answered, pair, answer, dice), context=self._loop.outside)

    def _answered(
        self, pair: tuple[str, str], answer: asyncio.Future[Any], dice: random.Random, task: asyncio.Task[Any]
    ) -> None:
        if task.cancelled():
            return
        if (failure := task.exception()) is not None and not isinstance(failure, Killed | UnavailableError):
            self._loop.faults.append(failure)  # whoever is called answers, whatever was asked
        outcome = failure or task.result()
        delay_s = SHORT_S[0] if self.lossless else dice.uniform(*(LONG_S if dice.random() < 0.1 else SHORT_S))
        if self.cut & set(pair) or (not self.lossless and dice.random() < 0.04):
            self.broken["answers lost"] += 1
            return
        self._loop.call_later(delay_s, partial(self._resolve, answer, outcome), context=self._loop.outside)

    @staticmethod
    def _resolve(answer: asyncio.Future[Any], outcome: Any) -> None:
        if answer.done() or isinstance(outcome, Killed):
            return
        if isinstance(outcome, BaseException):
            answer.set_exception(outcome)
        else:
            answer.set_result(outcome)


async def _done(work: Callable[[Any], Awaitable[_Result]], server: Any) -> _Result:
    return await work(server)
