"""The actions of a user on a cell of one host: submit, watch, suspend, delete, and clear reports of errors."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path

import pytest

from tests.integration.cells import DemoCell, eventually, process_state, run
from tests.integration.debian import need


def submit(cell: DemoCell, *arguments: str) -> str:
    return cell.must("qsub", "-terse", *arguments).split(".")[0].strip()


def state(cell: DemoCell, job: str) -> str:
    """The state letters of a job, "" when it is gone."""
    rows = [line.split() for line in cell.must("qstat", "-u", "*").splitlines()[2:]]
    return next((row[4] for row in rows if row[0] == job), "")


def record(cell: DemoCell, job: str) -> dict[str, str]:
    printed = cell.must("qacct", "-j", job)
    return {fields[0]: fields[1].strip() for line in printed.splitlines() if len(fields := line.split(None, 1)) == 2}


def wait_for_state(cell: DemoCell, job: str, expected_code: str) -> None:
    eventually(f"job {job} is in state {expected_code!r}", lambda: state(cell, job) == expected_code)


@pytest.mark.statement("SB-1", "SB-2", "SB-6", "EN-1", "EN-2", "EN-3", "EN-4", "QC-19", "CQ-2")
def test_a_script_with_embedded_options_and_its_environment(demo_cell: DemoCell) -> None:
    script = demo_cell.work / "env.sh"
    script.write_text('#!/bin/sh\n#$ -N probe -j y -cwd -v GREETING="a b"\nenv\nls -d "$TMPDIR"\necho "pwd=$(pwd)"\n')
    printed = demo_cell.must("qsub", "-sync", "y", str(script))
    job = printed.split()[2]
    assert printed == f'Your job {job} ("probe") has been submitted\nJob {job} exited with exit code 0.\n'
    output = (demo_cell.work / f"probe.o{job}").read_text().splitlines()
    found = dict(line.split("=", 1) for line in output if "=" in line)
    expected = {
        "JOB_ID": job,
        "JOB_NAME": "probe",
        "QUEUE": "all.q",
        "NSLOTS": "1",
        "NHOSTS": "1",
        "ENVIRONMENT": "BATCH",
        "SGE_TASK_ID": "undefined",
        "RESTARTED": "0",
        "GREETING": "a b",
        "SGE_CELL": "test",
        "pwd": str(demo_cell.work),
        "SGE_O_WORKDIR": str(demo_cell.work),
        "SGE_STDOUT_PATH": str(demo_cell.work / f"probe.o{job}"),
    }
    assert {name: found.get(name) for name in expected} == expected
    assert found["TMPDIR"] in output, "TMPDIR was there while the job ran"
    assert not Path(found["TMPDIR"]).exists()


@pytest.mark.statement("SO-34", "SO-5", "SO-12")
def test_exit_status_arguments_and_output_files(demo_cell: DemoCell) -> None:
    done = demo_cell.command(
        "qsub",
        "-sync",
        "y",
        "-b",
        "y",
        "-N",
        "args",
        "-cwd",
        "sh",
        "-c",
        'echo "$1|$2"; echo oops >&2; exit 7',
        "x",
        "a  b",
        "'c'",
    )
    assert done.returncode == 7, done.stderr
    job = done.stdout.split()[2]
    assert f"Job {job} exited with exit code 7." in done.stderr
    assert (demo_cell.work / f"args.o{job}").read_text() == "a  b|'c'\n"
    assert (demo_cell.work / f"args.e{job}").read_text() == "oops\n"
    assert record(demo_cell, job)["exit_status"] == "7"


@pytest.mark.statement("AJ-1", "SO-36", "EN-1")
def test_an_array_has_an_output_and_a_record_per_task(demo_cell: DemoCell) -> None:
    done = demo_cell.command(
        "qsub", "-sync", "y", "-t", "2-6:2", "-b", "y", "-N", "arr", "-cwd", "-j", "y",
        "sh", "-c", "echo $SGE_TASK_ID/$SGE_TASK_LAST; test $SGE_TASK_ID != 4",
    )
    assert done.returncode == 1
    job = done.stdout.split()[2].partition(".")[0]
    assert f'Your job-array {job}.2-6:2 ("arr") has been submitted' in done.stdout
    assert [(demo_cell.work / f"arr.o{job}.{task}").read_text() for task in (2, 4, 6)] == ["2/6\n", "4/6\n", "6/6\n"]
    printed = demo_cell.must("qacct", "-j", job)
    assert sorted(line.split()[1] for line in printed.splitlines() if line.startswith("taskid ")) == ["2", "4", "6"]


@pytest.mark.statement("PE-9", "PE-4")
def test_a_parallel_job_has_its_slots_and_a_hostfile(demo_cell: DemoCell) -> None:
    job = submit(
        demo_cell,
        "-sync", "y", "-pe", "smp", "3", "-b", "y", "-N", "par", "-cwd", "-j", "y",
        "sh",
        "-c",
        "cat $PE_HOSTFILE; echo $NSLOTS",
    )
    hostfile, slots = (demo_cell.work / f"par.o{job}").read_text().splitlines()
    assert hostfile.split() == ["node1", "3", "all.q@node1", "UNDEFINED"]
    assert slots == "3"
    assert record(demo_cell, job)["slots"] == "3"


@pytest.mark.statement("SO-46", "EX-6", "EX-7")
def test_deleting_a_running_job_ends_all_of_its_processes(demo_cell: DemoCell) -> None:
    pids = demo_cell.work / "pids"
    command = (
        f"setsid sh -c 'echo $$ >> {pids}; exec sleep 300' & sleep 300 & echo $! >> {pids}; echo $$ >> {pids}; wait"
    )
    job = submit(demo_cell, "-b", "y", "-o", "/dev/null", "-e", "/dev/null", "sh", "-c", command)
    eventually("its processes run", lambda: pids.exists() and len(pids.read_text().split()) == 3)
    printed = demo_cell.must("qdel", job)
    assert f"has registered the job {job} for deletion" in printed
    eventually("it is gone", lambda: state(demo_cell, job) == "")
    assert [pid for pid in pids.read_text().split() if process_state(pid) not in ("", "Z")] == []
    assert record(demo_cell, job)["exit_status"].split()[0] == "137"


@pytest.mark.statement("QM-2", "QM-7", "EX-6", "QI-6")
def test_suspending_stops_the_whole_job_and_resuming_goes_on(demo_cell: DemoCell) -> None:
    # the shell and its child start nothing any more: one whose child is stopped between vfork and exec is not in state T
    ticks = demo_cell.work / "ticks"
    ticker = f"import time\nwhile True:\n open('{ticks}', 'a').write('xx')\n time.sleep(0.1)"
    written = demo_cell.work / "ticks.pids"
    script = f'/usr/bin/python3 -c "{ticker}" & echo $$ $! > {written}; wait'
    job = submit(demo_cell, "-b", "y", "-o", "/dev/null", "-e", "/dev/null", "sh", "-c", script)
    eventually("its processes are known", lambda: written.exists() and len(written.read_text().split()) == 2)
    eventually("it ticks", lambda: ticks.exists() and ticks.stat().st_size > 4)
    pids = written.read_text().split()
    assert "suspended job" in demo_cell.must("qmod", "-sj", job)
    wait_for_state(demo_cell, job, "s")
    eventually("it is stopped", lambda: {process_state(pid) for pid in pids} == {"T"})
    size = ticks.stat().st_size
    time.sleep(0.5)
    assert ticks.stat().st_size == size
    demo_cell.must("qmod", "-usj", job)
    eventually("it ticks again", lambda: ticks.stat().st_size > size + 2)
    demo_cell.must("qmod", "-sq", "all.q")
    wait_for_state(demo_cell, job, "S")
    demo_cell.must("qmod", "-usq", "all.q")
    wait_for_state(demo_cell, job, "r")
    demo_cell.must("qdel", job)
    eventually("it is gone", lambda: state(demo_cell, job) == "")


@pytest.mark.statement("RL-1", "RL-2")
def test_h_rt_ends_a_job(demo_cell: DemoCell) -> None:
    done = demo_cell.command(
        "qsub", "-sync", "y", "-l", "h_rt=1", "-b", "y", "-o", "/dev/null", "-e", "/dev/null", "sleep", "60"
    )
    job = done.stdout.split()[2]
    found = record(demo_cell, job)
    assert (found["failed"].split()[0], found["exit_status"].split()[0]) == ("37", "137")


@pytest.mark.statement("EX-4", "SO-8", "SO-35", "SO-33")
@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (("-wd", "/nonexistent/dir"), "/nonexistent/dir"),
        (("-S", "/nonexistent/shell"), "/nonexistent/shell"),
        (("-o", "/nonexistent/out"), "/nonexistent/out"),
        (("-shell", "n"), "/nonexistent/command"),
    ],
)
def test_a_file_that_the_host_lacks_puts_the_job_and_not_the_queue_into_error(
    demo_cell: DemoCell, options: tuple[str, ...], reason: str
) -> None:
    command = "/nonexistent/command" if "-shell" in options else "true"
    output = () if "-o" in options else ("-o", "/dev/null")
    job = submit(demo_cell, "-b", "y", "-e", "/dev/null", *output, *options, command)
    wait_for_state(demo_cell, job, "Eqw")
    detail = demo_cell.must("qstat", "-j", job)
    assert [line for line in detail.splitlines() if line.startswith("error reason") and reason in line], detail
    assert "E" not in demo_cell.must("qstat", "-f", "-q", "all.q@node1").splitlines()[2][-8:]
    demo_cell.must("qdel", job)


@pytest.mark.statement("SO-37", "SB-7")
def test_a_wrong_command_reports_its_fault_and_changes_nothing(demo_cell: DemoCell) -> None:
    for command, status, text in (
        (("qsub", "-zz"), 2, "-zz"),
        (("qsub", "nofile"), 14, "nofile"),
        (("qsub", "-N", "a/b", "-b", "y", "true"), 2, "/"),
        (("qsub", "-q", "nosuch", "-b", "y", "true"), 1, "nosuch"),
        (("qsub", "-l", "nosuch=1", "-b", "y", "true"), 1, "nosuch"),
        (("qdel", "999999"), 1, "999999"),
        (("qstat", "-j", "999999"), 1, "999999"),
        (("qacct", "-j", "999999"), 1, "999999"),
        (("qmod", "-d", "nosuch"), 1, "nosuch"),
        (("qconf", "-sp", "nosuch"), 1, "nosuch"),
        (("qconf", "-Aq", "/nonexistent/file"), 1, "/nonexistent/file"),
    ):
        done = demo_cell.command(*command)
        assert done.returncode == status, (command, done)
        assert text in done.stderr + done.stdout
        assert "Traceback" not in done.stderr
    assert demo_cell.must("qstat", "-u", "*") == ""


@pytest.mark.statement("QF-38", "GD-2")
def test_a_wrong_line_of_a_configuration_file_is_named(demo_cell: DemoCell) -> None:
    before = demo_cell.must("qconf", "-sq", "all.q")
    file = demo_cell.work / "bad.q"
    file.write_text(before.replace("slots                 8", "slots                 many"))
    done = demo_cell.command("qconf", "-Mq", str(file))
    line = before.splitlines().index("slots                 8") + 1
    assert done.returncode == 1
    assert f"line {line}" in done.stderr and "slots" in done.stderr
    assert demo_cell.must("qconf", "-sq", "all.q") == before


def test_without_a_master_commands_say_so_and_end(demo_cell: DemoCell, tmp_path: Path) -> None:
    common = tmp_path / "gone" / "common"
    common.mkdir(parents=True)
    settings = (demo_cell.common / "bootstrap").read_text().splitlines()
    lines = [f"run_dir {tmp_path}/run" if line.startswith("run_dir") else line for line in settings]
    (common / "bootstrap").write_text("\n".join(lines) + "\n")
    (common / "act_qmaster").write_text("nohost\n")
    environment = {**demo_cell.environment, "SGE_ROOT": str(tmp_path), "SGE_CELL": "gone"}
    for command in (("qstat",), ("qsub", "-b", "y", "true"), ("qconf", "-sql")):
        done = demo_cell.command(*command, env=environment)
        assert done.returncode == 1
        assert "unable to contact the qmaster" in done.stderr
        assert "Traceback" not in done.stderr


def test_files_of_a_job_are_not_readable_to_others(demo_cell: DemoCell) -> None:
    job = submit(demo_cell, "-v", "SECRET=1", "-b", "y", "-o", "/dev/null", "-e", "/dev/null", "sleep", "30")
    wait_for_state(demo_cell, job, "r")
    spool = demo_cell.place / "spool"
    config = next((spool / "execd" / "node1" / "active_jobs").glob(f"{job}.*")) / "config"
    assert config.stat().st_mode & 0o077 == 0
    assert (spool / "qmaster" / "spool.db").stat().st_mode & 0o077 == 0
    assert (demo_cell.common / "secrets").stat().st_mode & 0o077 == 0
    demo_cell.must("qdel", job)
    eventually("it is gone", lambda: state(demo_cell, job) == "")


def test_daemons_are_not_the_first_to_be_killed_when_jobs_use_the_memory(demo_cell: DemoCell) -> None:
    assert {pid for pid in demo_cell.processes() if oom_score(pid) > oom_score(os.getpid())} == set()


def oom_score(pid: int) -> int:
    """The out-of-memory score adjustment of a process, -1000 to 1000; -1000 when it has ended."""
    try:
        return int(Path(f"/proc/{pid}/oom_score_adj").read_text())
    except OSError:
        return -1000


@pytest.mark.statement("SE-3")
def test_identity_headers_without_the_key_of_a_host_are_not_believed(demo_cell: DemoCell) -> None:
    """The TLS port takes no connection without a host's certificate, and no request without that host's key."""
    need("curl")
    port = next(
        line.split()[1] for line in (demo_cell.common / "bootstrap").read_text().splitlines() if "qmaster_port" in line
    )
    headers = ("X-GE-User: root", "X-GE-Uid: 0", "X-GE-Group: root", "X-GE-Gid: 0", "X-GE-Host: node1")
    options = [text for header in (*headers, "Authorization: Bearer wrong") for text in ("-H", header)]
    url = f"https://127.0.0.1:{port}/v1/config_list"
    keys = demo_cell.place / "spool" / "execd" / "node1" / "keys"
    command = ["curl", "-sk", "--noproxy", "*", "-X", "POST", *options, "-d", '{"kind": "manager"}', url]
    assert (done := run(command)).returncode != 0 and done.stdout == ""
    done = run([*command, "--cert", str(keys / "tls.crt"), "--key", str(keys / "tls.key")])
    assert '"status":1' in done.stdout and "denied" in done.stdout


@pytest.mark.statement("AC-4")
@pytest.mark.parametrize("flush_time", ["0:0:0", "1:0:0"])
def test_a_record_is_in_the_file_when_the_command_that_waited_returns(demo_cell: DemoCell, flush_time: str) -> None:
    """The reporting file is written in a thread, some moments later; no flush time passes."""
    changed = re.sub(r"(?m)^reporting_params(.*\\\n)*.*\n", "", demo_cell.must("qconf", "-sconf"))
    file = demo_cell.work / "global"
    file.write_text(f"{changed}\nreporting_params accounting=true reporting=true flush_time={flush_time}\n")
    demo_cell.must("qconf", "-Mconf", str(file))
    job = demo_cell.must("qsub", "-sync", "y", "-b", "y", "-o", "/dev/null", "-e", "/dev/null", "true").split()[2]
    for name in ("accounting", "reporting"):
        path = demo_cell.common / name
        eventually(f"it is in {name}", lambda: path.exists() and f":true:{job}:" in path.read_text())  # noqa: B023
