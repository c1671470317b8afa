"""qstat: details that clients of the original rely on, each compared with the real 8.1.9 on like jobs."""

from __future__ import annotations

import json
from xml.etree.ElementTree import fromstring

import pytest
from msgspec import structs

from gridengine.protocols.delivery import UsageReport
from gridengine.state.jobs import Grant, Usage
from gridengine.state.slaves import SlaveTask
from tests.harness import Cell
from tests.unit.clients.shell import Shell

LICENCE = {"shortcut": "lic", "type": "INT", "relop": "<=", "requestable": "YES", "consumable": "YES", "default": "0"}


@pytest.mark.statement("ST-7")
def test_the_type_of_an_instance_has_p_before_c(shell: Shell, cell: Cell) -> None:
    cell.add("checkpoint", "ck")
    cell.configure("cluster_queue", "all.q", ckpt_list="ck")
    assert shell("qstat -f").lines[2].split()[1] == "BIPC"


@pytest.mark.statement("ST-22")
def test_an_instance_with_jobs_of_others_is_not_empty(shell: Shell, cell: Cell) -> None:
    shell("qsub -b y -q all.q@h2 sleep 9")
    cell.cycle()
    shell.user = "bob"
    lines = shell("qstat -f -ne").lines
    assert [line.split()[0] for line in lines if "@" in line] == ["all.q@h2"]
    assert "<name>all.q@h2</name>" in shell("qstat -f -ne -xml").out


@pytest.mark.statement("ST-21")
def test_instances_could_run_parts_of_a_parallel_job_of_any_size(shell: Shell) -> None:
    shell("qsub -h -b y -N small -pe mpi 4 sleep 9")
    shell("qsub -h -b y -N large -pe mpi 5-9 sleep 9")
    shell("qsub -h -w n -b y -N elsewhere -pe mpi 500 -q all.q@h2 sleep 9")
    names = [line.split()[2] for line in shell("qstat -q all.q@h1").lines[2:]]
    assert names == ["small", "large"]
    assert len(shell("qstat -q all.q").lines) == 5


@pytest.mark.statement("ST-23")
def test_the_states_of_queues_hide_no_pending_job(shell: Shell) -> None:
    shell("qsub -h -b y -N waits sleep 9")
    assert shell("qstat -qs d").lines[2].split()[2] == "waits"


@pytest.mark.statement("ST-23")
def test_an_environment_that_is_not_there(shell: Shell) -> None:
    outcome = shell("qstat -pe nosuch")
    assert (outcome.out, outcome.err, outcome.status) == ("", 'no parallel environment "nosuch" (-pe)\n', 1)


@pytest.mark.statement("ST-24", "CX-66")
def test_requests_show_their_contribution_to_the_urgency(shell: Shell, cell: Cell) -> None:
    cell.add("complex", "lic", **LICENCE, urgency="100")
    assert shell("qsub -h -w n -b y -N one -l lic=3,h_rt=1:00:00 sleep 9").err == ""
    shell("qsub -h -w n -b y -N wide -pe mpi 4 -l lic=1,h_rt=INFINITY sleep 9")
    lines = [line.strip() for line in shell("qstat -r").lines]
    assert "Hard Resources:   lic=3 (300.000000)" in lines
    assert "h_rt=3600 (0.000000)" in lines, "a time is shown in seconds"
    assert "Hard Resources:   lic=1 (400.000000)" in lines, "for each of the slots"
    assert "h_rt=INFINITY (0.000000)" in lines


@pytest.mark.statement("ST-24")
def test_the_checkpointing_environment(shell: Shell, cell: Cell) -> None:
    cell.add("checkpoint", "ck")
    shell("qsub -h -b y -ckpt ck sleep 9")
    assert "       Checkpoint Env.:  ck" in shell("qstat -r").lines


@pytest.mark.statement("ST-25")
def test_finished_jobs_with_their_slots_and_tasks(shell: Shell, cell: Cell) -> None:
    shell("qsub -b y -N arr -t 1-6:2 sleep 9")
    shell("qsub -h -b y -N wide -pe mpi 3-8 sleep 9")
    cell.cycle()
    for task in (1, 3, 5):
        cell.end(1, task)
    shell("qdel wide")
    cell.restart()
    assert [line.split()[2:5] + line.split()[7:] for line in shell("qstat -s z").lines[2:]] == [
        ["arr", "alice", "z", "1", "1-5:2"],
        ["wide", "alice", "z", "3"],
    ]


@pytest.mark.statement("ST-25", "ST-28")
@pytest.mark.parametrize("kept", [True, False])
def test_finished_jobs_with_further_columns(shell: Shell, cell: Cell, kept: bool) -> None:
    """Also without the requests of the job, or without their attribute."""
    cell.add("complex", "gone", **{**LICENCE, "shortcut": "gone"}, urgency="0")
    shell("qsub -b y -N one -w n -h -l gone=1 true")
    shell("qdel one")
    cell.admin("config_delete", kind="complex", name="gone")
    if not kept:
        cell.state.finished[:] = [structs.replace(job, job=None) for job in cell.state.finished]
    ext = shell("qstat -s z -ext").lines
    blank = ext[0].index("cpu  ")
    assert ext[2][:blank].split() == ["1", "0.00000", "0.00000", "one", "alice", "NA", "defaultdep", "z"]
    assert ext[2][blank:].split() == ["NA"] * 6 + ["1"]
    assert ext[2].index("NA", blank) == ext[0].rindex(" tckts") + 4, "below the tickets"
    assert shell("qstat -s z -urg").lines[2].split()[2:7] == ["0.00000", "0", "0", "0", "0"]
    assert shell("qstat -s z -pri").lines[2].split()[2:6] == ["0.00000", "0.00000", "0.00000", "0"]
    assert [line.strip() for line in shell("qstat -s z -r").lines[3:5]] == [
        "Full jobname:     one",
        f"Hard Resources:   {'gone=1 (0.000000)' if kept else ''}".strip(),
    ]
    names = [element.tag for element in fromstring("\n".join(shell("qstat -s z -ext -xml").lines)).find("job_info/job_list")]
    owner = "JB_name JB_owner JB_project JB_department".split()
    assert names == ["JB_job_number", "JAT_prio", "JAT_ntix", *owner, "state", "JB_submission_time", "queue_name", "slots"]
    shares = json.loads("\n".join(shell("qstat -s z -ext -json").lines))["jobs"][0]["shares"]
    assert shares["normalized_tickets"] == shares["urgency"] == 0.0


@pytest.mark.statement("ST-26", "ST-27")
def test_usage_is_that_of_the_masters_instance(shell: Shell, cell: Cell) -> None:
    shell("qsub -b y -N par -pe mpi 3 -masterq all.q@h1 -q all.q@h1,all.q@h2 sleep 9")
    shell("qsub -b y -q all.q@h2 sleep 9")
    cell.cycle()
    lines = shell("qstat -t -ext").lines
    start = lines[0].index("cpu  ")
    assert len({line.rindex("all.q") for line in lines[2:]}) == 1, "all queues below each other"
    further = [line[start:] for line in lines[2:] if not line[:start].strip()]
    assert further
    assert all(line.split()[:3] == ["NA", "NA", "NA"] for line in further)


@pytest.mark.statement("ST-33")
def test_a_task_where_there_is_no_queue_is_not_lost(shell: Shell, cell: Cell) -> None:
    shell("qsub -b y -N good sleep 9")
    shell("qsub -b y -N bad sleep 9")
    cell.cycle()
    cell.state.task(2, 1).granted[0] = Grant("gone.q@h1", 1)
    section = shell("qstat -f").out.split(" - ERROR JOBS" * 5)
    assert len(section) == 2
    assert " good " in section[0]
    assert " bad " in section[1]
    assert " bad " not in section[0]
    assert "gone.q@h1" in shell("qstat").lines[3]
    for option in ("", "-f", "-j bad", "-ext", "-t", "-r"):
        assert ">bad<" in shell(f"qstat -xml {option}").out
    assert '"phase":"inconsistent"' in shell("qstat -json").out


@pytest.mark.statement("ST-35")
def test_debugging_options(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    shell("qsub -h -b y -N held sleep 9")
    assert shell("qstat -dj").status == 1
    monkeypatch.setenv("MORE_INFO", "1")
    assert json.loads(shell("qstat -dj").out)["jobs"]["pending"][0][2] == "held"
    assert {row["name"] for row in json.loads(shell("qstat -dq").out)["queues"]} == {"all.q@h1", "all.q@h2", "all.q@h3"}


@pytest.mark.statement("ST-30")
def test_a_wrong_option_in_a_default_file_is_reported_with_file_and_line(shell: Shell) -> None:
    (shell.common / "sge_qstat").write_text("# all users\n-u *\n-nosuch\n")
    outcome = shell("qstat")
    assert outcome.status != 0
    assert f'{shell.common}/sge_qstat, line 3: invalid option argument "-nosuch"' in outcome.err
    (shell.common / "sge_qstat").write_text("-s x\n")
    assert "sge_qstat, line 1" in shell("qstat").err


@pytest.mark.statement("ST-30")
def test_the_users_file_comes_before_the_cells(shell: Shell) -> None:
    shell("qsub -h -b y -N held sleep 9")
    (shell.common / "sge_qstat").write_text("-u bob\n")
    assert shell("qstat").out == ""
    (shell.home / ".sge_qstat").write_text("-u alice\n")
    assert " held " in shell("qstat").out
    assert shell("qstat -u bob").out == ""


@pytest.mark.statement("ST-26", "TI-3")
def test_slave_tasks_of_tightly_integrated_jobs(shell: Shell, cell: Cell) -> None:
    cell.add("parallel_environment", "tight", allocation_rule="2", slots="99", control_slaves="TRUE")
    cell.configure("cluster_queue", "all.q", pe_list="tight")
    shell("qsub -b y -N par -pe tight 4 -q all.q@h1,all.q@h2 -masterq all.q@h1 sleep 9")
    cell.cycle()
    task = cell.state.task(1, 1)
    task.slaves = {1: SlaveTask(1, "all.q@h2"), 2: SlaveTask(2, "all.q@h1", over=True), 3: SlaveTask(3, "all.q@h2")}
    cell.report("h2", UsageReport((1, 1, task.attempt, 3), Usage(cpu=62.0, mem=0.125, io=1.5)))
    task.usage = Usage(cpu=3661.0, mem=0.5, io=0.25)
    found = shell("qstat -t").lines
    assert found[0].split()[-7:] == ["task-ID", "state", "cpu", "mem", "io", "stat", "failed"]
    lines = [line[line.index("all.q") :].rstrip() for line in found[2:]]
    # a task that is over has left the list, so the columns of exit states stay empty, as with the original
    assert lines == [
        f"all.q@h1{' ' * 23}MASTER{' ' * 24}r     01:01:01 0.50000 0.25000",
        f"all.q@h1{' ' * 23}SLAVE",
        f"all.q@h2{' ' * 23}SLAVE{' ' * 12}1.h2         r     NA         NA      NA",
        f"all.q@h2{' ' * 23}SLAVE{' ' * 12}3.h2         r     00:01:02 0.12500 1.50000",
    ]
    (job,) = json.loads(shell("qstat -t -json").out)["jobs"]
    assert [(slave["task_id"], slave["cpu_s"]) for slave in job["slave_tasks"]] == [("1.h2", None), ("3.h2", 62.0)]
    assert shell("qstat -t -xml").status == 0


@pytest.mark.statement("ST-18", "SC-6")
@pytest.mark.parametrize(
    ("setting", "note", "number"),
    [
        ("true", "There are no messages available", 0),
        ("false", "(Collecting of scheduler job information is turned off)", 83),
        ("job_list 99", "(Scheduler job information not available for every job)", 84),
    ],
)
def test_the_note_where_no_pending_reasons_are_collected(shell: Shell, cell: Cell, setting: str, note: str, number: int) -> None:
    cell.configure("scheduler", "", schedd_job_info=setting)
    line = f"scheduling info:            {note}"
    assert shell("qstat -j").out == f"{line}\n\n"
    shell("qsub -b y sleep 9")
    cell.cycle()
    assert (line in shell("qstat -j 1").lines) == bool(number)
    for asked in ("qstat -j -xml", "qstat -j 1 -xml"):
        assert (f"<MES_message_number>{number}</MES_message_number>" in shell(asked).out) == bool(number)
