"""qstat -j and -xml: everything about a job, and documents that programs parse. Texts were seen on the real 8.1.9."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

from gridengine.state.jobs import Usage
from tests.harness import Cell
from tests.unit.clients.shell import Shell


@pytest.mark.statement("ST-18", "ST-20", "DP-6")
def test_everything_about_a_job(busy: Shell, cell: Cell) -> None:
    cell.state.task(3, 1).usage = Usage(cpu=90061.0, mem=0.5, io=0.1, vmem=3522166.0, maxvmem=4096.0**3)
    busy(
        "qsub -h -b y -N next -hold_jid 3 -a 203001010000 -m be -M x@y -p -5 -js 4 -R y -r n -v A=1,B -o h1:/o,/p -S /bin/sh true"
    )
    lines = busy("qstat -j 3").lines
    for line in (
        "=" * 62,
        "job_number:                 3",
        "exec_file:                  job_scripts/3",
        "submission_time:            Fri Jan 15 08:00:00 2027",
        "owner:                      alice",
        "sge_o_log_name:             alice",
        "hard resource_list:         h_rt=100",
        "soft resource_list:         mem_free=1G",
        "hard_queue_list:            all.q@h3,all.q@h2",
        "master hard queue_list:     all.q@h3",
        "parallel environment:  mpi range: 5",
        "jid_successor_list:         6",
        "usage         1:            cpu=25:01:01, mem=0.50000 GB s, io=0.10000 GB, vmem=3.359M, maxvmem=64.000G",
        "binding       1:            NONE",
    ):
        assert line in lines
    lines = busy("qstat -j next").lines
    for line in (
        "execution_time:             Tue Jan  1 00:00:00 2030",
        "stdout_path_list:           h1:NONE:/o,NONE:NONE:/p",
        "reserve:                    y",
        "restart:                    n",
        "mail_options:               be",
        "mail_list:                  x@y",
        "priority:                   -5",
        "jobshare:                   4",
        "shell_list:                 NONE:/bin/sh",
        "env_list:                   A=1,B=NONE",
        "jid_predecessor_list (req): 3",
        "jid_predecessor_list:       3",
    ):
        assert line in lines
    assert any(line.startswith("scheduling info:            ") for line in lines)


@pytest.mark.statement("ST-18")
def test_unknown_jobs(busy: Shell) -> None:
    outcome = busy("qstat -j 1,99,zz*")
    assert "job_number:                 1" in outcome.lines
    assert outcome.err == "Following jobs do not exist: \n99, zz*\n"
    assert outcome.status == 0, "one of them is there"
    assert busy("qstat -j 99 zz*").status == 1
    assert busy("qstat -j 1 2").out == busy("qstat -j 1,2").out
    outcome = busy("qstat -xml -j 99")
    assert (outcome.status, outcome.err) == (0, "")
    assert outcome.out == "<?xml version='1.0'?>\n<unknown_jobs >\n    <ST_name>99</ST_name>\n</unknown_jobs>\n"


@pytest.mark.statement("ST-18")
def test_without_a_list_all_pending_reasons_are_shown(busy: Shell) -> None:
    outcome = busy("qstat -j")
    assert (outcome.err, outcome.status) == ("", 0)
    assert "Job is in hold state" in outcome.lines
    assert "Job is in hold state" in busy("qstat -j -xml").out
    assert "Job is in hold state" in busy("qstat -j -json").out


@pytest.mark.statement("ST-18")
def test_the_error_of_a_job(shell: Shell, cell: Cell) -> None:
    shell("qsub -b y -N bad -S /no/sh true")
    cell.cycle()
    cell.end(1, failed=27, reason="unable to find shell /no/sh")
    assert shell("qstat").lines[2].split()[4] == "Eqw"
    lines = shell("qstat -j 1").lines
    assert any(line.startswith("error reason          1:      ") and "/no/sh" in line for line in lines)
    assert "scheduling info:            Job is in error state" in lines


@pytest.mark.statement("ST-28")
def test_xml_of_the_job_list(busy: Shell) -> None:
    root = ET.fromstring(busy("qstat -xml").out)
    assert root.tag == "job_info"
    assert [child.tag for child in root] == ["queue_info", "job_info"]
    running, pending = root
    assert [job.get("state") for job in running] == ["running"] * 4
    assert [element.tag for element in running[1]] == (
        "JB_job_number JAT_prio JB_name JB_owner state JAT_start_time queue_name slots tasks".split()
    )
    assert [element.tag for element in pending[0]] == (
        "JB_job_number JAT_prio JB_name JB_owner state JB_submission_time queue_name slots".split()
    )
    assert pending[0].findtext("JB_name") == "held_job_of_long_name"
    assert pending[0].findtext("queue_name") == ""
    assert running[0].findtext("JAT_start_time") == "2027-01-15T08:00:00"


@pytest.mark.statement("ST-28")
@pytest.mark.parametrize(
    "options", ["", "-f", "-r", "-ext", "-urg -pri", "-t", "-g d", "-g t -f", "-F", "-g c", "-g c -ext", "-f -ne -r -t -ext"]
)
def test_xml_is_well_formed_with_all_options_and_without_jobs(busy: Shell, options: str) -> None:
    ET.fromstring(busy(f"qstat -xml {options}").out)
    busy.user = "bob"
    ET.fromstring(busy(f"qstat -xml {options}").out)


@pytest.mark.statement("ST-28")
def test_xml_keeps_any_text(shell: Shell) -> None:
    shell("qsub -h -b y -N 'a<b>&\"c' -ac 'x=<&' true '<arg>'")
    assert ET.fromstring(shell("qstat -xml").out).findtext(".//JB_name") == 'a<b>&"c'
    detail = ET.fromstring(shell("qstat -xml -j 1").out)
    assert detail.tag == "detailed_job_info"
    assert detail.findtext("djob_info/element/JB_job_args/element/ST_name") == "<arg>"
    assert detail.findtext("djob_info/element/JB_submission_time") == "1800000000"


@pytest.mark.statement("SE-4")
def test_a_login_rule_of_a_site_sees_the_owners_of_jobs_on_a_host(busy: Shell) -> None:
    """The query of the PAM module of 8.1.9: whether a user has a task that runs on this host."""
    assert len(busy('qstat -s r -u alice -q "*@h1"').lines) == 3
    assert busy('qstat -s r -u bob -q "*@h1"').out == ""
    assert busy('qstat -s r -u alice -q "*@master"').out == ""
