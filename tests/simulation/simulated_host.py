"""A host as the simulation has it: it keeps what it was given, whatever happens to the messages about it.

Owns the behaviour that the real execd promises, over its real record of tries: a start of a try that is or was there does
nothing, an end is reported until it is acknowledged, an inventory tells everything, a power failure loses all but the disk.
"""

from __future__ import annotations

from pathlib import Path

from daemons.execd.tries import Tries
from gridengine.delivery import (
    Acknowledgement,
    Batch,
    Configure,
    Ended,
    Forget,
    Instruction,
    Inventory,
    Load,
    Report,
    Signal,
    Start,
    Started,
)
from gridengine.task_key import TaskKey
from tests.harness import LOAD


class SimulatedHost:
    """`running`: tasks at work; `ended`: ends not acknowledged yet; `executions`: every try that ever began here."""

    def __init__(self, name: str, place: Path) -> None:
        self.name, self._place = name, place
        self.boot = 1
        self.running: dict[TaskKey, float] = {}  # and when their jobs were submitted
        self.ended: dict[TaskKey, tuple[float, Ended]] = {}
        self.executions: list[TaskKey] = []
        self.restart()

    def restart(self) -> None:
        """kill -9 of the actor: what is on disk counts."""
        self.tries = Tries(self._place / f"tries.{self.name}", 1)
        self._started: list[Report] = []
        self.whole = True
        self.settled = False

    def power_off(self) -> None:
        self.running.clear()
        self.ended.clear()
        self.boot += 1
        self.restart()

    # --- instructions --------------------------------------------------------------------------------------

    def obey(self, batch: Batch, now: float) -> Batch:
        if not self.tries.obey(batch.master):
            return Batch(refused=True, master=self.tries.master)
        return Batch(acknowledgements=[self._carry_out(instruction, batch, now) for instruction in batch.instructions])

    def _carry_out(self, instruction: Instruction, batch: Batch, now: float) -> Acknowledgement:
        if isinstance(instruction, Configure):
            self.whole, self.settled = True, False
        elif isinstance(instruction, Start):
            return self._start(instruction, batch, now)
        elif isinstance(instruction, Signal):
            if instruction.key not in self.running:
                return Acknowledgement(False)
            if instruction.command == "kill":
                self.end(instruction.key, 137, now, failed=100)
        elif isinstance(instruction, Forget):
            self.forget([instruction.key])
        return Acknowledgement()

    def _start(self, start: Start, batch: Batch, now: float) -> Acknowledgement:
        key = start.key
        if not self.settled or not self.tries.is_current(batch.master):
            return Acknowledgement(False, again=True)
        if key in self.running or key in self.ended:
            return Acknowledgement()
        for other in [other for other in (*self.running, *self.ended) if other[:2] == key[:2] and other[2] != key[2]]:
            self.forget([other])
        if self.tries.had(key, start.submit_time):
            return Acknowledgement(False, over=True)
        self.running[key] = start.submit_time
        self.executions.append(key)
        self._started.append(Started(key, now))
        return Acknowledgement()

    # --- reports -------------------------------------------------------------------------------------------

    def end(self, key: TaskKey, exit_status: int, now: float, failed: int = 0) -> None:
        ended = Ended(key, failed, exit_status, start_time=now, end_time=now)
        self.ended[key] = self.running.pop(key), ended

    def letter(self, now: float) -> Batch:
        """What there is to say; after a failure or a restart the inventory first."""
        load = Load(now, dict(LOAD), full=True, incarnation=f"boot{self.boot}")
        first = [Inventory(sorted((*self.running, *self.ended)), f"boot{self.boot}")] if self.whole else []
        self.whole = False
        reports = [*first, load, *self._started, *(ended for _, ended in self.ended.values())]
        self._started = []
        return self.tries.letter(reports)

    def heard(self, letter: Batch, answer: Batch) -> None:
        """The answer to a letter has come."""
        first = any(isinstance(report, Inventory) for report in letter.reports)
        if not self.tries.hear(answer, settling=first):
            self.failed()
            return
        self.settled = self.settled or (first and not self.whole)
        ends = [report.key for report in letter.reports if isinstance(report, Ended)]
        self.forget([key for key in ends if key in self.ended])
        for verdict in answer.verdicts:
            self.forget(verdict.forget)

    def failed(self) -> None:
        """No answer comes: everything will be said again."""
        self.whole = True

    def forget(self, keys: list[TaskKey]) -> None:
        submitted = self.running | {key: time for key, (time, _) in self.ended.items()}
        self.tries.add({key: submitted[key] for key in keys if key in submitted})
        for key in keys:
            self.running.pop(key, None)
            self.ended.pop(key, None)
