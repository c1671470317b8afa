"""Users who see the values of a job's variables: its owner, operators and managers."""

from __future__ import annotations

import json

import pytest

from tests.harness import Cell
from tests.unit.clients.shell import Shell

SECRET = "s3cret"


@pytest.fixture
def job(shell: Shell, cell: Cell) -> int:
    """A job of alice that runs with a password, and a waiting job."""
    assert shell(f"qsub -b y -N hers -v PASSWORD={SECRET},EMPTY= sleep 9").status == 0
    assert shell(f"qsub -b y -N waits -hold_jid hers -v PASSWORD={SECRET} sleep 9").status == 0
    cell.cycle()
    return 1


def env_list(shell: Shell, job: int) -> str:
    (line,) = (line for line in shell(f"qstat -j {job}").lines if line.startswith("env_list"))
    return line.partition(":")[2].strip()


@pytest.mark.statement("ST-18")
def test_the_owner_operators_and_managers_see_values(shell: Shell, cell: Cell, job: int) -> None:
    both = f"PASSWORD={SECRET},EMPTY=NONE"
    assert env_list(shell, job) == both
    shell.user = "bob"
    assert env_list(shell, job) == "PASSWORD,EMPTY"
    cell.add("operator", "bob")
    assert env_list(shell, job) == both
    shell.user = "root"
    assert env_list(shell, job) == both


@pytest.mark.statement("ST-18", "QA-1", "ST-1")
def test_no_command_shows_them_to_others(shell: Shell, cell: Cell, job: int) -> None:
    assert SECRET in shell(f"qstat -j {job} -xml").out and SECRET in shell(f"qstat -j {job} -json").out
    shell.user = "bob"
    for command in ("qstat", "qstat -f", "qstat -r", "qstat -ext", "qstat -xml", "qstat -json", "qhost -j", "qexplain 2"):
        assert SECRET not in shell(command).out, command
    for form in ("", "-xml", "-json"):
        shown = shell(f"qstat -j '*' {form}")
        assert (shown.status, "PASSWORD" in shown.out, SECRET in shown.out) == (0, True, False), form
    (variable, *_) = json.loads(shell(f"qstat -j {job} -json").out)["jobs"][0]["environment"]
    assert variable == {"name": "PASSWORD", "value": None}
    assert shell("qresub 1").status != 0
    cell.end(job)
    assert SECRET not in shell(f"qacct -j {job}").out
    assert SECRET not in json.dumps(cell.records(job))
