"""A value out of bounds in a request is refused with the name of its field, and nothing changes."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from daemons.qmaster.queries.reading import READERS
from gridengine.errors import InvalidValueError
from gridengine.protocols.gdi import bounds
from gridengine.protocols.gdi.reading import BODIES, decode_body
from gridengine.protocols.gdi.requests import REQUESTS, Submit, decode_request
from gridengine.protocols.gdi.shape_faults import shape_fault
from tests.harness import Cell
from tests.unit.qmaster.asking import read

KB = 1024
JOB = {"binary": True, "script_file": "/bin/true"}
SUBMISSIONS: list[tuple[dict[str, Any], str]] = [
    ({"name": "a\x1b[2J"}, "name contains a character that cannot be printed (U+001B)"),
    ({"name": "a\u2028b"}, "name contains a character that cannot be printed (U+2028)"),
    ({"name": "a\x9bb"}, "name contains a character that cannot be printed (U+009B)"),
    ({"name": "a" * 513}, "name is longer than 512 bytes"),
    ({"name": "é" * 300}, "name is longer than 512 bytes"),
    ({"args": ["a\0b"]}, "args must not contain NUL"),
    ({"args": ["a" * 131_072]}, "args is longer than 130000 bytes"),
    ({"args": ["a" * 100_000] * 3}, "args is longer than 262144 bytes in all"),
    ({"args": ["a"] * 20_000}, "args has more than 16384 items"),
    ({"cwd": "/a\0b"}, "cwd must not contain NUL"),
    ({"stdout": [["", "/a\0b"]]}, "stdout must not contain NUL"),
    ({"environment": {"A=B": "x"}}, 'environment must not contain "="'),
    ({"environment": {"A 1\nPARAM l_hard h_rt=5\nENV ADD B": "x"}}, "environment contains a character that cannot be printed"),
    ({"environment": {"": "x"}}, "environment has an item without a name"),
    ({"environment": {"A": "x" * 200 * KB}}, "environment is longer than 130000 bytes"),
    ({"environment": {f"A{n}": "x" * 100 * KB for n in range(12)}}, "environment is longer than 524288 bytes in all"),
    ({"environment_names": ["A=B"]}, 'environment_names must not contain "="'),
    ({"context": {"a": "x" * 5000}}, "context is longer than 4096 bytes"),
    ({"context": {"a": "\x1b]0;x\x07"}}, "context contains a character that cannot be printed (U+001B)"),
    ({"context": {"a": "a\nb\u202ec"}}, "context contains a character that cannot be printed (U+202E)"),
    ({"context": {f"a{n}": "" for n in range(300)}}, "context has more than 256 items"),
    ({"script": "x" * (16 * KB * KB + 1), "binary": False}, "script is longer than 16777216 bytes"),
    ({"job_share": 10**400}, "job_share is not within 0 and 2147483647"),
    ({"job_share": -1}, "job_share is not within 0"),
    ({"override_tickets": -1}, "override_tickets is not within 0"),
    ({"start_after": -1}, "start_after is not within 0"),
    ({"deadline": 1e300}, "deadline is not within 0"),
    ({"binding": "set linear:x:y"}, 'binding is wrong: "set linear:x:y" is no binding'),
    ({"binding": "set striding:2:slots"}, "binding is wrong"),
    ({"binding": "set explicit:1"}, "binding is wrong"),
    ({"hard": ["h_rt=5"] * 1001}, "hard has more than 1000 items"),
    ({"hold_jid": ["a" * 1025]}, "hold_jid is longer than 1024 bytes"),
]


@pytest.mark.parametrize(("fields", "text"), SUBMISSIONS, ids=[text for _, text in SUBMISSIONS])
def test_a_submission_out_of_bounds(cell: Cell, fields: dict[str, Any], text: str) -> None:
    job = cell.submit()
    before = cell.state.snapshot()
    answer = cell.ask("submit", **{**JOB, **fields})
    assert answer.status == 1 and text.lower() in answer.answers[0][1].lower()
    if "script" not in fields:
        answer = cell.ask("alter_jobs", targets=[str(job)], changes=fields)
        assert answer.status == 1 and text.lower() in answer.answers[0][1].lower()
    assert cell.state.snapshot() == before


@pytest.mark.parametrize(
    ("name", "body", "text"),
    [
        ("delete_jobs", {"targets": ["1"] * 10_001}, "targets has more than 10000 items"),
        ("hold_jobs", {"targets": ["*a" * 600]}, "targets is longer than 1024 bytes"),
        ("hold_jobs", {"targets": ["a*"] * 17}, "targets has more than 16 patterns"),
        ("delete_jobs", {"targets": ["a"] * 65}, "targets has more than 64 items that are no numbers"),
        ("resubmit_jobs", {"targets": ["1"] * 251}, "targets has more than 250 items"),
        ("change_states", {"action": "clear", "what": "job", "targets": ["x\n"]}, "targets contains a character"),
        ("reserve", {"end_time": 1e300}, "end_time is not within 0"),
        ("reserve", {"rule": "x" * 600}, "rule is longer than 512 bytes"),
        ("alter_reservations", {"targets": ["1"], "changes": {"idle_limit": -1}}, "changes.idle_limit is not within 0"),
        ("alter_jobs", {"targets": ["1"], "changes": {"a\0": 1}}, "there is no field"),
        ("session", {"job_id": -1}, "job_id is not within 0"),
        ("start_slave", {"job_id": 1, "host": "h1", "environment": {"A=B": "x"}}, 'environment must not contain "="'),
        ("config_add", {"kind": "x\n", "name": "x"}, "kind contains a character"),
    ],
)
def test_a_request_out_of_bounds(name: str, body: dict[str, Any], text: str) -> None:
    with pytest.raises(msgspec.DecodeError) as found:
        decode_request(name, msgspec.json.encode(body))
    assert text in shape_fault(found.value)


@pytest.mark.parametrize(
    ("name", "body", "text"),
    [
        ("status", {"job_detail": {"jobs": ["*a" * 600]}}, "job_detail.jobs is longer than 1024 bytes"),
        ("status", {"jobs": {"users": 5}}, "jobs.users: a list is expected, not a whole number"),
        ("status", {"jobs": {"nosuch": 5}}, 'there is no field "nosuch"'),
        ("status", {"nosuch": {}}, 'there is no field "nosuch"'),
        ("status", {"jobs": []}, "jobs: an object is expected, not a list"),
        ("config_show", {}, 'the field "kind" is missing'),
        ("config_history", {"limit": -1}, "limit is not within 0"),
        ("wait", {"job_id": [1]}, "job_id: a whole number is expected, not a list"),
        ("events", {"types": [[]]}, "a text is expected, not a list"),
    ],
)
def test_a_question_out_of_bounds(name: str, body: dict[str, Any], text: str) -> None:
    with pytest.raises(msgspec.DecodeError) as found:
        decode_body(name, msgspec.json.encode(body))
    assert text in shape_fault(found.value)


def test_every_request_that_is_read_has_bounds() -> None:
    assert READERS.keys() <= BODIES.keys()


@pytest.mark.parametrize("name", sorted({*REQUESTS, *BODIES}))
@pytest.mark.parametrize(
    "body",
    [
        b"[" * 100_000, b'{"a":' * 100_000, b'{"changes":{"x":' + b"[" * 100_000, b'{"jobs":{"jobs":' + b"[" * 100_000,
        b"[]", b"5", b"null", b"{", b"\xff", b'{"job_id":1e999}', b'{"name":"\\ud800"}', b'{"limit":' + b"9" * 5000 + b"}",
    ],
    ids=lambda body: repr(body[:24]),
)
def test_a_malformed_body_is_refused_and_nothing_else(name: str, body: bytes) -> None:
    with pytest.raises(msgspec.DecodeError):
        (decode_request if name in REQUESTS else decode_body)(name, body)


@pytest.mark.parametrize("name", sorted({*REQUESTS, *BODIES}))
def test_every_field_has_its_bounds(name: str) -> None:
    """Making the check of a type fails for a text or a number that has none."""
    bounds._check_of(REQUESTS[name] if name in REQUESTS else BODIES[name])


def test_a_field_without_bounds_is_noticed() -> None:
    class Careless(msgspec.Struct):
        text: str = ""

    with pytest.raises(TypeError, match="has no bounds"):
        bounds.check(Careless("x"), Careless)


# --- the job as a whole --------------------------------------------------------------------------------


@pytest.mark.statement("SO-28")
@pytest.mark.parametrize(
    "changes", [{"pe": "make"}, {"pe_range": "2"}, {"pe_range": "garbage"}, {"allocation_rule": "2"}, {"soft_queues": ["(all.q"]}]
)
def test_a_job_that_cannot_be_placed_is_not_stored(cell: Cell, changes: dict[str, Any]) -> None:
    """One such job would stop every scheduling run, and so everybody's jobs."""
    job = cell.submit(holds="u")
    before = cell.state.snapshot()
    assert cell.ask("alter_jobs", targets=[str(job)], changes=changes).status == 1
    assert cell.ask("submit", **JOB, **changes).status == 1
    assert cell.ask("reserve", duration=60, **{k: v for k, v in changes.items() if k != "soft_queues"}).status == 1
    assert cell.state.snapshot() == before
    other = cell.submit("bob")
    cell.cycle()
    assert cell.placed(other)


def test_a_parallel_job_cannot_lose_its_slots_or_its_environment(cell: Cell) -> None:
    job = cell.submit(pe="make", pe_range="2")
    for changes in ({"pe": ""}, {"pe_range": ""}):
        answer = cell.ask("alter_jobs", targets=[str(job)], changes=changes)
        assert answer.status == 1 and "slot range" in answer.answers[0][1]
    assert cell.ask("alter_jobs", targets=[str(job)], changes={"pe": "", "pe_range": ""}).status == 0


def test_a_job_does_not_grow_beyond_its_bounds_by_changes(cell: Cell) -> None:
    job = cell.submit()
    answers = []
    for number in range(10):
        changes = [["ac", f"v{number}{each}", "x" * 1000] for each in range(10)]
        answers.append(cell.ask("alter_jobs", targets=[str(job)], changes={"context_changes": changes}))
    assert answers[0].status == 0 and answers[-1].status == 1
    assert "context is longer than 65536 bytes in all" in answers[-1].answers[0][1]
    assert len(cell.state.jobs[job].context) < 70


def test_a_copy_is_a_whole_job_as_well(cell: Cell) -> None:
    job = cell.submit(pe="make", pe_range="2")
    cell.state.jobs[job].pe_range = ""
    answer = cell.ask("resubmit_jobs", targets=[str(job)])
    assert answer.status and "slot range" in answer.answers[0][1] and len(cell.state.jobs) == 1


def test_an_ordinary_submission_passes() -> None:
    environment = {"PATH": "/bin", "BASH_FUNC_module%%": "() {  x\n}", "LANG": "de_DE.UTF-8", "PS1": "\x1b[1m$ "}
    body = {**JOB, "name": "größer", "environment": environment, "args": ["a\nb", "\x1b"], "context": {"a": "x\ny"}}
    found = decode_request("submit", msgspec.json.encode(body))
    assert isinstance(found, Submit) and found.environment == environment


# --- what random requests have found -------------------------------------------------------------------


@pytest.mark.parametrize("digit", ["\u00b2", "\u0663", "1\u00b2", "9" * 1000])
def test_number_like_values_cause_no_fault_of_the_program(cell: Cell, digit: str) -> None:
    """A superscript two is a digit, but no number; and no job has a number of a thousand digits."""
    for name in ("delete_jobs", "hold_jobs", "resubmit_jobs", "delete_reservations", "alter_reservations"):
        changes = {"changes": {"account": "x"}} if name == "alter_reservations" else {}
        assert cell.ask(name, targets=[digit], **changes).status
    explained = read(cell, "explain_job", jobs=[digit])
    assert explained.data == {"jobs": [], "unknown": [digit]} or explained.status
    read(cell, "accounting", job=digit)
    cell.ask("submit", **JOB, hold_jid=[digit], hold_jid_ok=[digit])
    cell.cycle()


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("alter_reservations", {"targets": ["((a)"], "changes": {"account": "x"}}),
        ("delete_reservations", {"targets": ["((a)"]}),
        ("clean_queues", {"queues": ["((a)"]}),
        ("submit", {**JOB, "hold_jid": ["((a)"]}),
    ],
)
def test_an_expression_that_cannot_be_read_is_refused_wherever_it_is(cell: Cell, name: str, fields: dict[str, Any]) -> None:
    cell.admin("config_add", kind="userset", name="arusers", attributes=[("name", "arusers", 1), ("entries", "root", 2)])
    answer = cell.admin(name, **fields)
    assert answer.status and answer.answers[0][0] == "error"


@pytest.mark.parametrize("name", ["config_show", "config_list", "config_template"])
def test_a_kind_of_object_that_there_is_not(cell: Cell, name: str) -> None:
    with pytest.raises(InvalidValueError, match='there is no kind of object "nosuch"'):
        read(cell, name, kind="nosuch")


def test_a_script_that_is_no_base64(cell: Cell) -> None:
    answer = cell.ask("submit", script="a=\u202e", script_encoding="base64", script_file="x")
    assert answer.answers == [("error", "denied: the script arrived damaged")]
