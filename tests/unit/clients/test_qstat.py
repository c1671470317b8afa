"""qstat: exact columns of every format, selection, order, XML. Widths were seen on the real 8.1.9."""

from __future__ import annotations

import re

import pytest

from gridengine.state.jobs import Usage
from tests.harness import Cell
from tests.unit.clients.shell import Shell

HEADER = (
    "job-ID  prior   name       user         state submit/start at     queue                          slots ja-task-ID \n"
    + "-" * 113
    + "\n"
)
PENDING = "\n" + "#" * 76 + "\n - PENDING JOBS - PENDING JOBS - PENDING JOBS - PENDING JOBS - PENDING JOBS\n" + "#" * 76 + "\n"
INSTANCES = "queuename                      qtype resv/used/tot. load_avg arch          states\n"


@pytest.mark.statement("ST-1", "ST-2", "ST-17")
def test_the_default_format(busy: Shell) -> None:
    date = "01/15/2027 08:00:00"
    assert busy("qstat").out == HEADER + (
        f"      1 0.25000 hello      alice        r     {date} all.q@h1                           1        \n"
        f"      2 0.25000 arr        alice        r     {date} all.q@h2                           1 1\n"
        f"      2 0.25000 arr        alice        r     {date} all.q@h2                           1 5\n"
        f"      3 0.75000 sleep      alice        r     {date} all.q@h3                           5        \n"
        f"      4 0.00000 held_job_o alice        hqw   {date}                                    1        \n"
        f"      5 0.00000 waits      alice        hqw   {date}                                    1 1-9:2\n"
    )


@pytest.mark.statement("ST-1", "ST-3")
def test_jobs_are_selected_by_owner(busy: Shell) -> None:
    busy.user = "bob"
    outcome = busy("qstat")
    assert (outcome.out, outcome.err, outcome.status) == ("", "", 0)
    assert len(busy("qstat -u '*'").lines) == 8
    assert len(busy("qstat -u bob,alice").lines) == 8
    assert len(busy("qstat -u 'al*'").lines) == 8
    assert busy("qstat -u nosuch").out == ""
    assert len(busy("qstat -u @users").lines) == 8


@pytest.mark.statement("ST-16", "ST-17")
def test_single_array_tasks(busy: Shell) -> None:
    rows = [line.split() for line in busy("qstat -g d -s p").lines[2:]]
    assert [(row[0], row[-1]) for row in rows[1:]] == [("5", "1"), ("5", "3"), ("5", "5"), ("5", "7"), ("5", "9")]


@pytest.mark.statement("ST-16")
def test_option_g_t_prints_a_line_for_each_slot(busy: Shell) -> None:
    date = "01/15/2027 08:00:00"
    blank = " " * 66
    lines = busy("qstat -g t -s r").out.split("\n", 2)
    assert lines[0].endswith("master ja-task-ID ")
    assert len(lines[1]) == 114
    assert lines[2] == (
        f"      1 0.25000 hello      alice        r     {date} all.q@h1                       MASTER        \n"
        f"      2 0.25000 arr        alice        r     {date} all.q@h2                       MASTER 1\n"
        f"      2 0.25000 arr        alice        r     {date} all.q@h2                       MASTER 5\n"
        f"      3 0.75000 sleep      alice        r     {date} all.q@h2                       SLAVE         \n"
        f"      3 0.75000 sleep      alice        r     {date} all.q@h3                       MASTER        \n"
        + f"{blank}all.q@h3                       SLAVE         \n"
        * 3
    )


@pytest.mark.statement("ST-16", "ST-24", "ST-26")
def test_slots_with_requests_and_by_jobs(busy: Shell) -> None:
    lines = busy("qstat -g t -r -s r").lines
    places = [number for number, line in enumerate(lines) if "SLAVE" in line]
    assert len(places) == 4
    assert all(lines[number + 1] == "       Full jobname:     sleep" for number in places)
    # -t keeps a job together, its master in front
    found = [line.partition("all.q@")[2].split()[:2] for line in busy("qstat -t -s r").lines[5:]]
    assert found == [["h3", "MASTER"], ["h3", "SLAVE"], ["h3", "SLAVE"], ["h3", "SLAVE"], ["h2", "SLAVE"]]
    places = re.findall(r"<queue_name>all.q@(h\d)", busy("qstat -t -s r -xml").out)
    assert places[3:] == ["h3"] * 4 + ["h2"]


@pytest.mark.statement("ST-16", "ST-26")
def test_a_pending_job_has_no_function(busy: Shell) -> None:
    assert busy("qstat -g t -s p").lines[2] == ("      4 0.00000 held_job_o alice        hqw   01/15/2027 08:00:00" + " " * 46)
    assert len(busy("qstat -t").lines[1]) == 167


@pytest.mark.statement("ST-4", "ST-5", "ST-6", "ST-7", "ST-34")
def test_the_full_format(busy: Shell) -> None:
    date, rule = "01/15/2027 08:00:00", "-" * 81 + "\n"
    assert busy("qstat -f").out == (
        f"{INSTANCES}{rule}"
        "all.q@h1                       BIP   0/1/4          0.10     lx-amd64      \n"
        f"      1 0.25000 hello      alice        r     {date}     1        \n"
        f"{rule}"
        "all.q@h2                       BIP   0/3/4          0.10     lx-amd64      \n"
        f"      2 0.25000 arr        alice        r     {date}     1 1\n"
        f"      2 0.25000 arr        alice        r     {date}     1 5\n"
        f"      3 0.75000 sleep      alice        r     {date}     1        \n"
        f"{rule}"
        "all.q@h3                       BIP   0/4/4          0.10     lx-amd64      \n"
        f"      3 0.75000 sleep      alice        r     {date}     4        \n"
        f"{PENDING}"
        f"      4 0.00000 held_job_o alice        hqw   {date}     1        \n"
        f"      5 0.00000 waits      alice        hqw   {date}     1 1-9:2\n"
    )


@pytest.mark.statement("ST-22", "ST-23")
def test_selected_instances(busy: Shell, cell: Cell) -> None:
    def shown(line: str) -> list[str]:
        return [row.split()[0] for row in busy(line).lines if "@" in row.split("  ")[0]]

    assert shown("qstat -f -q '*@h[12]'") == ["all.q@h1", "all.q@h2"]
    assert shown("qstat -f -l h=h3") == ["all.q@h3"]
    assert shown("qstat -f -l arch=nosuch") == []
    assert shown("qstat -f -pe mpi") == ["all.q@h1", "all.q@h2", "all.q@h3"]
    assert shown("qstat -f -pe nosuch") == []
    busy.as_root("qmod -d all.q@h2")
    assert shown("qstat -f -qs d") == ["all.q@h2"]
    cell.end(1)
    assert shown("qstat -f -ne") == ["all.q@h2", "all.q@h3"]
    assert busy("qstat -q nosuch").status == 1
    assert busy("qstat -q nosuch").out == ""
    outcome = busy("qstat -g c -q nosuch")
    assert (outcome.out, outcome.status) == ("", 1)


@pytest.mark.statement("ST-21")
def test_pending_jobs_are_those_that_could_run_there(busy: Shell, cell: Cell) -> None:
    busy("qsub -h -b y -N elsewhere -q all.q@h3 true")
    assert {row.split()[2] for row in busy("qstat -s p -q all.q@h1").lines[2:]} == {"held_job_o", "waits"}
    assert busy("qstat -l arch=nosuch").out == ""
    rows = [row.split() for row in busy("qstat -q all.q@h2 -s r").lines[2:]]
    assert [row[0] for row in rows] == ["2", "2", "3"], "a parallel job counts where it has any slot"


@pytest.mark.statement("QI-14", "QI-15", "ST-8", "ST-10", "QI-12")
def test_resources_and_reasons(busy: Shell, cell: Cell) -> None:
    lines = busy("qstat -F slots,arch,mem_free -q all.q@h1").lines
    assert lines[3:6] == ["\thl:arch=lx-amd64", "\thl:mem_free=7.812G", "\tqc:slots=3"]
    cell.configure("cluster_queue", "all.q", load_thresholds="np_load_avg=0.01")
    busy.as_root("qmod -d all.q@h1")
    lines = busy("qstat -f -explain acAE -q all.q@h1").lines
    assert lines[2].split()[-1] == "ad"
    assert lines[3] == "\talarm hl:np_load_avg=0.025 load-threshold=0.01"
    assert busy("qstat -F nosuch").status == 1


@pytest.mark.statement("QI-14", "QC-9")
def test_the_reason_for_which_an_instance_suspends_its_jobs(busy: Shell, cell: Cell) -> None:
    cell.configure("cluster_queue", "all.q", suspend_thresholds="np_load_avg=0.01", nsuspend="1")
    cell.cycle()
    reason = "\talarm hl:np_load_avg=0.025 suspend-threshold=0.01"
    lines = busy("qstat -f -explain A -q all.q@h1").lines
    assert (lines[2].split()[-1], lines[3]) == ("A", reason)
    assert lines[4].split()[4] == "T", "the job's letter while the threshold holds it"
    for other in ("a", "c", "E"):
        assert reason not in busy(f"qstat -f -explain {other} -q all.q@h1").lines


@pytest.mark.statement("QI-18", "QI-3")
def test_an_unknown_host(busy: Shell, cell: Cell) -> None:
    cell.master.lose_host("h1")
    line = busy("qstat -f -q all.q@h1").lines[2]
    assert line == "all.q@h1                       BIP   0/1/4          -NA-     lx-amd64      u"
    assert busy("qstat -F arch,load_avg -q all.q@h1").lines[3] == "\thl:arch=lx-amd64"
    assert busy("qselect -l arch=lx-amd64 -q all.q@h1").out == "all.q@h1\n"


@pytest.mark.statement("ST-11", "ST-12", "ST-14", "ST-15")
def test_cluster_queues(busy: Shell) -> None:
    busy.as_root("qmod -d all.q@h3")
    assert busy("qstat -g c").out == (
        "CLUSTER QUEUE                   CQLOAD   USED    RES  AVAIL  TOTAL aoACDS  cdsuE  \n" + "-" * 80 + "\n"
        "all.q                             0.03      8      0      4     12      0      4 \n"
    )
    lines = busy("qstat -g c -ext").lines
    assert lines[0].endswith("cdsuE      s     A     S     C     u     a     d     D     c     o     E")
    assert len(lines[1]) == 146
    assert lines[2].split()[8:] == ["0", "0", "0", "0", "0", "0", "4", "0", "0", "0", "0"]
    assert busy("qstat -g c -q all.q@h1").lines[2].split()[2:6] == ["1", "0", "3", "4"]


@pytest.mark.statement("ST-15")
def test_the_name_of_a_cluster_queue_is_never_cut(shell: Shell, cell: Cell) -> None:
    name = "a_queue_whose_name_has_far_more_than_thirty_letters.q"
    cell.add("cluster_queue", name, hostlist="h1")
    lines = shell("qstat -g c").lines
    assert [line.split()[0] for line in lines[2:]] == [name, "all.q"]
    assert {len(line.rstrip()) for line in lines[2:]} == {len(lines[2].rstrip())}, "all columns stand below each other"


@pytest.mark.statement("ST-24")
def test_requested_resources(busy: Shell) -> None:
    lines = busy("qstat -r -s r").lines
    start = next(number for number, line in enumerate(lines) if line.startswith("      3"))
    assert lines[start + 1 :] == [
        "       Full jobname:     sleep",
        "       Master Queue:     all.q@h3",
        "       Requested PE:     mpi 5",
        "       Granted PE:       mpi 5",
        "       Hard Resources:   h_rt=100 (0.000000)",
        "       Soft Resources:   mem_free=1G",
        "       Hard requested queues: all.q@h3, all.q@h2",
        "       Master task hard requested queues: all.q@h3",
        "       Binding:          NONE",
    ]


@pytest.mark.statement("ST-29")
def test_no_binding(busy: Shell) -> None:
    assert "Binding" not in busy("qstat -r -ncb").out
    assert not [line for line in busy("qstat -j 1 -ncb").lines if line.startswith("binding")]


@pytest.mark.statement("ST-27")
def test_more_columns(busy: Shell, cell: Cell) -> None:
    cell.state.task(1, 1).usage = Usage(cpu=93784.0, mem=1.5, io=0.00004)
    ext = busy("qstat -ext").lines
    assert (len(ext[0]), len(ext[1])) == (193, 192)
    assert ext[2] == (
        "      1 0.25000 0.50000 hello      alice        NA               defaultdep r     1:02:03:04 1.50000 0.00004 "
        "    0     0     0     0     0 0.00  all.q@h1                           1        "
    )
    assert ext[3].split()[8:11] == ["NA", "NA", "NA"]
    urg = busy("qstat -urg").lines
    assert (len(urg[0]), len(urg[1])) == (178, 177)
    pri = busy("qstat -pri").lines
    assert (len(pri[0]), len(pri[1])) == (144, 148)
    assert pri[5].startswith("      3 0.75000 1.00000 0.50000 0.50000     0 sleep      alice        r     01/15/2027")
    every = busy("qstat -ext -urg -pri").lines
    assert (len(every[0]), len(every[1])) == (291, 291)
    full = busy("qstat -f -ext").lines
    assert (len(full[1]), len(next(line for line in full if line.startswith("#")))) == (189, 186)


@pytest.mark.statement("ST-25")
@pytest.mark.parametrize(
    ("states", "jobs"),
    [
        ("r", "1223"), ("p", "45"), ("s", ""), ("rs", "1223"), ("a", "122345"), ("hu", "45"), ("h", "45"), ("hj", ""),
        ("ha", ""), ("phj", ""), ("rhu", "122345"),
    ],
)
def test_states(busy: Shell, states: str, jobs: str) -> None:
    assert "".join(line.split()[0] for line in busy(f"qstat -s {states}").lines[2:]) == jobs


@pytest.mark.statement("ST-25")
def test_finished_and_waiting_jobs(busy: Shell, cell: Cell) -> None:
    cell.end(1)
    assert [line.split()[4] for line in busy("qstat -s z").lines[2:]] == ["z"]
    busy("qsub -b y -hold_jid 3 -a 203001010000 -N after true")
    assert [line.split()[2] for line in busy("qstat -s hj").lines[2:]] == ["after"]
    assert [line.split()[2] for line in busy("qstat -s ha").lines[2:]] == ["after"]


@pytest.mark.statement("ST-25")
def test_each_kind_of_hold(shell: Shell) -> None:
    kinds = {"u": "user", "o": "operator", "s": "system"}
    for code, name in kinds.items():
        shell(f"qsub -b y -N {name} true")
        shell.as_root(f"qhold -h {code} {name}")
    shell("qsub -b y -N free true")
    shell("qsub -b y -t 1-3 -hold_jid_ad free -N follows -t 1-1 true")
    names = lambda states: [line.split()[2] for line in shell(f"qstat -s {states}").lines[2:]]  # noqa: E731
    for code, name in kinds.items():
        assert names(f"h{code}") == [name]
    assert names("h") == ["user", "operator", "system"]
    assert names("huhs") == names("huhs+") == ["user", "system"]


@pytest.mark.statement("DP-4", "ST-18")
def test_array_predecessors_are_shown_as_requested_too(shell: Shell) -> None:
    shell("qsub -b y -h -t 1-3 -N parts true")
    shell("qsub -b y -h -t 1-3 -hold_jid_ad 'pa*,nosuch' true")
    text, xml = shell("qstat -r").out, shell("qstat -r -xml").out
    assert "       Predecessor Array Jobs (request): pa*, nosuch\n       Predecessor Array Jobs: 1\n" in text
    assert "<ad_predecessor_jobs_req>pa*</ad_predecessor_jobs_req>" in xml
    assert "<ad_predecessor_jobs>1</ad_predecessor_jobs>" in xml
    shell("qalter -hold_jid_ad nosuch 2")
    assert "Predecessor Array Jobs (request): nosuch\n       Binding" in shell("qstat -r").out


@pytest.mark.statement("ST-30")
def test_default_options(busy: Shell) -> None:
    (busy.common / "sge_qstat").write_text("# mine\n-s p -u '*'\n")
    (busy.home / ".sge_qstat").write_text("-s r\n")
    assert {line.split()[4] for line in busy("qstat").lines[2:]} == {"r"}
    assert {line.split()[4] for line in busy("qstat -s p").lines[2:]} == {"hqw"}
    (busy.home / ".sge_qstat").write_text("-zz\n")
    outcome = busy("qstat")
    assert outcome.err.startswith(f'qstat: {busy.home}/.sge_qstat, line 1: invalid option argument "-zz"\n')


@pytest.mark.statement("ST-31")
def test_width_of_the_queue_column(busy: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SGE_LONG_QNAMES", "-1")
    assert "08:00:00 all.q@h1       1" in busy("qstat").lines[2]
    monkeypatch.setenv("SGE_LONG_QNAMES", "4")
    assert "08:00:00 all.q@h1       1" in busy("qstat").lines[2]


@pytest.mark.statement("QI-16", "X-20")
def test_the_option_of_old_versions_is_refused(shell: Shell) -> None:
    outcome = shell("qstat -alarm")
    assert (outcome.out, outcome.status) == ("", 1)
    assert outcome.err.splitlines()[1].startswith("usage: qstat")
    assert outcome.err.startswith('qstat: invalid option argument "-alarm"\n')


def test_wrong_options(shell: Shell) -> None:
    outcome = shell("qstat -zz")
    assert (outcome.out, outcome.status) == ("", 1)
    assert outcome.err == 'qstat: invalid option argument "-zz"\nusage: qstat [options]; "qstat -help" lists the options\n'
    assert shell("qstat -s x").status == 1
    assert shell("qstat -g x").status == 1


@pytest.mark.statement("CX-66", "CX-67", "ST-27")
def test_urgency_and_what_it_comes_of(shell: Shell, cell: Cell) -> None:
    plain = {"shortcut": "lic", "type": "INT", "relop": "<=", "requestable": "YES", "consumable": "YES", "default": "0"}
    cell.add("complex", "lic", **plain, urgency="5")
    cell.configure("scheduler", "", weight_waiting_time="0.5", weight_deadline="3600")
    cell.configure("userset", "deadlineusers", entries="alice")
    shell("qsub -b y -N one -w n -l lic=3 -dl 203001010000 sleep 1")
    shell("qsub -b y -N wide -pe mpi 2-3 sleep 1")
    shell("qsub -b y -N held -h sleep 1")
    cell.cycle()
    cell.now += 10
    columns = [line.split() for line in shell("qstat -urg").lines[2:]]
    assert {line[7]: line[3:7] for line in columns} == {
        "one": ["1020", "1015", "5", "0"],
        "wide": ["3005", "3000", "5", "0"],
        "held": ["0", "0", "0", "0"],
    }
    assert "<JB_rrcontr>3000</JB_rrcontr>" in shell("qstat -urg -xml").out
    assert "lic=3 (15.000000)" in shell("qstat -r").out
