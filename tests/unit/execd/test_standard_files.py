"""Where output goes: names of sge_submit(1) -o and -e."""

from __future__ import annotations

from typing import Any

import pytest

from daemons.execd.standard_files import StandardFiles, expand, standard_files
from gridengine.values.ranges import Ranges
from tests.unit.execd.instructions import start


def files(task_id: int = 1, host: str = "g1", **job: Any) -> StandardFiles:
    def home_of(user: str) -> str | None:
        return "/home/bob" if user == "bob" else None

    return standard_files(start(job).job, task_id, host, "/home/alice", "/work", home_of)


@pytest.mark.statement("SO-12", "AJ-1")
def test_default_names() -> None:
    plain, task = files(), files(4, array=Ranges.parse("2-4:2"))
    assert (plain.stdin, plain.stdout, plain.stderr) == ("/dev/null", "/work", "/work")
    assert (plain.default_stdout, plain.default_stderr) == ("hello.o12", "hello.e12")
    assert (plain.default_pe_stdout, plain.default_pe_stderr) == ("hello.po12", "hello.pe12")
    assert (task.default_stdout, task.default_pe_stderr) == ("hello.o12.4", "hello.pe12.4")


@pytest.mark.statement("SO-12")
@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/abs/$JOB_NAME.$JOB_ID.$TASK_ID.$HOSTNAME.$USER", "/abs/hello.12.4.g1.alice"),
        ("$HOME/out", "/home/alice/out"),
        ("~/out", "/home/alice/out"),
        ("~bob/out", "/home/bob/out"),
        ("~nobody/out", "/work/~nobody/out"),
        ("rel/out", "/work/rel/out"),
        ("$JOB_IDx$OTHER", "/work/12x$OTHER"),
    ],
)
def test_variables(path: str, expected: str) -> None:
    assert files(4, array=Ranges.parse("1-9"), stdout=(("", path),)).stdout == expected


@pytest.mark.statement("SO-12")
def test_task_id_of_a_job_that_is_no_array() -> None:
    assert files(stderr=(("", "/x/$TASK_ID"),)).stderr == "/x/0"


@pytest.mark.statement("SO-12")
def test_the_path_for_this_host_wins() -> None:
    given = [("", "/all"), ("g2", "/two"), ("G1", "/one")]
    assert files(stdout=given).stdout == "/one"
    assert files(stdout=given, host="g9").stdout == "/all"
    assert files(stdin=(("g2", "/two"),)).stdin == "/dev/null"


@pytest.mark.statement("SO-12")
def test_merged() -> None:
    assert files(merge=True, stderr=(("", "/e"),)).stderr is None


def test_expansion_happens_once() -> None:
    variables = {"HOME": "/$USER", "USER": "u", "JOB_ID": "1", "JOB_NAME": "$HOME", "HOSTNAME": "h", "TASK_ID": "0"}
    assert expand("/$JOB_NAME", variables, lambda user: None) == "/$HOME"
