"""qacct -j with the native front: the same bytes as the command in Python, for records of all kinds (adr/0261)."""

from __future__ import annotations

import json

import pytest

from gridengine.usage.accounting import FIELDS
from tests.integration.cells import eventually
from tests.integration.clients.front_commands import HANDED
from tests.integration.clients.test_connection import plain
from tests.integration.clients.test_front import RECORD

#: values of fields that change how a record is printed
PLAIN: list[dict[str, str]] = [
    {},
    {"task_number": "12", "arid": "3", "ar_sub_time": "1764000000", "category": "-l h_rt=60 -q all.q"},
    {"start_time": "0", "end_time": "0", "failed": "1", "exit_status": "0"},
    {"failed": "100", "exit_status": "137"},
    {"failed": "37", "exit_status": "152"},
    {"failed": "99", "exit_status": "178"},
    {"failed": "12345", "exit_status": "300"},
    {"exit_status": "128"},
    {"exit_status": "192"},
    {"exit_status": "193"},
    {"maxvmem": "1024", "ru_maxrss": "1023.9996", "mem": "0.000001", "io": "1048576.5"},
    {"maxvmem": "1e+15", "ru_maxrss": "0.0005", "mem": "1023.9999999", "io": "0"},
    {"ru_wallclock": "0.5", "ru_utime": "1.5e-05", "cpu": "1234567.8905", "ru_minflt": "3.999"},
    {"ru_wallclock": "1.5", "ru_utime": "2.0005", "ru_nvcsw": "9007199254740993"},
    {"job_name": "a long name with blanks, and more", "qname": "", "account": "%s%n"},
]
#: those that are handed over
ODD: list[dict[str, str]] = [
    {"job_name": "\u00e4"},
    {"job_name": "a\tb"},
    {"exit_status": " 3"},
    {"cpu": "1_0"},
    {"mem": "-1"},
    {"io": "nan"},
    {"start_time": "99999999999999"},
]


def row(values: dict[str, str]) -> list[str]:
    """A record with these values."""
    return [values.get(name, value) for name, value in zip(FIELDS, RECORD, strict=True)]


def answered(*records: object, following: object = None, **other: object) -> bytes:
    """The answer with records."""
    return plain(json.dumps({"status": 0, "answers": [], "data": {"records": records, "next": following}, **other}).encode())


@pytest.mark.statement("QA-7")
@pytest.mark.parametrize("values", [*PLAIN, *ODD], ids=str)
def test_a_record_is_printed_alike(both, serve, values: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setenv("TZ", "Asia/Kolkata")
    serve(lambda name, body: answered(row(values), row({**values, "task_number": "2"})))
    python, front = (run("qacct", "-j", "7") for run in (both.python, both.front))
    assert (front.stdout, front.stderr, front.returncode) == (python.stdout, python.stderr, python.returncode)


@pytest.mark.parametrize(
    "reply",
    [
        answered(),
        answered([*RECORD, '{"reason":"why"}']),
        answered(RECORD[:-1]),
        answered(RECORD, following=9),
        answered(RECORD, answers=[["warning", "odd"]]),
        answered(RECORD, status=1, answers=[["error", "no"]]),
        plain(b"nonsense"),
        b"",
    ],
)
def test_an_answer_that_is_not_plain_is_handed_over(played, serve, reply: bytes) -> None:  # type: ignore[no-untyped-def]
    serve(lambda name, body: reply)
    assert played.front("qacct", "-j", "7").stdout.splitlines() == [HANDED, "", "-j", "7"]


def test_records_of_plain_values_are_printed_by_the_front(played, serve) -> None:  # type: ignore[no-untyped-def]
    left = list(PLAIN)
    serve(lambda name, body: answered(row(left[0])))
    while left:
        # an answer is late when this machine stalls
        eventually("it is printed", lambda: played.front("qacct", "-j", "7").stdout.startswith("====="))
        left.pop(0)
