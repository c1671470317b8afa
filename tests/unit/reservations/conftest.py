"""Fixtures of the tests of advance reservations: a cell in this process in which alice may reserve."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gridengine.protocols.gdi.requests import Answer
from gridengine.state.reservations import AdvanceReservation
from tests.harness import Cell


class ReservingCell(Cell):
    """`qrsub(…)` reserves as alice and gives the number; times may be given as seconds from now: `at`, `until`."""

    def __init__(self, directory: Path, hosts: int | list[str] = 3, slots: int = 4) -> None:
        super().__init__(directory, hosts, slots)
        self.admin("change_users", verb="add", users=["alice"], lists=["arusers"])
        self.offset(0)

    def offset(self, seconds: int) -> None:
        """DURATION_OFFSET."""
        self.configure("scheduler", "", params=f"DURATION_OFFSET={seconds}")

    def request(self, user: str = "alice", **fields: Any) -> Answer:
        for name, field in (("at", "start_time"), ("until", "end_time")):
            if name in fields:
                fields[field] = self.now + fields.pop(name)
        if "end_time" not in fields:
            fields.setdefault("duration", 3600.0)
        return self.ask("reserve", user, **fields)

    def qrsub(self, user: str = "alice", **fields: Any) -> int:
        answer = self.request(user, **fields)
        assert answer.status == 0, answer.answers
        return int(answer.data["id"])  # type: ignore[index]

    def refused(self, user: str = "alice", **fields: Any) -> str:
        """The first text of a refusal."""
        before = dict(self.state.reservations)
        answer = self.request(user, **fields)
        assert answer.status, answer.answers
        assert self.state.reservations == before
        return answer.answers[0][1]

    def ar(self, number: int) -> AdvanceReservation:
        found: AdvanceReservation = self.state.reservations[number]
        return found

    def granted(self, number: int) -> dict[str, int]:
        return {grant.instance: grant.slots for grant in self.ar(number).granted}

    def wait(self, seconds: float) -> None:
        """Let time pass; hosts go on reporting."""
        from gridengine.protocols.delivery import Load

        self.now += seconds
        for name, host in self.state.hosts.items():
            if host.up and name in self.names:
                self.report(name, Load(self.now))
        self.tick()

    def tick(self) -> None:
        self.master.tick()
        self.master.flush()

    def complex(self, line: str) -> None:
        """A complex attribute: name, type, relop, requestable, consumable, default."""
        name, kind, relop, requestable, consumable, default = line.split()
        row = {"name": name, "shortcut": name, "type": kind, "relop": relop, "requestable": requestable}
        row |= {"consumable": consumable, "default": default, "urgency": "0"}
        answer = self.admin("config_add", kind="complex", name=name, attributes=[(a, v, 1) for a, v in row.items()])
        assert answer.status == 0, answer.answers

    def qdel_ar(self, *targets: object, user: str = "alice", **fields: Any) -> Answer:
        return self.ask("delete_reservations", user, targets=[str(target) for target in targets], **fields)


@pytest.fixture
def cell(tmp_path: Path) -> ReservingCell:
    return ReservingCell(tmp_path)
