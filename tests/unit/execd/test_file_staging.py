"""Variables of prolog and epilog for files that they are to copy (EX-21)."""

from __future__ import annotations

from typing import Any

import pytest

from daemons.execd.task_config import task_config
from gridengine.config.command_variables import PROCEDURE_VARIABLES
from gridengine.protocols.task_file import TaskConfig
from shepherd.methods import expand
from tests.unit.execd.instructions import ALICE, SITE, configuration, start

JOB = {
    "submit_host": "s1",
    "stdin": (("far", "/in/$JOB_ID"),),
    "stdout": (("", "$HOME/out"),),
    "stderr": (("far", "/err"),),
}


def made(setting: str = "true", **job: Any) -> TaskConfig:
    settings = configuration(delegated_file_staging=setting)
    return task_config(start({**JOB, **job}), SITE, settings, ALICE)


@pytest.mark.statement("EX-21")
def test_staged_files_live_in_the_scratch_directory() -> None:
    config = made(transfer_files="io")
    tmpdir, variables = config.tmpdir, config.variables
    assert (config.stdin, config.stdout) == (f"{tmpdir}/stdin", f"{tmpdir}/stdout")
    assert config.stderr == "/home/alice", "a path for another host is not this one's"
    assert [variables[f"fs_stdin_{part}"] for part in ("host", "path", "tmp_path", "file_staging")] == [
        "far", "/in/12", f"{tmpdir}/stdin", "1"
    ]
    assert (variables["fs_stdout_host"], variables["fs_stdout_path"]) == ("s1", "/home/alice/out")
    assert (variables["fs_stderr_file_staging"], variables["fs_stderr_host"]) == ("0", "")
    assert variables["stdout_path"] == f"{tmpdir}/stdout"


@pytest.mark.statement("EX-21")
@pytest.mark.parametrize("changes", [{"setting": "false", "transfer_files": "ioe"}, {"transfer_files": ""}])
def test_nothing_is_staged_unless_cluster_and_job_request_it(changes: dict[str, str]) -> None:
    config = made(**changes)
    assert config.stdout == "/home/alice/out"
    assert config.variables["fs_stdout_file_staging"] == "0"


@pytest.mark.statement("EX-21")
def test_merged_output_has_no_file_of_its_own() -> None:
    assert made(transfer_files="ioe", merge=True).stderr is None


@pytest.mark.statement("EX-21", "QC-25")
def test_every_variable_that_a_prolog_may_name_has_a_value() -> None:
    variables = made().variables
    names = sorted(PROCEDURE_VARIABLES)
    assert len(expand([f"${name}" for name in names], variables)) == len(names)
