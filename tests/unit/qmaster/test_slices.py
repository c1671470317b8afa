"""Requests about many jobs in slices: their common result, and the limit of each slice (ADR 116)."""

import asyncio
from collections import Counter
from typing import Any

import msgspec
import pytest

from daemons.qmaster.selection import match_jobs
from daemons.qmaster.serve.requests import slices as module
from daemons.qmaster.serve.requests.slices import SLICE, Divided, at_a_time, slices
from daemons.qmaster.serve.service import Service
from gridengine.protocols.gdi.requests import AlterJobs, Answer, Caller, ChangeStates, DeleteJobs, HoldJobs, ResubmitJobs, Submit
from gridengine.syntax.wildcard import compile_expression
from tests.harness import Cell
from tests.service_callbacks import IdleCallbacks

ALICE = Caller("alice", 1001, "users", 100, "h1")
MANY = 230
LONG = "many{}*" + "*" * 1000
"""Matching takes as long as the pattern is."""

ACTS: dict[str, Divided] = {
    "delete_jobs": DeleteJobs(),
    "hold_jobs": HoldJobs(holds="u"),
    "alter_jobs": AlterJobs(targets=[], changes={"priority": -5}),
    "resubmit_jobs": ResubmitJobs(targets=[]),
    "change_states": ChangeStates(action="suspend", what="any", targets=[]),
}


def serve(cell: Cell) -> Service:
    return Service(cell.master, IdleCallbacks())


def asked(cell: Cell, name: str, request: Divided) -> Answer:
    return asyncio.run(serve(cell).answer(name, msgspec.json.encode(request), ALICE))


def fill(cell: Cell) -> list[str]:
    return [str(cell.submit(name=f"many{number}")) for number in range(MANY)]


@pytest.mark.statement("SO-47")
@pytest.mark.parametrize("name", ACTS)
def test_no_part_acts_on_more_jobs_than_a_slice_and_others_are_served_in_between(cell: Cell, name: str) -> None:
    jobs = fill(cell)
    request = msgspec.structs.replace(ACTS[name], targets=jobs)
    decide, acted = cell.master.decide, []

    def deciding(what: str, part: Any, caller: Caller, looked_up: Any) -> Any:
        acted.append(part.targets)
        return decide(what, part, caller, looked_up)

    cell.master.decide = deciding  # type: ignore[method-assign]
    rounds = 0

    async def both() -> Answer:
        nonlocal rounds
        task = asyncio.get_running_loop().create_task(serve(cell).answer(name, msgspec.json.encode(request), ALICE))
        while not task.done():
            await asyncio.sleep(0)
            rounds += 1
        return await task

    answer = asyncio.run(both())
    assert len(answer.answers) == MANY
    assert max(map(len, acted)) == SLICE[type(request)] and sum(acted, []) == jobs
    assert rounds >= len(acted), "the loop goes round between any two parts"


@pytest.mark.parametrize("name", sorted(ACTS.keys() - {"resubmit_jobs"}))
def test_a_pattern_meets_only_so_many_names_at_a_time_and_each_once(
    cell: Cell, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(cell)
    met: Counter[int] = Counter()

    def counting(jobs: Any, target: str, users: list[str]) -> Any:
        met.update(job.id for job in jobs)
        assert len(jobs) <= at_a_time(target)
        return match_jobs(jobs, target, users)

    monkeypatch.setattr(module, "match_jobs", counting)
    monkeypatch.setattr("daemons.qmaster.selection.match_jobs", counting)
    for pattern, lines in ((LONG.format(1), 111), (LONG.format("x"), 1)):
        met.clear()
        there = len(cell.state.jobs)
        answer = asked(cell, name, msgspec.structs.replace(ACTS[name], targets=[pattern]))
        assert len(answer.answers) == lines and set(met.values()) == {1} and len(met) == there


@pytest.mark.statement("DP-1")
@pytest.mark.parametrize("option", ["hold_jid", "hold_jid_ad", "hold_jid_ok", "hold_jid_fail"])
def test_patterns_of_predecessors_are_matched_while_others_are_served(
    cell: Cell, option: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    cell.submit("bob", name="many1", tasks="1-9")
    own = [cell.submit(name=f"many{number}", tasks="1-9") for number in range(120)]
    at_once: list[int] = []

    def counting(text: str) -> Any:
        matcher = compile_expression(text)

        def matches(name: str) -> bool:
            at_once[-1] += 1
            return matcher(name)

        return matches

    async def both() -> Answer:
        fields = {"script_file": "/bin/true", "binary": True, "tasks": "1-9", option: [LONG.format(1), LONG.format(2)]}
        body = msgspec.json.encode(msgspec.convert(fields, Submit))
        at_once.append(0)
        task = asyncio.get_running_loop().create_task(serve(cell).answer("submit", body, ALICE))
        while not task.done():
            await asyncio.sleep(0)
            at_once.append(0)
        return await task

    monkeypatch.setattr("daemons.qmaster.selection.compile_expression", counting)
    answer = asyncio.run(both())
    assert answer.status == 0 and answer.data
    job = cell.state.jobs[answer.data["job_id"]]
    found = job.array_predecessors if option == "hold_jid_ad" else job.predecessors
    assert list(found) == [number for first in "12" for number in own if cell.state.jobs[number].name.startswith(f"many{first}")]
    assert max(at_once) <= at_a_time(LONG) and sum(at_once) == 2 * 121


@pytest.mark.parametrize("name", sorted(ACTS.keys() - {"resubmit_jobs"}))
def test_many_patterns_are_matched_one_by_one_against_few_names_too(
    cell: Cell, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(5):
        cell.submit(name=f"job{number}")
    at_once = [0]

    def counting(jobs: Any, target: str, users: list[str]) -> Any:
        at_once[-1] += len(list(jobs)) * len(target)
        return match_jobs(jobs, target, users)

    monkeypatch.setattr(module, "match_jobs", counting)
    monkeypatch.setattr("daemons.qmaster.selection.match_jobs", counting)
    request = msgspec.structs.replace(ACTS[name], targets=[LONG.format(number) for number in range(16)])

    async def both() -> None:
        task = asyncio.get_running_loop().create_task(serve(cell).answer(name, msgspec.json.encode(request), ALICE))
        while not task.done():
            await asyncio.sleep(0)
            at_once.append(0)

    asyncio.run(both())
    assert max(at_once) <= at_a_time(LONG) * len(LONG)


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("alter_jobs", {"changes": {"tasks": "1-2"}}),
        ("hold_jobs", {"holds": "x"}),
        ("change_states", {"force": True}),
    ],
)
def test_a_refusal_of_the_whole_is_given_once(cell: Cell, name: str, fields: dict[str, Any]) -> None:
    jobs = fill(cell)
    answer = asked(cell, name, msgspec.structs.replace(ACTS[name], targets=jobs, **fields))
    assert answer.status and len(answer.answers) == 1


@pytest.mark.parametrize("name", sorted(ACTS.keys() - {"resubmit_jobs", "delete_jobs"}))
def test_slices_answer_like_one_decision(cell: Cell, name: str) -> None:
    fill(cell)
    targets = ["nosuch*", "many1*", "7", "9999"]
    request = msgspec.structs.replace(ACTS[name], targets=targets)
    whole = cell.master.decide(name, request, ALICE).answer
    assert asked(cell, name, request) == whole


def test_a_malformed_target_refuses_all_of_them_before_anything_is_done(cell: Cell) -> None:
    jobs = fill(cell)
    for token in ("(", "7x"):
        answer = asked(cell, "hold_jobs", HoldJobs(targets=[*jobs, token], holds="u"))
        assert answer.status == 1 and len(answer.answers) == 1
    assert not any(job.holds for job in cell.state.jobs.values())


def test_jobs_that_a_pattern_means_are_no_queues(cell: Cell) -> None:
    jobs = fill(cell)
    request = ChangeStates(action="suspend", what="any", targets=["all.q", "many*", "7"])
    parts = [part for part in slices(cell.state, request, ALICE, False) if part is not None]
    assert [(part.what, part.targets[0]) for part in parts if isinstance(part, ChangeStates)] == [
        ("any", "all.q"), ("job", jobs[0]), ("job", jobs[100]), ("job", jobs[200]), ("any", "7"),
    ]  # fmt: skip
