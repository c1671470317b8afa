"""qdel, qhold, qrls, qalter, qacct: requests and prints."""

from __future__ import annotations

import pytest

from clients.render.accounting import full_record
from gridengine.usage.accounting import FIELDS, parse_line, record_filter
from tests.harness import Cell
from tests.unit.clients.shell import Shell

RECORD = (
    "all.q:h3:users:alice:par:274:sge:0:1795200981:1795200982:1795200986:100:137:4:0.005161:0.002799:4980.000000:0:0:0:0:474:0:"
    "0:0.000000:8:0:0:0:11:16:NONE:defaultdepartment:mpi:6:0:0.007960:1.500000:0.000037:-l h_rt=100 -pe mpi 6:0.000000:NONE:"
    "3661824.000000:0:0"
)


@pytest.mark.statement("SO-46")
@pytest.mark.parametrize(
    ("line", "body"),
    [
        ("12 13,14.1-3", {"targets": ["12", "13", "14.1-3"]}),
        ("12 -t 3-5", {"targets": ["12"], "tasks": "3-5"}),
        ("-u alice,bob", {"targets": [], "users": ["alice", "bob"]}),
        ("-f 'x*' -u '*'", {"targets": ["x*"], "users": ["*"], "force": True}),
    ],
)
def test_the_request_of_qdel(shell: Shell, line: str, body: dict) -> None:  # type: ignore[type-arg]
    shell(f"qdel {line}")
    assert shell.changes == [("delete_jobs", body)]


@pytest.mark.statement("SO-46")
def test_qdel_reports_the_outcome_for_each_job(shell: Shell, cell: Cell) -> None:
    shell("qsub -b y -N one sleep 9")
    cell.cycle()
    shell("qsub -h -b y -N two sleep 9")
    outcome = shell("qdel 1 2")
    assert outcome.out == "alice has registered the job 1 for deletion\nalice has deleted job 2\n"
    assert outcome.status == 0
    assert shell("qstat").lines[2].split()[4] == "dr"
    assert shell("qdel 99").status == 1
    outcome = shell("qdel")
    assert outcome.status == 1
    assert outcome.err.splitlines()[1].startswith("usage: qdel [options] job_task_list; ")


@pytest.mark.statement("SO-49", "AJ-6")
def test_holds(shell: Shell, cell: Cell) -> None:
    shell("qsub -t 1-4 -b y -N arr sleep 9")
    assert shell("qhold 1 -t 2-3").status == 0
    assert shell.asked[-1] == ("hold_jobs", {"targets": ["1"], "release": False, "tasks": "2-3"})
    assert [(line.split()[4], line.split()[-1]) for line in shell("qstat").lines[2:]] == [("qw", "1,4"), ("hqw", "2,3")]
    shell("qrls 1")
    assert [line.split()[4] for line in shell("qstat").lines[2:]] == ["qw"]
    shell("qhold -h uo -u alice")
    assert shell.asked[-1] == ("hold_jobs", {"targets": [], "release": False, "holds": "uo", "users": ["alice"]})
    assert shell("qhold -h xx 1").status == 7 and shell("qhold -nosuch 1").status == 2
    assert shell("qrls").status == 1


@pytest.mark.statement("SO-42", "SO-44")
@pytest.mark.parametrize(
    ("line", "body"),
    [
        ("-p -5 12 13", {"targets": ["12", "13"], "changes": {"priority": -5}}),
        ("12 -N x", {"targets": ["12"], "changes": {"name": "x"}}),
        ("-l a=1 -soft -q b.q 12.1-3", {"targets": ["12.1-3"], "changes": {"hard": ["a=1"], "soft_queues": ["b.q"]}}),
        ("-w v 12", {"targets": ["12"], "changes": {}, "verify": "v"}),
        ("-u '*' -R y", {"targets": [], "changes": {"reserve": True}, "users": ["*"]}),
        ("12 -- a 'b c'", {"targets": ["12"], "changes": {"args": ["a", "b c"]}}),
    ],
)
def test_the_request_of_qalter(
    shell: Shell,
    monkeypatch: pytest.MonkeyPatch,
    line: str,
    body: dict,  # type: ignore[type-arg]
) -> None:
    from clients import gdi

    asked: list[object] = []
    monkeypatch.setattr(gdi, "change", lambda name, sent: asked.append((name, sent)) or gdi.Answer(0, [], None))
    assert shell(f"qalter {line}").status == 0
    assert asked == [("alter_jobs", body)]


def test_qalter_without_jobs_or_with_options_of_qsub(shell: Shell) -> None:
    assert shell("qalter -p 1").status == 1
    assert shell("qalter -p x 12").status == 7
    assert not shell.asked


@pytest.mark.statement("SO-46", "SO-49", "AJ-6")
@pytest.mark.parametrize(
    ("line", "lists"),
    [
        ("11 12 -t 2-3 13", [(["11"], ""), (["12"], "2-3"), (["13"], "")]),
        ("11,12 -t 2 -t 3", None),
        ("-t 4 11 12 'a*'", [(["11", "12", "a*"], "4")]),
        ("'a*' -t 1-9:2 12 13.4", [(["a*"], "1-9:2"), (["12", "13.4"], "")]),
        ("12 -t x", None),
    ],
)
def test_tasks_are_those_of_the_job_before(shell: Shell, line: str, lists: list[tuple[list[str], str]] | None) -> None:
    for command in ("qdel", "qhold", "qrls", "qalter -p -1"):
        shell.asked.clear()
        outcome = shell(f"{command} {line}")
        if lists is None:
            assert outcome.status and not shell.asked
        else:
            assert [(body["targets"], body.get("tasks", "")) for _, body in shell.changes] == lists


@pytest.mark.statement("QA-7", "AC-2")
def test_a_whole_record() -> None:
    record = parse_line(RECORD + "\n")
    assert record is not None
    lines = full_record(record).splitlines()
    assert lines[0] == "=" * 62
    assert len(lines) == 45, "pe_taskid is not printed"
    for line in (
        "qname        all.q               ",
        "jobnumber    274                 ",
        "taskid       undefined",
        "granted_pe   mpi                 ",
        "slots        6                   ",
        "failed       100 : assumedly after job",
        "exit_status  137                  (Killed)",
        "ru_wallclock 4s",
        "ru_utime     0.005s",
        "ru_maxrss    4.863KB",
        "ru_minflt    474                 ",
        "cpu          0.008s",
        "mem          1.500GBs",
        "io           38.797KB",
        "maxvmem      3.492MB",
        "arid         undefined",
        "category     -l h_rt=100 -pe mpi 6",
    ):
        assert line in lines


@pytest.mark.statement("AC-2")
@pytest.mark.parametrize(
    ("failed", "message"),
    [
        (1, "assumedly before job"), (3, "before writing config"), (4, "before writing PID"), (7, "before prolog"),
        (8, "in prolog"), (9, "before pestart"), (10, "in pestart"), (11, "before job"), (12, "before pestop"),
        (13, "in pestop"), (14, "before epilog"), (15, "in epilog"), (17, "through signal"),
        (18, "shepherd returned error"), (19, "before writing exit_status"), (20, "found unexpected error file"),
        (21, "in recognizing job"), (24, "migrating"), (25, "rescheduling"), (26, "opening input/output file"),
        (27, "searching requested shell"), (28, "changing into working directory"),
        (30, "application error returned"), (36, "checking configured daemons"),
        (37, "qmaster enforced h_rt, h_cpu, or h_vmem limit"), (38, "adding supplementary group"),
    ],
)
def test_each_failed_code_has_its_text(failed: int, message: str) -> None:
    fields = RECORD.split(":")
    fields[FIELDS.index("failed")] = str(failed)
    record = parse_line(":".join(fields))
    assert record is not None
    assert f"failed       {failed:<3} : {message}" in full_record(record).splitlines()


@pytest.mark.statement("AC-2")
@pytest.mark.parametrize(("status", "shown"), [("0", "0"), ("128", "128"), ("143", "143                  (Terminated)")])
def test_a_status_above_128_names_its_signal(status: str, shown: str) -> None:
    fields = RECORD.split(":")
    fields[FIELDS.index("exit_status")] = status
    record = parse_line(":".join(fields))
    assert record is not None
    assert f"exit_status  {shown}" in [line.rstrip() for line in full_record(record).splitlines()]


@pytest.mark.statement("QA-5", "AC-1")
def test_lines_of_the_file() -> None:
    assert len(FIELDS) == 45
    assert parse_line("# a comment\n") is None
    assert parse_line("\n") is None
    assert parse_line("too:short\n") is None
    older = parse_line(":".join(RECORD.split(":")[:43]))
    assert older is not None
    assert (older.arid, older.ar_sub_time) == ("0", "0")
    assert older.replace(arid="7", qname="b.q") == ("b.q", *RECORD.split(":")[1:43], "7", "0")


@pytest.mark.statement("QA-7", "QA-8", "QA-2", "QA-4")
@pytest.mark.parametrize(
    ("criteria", "selected"),
    [
        ({}, True),
        ({"job": "274"}, True),
        ({"job": "27,274"}, True),
        ({"job": "27"}, False),
        ({"job": "p*"}, True),
        ({"job": "pa"}, False),
        ({"owner": "alice", "pe": "mpi", "slots": "6", "department": "defaultdepartment"}, True),
        ({"owner": "bob"}, False),
        ({"account": "x"}, False),
        ({"host": "H3"}, True),
        ({"queue": "all*"}, True),
        ({"queue": "all.q@h1"}, False),
        ({"begin": 1795200982, "end": 1795200982}, True),
        ({"begin": 1795200983}, False),
        ({"begin": 1795200983, "by_end": True}, True),
        ({"tasks": "1-3"}, False),
        ({"ar": "3"}, False),
        ({"instances": ["all.q@h3"]}, True),
        ({"instances": []}, False),
        ({"master_only": True}, True),
    ],
)
def test_criteria_select_records(criteria: dict, selected: bool) -> None:  # type: ignore[type-arg]
    record = parse_line(RECORD)
    assert record is not None
    assert record_filter(criteria)(record) is selected


@pytest.mark.statement("QA-1", "QA-2", "QA-7")
def test_records_from_the_qmaster_and_from_a_file(shell: Shell, cell: Cell) -> None:
    shell("qsub -b y -N one true")
    shell("qsub -b y -N two -t 1-2 true")
    cell.cycle()
    cell.end(1, exit_status=3)
    cell.end(2, 1)
    cell.end(2, 2)
    lines = shell("qacct -j 1").lines
    assert "exit_status  3                   " in lines
    assert "failed       0    " in lines
    file = cell.directory / "accounting"
    for options in ("-j 1", "-j 2 -t 2", "-o", "", "-q -slots", "-j 'o*'"):
        assert shell(f"qacct {options} -f {file}").out == shell(f"qacct {options}").out
    table = shell("qacct -o alice").out
    assert table == (
        "OWNER     WALLCLOCK         UTIME         STIME           CPU             MEMORY                 IO                IOW\n"
        + "=" * 118
        + "\n"
        "alice             3         0.000         0.000         1.500              0.000              0.000              0.000\n"
    )
    assert shell("qacct").lines[:2] == [
        "Total System Usage",
        "    WALLCLOCK         UTIME         STIME           CPU             MEMORY                 IO                IOW",
    ]
    assert shell("qacct -slots -pe").lines[0].startswith("PE   SLOTS     WALLCLOCK")
    assert len(shell("qacct -o nosuch").lines) == 2


@pytest.mark.statement("QA-8")
def test_records_from_the_standard_input_by_group_and_by_project(shell: Shell, cell: Cell) -> None:
    for name in ("red", "blue"):
        cell.add("project", name)
    shell("qsub -b y -P red true")
    shell("qsub -b y -P blue true")
    shell("qsub -b y true")
    cell.cycle()
    for job in (1, 2, 3):
        cell.end(job)
    text = (cell.directory / "accounting").read_text()
    assert shell("qacct -j 2 -f -", stdin=text).out == shell("qacct -j 2").out != ""
    assert [line.split()[0] for line in shell("qacct -P").lines[2:]] == ["NONE", "blue", "red"]
    assert [line.split()[:2] for line in shell("qacct -P red").lines[2:]] == [["red", "1"]]
    assert [line.split()[:2] for line in shell("qacct -g").lines[2:]] == [["users", "3"]]
    assert [line.split()[:2] for line in shell("qacct -g users").lines[2:]] == [["users", "3"]]
    assert len(shell("qacct -g nosuch").lines) == 2


@pytest.mark.statement("QA-7", "QA-8")
def test_unknown_jobs_are_reported(shell: Shell) -> None:
    for options, text in (
        ("-j 99", "error: job id 99 not found\n"),
        ("-j nosuch", "error: job name nosuch not found\n"),
        ("-j 99 -t 2", "error: Job-array tasks 99.2-2:1 not found\n"),
        ("-f /no/file", "/no/file: No such file or directory\nno jobs running since startup\n"),
    ):
        outcome = shell(f"qacct {options}")
        assert (outcome.out, outcome.err, outcome.status) == ("", text, 1)
    outcome = shell("qacct -slots x")
    assert (outcome.out, outcome.status) == ("", 1) and outcome.err.startswith('qacct: "x" is not a number\nhint: ')


@pytest.mark.statement("QA-3")
def test_resources_are_those_of_now(shell: Shell, cell: Cell) -> None:
    shell("qsub -b y -N one true")
    cell.cycle()
    cell.end(1)
    assert shell("qacct -l arch=lx-amd64").out == shell("qacct").out
    assert shell("qacct -l arch=nosuch").lines[-1].split()[0] == "0"
    cell.configure("cluster_queue", "all.q", hostlist="NONE")
    outcome = shell("qacct -l arch=lx-amd64")
    assert outcome.out.startswith("Total System Usage\n") and outcome.err.startswith("1 jobs ignored for accounting.")


@pytest.mark.statement("QA-8")
def test_periods(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.time", lambda: 1_800_000_000.0)
    for options, begin, end in (
        ("-d 2", 1_800_000_000 - 172800, None),
        ("-b 202701150700 -d 1", 1_799_996_400, 1_799_996_400 + 86400),
        ("-e 202701150700 -d 1", 1_799_996_400 - 86400, 1_799_996_400),
    ):
        shell(f"qacct {options} -E")
        _, body = shell.asked[-1]
        assert (body["begin"], body.get("end"), body["by_end"]) == (begin, end, True)


@pytest.mark.statement("QA-1")
def test_a_queue_that_is_named_is_shown_host_by_host(shell: Shell, cell: Cell) -> None:
    for host in ("h1", "h2"):
        shell(f"qsub -b y -q all.q@{host} true")
    cell.cycle()
    cell.end(1)
    cell.end(2)
    assert [line.split()[:2] for line in shell("qacct -q all.q").lines[2:]] == [["h1", "all.q"], ["h2", "all.q"]]
    assert [line.split()[0] for line in shell("qacct -q").lines[2:]] == ["all.q"]


@pytest.mark.statement("QA-7")
def test_tasks_are_those_of_a_job(shell: Shell) -> None:
    outcome = shell("qacct -t 1")
    assert (outcome.out, outcome.status) == ("", 1)
    assert outcome.err.startswith("qacct: -t is for the tasks of a job that -j names\n")
