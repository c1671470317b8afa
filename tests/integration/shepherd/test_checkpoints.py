"""Checkpointing jobs: the commands and signals of their interface around real processes (CK-2, CK-4, CK-7)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integration.shepherd.cell import Cell, Task, alive, wait_for

JOB = "trap 'echo saved' USR1; echo ready; while :; do sleep 0.05; done\n"


def interface(
    cell: Cell, migr: str = 'kill -9 "$1"; sleep 0.2', kind: str = "application-level", clean: str = "", **changes: object
) -> dict[str, object]:
    """An interface whose commands write a line with their arguments into `log`."""
    log = cell.home / "log"

    def command(name: str, more: str = "") -> str:
        path = cell.file(name, f'#!/bin/sh\necho "{name} $* $(id -un)" >>{log}\n{more}\necho "{name} done" >>{log}\n')
        return f"{path} $job_pid $ckpt_dir"

    return {
        "ckpt_interface": kind,
        "ckpt_command": command("ckpt"),
        "migr_command": command("migr", migr),
        "restart_command": command("restart"),
        "clean_command": command("clean", clean),
        "variables": {"ckpt_dir": "/ckpt"},
        **changes,
    }


def log(cell: Cell) -> list[str]:
    path = cell.home / "log"
    return path.read_text().splitlines() if path.exists() else []


def started(cell: Cell, **config: object) -> tuple[Task, int]:
    task = cell.task(JOB, **config)
    task.start()
    task.wait_output("ready")
    return task, task.job_pid()


@pytest.mark.statement("CK-2", "CK-4")
def test_migr_command_saves_and_ends_the_job(cell: Cell) -> None:
    task, pid = started(cell, **interface(cell))
    task.command("migrate")
    assert (task.wait()["failed"], task.exit["exit_status"], task.exit["checkpoint"]) == (24, 137, pid)
    user = cell.user.pw_name
    assert log(cell) == [f"migr {pid} /ckpt {user}", "migr done"], "it was left to end, and nothing was cleaned up"


@pytest.mark.statement("CK-4")
def test_a_failing_kernel_command_has_made_no_checkpoint(cell: Cell) -> None:
    task, _ = started(cell, **interface(cell, 'kill -9 "$1"; exit 1', kind="hibernator"))
    task.command("migrate")
    assert (task.wait()["failed"], task.exit["checkpoint"]) == (24, 0)


@pytest.mark.statement("CK-2", "CK-7")
def test_checkpoints_at_intervals_and_the_end_cleans_up(cell: Cell) -> None:
    task, pid = started(cell, **interface(cell), ckpt_when="m", ckpt_interval_s=0.2)
    wait_for(lambda: log(cell).count("ckpt done") >= 2, "two checkpoints")
    wait_for(lambda: (task.directory / "checkpoint").exists(), "the note that there is a checkpoint")
    task.command("terminate")
    assert (task.wait()["failed"], task.exit["checkpoint"]) == (100, pid)
    assert log(cell)[-2:] == [f"clean {pid} /ckpt {cell.user.pw_name}", "clean done"]


@pytest.mark.statement("CK-7", "CK-4")
def test_an_interface_of_signals(cell: Cell) -> None:
    kind = {**interface(cell, kind="userdefined"), "ckpt_signal": "USR1"}
    task, _ = started(cell, **kind, ckpt_when="m", ckpt_interval_s=1)
    wait_for(lambda: task.stdout.count("saved") >= 2, "two signals")
    task.command("migrate")
    assert (task.wait()["failed"], task.exit["exit_status"], task.exit["checkpoint"]) == (24, 137, 0)
    assert log(cell) == []


@pytest.mark.statement("CK-2", "CK-4")
def test_restart_command_is_the_job(cell: Cell) -> None:
    task = cell.run("exit 9", **interface(cell, kind="hibernator"), ckpt_pid=4711)
    assert (task.exit["failed"], task.exit["exit_status"]) == (0, 0)
    assert [line for line in log(cell) if "done" not in line][0].startswith("restart 4711 /ckpt")


@pytest.mark.statement("CK-2", "CK-4")
def test_deletion_does_not_wait_for_a_migration_that_hangs(cell: Cell) -> None:
    """Nor does it clean up behind a command that may still write."""
    hanging, look = "echo $$ >migr; kill -9 $1; exec sleep 1000", "kill -0 $(cat migr) && echo 'migr is there' >>log"
    task, pid = started(cell, **interface(cell, hanging, clean=look))
    task.command("migrate")
    wait_for(lambda: not alive(pid), "the job to be gone")
    assert not Path(task.directory / "exit").exists()
    task.command("terminate")
    assert task.wait()["failed"] == 100
    assert log(cell)[-1] == "clean done" and "migr is there" not in log(cell)
