"""The configuration of a slave task's shepherd, and how its directory is found again."""

from __future__ import annotations

import json
from pathlib import Path
from signal import SIGCONT, SIGSTOP
from typing import Any

import pytest

from daemons.execd import active_jobs
from daemons.execd.site import HostSite, link_programs
from daemons.execd.task_config import task_config
from gridengine.protocols.delivery import Start
from gridengine.protocols.task_file import TaskConfig
from gridengine.state.jobs import Grant
from gridengine.state.slaves import SlaveTask
from gridengine.values.task_key import SlaveKey, TaskKey
from shepherd.command_line import job_command_line
from shepherd.control import Control, Kill, Signal
from shepherd.plan import Run, plan
from tests.unit.execd.instructions import ALICE, SITE, configuration, start

SLAVE = SlaveTask(3, "all.q@g1", "orted", ["-mca", "x"], "/work", {"PATH": "/mpi", "OMPI": "1", "JOB_ID": "99"})


def slave_start(**changes: Any) -> Start:
    granted = [Grant("all.q@g1", 2), Grant("all.q@g2", 4)]
    made = start(granted=granted, slave=SLAVE, pe_name="mpi", environment={"OMPI": "0", "MORE": "2"}, **changes)
    made.key = SlaveKey(*made.key.master, SLAVE.number)
    return made


def config(**changes: Any) -> TaskConfig:
    return task_config(slave_start(**changes), SITE, configuration(prolog="/p", epilog="/e"), ALICE)


@pytest.mark.statement("TI-2", "RL-8", "QC-28")
def test_limits_of_its_queue_and_no_methods() -> None:
    made = config(queue={"h_rt": "0:1:0", "priority": "5"}, pe_start="/s", pe_stop="/t")
    assert (made.limits["h_rt"], made.slots, made.nice) == (60, 2, 5)
    steps = [step.name for step in plan(made) if isinstance(step, Run)]
    assert steps == ["job"]


@pytest.mark.statement("QC-28", "QC-27")
def test_signals_stop_continue_and_end_slave_tasks_in_queues_with_methods() -> None:
    queue = {"suspend_method": "/s", "resume_method": "/r", "terminate_method": "/t", "notify": "0:1:0"}
    control = Control(config(queue=queue))
    assert [control.command(name, 0.0) for name in ("suspend", "resume", "terminate")] == [
        [Signal(SIGSTOP)],
        [Signal(SIGCONT)],
        [Kill("the job was to be deleted")],
    ]


@pytest.mark.statement("TI-2", "QC-19", "EN-1")
def test_environment_scratch_directory_and_command() -> None:
    made = config()
    environment = made.environment
    assert made.tmpdir == environment["TMPDIR"] == "/tmp/12.1.all.q.3"
    assert environment["PATH"] == "/tmp/12.1.all.q.3:/mpi"
    assert (environment["OMPI"], environment["MORE"], environment["JOB_ID"], environment["PE"]) == ("1", "2", "12", "mpi")
    assert (made.session, made.slave, made.cwd) == ("pipes", 3, "/work")
    assert job_command_line(made).argv == ["bash", "-c", "orted -mca x"]


@pytest.mark.statement("TI-5", "EX-9")
def test_slave_tasks_are_found_again_after_a_restart(tmp_path: Path) -> None:
    site = HostSite("g1", "/opt/ge", "default", tmp_path)
    for key in (TaskKey(12, 1, 3), SlaveKey(12, 1, 3, 7)):
        directory = site.task_directory(key)
        directory.mkdir(parents=True)
        identity = {"job_id": 12, "task_id": 1, "attempt": 3} | ({"slave": 7} if isinstance(key, SlaveKey) else {})
        (directory / "config").write_text(json.dumps(identity))
    assert sorted(active_jobs.read_tasks(site)) == [(12, 1, 3), (12, 1, 3, 7)]
    assert sorted(path.name for path in site.active_jobs.iterdir()) == ["12.1", "12.1.7"]


@pytest.mark.statement("TI-1")
def test_programs_are_offered_where_launchers_look(tmp_path: Path) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    link_programs(tmp_path, "")
    assert not (tmp_path / "bin").exists()
    link_programs(tmp_path, "/nowhere")
    link_programs(tmp_path, str(programs))
    [link] = (tmp_path / "bin").iterdir()
    assert link.resolve() == programs
    link_programs(tmp_path, "/elsewhere")
    assert link.resolve() == programs, "what leads somewhere stays"
