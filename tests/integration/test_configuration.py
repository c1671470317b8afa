"""Configuration on a running cell: files planned and applied, undo, rule-based groups, calendars, events and triggers."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.integration.cells import BIN, PATIENCE_S, DemoCell, eventually


def _qevent(cell: DemoCell, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [str(BIN / "qevent"), *arguments],
        env=cell.environment,
        cwd=cell.work,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


@pytest.mark.statement("EV-9")
def test_a_script_runs_at_the_end_of_a_job(demo_cell: DemoCell) -> None:
    script = demo_cell.work / "at-end"
    script.write_text('#!/bin/sh\necho "$@" >> ends\n')
    script.chmod(0o755)
    follower = _qevent(demo_cell, "-trigger", "JB_END", str(script))
    try:
        eventually("qevent has begun", lambda: "qevent" in demo_cell.must("qconf", "-secl"))
        job = demo_cell.must("qsub", "-terse", "-b", "y", "-o", "/dev/null", "-j", "y", "/bin/true").strip()
        ends = demo_cell.work / "ends"
        eventually("the script has run", lambda: ends.exists() and f"JB_END {job} 0" in ends.read_text())
    finally:
        follower.terminate()
        follower.wait(PATIENCE_S)


@pytest.mark.statement("HG-12", "HG-6", "OB-2", "CA-7")
def test_files_are_planned_applied_and_taken_back(demo_cell: DemoCell, tmp_path: Path) -> None:
    files = tmp_path / "files"
    config = lambda *options: demo_cell.command("gridengine", "config", *options)  # noqa: E731
    assert config("export", str(files)).returncode == 0
    assert config("diff", str(files)).stdout == ""
    (files / "hostgroups" / "@rule").write_text("group_name @rule\nhostlist NONE\nrule arch=lx-* & num_proc>0\n")
    (files / "calendars").mkdir(exist_ok=True)
    (files / "calendars" / "never").write_text("calendar_name never\nyear NONE\nweek mon-sun=0-24=off\n")
    queue = (files / "queues" / "all.q").read_text()
    lines = [_changed(line) for line in queue.splitlines()]
    (files / "queues" / "rule.q").write_text("\n".join(lines) + "\n")
    plan = config("plan", str(files))
    assert "queue instances appear: rule.q@node1" in plan.stdout
    applied = config("apply", str(files))
    assert applied.returncode == 0, applied.stderr
    eventually("the calendar is in force", lambda: "D" in demo_cell.must("qstat", "-f", "-q", "rule.q").split()[-1])
    undone = config("undo")
    assert undone.returncode == 0, undone.stderr
    assert "rule.q" not in demo_cell.must("qconf", "-sql")


def _changed(line: str) -> str:
    changes = {"qname": "rule.q", "hostlist": "@rule", "calendar": "never"}
    name = line.split()[0]
    return f"{name} {changes[name]}" if name in changes else line
