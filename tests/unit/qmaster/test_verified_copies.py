"""qresub with a server verifier, which checks the copy like a submission."""

import asyncio
from typing import Any

import pytest

from daemons.qmaster.serve.requests.verified_copies import verified_copies
from gridengine.protocols.gdi.requests import Answer, Caller, ResubmitJobs, Submit
from tests.harness import Cell

ALICE = Caller("alice", 1001, "users", 100, "h2")


class Verifier:
    """Answers as the test requires; keeps its requests."""

    def __init__(self, **changes: Any) -> None:
        self.changes = changes
        self.asked: list[tuple[Submit, Caller, int]] = []

    async def verify(self, request: Submit, caller: Caller, next_id: Any) -> Submit | Answer:
        self.asked.append((request, caller, next_id()))
        if not self.changes:
            return Answer(1, [("error", "not this one")])
        for name, value in self.changes.items():
            setattr(request, name, value)
        return request


def copy(cell: Cell, verifier: Verifier, *targets: str, caller: Caller = ALICE) -> Answer:
    async def carry(name: str, request: Any, caller: Caller, receipt: Any) -> Answer:
        return cell.master.handle(name, request, caller)

    body = ResubmitJobs(list(targets), "u")
    answer = asyncio.run(verified_copies(cell.master, verifier, carry, body, caller))  # type: ignore[arg-type]
    cell.master.flush()
    return answer


@pytest.mark.statement("JV-1", "JV-4", "SO-45")
def test_the_copy_is_what_the_verifier_made_of_it(cell: Cell) -> None:
    script = {"binary": False, "script": "#!/bin/sh\n", "script_file": "s.sh"}
    job = cell.submit(name="old", hard=["h_rt=60"], environment={"A": "1"}, tasks="1-3", **script)
    verifier = Verifier(name="new", priority=-5)
    answer = copy(cell, verifier, str(job))
    made = cell.state.jobs[job + 1]
    assert answer.answers == [("info", f'Your job-array {made.id}.1-3:1 ("new") has been submitted')]
    body, owner, number = verifier.asked[0]
    assert (number, owner.user, body.holds, body.hard, body.environment) == (made.id, "alice", "u", ["h_rt=60"], {"A": "1"})
    assert (made.name, made.priority, list(made.holds), made.submit_host) == ("new", -5, [1], "h2")
    assert cell.master.payload(made.id) == cell.master.payload(job)


@pytest.mark.statement("JV-4", "SO-45")
def test_a_refused_job_is_not_copied_and_a_job_of_another_user_is_not_verified(cell: Cell) -> None:
    job = cell.submit()
    verifier = Verifier()
    assert copy(cell, verifier, str(job), "99") == Answer(4, [("error", "not this one"), ("error", 'job "99" does not exist')])
    bob = Caller("bob", 1002, "users", 100, "h2")
    assert copy(cell, verifier, str(job), caller=bob).status == 4 and len(verifier.asked) == 1
    assert list(cell.state.jobs) == [job]
