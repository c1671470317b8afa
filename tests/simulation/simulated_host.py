"""A host as the simulation has it: it keeps what it was given, whatever happens to the messages about it.

Owns the behaviour that the real execd promises: a start of an attempt that is there does nothing, an end is reported
until it is acknowledged, an inventory tells everything, a power failure loses all.
"""

from __future__ import annotations

from gridengine.delivery import Acknowledgement, Ended, Forget, Instruction, Inventory, Report, Signal, Start, Verdict
from gridengine.state.jobs import TaskKey


class SimulatedHost:
    """`running`: tasks at work; `ended`: ends not acknowledged yet; `executions`: every attempt that ever began here."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.boot = 1
        self.running: set[TaskKey] = set()
        self.ended: dict[TaskKey, Ended] = {}
        self.executions: list[TaskKey] = []
        self.inventory_due = True

    def obey(self, instructions: list[Instruction], now: float) -> list[Acknowledgement]:
        answers = []
        for instruction in instructions:
            answer = Acknowledgement()
            if isinstance(instruction, Start):
                self._start(instruction.key)
            elif isinstance(instruction, Signal):
                answer.ok = instruction.key in self.running
                if instruction.command == "kill" and answer.ok:
                    self.end(instruction.key, 137, now, failed=100)
            elif isinstance(instruction, Forget):
                self.forget(instruction.key)
            answers.append(answer)
        return answers

    def _start(self, key: TaskKey) -> None:
        if key not in self.running and key not in self.ended:
            self.running.add(key)
            self.executions.append(key)

    def end(self, key: TaskKey, exit_status: int, now: float, failed: int = 0) -> None:
        self.running.discard(key)
        self.ended[key] = Ended(key, failed, exit_status, start_time=now, end_time=now)

    def reports(self) -> list[Report]:
        """What there is to say; the inventory comes after the ends that it would otherwise miss."""
        found: list[Report] = list(self.ended.values())
        if self.inventory_due:
            found.append(Inventory(sorted(self.running | set(self.ended)), f"boot{self.boot}"))
        return found

    def acknowledged(self, reports: list[Report], verdicts: list[Verdict]) -> None:
        for report, verdict in zip(reports, verdicts, strict=True):
            if isinstance(report, Inventory):
                self.inventory_due = False
            for key in verdict.forget:
                self.forget(key)

    def forget(self, key: TaskKey) -> None:
        self.running.discard(key)
        self.ended.pop(key, None)

    def power_off(self) -> None:
        self.running.clear()
        self.ended.clear()
        self.boot += 1
        self.inventory_due = True
