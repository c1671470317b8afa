"""Jobs that came by sbatch: their variables, the numbers of their tasks, and the interpreter of their script."""

from __future__ import annotations

from typing import Any

from daemons.execd.environment import job_environment
from daemons.execd.standard_files import standard_files
from daemons.execd.task_config import task_config
from gridengine.protocols.delivery import Start
from gridengine.protocols.slurm import MARK
from gridengine.state.jobs import Grant
from gridengine.values.ranges import Ranges
from tests.unit.execd.instructions import ALICE, SITE, configuration, start
from tests.unit.execd.test_environment import PATHS


def slurm_job(offset: str = "0", granted: list[Grant] | None = None, task_id: int = 1, **job: Any) -> Start:
    return start({"context": {MARK: offset}, "submit_cwd": "/sub", "submit_host": "s1", **job}, granted=granted, task_id=task_id)


def of_slurm(instruction: Start) -> dict[str, str]:
    found = job_environment(instruction, SITE, configuration(), ALICE, PATHS)
    return {name: text for name, text in found.items() if name.startswith("SLURM")}


def test_variables_known_at_the_start() -> None:
    granted = [Grant("all.q@g1", 2), Grant("fast.q@g1", 1), Grant("all.q@g2", 3), Grant("all.q@g3", 1)]
    found = of_slurm(slurm_job(granted=granted))
    assert found["SLURM_JOB_ID"] == found["SLURM_JOBID"] == "12"
    assert (found["SLURM_JOB_NODELIST"], found["SLURM_NNODES"], found["SLURM_JOB_CPUS_PER_NODE"]) == ("g[1-3]", "3", "3(x2),1")
    assert (found["SLURM_CPUS_ON_NODE"], found["SLURMD_NODENAME"], found["SLURM_JOB_PARTITION"]) == ("3", "g1", "all.q")
    assert (found["SLURM_SUBMIT_DIR"], found["SLURM_SUBMIT_HOST"], found["SLURM_JOB_NAME"]) == ("/sub", "s1", "hello")
    assert not any(name.startswith("SLURM_ARRAY") for name in found)


def test_tasks_have_the_numbers_given_to_sbatch() -> None:
    for offset, numbers in (("0", ("2", "2", "8")), ("1", ("1", "1", "7"))):
        found = of_slurm(slurm_job(offset, array=Ranges.parse("2-8:3"), task_range=(2, 8, 3), task_id=2))
        assert tuple(found[f"SLURM_ARRAY_TASK_{name}"] for name in ("ID", "MIN", "MAX")) == numbers
        assert (found["SLURM_ARRAY_JOB_ID"], found["SLURM_ARRAY_TASK_STEP"], found["SLURM_ARRAY_TASK_COUNT"]) == ("12", "3", "3")


def test_their_files_are_named_so_too() -> None:
    for offset, name in (("0", "/work/s-12_4"), ("1", "/work/s-12_3")):
        job = slurm_job(offset, array=Ranges.parse("1-9"), stdout=[("", "s-$JOB_ID_$TASK_ID")]).job
        assert standard_files(job, 4, "g1", "/home/alice", "/work", lambda user: None).stdout == name


def test_their_commands_are_found_first() -> None:
    path = job_environment(slurm_job(), SITE, configuration(), ALICE, PATHS)["PATH"]
    assert path.split(":")[1] == "/opt/ge/slurm/bin"


def test_their_script_is_run_by_what_its_first_line_names() -> None:
    def mode(instruction: Start) -> str:
        return task_config(instruction, SITE, configuration(), ALICE).shell_start_mode

    assert (mode(slurm_job()), mode(start())) == ("unix_behavior", "posix_compliant")
    assert mode(slurm_job(kind="qrsh", binary=True, script_file="/bin/true")) == "posix_compliant"


def test_other_jobs_have_none_of_it() -> None:
    assert of_slurm(start()) == {} and of_slurm(start({"context": {"a": "1"}})) == {}
    assert "slurm" not in job_environment(start(), SITE, configuration(), ALICE, PATHS)["PATH"]
