"""Jobs with invalid data of their own: their end names the job as the cause, whatever step it is (EX-3, EX-4)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.integration.shepherd.cell import Cell

LARGE = {"PATH": "/usr/bin:/bin", "LARGE": "x" * 200_000}


@pytest.mark.statement("EX-3", "EX-4", "QI-10")
@pytest.mark.parametrize(
    ("config", "failed"),
    [
        ({"args": ["a\0b"]}, 11),
        ({"cwd": "/tmp\0"}, 11),
        ({"stdout": "/tmp/a\0b"}, 11),
        ({"environment": {"A=B": "1"}}, 11),
        ({"environment": {"": "1"}}, 11),
        ({"environment": {"A": "\ud800"}}, 11),
        ({"environment": LARGE}, 27),
        ({"args": ["x" * 200_000]}, 27),
        ({"args": ["\ud800"]}, 11),
        ({"environment": LARGE, "prolog": "/bin/true"}, 27),
        ({"binary": True, "script": None, "command": "/" + "x" * 5000, "no_shell": True}, 27),
    ],
    ids=lambda value: str(value)[:40],
)
def test_job_data_that_the_kernel_rejects_is_a_fault_of_the_job(cell: Cell, config: dict[str, Any], failed: int) -> None:
    end = cell.run(**({"script": "true\n"} | config)).exit
    assert (end["failed"], end["fault"], end["reason"] != "") == (failed, "job", True)


@pytest.mark.statement("RL-1", "RL-5")
@pytest.mark.parametrize("name", ["h_fsize", "h_vmem", "h_cpu", "h_rt", "h_stack", "h_core", "s_rt"])
@pytest.mark.parametrize("value", [1e23, 10**400, 2**64])
def test_a_limit_beyond_what_the_kernel_takes_is_no_limit(user_cell: Cell, name: str, value: float) -> None:
    assert user_cell.run("exit 3\n", limits={name: value}, slots=3).exit["exit_status"] == 3


@pytest.mark.statement("EX-4", "RL-10")
def test_no_more_processes_than_the_owner_may_have(root_cell: Cell) -> None:
    """Running processes count: the program is not reached."""
    other = root_cell.task("echo ready\nsleep 1000\n")
    other.start()
    other.wait_output("ready")
    end = root_cell.run("true\n", limits={"h_maxproc": 0}).exit
    other.command("kill")
    other.wait()
    assert (end["failed"], end["fault"]) == (27, "job"), end["reason"]


@pytest.mark.statement("EX-4", "RL-5")
def test_an_environment_larger_than_the_memory_of_the_job(cell: Cell) -> None:
    environment = {f"V{number}": "x" * 100_000 for number in range(12)}
    end = cell.run("true\n", limits={"h_vmem": 2**20}, environment=environment).exit
    assert end["fault"] == "job", end


@pytest.mark.statement("EX-3", "QI-10")
@pytest.mark.parametrize("name", ["prolog", "epilog"])
def test_a_method_of_the_owner_that_dies_of_a_signal(cell: Cell, name: str) -> None:
    method = cell.file("method", "#!/bin/sh\nkill -9 $$\n")
    end = cell.run("true\n", **{name: str(method)}).exit
    assert (end["method"], end["fault"]) == (name, "job")
