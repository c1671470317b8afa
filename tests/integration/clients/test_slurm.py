"""Commands with Slurm's names, in a cell: a script for Slurm runs unchanged, and finds its variables."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.integration.cells import BIN, DemoCell, Done, eventually, run

SCRIPT = """#!/bin/bash
#SBATCH --job-name=fit --ntasks=2   # on one node
#SBATCH -N 1 -t 0:10
#SBATCH --output=%x-%j.out

env | grep ^SLURM | sort
echo "arguments $*"
until squeue -h -j "$SLURM_JOB_ID" -o '%j %T %C' | grep RUNNING; do sleep 0.1; done  # it may still be CONFIGURING
"""


class Slurm:
    """Calls commands as a user has them on his PATH."""

    def __init__(self, cell: DemoCell, work: Path) -> None:
        self.cell, self.work = cell, work

    def __call__(self, name: str, *arguments: str, **options: object) -> Done:
        path = BIN.parent / "slurm" / "bin" / name
        return run([str(path), *arguments], **{"env": self.cell.environment, "cwd": self.work, **options})

    def must(self, name: str, *arguments: str) -> str:
        done = self(name, *arguments)
        assert done.returncode == 0, f"{name} {arguments}: exit {done.returncode}: {done.stdout}{done.stderr}"
        return done.stdout

    def refused(self, name: str, *arguments: str) -> str:
        done = self(name, *arguments)
        assert (done.returncode, done.stdout) == (1, ""), done
        return done.stderr


@pytest.fixture
def slurm(demo_cell: DemoCell, tmp_path: Path) -> Slurm:
    tmp_path.chmod(0o755)
    return Slurm(demo_cell, tmp_path)


def test_a_script_for_slurm_runs_as_it_is(slurm: Slurm) -> None:
    (slurm.work / "fit.sh").write_text(SCRIPT)
    output = slurm.must("sbatch", "--wait", "fit.sh", "a", "b  c")
    number = re.fullmatch(r"Submitted batch job (\d+)\n", output)
    assert number is not None, output
    lines = (slurm.work / f"fit-{number[1]}.out").read_text().splitlines()
    variables = dict(line.split("=", 1) for line in lines if "=" in line)
    assert {name: variables[f"SLURM_{name}"] for name in ("JOB_ID", "NTASKS", "JOB_NAME", "JOB_NODELIST", "CPUS_ON_NODE")} == {
        "JOB_ID": number[1],
        "NTASKS": "2",
        "JOB_NAME": "fit",
        "JOB_NODELIST": slurm.cell.host,
        "CPUS_ON_NODE": "2",
    }
    assert variables["SLURM_SUBMIT_DIR"] == str(slurm.work)
    assert lines[-2:] == ["arguments a b  c", "fit RUNNING 2"]
    assert slurm("sbatch", "-W", "--wrap", "kill -9 $$").returncode == 1
    assert slurm("sbatch", "-W", "--wrap", "exit 7").returncode == 7


def test_a_script_of_any_language(slurm: Slurm) -> None:
    """Its first line names its interpreter, whatever the queue's shell is, and no shell's environment is sourced."""
    text = "#!/usr/bin/env python3\n#SBATCH -J py -o py.out\nimport os, sys\nprint(sys.argv[1:], os.environ['SLURM_JOB_NAME'])\n"
    (slurm.work / "job.py").write_text(text)
    slurm.must("sbatch", "-W", "job.py", "a b", "$HOME;true")
    assert (slurm.work / "py.out").read_text() == "['a b', '$HOME;true'] py\n"


def test_an_array_that_begins_at_0_is_seen_and_deleted_so(slurm: Slurm) -> None:
    job = slurm.must("sbatch", "--parsable", "-a", "0-3%2", "-J", "zero", "-H", "--wrap", "echo $SLURM_ARRAY_TASK_ID").strip()
    shown = ("-h", "-j", job, "-o", "%i %t %r")
    assert slurm.must("squeue", *shown) == f"{job}_[0-3%2] PD JobHeldUser\n"
    slurm.must("scancel", f"{job}_[1,3]")
    assert slurm.must("squeue", "-r", *shown) == f"{job}_0 PD JobHeldUser\n{job}_2 PD JobHeldUser\n"
    assert "1,3" in slurm.cell.must("qstat", "-u", "*"), "tasks 1 and 3 here"
    slurm.cell.must("qrls", job)
    eventually("both tasks have ended", lambda: slurm("squeue", "-h", "-n", "zero").stdout == "")
    outputs = {path.name: path.read_text() for path in slurm.work.glob("slurm-*.out")}
    assert outputs == {f"slurm-{job}_0.out": "0\n", f"slurm-{job}_2.out": "2\n"}


def test_dependencies_and_outputs_about_jobs(slurm: Slurm) -> None:
    first = slurm.must("sbatch", "--parsable", "-H", "-J", "first", "--wrap", "exit 1").strip()
    second = slurm.must(
        "sbatch", "--parsable", "-J", "second", f"--dependency=afternotok:{first}", "-p", "all.q", "--wrap", "true"
    ).strip()
    table = slurm.must("squeue", "--me", "-n", "first,second", "-t", "PD").splitlines()
    assert table[0] == "             JOBID PARTITION     NAME     USER ST       TIME  NODES NODELIST(REASON)"
    assert f"{second:>18}     all.q   second" in table[2] and table[2].endswith("PD       0:00      1 (Dependency)")
    slurm.cell.must("qrls", first)
    eventually("the second has run", lambda: (slurm.work / f"slurm-{second}.out").exists())
    eventually("both have ended", lambda: slurm("squeue", "-h", "-n", "first,second").stdout == "")
    assert slurm.refused("squeue", "-j", second) == "slurm_load_jobs error: Invalid job id specified\n"


def test_srun_runs_a_command_here_and_within_a_job(slurm: Slurm) -> None:
    done = slurm(
        "srun",
        "-J",
        "now",
        "sh",
        "-c",
        'read line; echo "$SLURM_JOB_NAME $line $1"; exit 3',
        "x",
        "a  b",
        input="in\n",
        stdin=None,
    )
    assert (done.returncode, done.stdout) == (3, "now in a  b\n"), done
    assert "one task is run" in slurm.refused("srun", "-n", "2", "true")
    job = slurm.must("sbatch", "--parsable", "-W", "--wrap", "srun echo within; srun -n 2 true; true").strip()
    text = (slurm.work / f"slurm-{job}.out").read_text()
    assert text.startswith("within\n") and "srun: error: 2 tasks: one task is run" in text


def test_sinfo_shows_queues_as_partitions(slurm: Slurm) -> None:
    lines = slurm.must("sinfo", "-p", "all.q").splitlines()
    assert lines[0] == "PARTITION AVAIL  TIMELIMIT  NODES  STATE NODELIST"
    assert re.fullmatch(rf"all\.q        up   infinite      1 +(idle|mix|alloc) {slurm.cell.host}", lines[1]), lines
    assert slurm.must("sinfo", "-h", "-N", "-o", "%N %P").splitlines() == [f"{slurm.cell.host} all.q"]
    slurm.cell.must("qmod", "-d", "all.q")
    try:
        assert slurm.must("sinfo", "-h", "-o", "%T").strip() in ("drained", "draining")
    finally:
        slurm.cell.must("qmod", "-e", "all.q")


def test_refusals_change_nothing_and_exit_with_1(slurm: Slurm) -> None:
    before = slurm.must("squeue")
    (slurm.work / "empty").write_text("\n")
    (slurm.work / "text").write_text("hello\n")
    for arguments, why in (
        (["--qos=high", "--wrap", "true"], "sbatch: error: --qos has no counterpart"),
        (["empty"], "sbatch: error: Batch script is empty!"),
        (["text"], "sbatch: error: text is no batch script: "),
        (["nowhere"], "sbatch: error: Unable to open file nowhere: No such file or directory"),
        (["-p", "nowhere", "--wrap", "true"], "sbatch: error: Batch job submission failed: "),
        (["-d", "afterok:999999", "--wrap", "true"], "sbatch: error: Batch job submission failed: "),
    ):
        output = slurm.refused("sbatch", *arguments)
        assert output.startswith(why), output
    assert slurm.must("squeue") == before
    missing = "scancel: error: Kill job error on job id 999999: Invalid job id specified\n"
    unknown = slurm("sbatch", "--frobnicate", "--wrap", "true")
    assert (unknown.returncode, unknown.stderr) == (255, "sbatch: error: unrecognized option '--frobnicate'\n")
    over = slurm("scancel", "999999")
    assert (over.returncode, over.stdout, over.stderr) == (0, "", missing)
    assert slurm.refused("scancel").startswith("scancel: error: No job identification provided")
    assert "has no counterpart" in slurm.refused("scancel", "-s", "USR1", "1")
    tested = slurm("sbatch", "--test-only", "--wrap", "true")
    assert (tested.returncode, tested.stdout) == (0, "") and tested.stderr.startswith("sbatch: ")
