"""qhost, qselect, qmod: tables, selection, requests."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

from gridengine.protocols.delivery import Load
from tests.harness import Cell
from tests.unit.clients.shell import Shell

HEADER = "HOSTNAME                ARCH         NCPU NSOC NCOR NTHR  LOAD  MEMTOT  MEMUSE  SWAPTO  SWAPUS\n" + "-" * 94 + "\n"
GLOBAL = "global                  -               -    -    -    -     -       -       -       -       -\n"
UNKNOWN = "h{}                      lx-amd64        4    -    -    -     -       -       -       -       -\n"
H1 = "h1                      lx-amd64        2    1    2    2  0.09   23.5G  199.3M     0.0     0.0\n"


@pytest.fixture
def hosts(shell: Shell, cell: Cell) -> Shell:
    """h1 as a real host reports it; h2 and h3 are lost, of which only that is known which does not change."""
    values = "arch=lx-amd64 num_proc=2 m_socket=1 m_core=2 m_thread=2 load_avg=0.092285 mem_total=24105.558594M "
    values += "mem_used=199.258000M swap_total=0.000000M swap_used=0.000000M np_load_avg=0.04"
    cell.report("h1", Load(cell.now, dict(pair.split("=") for pair in values.split()), full=True))
    for name in ("h2", "h3"):
        cell.master.lose_host(name)
    return shell


@pytest.mark.statement("QH-1")
def test_the_host_table(hosts: Shell) -> None:
    assert hosts("qhost").out == HEADER + GLOBAL + H1 + UNKNOWN.format(2) + UNKNOWN.format(3)


@pytest.mark.statement("QH-2", "QH-3")
def test_queues_and_jobs_of_hosts(hosts: Shell, cell: Cell) -> None:
    hosts("qsub -pe mpi 3 -b y -N par sleep 9")
    cell.cycle()
    hosts.as_root("qmod -d all.q@h1")
    indent = " " * 69
    row = f"         1 {cell.state.priorities[1][0]:.5f} par        alice        r     01/15/2027 08:00:00 "
    queue = "   all.q                BIP   0/3/4         d\n"
    slots = f"{row}MASTER        \n" + f"{indent}SLAVE         \n" * 2
    assert hosts("qhost -q -j -h h1").out == f"{HEADER}{GLOBAL}{H1}{queue}{slots}", "jobs stand below their queue"
    assert hosts("qhost -j -h h1").out == (
        f"{HEADER}{GLOBAL}{H1}"
        "   job-ID  prior   name       user         state submit/start at     queue      master ja-task-ID \n"
        "   " + "-" * 94 + f"\n{row}all.q@h1   MASTER        \n" + f"{indent}all.q@h1   SLAVE         \n" * 2
    )
    assert "par" not in hosts("qhost -j -u bob").out


@pytest.mark.statement("QH-4")
def test_resources_and_selection_of_hosts(hosts: Shell) -> None:
    title = "    Host Resource(s):      "
    shown = f"{title}hl:arch=lx-amd64\n   hl:mem_total=23.541G\n"
    assert hosts("qhost -F mem_total,arch -h h1").out == f"{HEADER}{GLOBAL}{H1}{shown}"
    assert "Resource" not in hosts("qhost -F").out
    assert hosts("qhost -q -F arch,num_proc -h h1").lines[4:6] == [f"{title}hl:arch=lx-amd64", "   hl:num_proc=2.000000"]
    assert hosts("qhost -l arch=lx-amd64").out == HEADER + H1 + UNKNOWN.format(2) + UNKNOWN.format(3)
    assert hosts("qhost -l load_avg=9").out == HEADER + H1
    assert hosts("qhost -l load_avg=0.001").out == ""
    assert hosts("qhost -l h=h1").out == HEADER + H1
    assert hosts("qhost -l h=h1,arch=nosuch").out == ""
    unknown = hosts("qhost -l h=nosuch")
    assert (unknown.out, unknown.status) == ("", 1) and 'unknown host "nosuch"' in unknown.err
    assert len(hosts("qhost -ncb").lines[1]) == 79
    nothing = hosts("qhost -l arch=nosuch")
    assert (nothing.out, nothing.err, nothing.status) == ("", "", 0)
    outcome = hosts("qhost -h nosuch")
    assert (outcome.out, outcome.status) == ("", 1)
    assert 'can\'t resolve hostname "nosuch"' in outcome.err


@pytest.mark.statement("QH-1", "CX-30")
def test_a_configured_number_of_processors_is_shown(hosts: Shell, cell: Cell) -> None:
    cell.configure("exec_host", "h1", complex_values="num_proc=8")
    assert hosts("qhost -h h1").lines[3].split()[2] == "8"


@pytest.mark.statement("QH-3", "QH-4")
def test_jobs_of_users_at_hosts(hosts: Shell, cell: Cell) -> None:
    hosts("qsub -b y -N mine sleep 9")
    cell.cycle()
    assert hosts("qhost -u alice").out == hosts("qhost -j").out != hosts("qhost").out
    assert hosts("qhost -u bob").out == hosts("qhost").out
    cell.configure("exec_host", "global", complex_values="slots=7")
    assert hosts("qhost -l slots=6 -h h1").out == HEADER + GLOBAL + H1
    assert hosts("qhost -l slots=7 -h h1").out == "", "a slot is in use"


@pytest.mark.statement("QH-4")
@pytest.mark.parametrize("options", ["", "-q -j", "-F", "-ncb", "-F arch -q"])
def test_xml_of_hosts(hosts: Shell, cell: Cell, options: str) -> None:
    hosts("qsub -b y -t 1-2 -N arr sleep 9")
    cell.cycle()
    root = ET.fromstring(hosts(f"qhost -xml {options}").out)
    assert [host.get("name") for host in root] == ["global", "h1", "h2", "h3"]
    values = {value.get("name"): value.text for value in root[1].findall("hostvalue")}
    assert (values["arch_string"], values["mem_used"], values["load_avg"]) == ("lx-amd64", "199.3M", "0.09")
    assert ("m_core" in values) == (options != "-ncb")
    assert len(root[1].findall("job")) == (2 if "-j" in options else 0)
    assert len(root[1].findall("queue")) == (1 if "-q" in options else 0)


@pytest.mark.statement("QS-1", "QS-2", "QS-5")
def test_qselect(shell: Shell) -> None:
    assert shell("qselect").out == "all.q@h1\nall.q@h2\nall.q@h3\n"
    assert shell("qselect -q '*@h[12]' -pe mpi -l arch=lx-amd64").out == "all.q@h1\nall.q@h2\n"
    for options in ("-q nosuch", "-l arch=nosuch", "-qs d"):
        outcome = shell(f"qselect {options}")
        assert (outcome.out, outcome.err, outcome.status) == ("", "", 1)
    outcome = shell("qselect -pe 'no*'")
    assert (outcome.out, outcome.err, outcome.status) == ("", 'no parallel environment "no*" (-pe)\n', 1)
    shell.as_root("qmod -s all.q@h2")
    assert shell("qselect -qs s").out == "all.q@h2\n"


@pytest.mark.statement("QS-3")
def test_qselect_knows_no_load_and_no_use(shell: Shell, cell: Cell) -> None:
    assert shell("qselect -l load_avg=0").status == 1
    shell("qsub -pe smp 4 -b y sleep 9")
    cell.cycle()
    assert len(shell("qselect -l slots=4").lines) == 3
    assert shell("qselect -l slots=5").status == 1
    assert len(shell("qselect -l slots").lines) == 3, "a name alone asks for 1"
    less = shell("qselect -l slots=-1")
    assert (less.status, less.out) == (1, "") and "consumable" in less.err


@pytest.mark.statement("QS-2", "QC-31")
def test_qselect_by_access(shell: Shell) -> None:
    shell.as_root("qconf -au bob onlybob")
    shell.as_root("qconf -mattr queue user_lists onlybob all.q@h2")
    assert len(shell("qselect -U bob").lines) == 3
    assert shell("qselect -U alice").out == "all.q@h1\nall.q@h3\n"


@pytest.mark.statement("QS-2", "QC-32")
def test_qselect_by_access_to_projects(shell: Shell, cell: Cell) -> None:
    shell.as_root("qconf -au alice inside")
    cell.add("project", "closed", acl="inside")
    shell.as_root("qconf -mattr queue projects closed all.q@h1")
    shell.as_root("qconf -mattr queue xprojects closed all.q@h2")
    assert shell("qselect -U alice").out == "all.q@h1\nall.q@h3\n"
    assert shell("qselect -U bob").out == "all.q@h2\nall.q@h3\n"


@pytest.mark.statement("QM-1", "QM-2", "QM-3")
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("-d all.q,b.q c.q", [{"action": "disable", "what": "queue", "targets": ["all.q", "b.q", "c.q"]}]),
        ("--enable all.q@h1", [{"action": "enable", "what": "queue", "targets": ["all.q@h1"]}]),
        ("-usj 1 -f", [{"action": "unsuspend", "what": "job", "targets": ["1"], "force": True}]),
        ("-c 1 all.q", [{"action": "clear", "what": "any", "targets": ["1", "all.q"]}]),
        ("-sj 5 -t 1-3", [{"action": "suspend", "what": "job", "targets": ["5"], "tasks": "1-3"}]),
        (
            "-rq a.q -cj 7",
            [
                {"action": "reschedule", "what": "queue", "targets": ["a.q"]},
                {"action": "clear", "what": "job", "targets": ["7"]},
            ],
        ),
    ],
)
def test_the_requests_of_qmod(shell: Shell, line: str, expected: list[dict]) -> None:  # type: ignore[type-arg]
    shell(f"qmod {line}")
    assert [body for _, body in shell.asked] == expected


@pytest.mark.statement("QM-11")
def test_qmod_without_sense(shell: Shell) -> None:
    assert shell("qmod").status == 1
    assert shell("qmod -zz").err.startswith('qmod: invalid option argument "-zz"\nusage: qmod [options]; ')
    assert shell("qmod -d").err.startswith("qmod: -d option must have argument\nhint: -d wc_queue_list...: ")
    outcome = shell.as_root("qmod -d nosuch.q")
    assert (outcome.status, outcome.out) == (1, "")
    assert "nosuch.q" in outcome.err


@pytest.mark.statement("QM-5")
def test_a_forced_change_reaches_jobs_of_a_lost_host(shell: Shell, cell: Cell) -> None:
    shell("qsub -b y -r y -q all.q@h1 sleep 9")
    cell.cycle()
    cell.master.lose_host("h1")
    assert shell("qmod -f -sj 1").err == 'denied: "alice" must be operator to force a state change (-f)\n'
    assert shell.as_root("qmod -rj 1").status == 0
    assert cell.placed(1) == [("all.q@h1", 1)], "its host has to say that it has ended"
    cell.cycle()
    assert shell.as_root("qmod -f -rj 1").out == "root - pushed rescheduling of job 1 on host h1\n"
    assert (cell.state.task(1, 1).status, cell.records(1)[0].failed) == ("pending", "25")
    assert cell.inventory("h1")[0].forget == [(1, 1, 1)], "it is killed where it still runs"


@pytest.mark.statement("QM-5")
def test_a_forced_change_waits_for_a_host_that_answers(shell: Shell, cell: Cell) -> None:
    shell("qsub -b y -r y -q all.q@h1 sleep 9")
    cell.cycle()
    assert shell.as_root("qmod -f -rq all.q@h1").status == 0
    assert cell.state.task(1, 1).status == "running"


@pytest.mark.statement("QM-6", "QM-7", "QC-30")
def test_owners_of_a_queue(shell: Shell, cell: Cell) -> None:
    shell.as_root("qconf -aattr queue owner_list alice all.q@h1")
    shell("qsub -b y -r y -q all.q@h1 sleep 9")
    cell.cycle()
    for option, codes in (("-d", "d"), ("-e", ""), ("-s", "s"), ("-usq", "")):
        assert shell(f"qmod {option} all.q@h1").status == 0
        assert shell("qstat -f -q all.q@h1").lines[2].split()[5:] == ([codes] if codes else [])
    assert shell("qmod -cq all.q@h1").out == 'Queue instance "all.q@h1" is already in the specified state: no error\n'
    outcome = shell("qmod -rq all.q@h1")
    assert (outcome.err, outcome.status) == ('alice - you have no permission to modify queue "all.q@h1"\n', 1)
    assert shell.as_root("qmod -f -d all.q@h1").out == 'root@master forced state change of "all.q@h1" (disabled)\n'
    outcome = shell("qmod -d all.q")
    assert (len(outcome.lines), len(outcome.err.splitlines()), outcome.status) == (1, 2, 1)
    assert shell("qselect -qs d").out == "all.q@h1\n"


@pytest.mark.statement("QM-10", "QM-3")
@pytest.mark.parametrize(
    ("targets", "suspended"),
    [
        ("-sj 2.2", "2.2"),
        ("-sj 2.1-3:2", "2.1 2.3"),
        ("-sj 2 -t 2-3", "2.2 2.3"),
        ("-sj one", "1.1"),
        ("-sj 'o*' 2.1", "1.1 2.1"),
        ("-s 1,2.3", "1.1 2.3"),
        ("-sj '*'", "1.1 2.1 2.2 2.3"),
    ],
)
def test_jobs_that_qmod_means(shell: Shell, cell: Cell, targets: str, suspended: str) -> None:
    shell("qsub -b y -N one sleep 9")
    shell("qsub -b y -N two -t 1-3 sleep 9")
    cell.cycle()
    assert shell(f"qmod {targets}").status == 0
    found = [f"{job.id}.{task.id}" for job in cell.state.jobs.values() for task in job.tasks.values() if task.suspensions]
    assert " ".join(sorted(found)) == suspended


@pytest.mark.statement("QM-11")
@pytest.mark.parametrize(
    ("options", "text"),
    [
        ("-d nosuch.q", 'invalid queue "nosuch.q"'),
        ("-sj nosuch", 'invalid queue or job "nosuch"'),
        ("-s nosuch", 'invalid queue or job "nosuch"'),
        ("-cj 99", 'invalid queue or job "99"'),
    ],
)
def test_qmod_reports_a_target_that_matches_nothing(shell: Shell, options: str, text: str) -> None:
    outcome = shell.as_root(f"qmod {options}")
    assert (outcome.out, outcome.err, outcome.status) == ("", f"{text}\n", 1)


@pytest.mark.statement("QI-14", "QI-12", "CQ-12", "CQ-14")
def test_why_instances_are_ambiguous_or_in_error(shell: Shell, cell: Cell) -> None:
    shell("qsub -b y -q all.q@h1 sleep 9")
    cell.cycle()
    for name in ("@a", "@b"):
        cell.add("host_group", name, hostlist="h1")
    cell.configure("cluster_queue", "all.q", seq_no="0,[@a=1],[@b=2]", slots="4,[@a=5],[@b=6]")
    lines = shell("qstat -f -explain c -q all.q@h1").lines
    assert lines[2].split()[-1] == "c"
    reasons = [line for line in lines if line.startswith("\t")]
    assert len(reasons) == 2
    for line, attribute in zip(sorted(reasons), ("seq_no", "slots"), strict=True):
        assert attribute in line and "@a" in line and "@b" in line
    assert [line for line in shell("qstat -f -explain E -q all.q@h1").lines if line.startswith("\t")] == []
    cell.end(1, failed=8, reason="prolog exit 1")
    lines = shell("qstat -f -explain E,c -q all.q@h1").lines
    assert lines[2].split()[-1] == "Ec"
    assert any("marked QERROR as result of job 1's failure at host h1: prolog exit 1" in line for line in lines)
    assert shell("qselect -qs E").out == shell("qselect -qs c").out == "all.q@h1\n"


@pytest.mark.statement("EX-3", "ST-18", "QI-10")
def test_a_job_whose_prolog_failed_shows_it_until_it_runs_again(shell: Shell, cell: Cell) -> None:
    shell("qsub -b y -q all.q@h1 sleep 9")
    cell.cycle()
    cell.end(1, failed=8, reason="prolog exit 1")
    assert shell("qstat").lines[2].split()[4] == "qw"
    [reason] = [line for line in shell("qstat -j 1").lines if line.startswith("error reason          1:      ")]
    assert reason.endswith("prolog exit 1 (on host h1)")
    assert "prolog exit 1" in shell("qstat -xml -j 1").out
    shell.as_root("qmod -cq all.q@h1")
    cell.cycle()
    assert shell("qstat").lines[2].split()[4] == "r"
    assert not any(line.startswith("error reason") for line in shell("qstat -j 1").lines)


@pytest.mark.statement("CQ-31", "QI-14")
def test_an_instance_that_is_no_longer_configured_is_not_ambiguous(shell: Shell, cell: Cell) -> None:
    shell("qsub -b y -q all.q@h1 sleep 9")
    cell.cycle()
    for name in ("@a", "@b"):
        cell.add("host_group", name, hostlist="h1")
    cell.configure("cluster_queue", "all.q", seq_no="0,[@a=1],[@b=2]")
    assert shell("qselect -qs c").out == "all.q@h1\n"
    cell.configure("cluster_queue", "all.q", hostlist="h2")
    assert shell("qselect -qs o").out == "all.q@h1\n" and shell("qselect -qs c").out == ""


@pytest.mark.statement("QS-2", "US-6")
def test_users_have_access_where_queue_host_and_cluster_let_them(hosts: Shell, cell: Cell) -> None:
    cell.add("userset", "crew", entries="bob")
    everywhere = "all.q@h1\nall.q@h2\nall.q@h3\n"
    cell.configure("exec_host", "h1", user_lists="crew")
    assert hosts("qselect -U alice").out == "all.q@h2\nall.q@h3\n"
    assert hosts("qselect -U bob").out == everywhere
    cell.configure("exec_host", "h1", user_lists="NONE", xuser_lists="crew")
    assert hosts("qselect -U bob").out == "all.q@h2\nall.q@h3\n"
    for kind, none in (("exec_host", "NONE"), ("configuration", "none")):
        cell.configure(kind, "global", user_lists="crew")
        assert hosts("qselect -U alice").status == 1, kind
        cell.configure(kind, "global", user_lists=none)
    assert hosts("qselect -U alice").out == everywhere


@pytest.mark.statement("QS-2", "CX-27")
def test_each_level_that_has_a_resource_must_suit(hosts: Shell, cell: Cell) -> None:
    cell.add("complex", "flag", shortcut="flag", type="BOOL", relop="==")
    cell.configure("exec_host", "h1", complex_values="flag=TRUE")
    assert hosts("qselect -l flag=TRUE").out == "all.q@h1\n"
    cell.configure("cluster_queue", "all.q", complex_values="flag=FALSE")
    assert hosts("qselect -l flag=TRUE").out == "", "no job that requests it could run there"
    assert hosts("qselect -l flag=FALSE").out == "all.q@h2\nall.q@h3\n"
