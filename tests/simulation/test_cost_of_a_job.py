"""The cost of jobs, submitted singly, to a cell in which all is well: calls between its daemons, and syncs of the spool.

Counted, on the fake clock. The ceilings are slightly above: a change that makes jobs dearer raises them (adr/0169).
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.simulation import simulated_host
from tests.simulation.simulation import Simulation

JOBS = 40


class Calm(Simulation):
    """No faults; JOBS jobs of 10 ms are submitted, a job every `apart_s`."""

    def __init__(self, place: Path, apart_s: float) -> None:
        super().__init__(place, seed=1)
        self.network.lossless = True
        self._apart_s = apart_s
        self.calls = self.syncs = 0.0

    def _steps(self, steps: int) -> None:
        self.pass_time(5)  # hosts join
        calls, syncs = self.network.calls, self.master.disk.syncs
        for _ in range(JOBS):
            self.loop.create_task(self._submitted(), context=self.loop.outside)
            self.pass_time(self._apart_s)
        self.pass_time(1)
        self.calls = (self.network.calls - calls) / JOBS
        self.syncs = (self.master.disk.syncs - syncs) / JOBS

    async def _submitted(self) -> None:
        request = self.promises.new_request()
        answer = await self.users.ask("submit", name=request.name, script_file="/bin/true", binary=True)
        assert answer is not None
        request.id = answer.data["job_id"]  # type: ignore[index,call-overload]


@pytest.mark.parametrize(
    ("apart_s", "most_calls", "most_syncs"),
    # of the calls one is the submission, one a delivery, one the report of the end, two are runs of the scheduler
    [(0.5, 5.8, 4.0), (0.01, 3.2, 2.5)],
    ids=["one after the other", "in a stream"],
)
def test_calls_and_syncs_of_a_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, apart_s: float, most_calls: float, most_syncs: float
) -> None:
    monkeypatch.setattr(simulated_host, "DURATIONS_S", (0.01,))
    cell = Calm(tmp_path, apart_s)
    cell.run()
    assert cell.calls <= most_calls and cell.syncs <= most_syncs, (cell.calls, cell.syncs)
