"""Snakemake as it is, with the commands that its users write, and over DRMAA: rules run as jobs, fail and are cancelled."""

from __future__ import annotations

import os
import signal
import subprocess

import pytest

from tests.integration.cells import eventually
from tests.integration.unmodified.conftest import BLOCKS, PLAY_S, User

FAILING = """
rule broken:
    output: "broken.txt"
    shell: "exit 3"

rule long:
    output: "long.txt"
    shell: "touch began; sleep 600"
"""
COMMANDS = ("snakemake", "--profile", "grid")
DRMAA = ("sh", "-c", f'exec {BLOCKS["drmaa"].strip()} "$@"', "sh")


@pytest.fixture
def workflow(user: User) -> User:
    """The workflow of the page, with two more rules."""
    for name in ("grid/config.yaml", "grid/status.sh"):
        user.write(name, BLOCKS[name])
    user.write("Snakefile", BLOCKS["Snakefile"] + FAILING)
    (user.work / "logs").mkdir()
    return user


@pytest.mark.apart
@pytest.mark.parametrize("command", [COMMANDS, DRMAA], ids=["commands", "drmaa"])
def test_a_workflow_is_carried_out_by_jobs(workflow: User, command: tuple[str, ...]) -> None:
    done = workflow.run(*command)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (workflow.work / "total.txt").read_text() == "14\n"
    names = (workflow.work / "names.txt").read_text().split()
    assert len(names) == 4 and all("square" in name for name in names)


@pytest.mark.apart
@pytest.mark.parametrize("command", [COMMANDS, DRMAA], ids=["commands", "drmaa"])
def test_a_rule_that_fails_is_a_job_that_failed(workflow: User, command: tuple[str, ...]) -> None:
    done = workflow.run(*command, "broken.txt")
    assert done.returncode == 1
    assert ("Error in rule broken" if command is COMMANDS else "MissingOutputException in rule broken") in done.stderr


@pytest.mark.apart
@pytest.mark.parametrize("command", [COMMANDS, DRMAA], ids=["commands", "drmaa"])
def test_interrupting_snakemake_deletes_its_jobs(workflow: User, command: tuple[str, ...]) -> None:
    # what it asks about at this very moment, Snakemake does not delete
    status = BLOCKS["grid/status.sh"].replace("echo running;", "echo running; [ ! -e began ] || touch seen;")
    workflow.write("grid/status.sh", status)
    seen = "seen" if command is COMMANDS else "began"
    options = ("long.txt", "--seconds-between-status-checks", "10")
    with subprocess.Popen(
        [*command, *options], env=workflow.environment, cwd=workflow.work, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as snakemake:
        eventually("the job runs", lambda: (workflow.work / seen).exists())
        os.kill(snakemake.pid, signal.SIGINT)
        assert snakemake.wait(PLAY_S) == 1
    eventually("its job is gone", lambda: workflow.jobs() == [])
