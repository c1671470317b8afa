"""The guides are carried out: the commands of the page work, and print the output of the page."""

from __future__ import annotations

import os
import pwd
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.cells import DemoCell, Done, eventually, run
from tests.integration.guides import Command, play, steps

USER = "ann"
"""The user of the guides."""


@pytest.fixture(scope="module")
def cell(launchers: object) -> Iterator[DemoCell]:
    """A cell in which nothing has happened: the guides name jobs by their numbers."""
    made = DemoCell()
    try:
        made.start()
        yield made
    finally:
        made.remove()


def command_line(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")
    except OSError:
        return ""


def typed(cell: DemoCell, command: Command) -> Done:
    """A line of a guide in a shell of the cell, with stdout and stderr in one stream."""
    me = pwd.getpwuid(os.getuid()).pw_name
    environment = {**cell.environment, "HOSTNAME": ""}
    done = run(["bash", "-c", f"exec 2>&1; {command.line}"], env=environment, cwd=cell.work)
    output = done.stdout.replace("node0", "master")
    done.stdout = re.sub(rf"\b{re.escape(me)}(?= has| |@|$)", USER if command.by_user else "root", output, flags=re.MULTILINE)
    return done


def test_the_users_guide(cell: DemoCell) -> None:
    assert play("users.md", cell.work, lambda command: typed(cell, command)) > 30


def test_the_administrators_guide(cell: DemoCell) -> None:
    assert play("administrators.md", cell.work, lambda command: typed(cell, command)) > 15


def test_uninstall_ends_running_tasks_only_on_request_and_keeps_the_spool(cell: DemoCell) -> None:
    eventually("no task is left", lambda: not re.search(r"runs \d+ task", cell.command("gridengine", "uninstall").stderr))
    refused = cell.command("gridengine", "uninstall", "--yes")
    assert refused.returncode == 1 and refused.stderr == "gridengine: daemons run on this host: gridengine stop, or --stop\n"
    assert f"removes  {cell.common}\n" in refused.stdout and f"keeps    {cell.place}/spool/qmaster\n" in refused.stdout
    assert "runs     sge_qmaster (node0)" in refused.stdout
    asked = cell.command("gridengine", "uninstall", "--stop")
    assert asked.returncode == 1 and "nothing was changed" in asked.stderr and cell.must("qconf", "-sql")
    cell.must("gridengine", "uninstall", "--yes", "--stop")
    assert not cell.common.exists() and not (cell.place / "run").exists() and (cell.place / "spool/qmaster/spool.db").exists()
    eventually("no daemon is left", lambda: not any("sge_" in line for line in map(command_line, cell.processes())))


def test_the_first_five_minutes_are_short() -> None:
    hosts = [step.host for step in steps("start.md") if isinstance(step, Command) and not step.by_user]
    assert hosts.count("master") <= 8 and hosts.count("node1") <= 3


def test_a_guide_with_another_output_is_seen() -> None:
    command = Command("qstat", "job 17  of ann\n…\nend", "", "", True)
    others = ("job 4 of bob\nend", "job x of ann\nend", "job 4 of ann\nend\nmore")
    assert all(command.printed_by(Done([], 0, text, "")) for text in ("job 4 of ann\nend", "job 4 of ann\none\ntwo\nend"))
    assert not any(command.printed_by(Done([], 0, text, "")) for text in others)
    assert not Command("true", "", "", "", True).printed_by(Done([], 1, "", ""))
