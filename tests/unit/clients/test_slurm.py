"""Commands with Slurm's names: the reading of options, their meaning for qsub, and the form of rows."""

from __future__ import annotations

import time
from typing import Any

import pytest

from clients.slurm import layout, squeue, values
from clients.slurm.arguments import SlurmError, SlurmOption, flag, read_options
from clients.slurm.job_options import JOB_ROWS, SBATCH_ROWS, JobOptions, qsub_arguments
from clients.slurm.jobs import JobChoice, SlurmJob, add_states, parse_target
from clients.slurm.sbatch import _directives
from gridengine.options.hints import FOREIGN_OPTIONS
from gridengine.protocols.slurm import node_list

NOTHING: dict[str, Any] = {"hard": [], "hard_queues": [], "predecessors": [], "array_predecessors": []}


ALWAYS = ("-V", "-cwd", "-N n", "-ac slurm_array_offset=0", "-o slurm-$JOB_ID.out -j y")


def arguments_for(text: str) -> str:
    """The arguments of qsub, without the arguments of every job."""
    job = JobOptions()
    assert read_options(text.split(), SBATCH_ROWS, job) == []
    job.name = job.name or "n"
    arguments = " ".join(qsub_arguments(job))
    for each in ALWAYS:
        arguments = arguments.replace(each, "", 1)
    return " ".join(arguments.split())


def test_arguments_of_every_job() -> None:
    assert qsub_arguments(JobOptions()) == "-V -cwd -N  -ac slurm_array_offset=0 -o slurm-$JOB_ID.out -j y".split(" ")


@pytest.mark.parametrize(
    ("slurm", "qsub"),
    [
        ("--time=90", "-l h_rt=5400"),
        ("-t 1-2:3", "-l h_rt=93780"),
        ("--time 0", ""),
        ("-p a.q,b.q", "-q a.q,b.q"),
        ("--hold --requeue", "-h -r y"),
        ("-c4", "-v SLURM_CPUS_PER_TASK=4 -alloc $pe_slots 4"),
        ("-n 4", "-v SLURM_NTASKS=4 -v SLURM_NPROCS=4 -alloc $fill_up 4"),
        ("-N2 --ntasks-per-node=3", "-v SLURM_NTASKS_PER_NODE=3 -alloc 3 6"),
        (
            "-N1 -n4 --mem=8G",
            "-v SLURM_NTASKS=4 -v SLURM_NPROCS=4 -v SLURM_MEM_PER_NODE=8192 -alloc $pe_slots 4 -l h_vmem=2147483648",
        ),
        ("--mem-per-cpu=500", "-v SLURM_MEM_PER_CPU=500 -l h_vmem=524288000"),
        ("--gres=gpu:2", "-l gpu=2"),
        ("--gres=gpu:h100", "-l gpu=1 -l gpu_type=h100"),
        ("--gres=gpu:h100:2", "-l gpu=2 -l gpu_type=h100"),
        ("-G a100:4 -c2", "-v SLURM_CPUS_PER_TASK=2 -alloc $pe_slots 2 -l gpu=2 -l gpu_type=a100"),
        ("--gpus=8 -n4", "-v SLURM_NTASKS=4 -v SLURM_NPROCS=4 -alloc $fill_up 4 -l gpu=2"),
        ("--gpus-per-task=1 -n4", "-v SLURM_NTASKS=4 -v SLURM_NPROCS=4 -alloc $fill_up 4 -l gpu=1"),
        ("-N2 --ntasks-per-node=2 --gpus-per-node=4 -G 8", "-v SLURM_NTASKS_PER_NODE=2 -alloc 2 4 -l gpu=2"),
        ("--gres=gpu -N1 -n2", "-v SLURM_NTASKS=2 -v SLURM_NPROCS=2 -alloc $pe_slots 2 -l gpu=1/2"),
        ("-d afterok:3:4,afterany:5", "-hold_jid_ok 3,4 -hold_jid 5"),
        ("--dependency=singleton", "-hold_jid n"),
        ("--mail-type=END,FAIL --mail-user=a@b.c", "-m ae -M a@b.c"),
        ("--mail-type=NONE", "-m n"),
        ("--nice=5 --comment=x -A acct", "-p -5 -comment x -A acct"),
        ("-w n1,n2 --exclusive --reservation=7", "-l h=n1|n2 -l exclusive=true -ar 7"),
        ("-Q --open-mode=append", ""),
    ],
)
def test_options_become_arguments_of_qsub(slurm: str, qsub: str) -> None:
    assert arguments_for(slurm) == qsub


def test_arrays_that_begin_at_0_are_moved_by_one_and_say_so() -> None:
    output = "-o slurm-$JOB_ID_$TASK_ID.out -j y"
    assert arguments_for("-a 0-9%2") == f"-ac slurm_array_offset=1 -t 1-10 -tc 2 {output}"
    assert arguments_for("--array=2-8:3") == f"-t 2-8:3 {output}"
    assert arguments_for("-a 5") == f"-t 5-5 {output}"


def test_files_environment_and_directory() -> None:
    arguments = arguments_for("-o %x-%j_%a.%N -e err%%.%u --export=NONE,A=1 --chdir=/d -J x")
    assert arguments == "-v A=1 -wd /d -N x -o $JOB_NAME-$JOB_ID_$TASK_ID.$HOSTNAME -e err%.$USER"
    assert arguments_for("--export=ALL,B=2") == "-v B=2"


@pytest.mark.parametrize(
    ("slurm", "why"),
    [
        ("--qos=high", "--qos has no counterpart in the same sense; by qsub there is -p PRIORITY or -P PROJECT"),
        ("-C fast", "--constraint has no counterpart"),
        ("--signal=B:USR1@60", "--signal has no counterpart"),
        ("-n 2 -c 2", "say --nodes, too"),
        ("-N 2 -n 3", "cannot be the same on each of 2 nodes"),
        ("-N 1-4", "a range has no counterpart"),
        ("-n 4 --mem=1G", "say --mem-per-cpu, or --nodes"),
        ("-n 0", 'Invalid numeric value "0"'),
        ("--array=1,3", "lists of tasks have no counterpart"),
        ("-o %4j.out", "%4j in %4j.out has no counterpart"),
        ("--gres=fpga:1", "gpu:NUMBER is understood"),
        ("--gres=gpu:a100:1,gpu:h100:1", "gpu:NUMBER is understood"),
        ("-G many", "--gpus=many: NUMBER or TYPE:NUMBER is understood"),
        ("-G a100:1 --gpus-per-node=h100:1", "GPUs of the type a100 are requested already"),
        ("-n4 --gpus-per-node=1", "how many tasks a node gets is not known: say --nodes"),
        ("-N1 -n2 --gpus-per-node=2 --gpus-per-task=2", "contradict each other"),
        ("--mem-per-gpu=10G", "--mem-per-gpu has no counterpart"),
        ("-d after:3", "all of which must be met"),
        ("-d afterok:3?afterok:4", "all of which must be met"),
        ("-d afterok:3_1", "3_1 is no number of a job"),
        ("--mail-type=NEVER", "Invalid --mail-type"),
        ("--time=soon", "Invalid --time specification: soon"),
        ("--mem=lots", "Invalid memory specification: lots"),
        ("--begin=someday", "Invalid time specification"),
        ("--nice=x", "from -1023 to 1023"),
    ],
)
def test_options_without_a_counterpart_are_refused_by_name(slurm: str, why: str) -> None:
    with pytest.raises(SlurmError, match=r".*") as refusal:
        arguments_for(slurm)
    assert why in str(refusal.value)


def test_every_option_that_qsub_gives_a_hint_for_is_in_the_table() -> None:
    """Both tables agree: no option of Slurm is explained in one and unknown in the other."""
    known = {name for row in SBATCH_ROWS for name in row.names}
    assert {name for name in FOREIGN_OPTIONS if name.startswith("--")} <= known


def test_names_are_each_in_one_row() -> None:
    names = [name for row in SBATCH_ROWS for name in row.names]
    assert len(names) == len(set(names)) and set(JOB_ROWS) <= set(SBATCH_ROWS)


def read(*arguments: str) -> tuple[list[tuple[str, str]], list[str]]:
    rows = [
        SlurmOption("--alpha -a", lambda seen, value: seen.append(("a", value))),
        flag("--beta -b", lambda seen, value: seen.append(("b", value))),
        flag("--bravo", lambda seen, value: seen.append(("bravo", value))),
        SlurmOption("--opt", lambda seen, value: seen.append(("o", value)), optional=True),
    ]
    seen: list[tuple[str, str]] = []
    return seen, read_options(arguments, rows, seen)


def test_forms_of_options() -> None:
    assert read("-a1", "-a", "2", "--alpha=3", "--alpha", "4", "--al=5") == ([("a", str(n)) for n in range(1, 6)], [])
    assert read("-ba1", "--opt", "--opt=7", "cmd", "-a", "9") == (
        [("b", ""), ("a", "1"), ("o", ""), ("o", "7")],
        ["cmd", "-a", "9"],
    )
    assert read("--", "-b") == ([], ["-b"])


@pytest.mark.parametrize(
    ("form", "why"),
    [("--gamma", "unrecognized"), ("-x", "invalid option"), ("--b", "ambiguous"), ("--alpha", "requires"), ("--beta=1", "allow")],
)
def test_forms_that_are_none(form: str, why: str) -> None:
    with pytest.raises(SlurmError, match=why):
        read(form)


def test_directives_end_where_the_script_begins() -> None:
    script = b"#!/bin/sh\n# a comment\n#SBATCH -n 2 -J 'a b' # why\n\n#SBATCH --wait\necho\n#SBATCH -n 9\n"
    assert _directives(script) == [["-n", "2", "-J", "a b"], ["--wait"]]
    with pytest.raises(SlurmError, match="line 2 of the script"):
        _directives(b"#!/bin/sh\n#SBATCH -J 'a\n")


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("5", 300), ("5:30", 330), ("2:0:1", 7201), ("1-0", 86400), ("1-2:3", 93780), ("1-2:3:4", 93784), ("UNLIMITED", None)],
)
def test_times(text: str, seconds: int | None) -> None:
    assert values.seconds(text) == seconds


def test_durations_and_moments() -> None:
    assert [values.duration(each) for each in (0, 61, 3600, 90061, None)] == [
        "0:00",
        "1:01",
        "1:00:00",
        "1-01:01:01",
        "UNLIMITED",
    ]
    now = time.mktime((2026, 3, 4, 10, 0, 0, 0, 0, -1))
    for text, when in (
        ("now", "202603041000.00"),
        ("now+2hours", "202603041200.00"),
        ("now+90", "202603041001.30"),
        ("12:30", "202603041230.00"),
        ("09:00", "202603050900.00"),
        ("midnight", "202603050000.00"),
        ("2026-05-06T07:08", "202605060708.00"),
        ("2026-05-06", "202605060000.00"),
    ):
        assert values.moment(text, now) == when, text


def test_lists_of_nodes() -> None:
    assert node_list(["n1", "n2", "n3", "n7", "login", "n1"]) == "login,n[1-3,7]"
    assert node_list(["c01", "c02", "c2"]) == "c[01-02],c2"
    assert node_list(["one"]) == "one" and node_list([]) == ""


def job(codes: str, pending: bool, tasks: str = "", offset: int = 0, at_a_time: int = 0, **details: Any) -> SlurmJob:
    grants = [] if pending else [["all.q@n1", 2, 0], ["all.q@n2", 1, 0]]
    return SlurmJob([12, 0.5, "name", "alice", codes, 1000.0, grants, 3, tasks, NOTHING | details], pending, offset, at_a_time)


@pytest.mark.parametrize(
    ("codes", "pending", "state", "reason"),
    [
        ("qw", True, "PD", "Resources"),
        ("hqw", True, "PD", "JobHeldUser"),
        ("Eqw", True, "PD", "JobHeldAdmin"),
        ("r", False, "R", "None"),
        ("Rr", False, "R", "None"),
        ("t", False, "CF", "None"),
        ("s", False, "S", "None"),
        ("S", False, "S", "None"),
        ("dr", False, "CG", "None"),
    ],
)
def test_states(codes: str, pending: bool, state: str, reason: str) -> None:
    one = job(codes, pending)
    assert (one.state, one.reason) == (state, reason)


def test_rows() -> None:
    assert job("hqw", True, predecessors=[3]).reason == "Dependency"
    assert [job("qw", True, "1-10", 1).label, job("r", False, "4", 1).label, job("r", False).label] == ["12_[0-9]", "12_3", "12"]
    assert [part.label for part in job("qw", True, "1-3").parts()] == ["12_1", "12_2", "12_3"]
    one = job("r", False, hard=[["h_rt", "3600", 0.0]])
    line = "".join(layout.lines("%.5i|%3j|%t|%D %C %R|%l", squeue.COLUMNS, [one], heading=True))
    assert line == "JOBID|NAM|ST|NODES CPUS NODELIST(REASON)|TIME_LIMIT\n   12|nam|R|2 3 n[1-2]|1:00:00\n"
    with pytest.raises(SlurmError, match="%Z; there are %i"):
        list(layout.lines("%Z", squeue.COLUMNS, [one], heading=False))


def test_the_limit_of_running_tasks_is_a_part_of_the_label() -> None:
    assert job("qw", True, "1-10", 1, 2).label == "12_[0-9%2]" and job("qw", True, "1-10", 1, 2).task_list == "0-9%2"
    assert job("qw", True, "4", 1, 2).label == job("r", False, "4", 1, 2).label == "12_3"
    assert job("qw", True).task_list == "N/A"


def test_slots_of_a_parallel_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SGE_SLURM_PE", "mpi")
    assert arguments_for("-N2 -n4").endswith("-pe mpi 4 -alloc 2 4") and "-pe" not in arguments_for("-J n")


def test_options_that_are_none_exit_as_in_slurm() -> None:
    with pytest.raises(SlurmError) as refusal:
        read("--gamma")
    assert refusal.value.status == 255


def test_jobs_are_selected_by_state_and_user() -> None:
    chosen = JobChoice()
    add_states(chosen, "running,PD")
    assert chosen.selects(job("r", False)) and chosen.selects(job("qw", True)) and not chosen.selects(job("s", False))
    chosen.users = ["bob"]
    assert not chosen.selects(job("r", False))
    with pytest.raises(SlurmError, match="Invalid job state"):
        add_states(chosen, "R,WHAT")
    assert parse_target("12") == (12, set()) and parse_target("12_3") == (12, {3})
    assert parse_target("12_[0-2,7]") == (12, {0, 1, 2, 7})
    for wrong in ("x", "12_", "12_x", "12_[1-x]", "1.2"):
        with pytest.raises(SlurmError, match="Invalid job id"):
            parse_target(wrong)
