"""qstat -j -xml: names, order and numbers of the elements, compared with the real 8.1.9 on like jobs."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

from gridengine.state.jobs import Usage
from tests.harness import Cell
from tests.unit.clients.shell import Shell

ALL = (
    "JB_job_number JB_ar JB_exec_file JB_submission_time JB_owner JB_uid JB_group JB_gid JB_account JB_merge_stderr "
    "JB_mail_list JB_project JB_notify JB_job_name JB_stdout_path_list JB_jobshare JB_hard_resource_list "
    "JB_soft_resource_list JB_hard_queue_list JB_soft_queue_list JB_shell_list JB_env_list JB_job_args JB_script_file "
    "JB_context JB_cwd JB_stderr_path_list JB_jid_predecessor_list JB_jid_request_list JB_deadline JB_execution_time "
    "JB_checkpoint_name JB_checkpoint_attr JB_checkpoint_interval JB_reserve JB_mail_options JB_stdin_path_list "
    "JB_priority JB_restart JB_verify JB_master_hard_queue_list JB_script_size JB_pe JB_pe_range "
    "JB_verify_suitable_queues JB_soft_wallclock_gmt JB_hard_wallclock_gmt JB_override_tickets JB_version "
    "JB_ja_structure JB_type JB_binding JB_ja_task_concurrency JB_nurg"
).split()
RICH = (
    "qsub -h -b y -shell n -w n -N rich -A acc -a 203001010101 -ckpt ck -c sx -wd /tmp -e h1:/e -o h2:/o -i /i "
    "-l h_rt=1:00:00,h_vmem=1G,arch='lx*' -soft -l mem_free=2.5G,h_cpu=INFINITY -q all.q -hard -q all.q -masterq all.q@h1 "
    "-hold_jid first -t 1-20:3 -tc 2 -js 3 -m beas -M alice@x,bob -notify -P p1 -p -5 -pe mpi 2-4,8 -r n -R y -S /bin/sh "
    "-v A=1,B -ac x=y -binding pe striding:2:4:0,1 true 'a b'"
)


@pytest.fixture
def rich(shell: Shell, cell: Cell) -> ET.Element:
    """A job that uses all options."""
    cell.add("checkpoint", "ck", when="xsm")
    cell.add("project", "p1")
    shell("qsub -h -b y -N first sleep 9")
    assert shell(RICH).err == ""
    return element_of(shell, "rich")


def element_of(shell: Shell, job: str) -> ET.Element:
    found = ET.fromstring(shell(f"qstat -j {job} -xml").out).find("djob_info/element")
    assert found is not None
    return found


def texts(element: ET.Element, path: str) -> list[str | None]:
    return [found.text for found in element.findall(path)]


@pytest.mark.statement("ST-18", "ST-28")
def test_all_elements_in_the_order_of_the_original(rich: ET.Element) -> None:
    assert [child.tag for child in rich] == ALL


@pytest.mark.statement("ST-18", "ST-28")
def test_the_first_waiting_task_has_the_reason_why_a_whole_job_is_in_error(shell: Shell, cell: Cell) -> None:
    bad = cell.submit(tasks="3-9:2")
    cell.state.jobs[bad].error = "unable to find shell /no/sh"
    assert "error reason      3-9:2:      unable to find shell /no/sh" in shell("qstat -j 1").lines
    task = element_of(shell, "1").findall("JB_ja_tasks/ulong_sublist")[-1]
    assert texts(task, "JAT_task_number") == ["3"] and texts(task, "JAT_status") == ["0"]
    assert "/no/sh" in str(texts(task, "JAT_message_list/ulong_sublist/QIM_message"))


@pytest.mark.statement("ST-28")
def test_codes_for_values_that_have_names(rich: ET.Element) -> None:
    expected = {
        "JB_mail_options": str(0x5C0000),
        "JB_type": str(0x1C0),
        "JB_checkpoint_attr": "6",
        "JB_priority": "1019",
        "JB_restart": "2",
        "JB_reserve": "true",
    }
    assert {tag: rich.findtext(tag) for tag in expected} == expected
    assert texts(rich, "JB_mail_list/mail_list/MR_user") == ["alice", "bob"]


@pytest.mark.statement("ST-28")
def test_requests_with_type_and_amount(rich: ET.Element) -> None:
    hard, soft = "JB_hard_resource_list/qstat_l_requests/", "JB_soft_resource_list/qstat_l_requests/"
    assert texts(rich, f"{hard}CE_name") == ["h_rt", "h_vmem", "arch"]
    assert texts(rich, f"{hard}CE_stringval") == ["3600", "1G", "lx*"]
    assert texts(rich, f"{hard}CE_valtype") == ["3", "4", "2"]
    assert texts(rich, f"{hard}CE_doubleval") == ["3600.000000", "1073741824.000000", "0.000000"]
    amounts = texts(rich, f"{soft}CE_doubleval")
    assert amounts[0] == "2684354560.000000"
    assert float(amounts[1] or 0) > 1e308


@pytest.mark.statement("SO-6", "ST-28")
@pytest.mark.parametrize(
    ("option", "expected"),
    [
        ("", ["no_job_binding", "0", "0", "0", "0", "0", "no_explicit_binding"]),
        ("-binding linear:2", ["linear_automatic", "3", "2", "0", "0", "0"]),
        ("-binding env linear:1:0,1", ["linear", "2", "1", "0", "1", "0"]),
        ("-binding pe striding:2:4", ["striding_automatic", "1", "2", "0", "0", "4"]),
        ("-binding striding:2:4:0,1", ["striding", "3", "2", "0", "1", "4"]),
        ("-binding explicit:0,0:0,1", ["explicit", "3", "0", "0", "0", "0", "explicit:0,0:0,1"]),
    ],
)
def test_binding_in_its_parts(shell: Shell, option: str, expected: list[str]) -> None:
    shell(f"qsub -h -b y -N b {option} true")
    (parts,) = element_of(shell, "b").findall("JB_binding/*")
    assert parts.tag == ("binding" if option else "element")
    assert [part.text for part in parts] == expected


@pytest.mark.statement("ST-18", "ST-28")
def test_tasks_with_their_usage_or_error(shell: Shell, cell: Cell) -> None:
    shell("qsub -b y -N runs sleep 9")
    shell("qsub -b y -N fails sleep 9")
    cell.cycle()
    cell.state.task(1, 1).usage = Usage(cpu=1.5, mem=0.5, io=0.1, vmem=4096.0, maxvmem=8192.0)
    cell.end(2, failed=28, reason="no directory")
    task = element_of(shell, "runs").find("JB_ja_tasks/ulong_sublist")
    assert task is not None
    assert (task.findtext("JAT_status"), task.findtext("JAT_start_time")) == ("128", str(int(cell.now)))
    usage = dict(zip(texts(task, "*/scaled/UA_name"), texts(task, "*/scaled/UA_value"), strict=True))
    assert usage == {"cpu": "1.500000", "mem": "0.500000", "io": "0.100000", "iow": "0.000000"} | {
        "vmem": "4096.000000",
        "maxvmem": "8192.000000",
    }
    failed = element_of(shell, "fails")
    assert "no directory" in (failed.findtext("JB_ja_tasks/ulong_sublist/JAT_message_list/ulong_sublist/QIM_message") or "")


@pytest.mark.statement("ST-18", "ST-28")
def test_reasons_name_their_jobs(shell: Shell) -> None:
    shell("qsub -h -b y -N one true")
    shell("qsub -h -b y -N two true")
    inner = "SME_message_list/element/"
    root = ET.fromstring(shell("qstat -j '*' -xml").out)
    assert texts(root, f"messages/element/{inner}MES_job_number_list/ulong_sublist/ULNG_value") == ["1", "2"]
    assert texts(root, f"messages/element/{inner}MES_message") == ["Job is in hold state"]
    root = ET.fromstring(shell("qstat -j -xml").out)
    assert root.tag == "message"
    assert texts(root, f"element/{inner}MES_job_number_list/ulong_sublist/ULNG_value") == ["1", "2"]


@pytest.mark.statement("ST-18", "ST-20")
def test_the_text_in_the_order_of_the_original(shell: Shell, rich: ET.Element) -> None:
    shell.as_root("qalter -ot 7 rich")
    labels = [line.split(":")[0].rstrip() for line in shell("qstat -j rich").lines if line[:1] not in " ="]
    order = (
        "priority,jobshare,hard_queue_list,soft_queue_list,restart,shell_list,env_list,job_args,master hard queue_list,"
        "script_file,parallel environment,jid_predecessor_list (req),jid_predecessor_list,version,oticket,project,"
        "job-array tasks,maximum concurrency,context,binding,job_type,scheduling info"
    ).split(",")
    assert labels[labels.index("priority") :] == order
    assert "hard resource_list:         h_rt=3600,h_vmem=1G,arch=lx*" in shell("qstat -j rich").lines
