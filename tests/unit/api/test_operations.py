"""Requests of Python programs: every operation is a request that the qmaster takes, and nothing else is."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import msgspec
import pytest

from gridengine.api import operations
from gridengine.api.async_cell import AsyncCell
from gridengine.api.cell import Cell
from gridengine.api.job_fields import JobFields, ReservationFields
from gridengine.api.operations import Operation
from gridengine.protocols.gdi.reading import BODIES, decode_body
from gridengine.protocols.gdi.requests import REQUESTS, Changes, Reserve, Submit, decode_request

OPERATIONS: list[Operation[Any]] = [
    operations.alter([1, "2"], priority=-5, hard={"h_rt": 60}, queue="all.q"),
    operations.delete("1.2-5", force=True),
    operations.hold(1, "us"),
    operations.release([1]),
    operations.suspend(1),
    operations.resume(1),
    operations.reschedule(1),
    operations.clear_error(1),
    operations.jobs(),
    operations.jobs(["alice", "b*"], "r"),
    operations.job(1),
    operations.explain(1),
    operations.accounting_page(1),
    operations.accounting_page("name", 5),
    operations.queues(),
    operations.instances("all.q"),
    operations.hosts(),
    operations.enable("all.q"),
    operations.disable(["all.q", "b.q@h"]),
    operations.reserve(duration=3600, queue="all.q", pe="mpi", pe_range=4, users=["alice", "!bob"], hard=["h=a*"]),
    operations.alter_reservation(1, end_time=5e9),
    operations.delete_reservation([1, 2], series=True),
    operations.reservations(),
    operations.names("pe"),
    operations.show("configuration"),
    operations.configure("pe", "x", None, {"pe_name": "x"}),
    operations.configure_all([("pe", "x", {"pe_name": "x"}, None), ("project", "p", None, {"name": "p"})]),
]


def test_a_text_of_resources_is_read_as_minus_l() -> None:
    for given in ("gpu=1,gpu_type='a,b'", ["gpu=1", "gpu_type=a,b"], {"gpu": 1, "gpu_type": "a,b"}):
        assert operations.alter(1, hard=given).body["changes"]["hard"] == ["gpu=1", "gpu_type=a,b"]
    with pytest.raises(ValueError, match="no value behind its equal sign"):
        operations.alter(1, hard="gpu=")


def read(operation: Operation[Any]) -> Any:
    """The request as the qmaster reads it; raises msgspec.DecodeError."""
    body = msgspec.json.encode(operation.body)
    return decode_request(operation.request, body) if operation.changes else decode_body(operation.request, body)


@pytest.mark.statement("DM-5")
@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.request)
def test_each_operation_is_a_request_that_the_qmaster_takes(operation: Operation[Any]) -> None:
    read(operation)
    assert operation.request in (REQUESTS if operation.changes else BODIES)


def test_every_operation_is_a_method_of_both_cells() -> None:
    functions = inspect.getmembers(operations, inspect.isfunction)
    made = {name for name, function in functions if function.__module__ == operations.__name__ and not name.startswith("_")}
    of_cell, of_async_cell = ({name for name in dir(kind) if not name.startswith("_")} for kind in (Cell, AsyncCell))
    assert of_cell == of_async_cell
    assert made - of_cell == {"accounting_page"}


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "job.sh"
    path.write_text("#!/bin/sh\n#$ -N of_script -l h_rt=60,s_rt=50\n#$ -q a.q -v A=1\nsleep 1\n")
    return path


def submitted(*args: Any, **fields: Any) -> Submit:
    request = read(operations.submit(*args, **fields))
    assert isinstance(request, Submit)
    return request


def test_a_script_is_sent_along_with_its_options(script: Path) -> None:
    request = submitted(script, "arg", "2")
    assert (request.name, request.hard, request.hard_queues) == ("of_script", ["h_rt=60", "s_rt=50"], ("a.q",))
    assert request.script == script.read_text() and request.script_file == str(script) and request.args == ("arg", "2")
    assert request.environment["A"] == "1" and request.environment["SGE_O_WORKDIR"]
    assert not request.binary


def test_options_come_before_fields_and_behind_the_script(script: Path) -> None:
    request = submitted(script, options="-N of_options -l h_rt=70 -v B=2", queue=["b.q", "c.q"], environment={"C": "3"})
    assert (request.name, request.hard_queues) == ("of_options", ("b.q", "c.q"))
    assert request.hard == ["h_rt=70", "s_rt=50"]
    assert {request.environment[name] for name in "ABC"} == {"1", "2", "3"}
    assert set(request.environment_names) == {"A", "B", "C"}


def test_fields_take_types_of_python(tmp_path: Path) -> None:
    request = submitted(
        "/bin/true",
        binary=True,
        hard={"h_rt": 60, "mem_free": "1G"},
        tasks=5,
        pe="mpi",
        pe_range=4,
        cwd=tmp_path / "x" / "..",
        stdout=tmp_path / "out",
        hold_jid=12,
    )
    assert request.hard == ["h_rt=60", "mem_free=1G"] and request.tasks == "5" and request.pe_range == "4"
    assert request.cwd == str(tmp_path) and request.stdout == (("", str(tmp_path / "out")),) and request.hold_jid == ("12",)


def test_a_script_may_be_bytes_that_are_no_text() -> None:
    request = submitted("x", script=b"#!/bin/sh\necho \xff\n")
    assert (request.script_encoding, request.script_file) == ("base64", "x")


@pytest.mark.parametrize(
    ("fields", "error", "text"),
    [
        ({}, ValueError, "a command or a script"),
        ({"script": "x", "options": "-nosuch"}, ValueError, "options.*-nosuch"),
        ({"script": "x", "options": "word"}, ValueError, '"word" is no option'),
        ({"script": "#$ -p x\n"}, ValueError, "script, line 1"),
        ({"script": "x", "colour": "red"}, TypeError, "no field 'colour' of a job"),
    ],
)
def test_invalid_fields_are_refused_by_the_client(fields: dict[str, Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        operations.submit(**fields)


def test_a_field_of_no_reservation_is_refused() -> None:
    with pytest.raises(TypeError, match="no field 'tasks' of a reservation"):
        operations.reserve(tasks="1")  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("ours", "theirs", "left"),
    [
        # what the call itself says, and where it is said
        (JobFields, Submit, "kind script script_encoding script_file binary args pty path_aliases submit_cwd home login_shell "
                            "submit_path environment_names hard_queues session error_ends"),
        (ReservationFields, Reserve, "hard_queues verify find"),
    ],
)
def test_every_field_of_a_request_can_be_given(ours: type, theirs: type[msgspec.Struct], left: str) -> None:
    assert set(theirs.__struct_fields__) ^ ours.__annotations__.keys() == {*left.split(), "queue"}


def test_all_fields_of_a_job_can_be_altered() -> None:
    assert set(JobFields.__annotations__) - {"queue"} <= set(Changes.__struct_fields__)
