"""Idempotency keys: a request that was carried out under a key is not carried out again, and is answered as it was (ADR 143)."""

import asyncio
from types import SimpleNamespace
from typing import Any

import apsw
import msgspec
import pytest

from daemons.qmaster.decision import Receipt
from daemons.qmaster.serve.service import Service
from daemons.qmaster.spooling import answer_table
from daemons.qmaster.spooling.answer_table import AnswerTable
from daemons.runtime.idempotency import HEADER, MalformedKeyError, key_of
from gridengine.protocols.gdi.requests import Answer, Caller
from tests.harness import Cell
from tests.service_callbacks import IdleCallbacks

ALICE = Caller("alice", 1001, "users", 100, "h1")
BOB = Caller("bob", 1002, "users", 100, "h1")
JOB = {"name": "once", "script_file": "/bin/true", "binary": True, "holds": "u"}


def serve(cell: Cell) -> Service:
    return Service(cell.master, IdleCallbacks())


def ask(cell: Cell, what: str, key: str, caller: Caller = ALICE, /, **fields: Any) -> Answer:
    return asyncio.run(serve(cell).answer(what, msgspec.json.encode(fields), caller, key))


def test_asked_again_the_same_is_answered_and_there_is_one_job(cell: Cell) -> None:
    first = ask(cell, "submit", "k1", **JOB)
    assert ask(cell, "submit", "k1", **JOB) == first
    assert list(cell.state.jobs) == [first.data["job_id"]]  # type: ignore[index]
    assert ask(cell, "submit", "k2", **JOB).data != first.data
    assert len(cell.state.jobs) == 2


def test_a_key_outlives_the_qmaster_its_snapshots_and_the_job(cell: Cell) -> None:
    first = ask(cell, "submit", "k1", **JOB)
    cell.master.spool.snapshot(cell.state)
    cell.restart()
    assert ask(cell, "submit", "k1", **JOB) == first
    assert len(cell.state.jobs) == 1
    ask(cell, "delete_jobs", "k2", targets=["1"])
    cell.restart()
    assert ask(cell, "submit", "k1", **JOB) == first
    assert not cell.state.jobs


def test_the_answer_is_in_the_commit_of_the_change(cell: Cell, monkeypatch: pytest.MonkeyPatch) -> None:
    """A kill before the commit leaves nothing, not even the key; a kill after it leaves both."""
    service = serve(cell)

    async def killed() -> None:
        asked = asyncio.create_task(service.answer("submit", msgspec.json.encode(JOB), ALICE, "k1"))
        while not (cell.master.pending or asked.done()):
            await asyncio.sleep(0)
        asked.cancel()
        cell.master._queued.clear()

    asyncio.run(killed())
    cell.restart()
    assert (dict(cell.state.jobs), cell.master.spool.answered.of("alice", "k1", cell.now)) == ({}, [])
    commits = []
    commit = cell.master.spool.commit
    monkeypatch.setattr(cell.master.spool, "commit", lambda what, *more: (commits.append(what), commit(what, *more)))
    ask(cell, "submit", "k1", **JOB)
    assert [[each.answered is not None for each in transactions] for transactions in commits] == [[True]]


def test_the_key_of_another_user_reveals_nothing(cell: Cell) -> None:
    alice = ask(cell, "submit", "k1", **JOB)
    bob = ask(cell, "submit", "k1", BOB, **{**JOB, "name": "other"})
    assert [alice.data["job_id"], bob.data["job_id"]] == [1, 2]  # type: ignore[index]
    assert [job.owner for job in cell.state.jobs.values()] == ["alice", "bob"]


@pytest.mark.parametrize(
    ("name", "fields"), [("submit", {**JOB, "name": "another"}), ("delete_jobs", {"targets": ["1"]})]
)
def test_a_key_belongs_to_one_request(cell: Cell, name: str, fields: dict[str, Any]) -> None:
    ask(cell, "submit", "k1", **JOB)
    refused = Answer(1, [("error", "denied: this idempotency key was used for another request")])
    assert ask(cell, name, "k1", **fields) == refused
    assert list(cell.state.jobs) == [1]


def test_the_order_of_fields_makes_no_other_request(cell: Cell) -> None:
    first = ask(cell, "submit", "k1", **JOB, environment={"A": "1", "B": "2"})
    again = {"environment": {"B": "2", "A": "1"}, **dict(reversed(JOB.items()))}
    assert ask(cell, "submit", "k1", **again) == first


def test_a_refusal_is_decided_anew(cell: Cell) -> None:
    """The refused request changed nothing, and may be valid now."""
    refused = ask(cell, "submit", "k1", **JOB, project="new")
    assert refused.status
    assert not cell.state.jobs
    cell.add("project", "new")
    assert not ask(cell, "submit", "k1", **JOB, project="new").status


def test_a_key_is_forgotten_after_its_time(cell: Cell) -> None:
    ask(cell, "submit", "k1", **JOB)
    cell.pass_time(answer_table.KEEP_S + 1)
    assert ask(cell, "submit", "k1", **JOB).data["job_id"] == 2  # type: ignore[index]
    cell.pass_time(answer_table.KEEP_S + 1)
    cell.restart()
    assert cell.master.spool.answered._db.execute("select count(*) from answered").fetchone() == (0,)


def test_a_repeated_request_waits_for_the_answer_to_the_first(cell: Cell) -> None:
    service = serve(cell)

    async def twice() -> list[Answer]:
        body = msgspec.json.encode(JOB)
        return await asyncio.gather(*(service.answer("submit", body, ALICE, "k1") for _ in range(3)))

    first, *others = asyncio.run(twice())
    assert others == [first, first]
    assert list(cell.state.jobs) == [1]


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("delete_jobs", {}),
        ("hold_jobs", {"holds": "u"}),
        ("alter_jobs", {"changes": {"priority": -5}}),
        ("resubmit_jobs", {}),
        ("change_states", {"action": "suspend", "what": "job"}),
    ],
)
def test_a_name_that_means_nothing_among_many_jobs(cell: Cell, name: str, fields: dict[str, Any]) -> None:
    """So many that names are looked up before the request is divided."""
    for _ in range(110):
        cell.submit(name="many", holds="u")
    alone = ask(cell, name, "", targets=["nosuch"], **fields)
    assert alone.status and "nosuch" in alone.answers[0][1]
    assert ask(cell, name, "k1", targets=["nosuch"], **fields) == alone
    mixed = ask(cell, name, "k2", targets=["nosuch", "1"], **fields)
    assert ask(cell, name, "k2", targets=["nosuch", "1"], **fields) == mixed


def test_of_many_copies_those_that_were_made_are_not_made_again(cell: Cell, monkeypatch: pytest.MonkeyPatch) -> None:
    """25 are made in each transaction: the qmaster ends behind the first."""
    jobs = [str(cell.submit(name="many")) for _ in range(30)]
    service, decide, decided = serve(cell), cell.master.decide, []

    def once(*arguments: Any) -> Any:
        decided.append(arguments)
        if len(decided) == 2:
            raise KeyboardInterrupt
        return decide(*arguments)

    cell.master.decide = once  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        asyncio.run(service.answer("resubmit_jobs", msgspec.json.encode({"targets": jobs}), ALICE, "k1"))
    cell.restart()
    assert len(cell.state.jobs) == 55
    answer = ask(cell, "resubmit_jobs", "k1", targets=jobs)
    assert (len(cell.state.jobs), len(answer.answers), answer.status) == (60, 30, 0)
    assert ask(cell, "resubmit_jobs", "k1", targets=jobs) == answer
    assert len(cell.state.jobs) == 60


def test_a_job_that_is_named_twice_is_copied_twice(cell: Cell) -> None:
    cell.submit(name="old")
    answer = ask(cell, "resubmit_jobs", "k1", targets=["1", "1"])
    assert len(cell.state.jobs) == 3
    assert ask(cell, "resubmit_jobs", "k1", targets=["1", "1"]) == answer
    assert len(cell.state.jobs) == 3


def test_a_verifier_sees_a_submission_once(cell: Cell, monkeypatch: pytest.MonkeyPatch) -> None:
    """Though it makes another one of it."""
    seen = []

    async def verify(request: Any, *more: Any) -> Any:
        seen.append(request.name)
        return msgspec.structs.replace(request, name=f"verified{len(seen)}")

    service = serve(cell)
    service.requests.verifier = SimpleNamespace(configured=True, verify=verify)  # type: ignore[assignment]
    answers = [asyncio.run(service.answer("submit", msgspec.json.encode(JOB), ALICE, "k1")) for _ in range(2)]
    assert answers[0] == answers[1]
    assert seen == ["once"]
    ask_copies = msgspec.json.encode({"targets": ["1", "1"]})
    copies = [asyncio.run(service.answer("resubmit_jobs", ask_copies, ALICE, "k2")) for _ in range(2)]
    assert copies[0] == copies[1]
    assert (len(seen), len(cell.state.jobs)) == (3, 3)


@pytest.fixture
def table(monkeypatch: pytest.MonkeyPatch) -> AnswerTable:
    monkeypatch.setattr(answer_table, "MOST_OF_A_USER", 10)
    monkeypatch.setattr(answer_table, "AT_ONCE", 5)
    db = apsw.Connection(":memory:")
    db.execute(answer_table.SCHEMA)
    return AnswerTable(db)


def test_of_each_user_only_so_many_answers_are_kept(table: AnswerTable) -> None:
    for number in range(100):
        table.add(Receipt("alice", str(number), b"r", b"p"), b"{}", 1000.0)
        assert len([n for n in range(number + 1) if table.of("alice", str(n), 1000.0)]) <= 10 + 5
    table.add(Receipt("bob", "b", b"r", b"p"), b"{}", 1000.0)
    assert [n for n in range(100) if table.of("alice", str(n), 1000.0)] == list(range(90, 100))
    assert table.of("bob", "b", 1000.0)


def test_old_answers_are_removed_while_others_come(table: AnswerTable) -> None:
    table.add(Receipt("alice", "old", b"r", b"p"), b"{}", 1000.0)
    later = 1000.0 + answer_table.KEEP_S
    for number in range(4):
        table.add(Receipt("bob", str(number), b"r", b"p"), b"{}", later)
    keys = [key for (key,) in table._db.execute("select key from answered order by id")]
    assert keys == ["0", "1", "2", "3"]


@pytest.mark.parametrize("key", ["", "a b", "a" * 129, "ä", "a\n", "\udc80"])
def test_a_malformed_key(key: str) -> None:
    with pytest.raises(MalformedKeyError, match="1 to 128 printable ASCII"):
        key_of({HEADER: key})
    assert key_of({}) == ""
    assert key_of({HEADER: '"a-1"'}) == '"a-1"'
