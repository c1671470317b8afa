"""The network between master and hosts as the simulation has it: calls that are lost, doubled, delayed and mixed up.

Owns the messages under way and who waits for which answer; a side that died, or gave a call up, does not wait any more, but
what it had said may still arrive. `breaks` counts the messages that arrived twice, after a later one or after their sender's end.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from gridengine.delivery import Batch, decode, encode

Work = Callable[[Batch], Batch]
Answered = Callable[[Batch, Batch], None]
DELAYS = (1, 10, 50, 200)
"""For how many arrivals of others a message is held back."""


@dataclass(eq=False)
class Call:
    """One call between a host and the master, in either direction; `answered(request, answer)` may never be called."""

    parties: tuple[str, str]
    number: int
    data: bytes
    carry_out: Work
    answered: Answered
    answer: bytes | None = None
    arrivals: int = 0
    due: int = 0


@dataclass
class Network:
    """`open`: the calls that somebody waits for, by caller and the one who is called: one at a time."""

    random: random.Random
    under_way: list[Call] = field(default_factory=list)
    open: dict[tuple[str, str], int] = field(default_factory=dict)
    breaks: int = 0
    _calls: int = 0
    _moment: int = 0
    _latest: dict[tuple[str, str], int] = field(default_factory=dict)

    def call(self, caller: str, called: str, batch: Batch, carry_out: Work, answered: Answered) -> None:
        """Begin a call; `carry_out` is done at every arrival, `answered` when the first answer arrives in time."""
        self._calls += 1
        self.open[caller, called] = self._calls
        self.under_way.append(Call((caller, called), self._calls, encode(batch), carry_out, answered))

    def end(self, party: str) -> None:
        """A side has died: nobody there waits for answers."""
        for parties in [parties for parties in self.open if parties[0] == party]:
            del self.open[parties]

    def arrive(self, lossless: bool = False) -> None:
        """Any message arrives, or is lost, or held back, or arrives and will do so again."""
        self._moment += 1
        here = [call for call in self.under_way if call.due <= self._moment or lossless]
        if not here:
            return
        call = self.random.choice(here)
        self.under_way.remove(call)
        fate = 1.0 if lossless else self.random.random()
        if fate < 0.05:
            return
        if fate < 0.2:
            call.due = self._moment + self.random.choice(DELAYS)
            self.under_way.append(call)
            return
        if fate < 0.6 and call.arrivals < 3:
            due = self._moment + self.random.choice(DELAYS)
            self.under_way.append(replace(call, arrivals=call.arrivals + 1, due=due))
        self._take(call)

    def _take(self, call: Call) -> None:
        if call.answer is None:
            late = call.number < self._latest.get(call.parties, 0) or self.open.get(call.parties) != call.number
            self.breaks += bool(call.arrivals) or late
            self._latest[call.parties] = max(call.number, self._latest.get(call.parties, 0))
            call.answer, call.arrivals = encode(call.carry_out(decode(call.data))), 0
            self.under_way.append(call)
        elif self.open.get(call.parties) == call.number:
            del self.open[call.parties]
            call.answered(decode(call.data), decode(call.answer))

    def exchange(self, caller: str, called: str, batch: Batch, carry_out: Work, answered: Answered) -> None:
        """A call that nothing happens to."""
        self.open.pop((caller, called), None)
        answered(decode(encode(batch)), decode(encode(carry_out(decode(encode(batch))))))
