"""The rules of the torture find what breaks them: a breach of each is planted in evidence that is otherwise in order."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.torture import verdict
from tests.torture.evidence import Evidence, Record, Slave, Try, read_accounting, read_lines
from tests.torture.journal import Broken, Request

Plant = Callable[[Evidence], object]


def asked(what: str, at: float, job: int = 0, sure: bool = True, **more: object) -> Request:
    return Request(what, "alice", at, at + 0.1, sure, job, dict(more))


def submitted(job: int, kind: str = "single", at: float = 10.0, **more: object) -> Request:
    return asked("submit", at, job, kind=kind, **{"tasks": 1, "licences": 0, "rerun": "n", **more})


def tried(job: int, begin: float, end: float | None, host: str = "t1", **more: object) -> Try:
    facts = {"task": 1, "name": "run.sh", "process": (host, str(job)), "licences": 0, "slots": {host: 1}, **more}
    return Try(job=job, begin=begin, end=end, **facts)  # type: ignore[arg-type]


def record(job: int, failed: int = 0, host: str = "t1", account: str = "sge", task: int = 1) -> Record:
    return Record(job, task, host, account, failed, 137 if failed else 0, slave=False)


@pytest.fixture
def e() -> Evidence:
    """1: plain. 2: waits for 1. 3: held and released. 4: in reservation 7. 5: an array, lost with its host and run again. 6:
    deleted before it began. 8: tightly integrated. 9: a session, the last one that nobody has submitted."""
    return Evidence(
        requests=[
            submitted(1), submitted(2, "dependent", after=1), submitted(3, "held"), asked("release", 14.0, 3),
            asked("alter", 11.0, 3, account="new"), asked("reserve", 15.0, reservation=7, lasts=30),
            submitted(4, "reserved", 16.0, reservation=7), submitted(5, "array", 17.0, tasks=2, rerun="y"),
            submitted(6, "held", 18.0), asked("delete", 19.0, 6), submitted(8, "tight", 20.0),
            asked("configure", 21.0, attribute="seq_no", value="3"), asked("session", 22.0, name="alice.i1"),
        ],
        broken=[Broken(30.0, 35.0, "power host on t2", "t2")],
        tries=[
            tried(1, 11.0, 12.0), tried(2, 12.0, 13.0), tried(3, 14.2, 15.0), tried(4, 17.0, 18.0),
            tried(5, 18.0, 19.0), tried(5, 29.0, None, "t2", task=2), tried(5, 40.0, 41.0, "t3", task=2),
            tried(8, 21.0, 25.0, slots={"t1": 1, "t2": 1}), tried(9, 22.5, 23.0, name="alice.i1"),
        ],
        slaves=[Slave(8, "t2", 22.0, 23.0)],
        records=[
            record(1), record(2), record(3, account="new"), record(4), record(5),
            record(5, 19, "t2", task=2), record(5, 0, "t3", task=2), record(8), record(9),
        ],
        queue={"seq_no": "3"},
    )


def test_evidence_in_order_breaks_no_rule(e: Evidence) -> None:
    assert verdict.breaches(e) == []


PLANTS: dict[str, Plant] = {
    "lost: task (1, 1) has no record, but began": lambda e: e.records.pop(0),
    "lost: task (99, 1) has no record, and never began": lambda e: e.requests.append(submitted(99)),
    "invented: 1 jobs beside 0": lambda e: (e.records.append(record(77)), e.tries.append(tried(77, 50.0, 51.0))),
    "once: task (1, 1) was tried 2 times and has 1": lambda e: e.tries.append(tried(1, 13.0, 14.0)),
    "once: task (3, 1) is not rerunnable": lambda e: e.tries.append(tried(3, 16.0, 17.0)),
    "once: task (2, 1) has succeeded more than once": lambda e: e.records.append(record(2)),
    "agreement: task (1, 1) has succeeded on t1 and did not": lambda e: setattr(e.tries[0], "end", None),
    "agreement: task (4, 1) has succeeded on t3": lambda e: setattr(e.records[3], "host", "t3"),
    "agreement: task (4, 1) ended with status 1": lambda e: setattr(e.records[3], "exit_status", 1),
    "explained: task (1, 1) has failed with 100 on t1": lambda e: setattr(e.records[0], "failed", 100),
    "overlap: task (5, 2) ran on ('t2', '5') until 40.5": lambda e: setattr(e.tries[5], "end", 40.5),
    "dependencies: job 2 began at 11.5": lambda e: setattr(e.tries[1], "begin", 11.5),
    "licences: 6 of 5": lambda e: [setattr(each, "licences", 3) for each in e.tries[-2:]],
    "slots: 7 of 6 slots of t1": lambda e: setattr(e.tries[-1], "slots", {"t1": 6}),
    "windows: job 4 began at 47.0, outside of reservation 7": lambda e: setattr(e.tries[3], "begin", 47.0),
    "holds: job 3 was held and began at 13.5": lambda e: setattr(e.tries[2], "begin", 13.5),
    "deletions: job 6 was deleted at 19.1 and began at 29.9": lambda e: e.tries.append(tried(6, 29.9, None)),
    "alterations: job 3 bears the account sge": lambda e: setattr(e.records[2], "account", "sge"),
    "configuration: seq_no is 4, not one of ['3']": lambda e: e.queue.update(seq_no="4"),
    "sessions: session alice.i1 began 1 times and did not end": lambda e: setattr(e.tries[-1], "end", None),
    "slave_tasks: a slave task of 8 began on t2 at 20.0": lambda e: setattr(e.slaves[0], "begin", 20.0),
    "tracebacks: alice: Traceback": lambda e: e.requests.append(asked("traceback", 9.0, output="Traceback")),
    "left_over: t1: shepherd 4711": lambda e: e.left.append("t1: shepherd 4711"),
}


@pytest.mark.parametrize("breach", PLANTS)
def test_each_rule_finds_its_breach(e: Evidence, breach: str) -> None:
    PLANTS[breach](e)
    assert [text for text in verdict.breaches(e) if text.startswith(breach)] != []


def test_each_rule_has_a_plant() -> None:
    assert {breach.partition(":")[0] for breach in PLANTS} == {rule.__name__ for rule in verdict.RULES}


def test_a_change_without_an_answer_may_have_been_made_or_not(e: Evidence) -> None:
    e.requests.append(asked("configure", 23.0, sure=False, attribute="seq_no", value="8"))
    e.requests.append(asked("alter", 12.0, 3, sure=False, account="other"))
    for seq_no, account in (("3", "new"), ("8", "other")):
        e.queue["seq_no"], e.records[2].account = seq_no, account
        assert verdict.breaches(e) == []


def test_a_submission_without_an_answer_may_have_made_a_job(e: Evidence) -> None:
    e.requests.append(asked("submit", 23.0, sure=False, kind="single"))
    e.tries.append(tried(77, 50.0, 51.0))
    e.records.append(record(77))
    assert verdict.breaches(e) == []


def test_a_job_that_has_not_begun_goes_with_its_reservation(e: Evidence) -> None:
    e.requests.append(submitted(98, "reserved", reservation=7))
    assert verdict.breaches(e) == []


@pytest.mark.statement("AC-1")
def test_evidence_is_read_from_lines_of_jobs_and_from_accounting() -> None:
    found = Evidence([], [])
    read_lines(
        found,
        [
            "B 5 2 t1 100.25 42 run.sh lic=3 at=t1:1,t2:2,",
            "S 5 2 t2 100.50 7 run.sh",
            "E 5 2 t1 101.00 42 run.sh",
            "B 6 undefined t1 102.00 43 run.sh lic=0 at=t1:1",
        ],
    )
    first, second = found.tries
    assert (first.job, first.task, first.begin, first.end, first.licences) == (5, 2, 100.25, 101.0, 3)
    assert first.slots == {"t1": 1, "t2": 2}
    assert (second.task, second.end) == (1, None)
    assert [(each.host, each.end) for each in found.slaves] == [("t2", None)]
    fields = [str(number) for number in range(45)]
    fields[1], fields[6], fields[41] = "t1", "acc", "NONE"
    read_accounting(found, ["# comment\n", ":".join(fields) + "\n"])
    assert found.records == [Record(5, 35, "t1", "acc", 11, 12, slave=False)]
