"""Numbers of tasks by state, in all and by owner."""

from __future__ import annotations

from typing import Any

from daemons.qmaster.queries import status
from gridengine.protocols.gdi.requests import Caller
from tests.harness import Cell


def totals(cell: Cell) -> Any:
    answer = status(cell.master, {"totals": {}}, Caller("bob", 1002, "users", 1002, "h1"))
    assert answer.status == 0
    return answer.data["totals"]  # type: ignore[index,call-overload]


def test_each_task_counts_once_as_what_it_is(cell: Cell) -> None:
    assert totals(cell)["jobs"] == 0 and set(totals(cell)["tasks"].values()) == {0}
    cell.submit()
    cell.submit("bob", tasks="1-5")
    cell.cycle()
    cell.submit("bob", tasks="1-100")
    held = cell.submit()
    assert cell.ask("hold_jobs", "alice", "h1", targets=[str(held)], holds="u").status == 0
    found = totals(cell)
    assert found["jobs"] == 4
    assert found["tasks"] == {"pending": 100, "held": 1, "error": 0, "transferring": 0, "running": 6, "suspended": 0}
    assert found["owners"] == [["bob", 5, 100], ["alice", 1, 1]]
