"""Checkpoints and migration as the shepherd decides on them: when, by which command or signal, and what it means."""

from __future__ import annotations

import os
from pathlib import Path
from signal import SIGCONT, SIGSTOP, SIGUSR2
from typing import Any

import pytest

from shepherd import task_files
from shepherd.checkpoints import Checkpoints, clean_step
from shepherd.control import Action, Control, Kill, Note, RunMethod, Signal
from shepherd.outcome import Ended, Outcome
from shepherd.plan import Clean, Run, Sweep, plan
from tests.unit.shepherd.configuration import config
from tests.unit.shepherd.test_control import DELETED, control, play

COMMANDS = {
    "ckpt_interface": "application-level",
    "ckpt_command": "/c",
    "migr_command": "/m",
    "restart_command": "/r $job_pid",
    "clean_command": "/x $job_pid",
}
SIGNALS = {"ckpt_interface": "userdefined", "ckpt_signal": "USR2", "migr_command": "/m", "clean_command": "/x"}
MIGRATES = Kill("the job migrates")
PERIODIC = {"ckpt_when": "m", "ckpt_interval_s": 300}


@pytest.mark.statement("CK-7")
@pytest.mark.parametrize(
    ("changes", "action"),
    [
        (SIGNALS, Signal(SIGUSR2)),
        ({**SIGNALS, "ckpt_interface": "transparent"}, Signal(SIGUSR2)),
        (COMMANDS, RunMethod("ckpt_command")),
        ({**COMMANDS, "ckpt_interface": "hibernator"}, RunMethod("ckpt_command")),
    ],
)
def test_periodic_checkpoints(changes: dict[str, Any], action: Action) -> None:
    assert play(control(**changes, **PERIODIC), until=1000) == [(300, action), (600, action), (900, action)]


@pytest.mark.statement("CK-7", "CK-3")
@pytest.mark.parametrize(
    "changes",
    [
        {**SIGNALS, "ckpt_when": "sx"},
        {**SIGNALS, **PERIODIC, "ckpt_signal": None},
        {**COMMANDS, **PERIODIC, "ckpt_command": None},
    ],
)
def test_no_checkpoint_without_an_occasion_or_a_means(changes: dict[str, Any]) -> None:
    assert play(control(**{"ckpt_interval_s": 300, **changes})) == []


@pytest.mark.statement("CK-4", "CK-5", "CK-2")
@pytest.mark.parametrize(
    ("changes", "commands", "expected"),
    [
        (COMMANDS, [(1, "migrate")], [(1, RunMethod("migr_command"))]),
        (COMMANDS, [(1, "migrate"), (2, "migrate")], [(1, RunMethod("migr_command"))]),
        (
            COMMANDS,
            [(1, "migrate"), (2, "resume"), (3, "migrate")],
            [(1, RunMethod("migr_command")), (3, RunMethod("migr_command"))],
        ),
        (
            COMMANDS,
            [(1, "suspend"), (2, "migrate")],
            [(1, Signal(SIGSTOP)), (2, Signal(SIGCONT)), (2, RunMethod("migr_command"))],
        ),
        ({**COMMANDS, "migr_command": None}, [(1, "migrate")], [(1, MIGRATES)]),
        (SIGNALS, [(1, "migrate")], [(1, MIGRATES)]),
        ({**SIGNALS, "notify_s": 10}, [(1, "migrate")], [(1, Signal(SIGUSR2)), (11, MIGRATES)]),
        ({**SIGNALS, "ckpt_when": "s"}, [(1, "shutdown")], [(1, MIGRATES)]),
        ({**COMMANDS, "ckpt_when": "s"}, [(1, "shutdown")], [(1, RunMethod("migr_command"))]),
        ({**SIGNALS, "ckpt_when": "x"}, [(1, "shutdown")], [(1, Kill("sge_execd was shut down with its jobs"))]),
        (COMMANDS, [(1, "migrate"), (2, "terminate")], [(1, RunMethod("migr_command")), (2, DELETED)]),
    ],
)
def test_migration(changes: dict[str, Any], commands: list[tuple[float, str]], expected: list[tuple[float, Action]]) -> None:
    assert play(control(**changes), *commands) == expected


@pytest.mark.statement("CK-4")
def test_only_what_is_not_taken_back_or_deleted_counts_as_migration() -> None:
    found = control(**COMMANDS)
    found.command("migrate", 1)
    assert found.migrating
    found.command("resume", 2)
    assert not found.migrating
    found.command("migrate", 3)
    found.command("terminate", 4)
    assert not found.migrating


@pytest.mark.statement("CK-4")
@pytest.mark.parametrize("ended", [Ended(), Ended(3), Ended(137, 9)])
def test_however_a_migrating_job_ends_it_runs_again(ended: Ended) -> None:
    outcome = Outcome(False, False)
    outcome.job_ended(ended, "", migrating=True)
    assert (outcome.failed, outcome.exit_status, outcome.runs_again) == (24, ended.exit_status, True)


@pytest.mark.statement("CK-2")
def test_clean_command_comes_after_the_job_and_its_outcome_is_ignored() -> None:
    steps = plan(config(**COMMANDS, pe_stop="/stop"))
    kinds = [step.name if isinstance(step, Run) else type(step) for step in steps]
    assert kinds[1:] == ["job", Sweep, Clean, "pe_stop"]
    assert Clean not in [type(step) for step in plan(config(**SIGNALS))], "signals leave nothing to clean"
    outcome = Outcome(False, False)
    outcome.method_ended("clean_command", Ended(100))
    outcome.fail("clean_command", 0, "cannot be started")
    assert (outcome.failed, outcome.unsuccessful) == (0, set())


@pytest.mark.statement("CK-2", "CK-4")
@pytest.mark.parametrize(
    ("changes", "command"),
    [
        ({}, ["sh", "/spool/job_scripts/7"]),
        ({"ckpt_pid": 4711}, ["sh", "/spool/job_scripts/7"]),
        ({"ckpt_pid": 4711, "ckpt_interface": "hibernator"}, ["/r", "4711"]),
        ({"ckpt_pid": 0, "ckpt_interface": "hibernator"}, ["sh", "/spool/job_scripts/7"]),
        ({"ckpt_pid": 4711, "ckpt_interface": "cpr", "restart_command": None}, ["sh", "/spool/job_scripts/7"]),
    ],
)
def test_the_command_that_starts_a_job_with_a_checkpoint(changes: dict[str, Any], command: list[str]) -> None:
    job = next(step for step in plan(config(**{**COMMANDS, **changes})) if isinstance(step, Run) and step.name == "job")
    assert [argument.lstrip("-") for argument in job.command.argv] == command


def test_a_command_that_cannot_be_read_is_noted() -> None:
    notes = Control(config(**COMMANDS | {"ckpt_command": "'", "ckpt_signal": "dance"})).started(0)
    assert [type(note) for note in notes] == [Note, Note]


@pytest.mark.statement("CK-7", "CK-2")
@pytest.mark.parametrize(
    ("interface", "exit_status", "checkpoint"),
    [("application-level", 0, 4711), ("application-level", 3, 4711), ("cpr", 0, 4711), ("cpr", 3, 0)],
)
def test_a_checkpoint_is_there_when_its_command_has_ended(
    tmp_path: Path, interface: str, exit_status: int, checkpoint: int
) -> None:
    found = Checkpoints(tmp_path, config(**COMMANDS | {"ckpt_interface": interface}), task_files.Trace(tmp_path))
    found.started("suspend_method", 99)
    assert not found.has_running_commands
    found.started("ckpt_command", 100)
    assert (found.has_running_commands, found.pids) == (True, {100})
    assert (found.is_running("ckpt_command"), found.is_running("migr_command")) == (True, False)
    found.ended(99, 0, 4711)
    assert (task_files.read_checkpoint(tmp_path), found.has_running_commands) == (0, True), "another process says nothing"
    found.ended(100, exit_status << 8, 4711)
    assert (task_files.read_checkpoint(tmp_path), found.has_running_commands) == (checkpoint, False)
    assert f"ckpt_command ended with status {exit_status}" in (tmp_path / "trace").read_text()


@pytest.mark.statement("CK-2")
def test_clean_command_gets_the_jobs_process_and_all_variables() -> None:
    step = clean_step(config(**COMMANDS), "/x $job_pid $job_id", os.getpid())
    assert step.command.argv == ["/x", str(os.getpid()), "7"]
