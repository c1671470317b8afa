"""Users who get a ticket for the streams of a job, and the end of interactive jobs that fail."""

from __future__ import annotations

import pytest

from daemons.qmaster.serve.streams.sessions import Sessions
from daemons.runtime.tickets import holder_of, session_ticket
from gridengine.protocols.gdi.requests import Answer, Caller, OpenSession
from tests.harness import Cell

ALICE = Caller("alice", 1001, "users", 1001, "h1")
BOB = Caller("bob", 1002, "users", 1002, "h1")
ROOT = Caller("root", 0, "root", 0, "h1")


def submit(cell: Cell, **fields: object) -> int:
    return cell.submit(kind="qrsh", **fields)


def ask(cell: Cell, job: int, caller: Caller = ALICE, ports: dict[str, int] | None = None, revoked: str = "") -> Answer:
    sessions = Sessions(lambda host: f"key of {host}" if host not in revoked else "")
    for host, port in (ports or {}).items():
        sessions.heard(host, port)
    return sessions.open(cell.state, OpenSession(job), caller)


@pytest.mark.statement("IA-10")
def test_the_owner_alone_gets_a_ticket(cell: Cell) -> None:
    job = submit(cell)
    cell.cycle()
    host = cell.running[job, 1, 1]
    data = ask(cell, job, ports={host: 4711}).data
    assert (data["host"], data["port"], data["command"]) == (host, 4711, "builtin")
    assert holder_of(data["ticket"], f"key of {host}", (job, 1, 1)) == ("alice", cell.state.jobs[job].submit_time)
    assert ask(cell, job, ports={host: 4711}, revoked=host).data["port"] == 0
    for other in (BOB, ROOT):
        refused = ask(cell, job, other)
        assert refused.status == 1 and refused.data is None
        assert f'job {job} belongs to "alice", not to "{other.user}"' in refused.answers[0][1]


@pytest.mark.statement("IA-10")
def test_a_ticket_is_for_one_attempt_of_one_task_in_one_cell() -> None:
    holder = ("alice", 1234.5678901)
    ticket = session_ticket("key", (1, 1, 1), holder)
    assert holder_of(ticket, "key", (1, 1, 1)) == holder
    others = [("key", (1, 1, 2)), ("key", (11, 1, 1)), ("other", (1, 1, 1))]
    assert [holder_of(ticket, key, task) for key, task in others] == [None] * 3
    code = ticket.partition(":")[0]
    for text in ("\ud800", code, f"{code}:", f"{code}:1234.5678901:bob", f"{code}:1.0:alice", ticket.replace("alice", "alice2")):
        assert holder_of(text, "key", (1, 1, 1)) is None


def test_a_job_without_a_place_has_no_host_yet(cell: Cell) -> None:
    assert ask(cell, submit(cell)).data == {"host": ""}


def test_a_batch_job_has_no_session(cell: Cell) -> None:
    job = cell.submit()
    cell.cycle()
    assert ask(cell, job).status == 1


@pytest.mark.statement("IA-8")
@pytest.mark.parametrize("failed", [1, 21, 27, 8])
def test_an_interactive_job_is_never_run_again(cell: Cell, failed: int) -> None:
    job = submit(cell, rerun=True)
    cell.cycle()
    cell.end(job, failed=failed, reason="it could not be")
    assert job not in cell.state.jobs
    assert [record.failed for record in cell.records(job)] == [str(failed)]


@pytest.mark.statement("SB-9")
@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({"kind": "qrsh", "script_file": "/bin/sleep 5;x"}, "sleep"),
        ({"kind": "qlogin", "script_file": ""}, "QLOGIN"),
        ({"kind": "qrlogin", "script_file": ""}, "QRLOGIN"),
        ({"kind": "qsh", "script_file": ""}, "INTERACTIVE"),
        ({"kind": "qrsh", "script_file": "x", "name": "mine"}, "mine"),
    ],
)
def test_default_names(cell: Cell, fields: dict[str, str], name: str) -> None:
    assert cell.state.jobs[cell.submit(**fields)].name == name


@pytest.mark.statement("IA-4", "SO-22")
def test_a_job_for_now_or_never_is_given_up_and_takes_interactive_queues_only(cell: Cell) -> None:
    cell.configure("cluster_queue", "all.q", qtype="BATCH")
    job = submit(cell, now=True)
    cell.cycle()
    assert job not in cell.state.jobs
    cell.configure("cluster_queue", "all.q", qtype="INTERACTIVE")
    job = submit(cell, now=True)
    cell.cycle()
    assert cell.placed(job)
