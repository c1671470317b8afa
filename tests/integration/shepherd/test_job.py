"""Jobs as real processes: their command lines, working directories and reports."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest

from tests.integration.debian import need
from tests.integration.shepherd.cell import NICER, Cell

SHOW = "tr '\\0' '|' </proc/$$/cmdline\n"


@pytest.mark.statement("EX-1")
def test_script_runs_and_reports(cell: Cell) -> None:
    task = cell.run("echo out; echo err >&2; exit 3\n")
    assert (task.stdout, task.stderr) == ("out\n", "err\n")
    assert (task.exit["failed"], task.exit["exit_status"], task.exit["signal"]) == (0, 3, 0)
    assert 0 < task.exit["start_time"] <= task.exit["end_time"]
    assert task.exit["usage"]["ru_maxrss"] > 0


@pytest.mark.statement("QC-22")
@pytest.mark.parametrize(
    ("config", "called"),
    [
        ({}, r"-sh\|\S+script\.1\|a b\|"),
        ({"login_shells": []}, r"sh\|\S+script\.1\|a b\|"),
        ({"shell": "/bin/bash", "login_shells": ["ksh"]}, r"bash\|\S+script\.1\|a b\|"),
    ],
)
def test_posix_compliant_ignores_the_first_line(cell: Cell, config: dict[str, object], called: str) -> None:
    task = cell.run("#!/usr/bin/python3\n" + SHOW, args=["a b"], **config)
    assert re.fullmatch(called, task.stdout), task.stdout


@pytest.mark.statement("QC-21")
def test_unix_behavior_follows_the_first_line(cell: Cell) -> None:
    task = cell.run("#!/usr/bin/python3\nprint('snake')\n", shell_start_mode="unix_behavior", shell="/bin/bash")
    assert task.stdout == "snake\n"
    task = cell.run(SHOW, shell_start_mode="unix_behavior", shell="/bin/bash")
    assert re.fullmatch(r"/bin/sh\|\S+script\.2\|", task.stdout)


@pytest.mark.statement("QC-23")
def test_script_from_stdin_needs_no_right_to_read(root_cell: Cell) -> None:
    task = root_cell.task(SHOW + 'echo "$*"\n', shell_start_mode="script_from_stdin", args=["a b", "c"])
    Path(task.config["script"]).chmod(0o600)
    task.start()
    task.wait()
    assert task.stdout == "-sh|-s|a b|c|a b c\n"


@pytest.mark.statement("SO-33")
@pytest.mark.parametrize("shell", ["/bin/sh", "/bin/bash", "/bin/csh"])
@pytest.mark.parametrize("no_shell", [False, True])
def test_arguments_of_a_binary_arrive_as_given(cell: Cell, shell: str, no_shell: bool) -> None:
    need(os.path.basename(shell))
    arguments = ["a b", 'c"d', "e'f", "$HOME", "", "x;y", "*", "\\n", "ä", "-n", "line\nline"]
    show = "import sys; print(sys.argv[1:])"
    task = cell.run(command="/usr/bin/python3", args=["-S", "-c", show, *arguments], shell=shell, no_shell=no_shell)
    assert task.stdout == f"{arguments}\n", task.stderr
    assert task.exit["exit_status"] == 0


@pytest.mark.statement("SO-33")
def test_binary_is_looked_up_in_path_and_its_status_reported(cell: Cell) -> None:
    assert cell.run(command="sh", args=["-c", "exit 4"]).exit["exit_status"] == 4
    assert cell.run(command="sh", args=["-c", "exit 5"], no_shell=True).exit["exit_status"] == 5
    assert cell.run(command="nosuchcommand").exit["exit_status"] == 127


@pytest.mark.statement("SO-33")
def test_command_with_blanks_is_text_for_the_shell(cell: Cell) -> None:
    assert cell.run(command="echo a$JOB_ID; echo", args=["b c"]).stdout == "a1\nb c\n"


@pytest.mark.statement("EX-4", "SO-33", "SO-35", "SO-8")
@pytest.mark.parametrize(
    ("config", "failed", "reason"),
    [
        ({"shell": "/no/shell"}, 27, 'unable to find shell "/no/shell"'),
        ({"shell": "/etc/passwd"}, 27, "can't execute job /etc/passwd: Permission denied"),
        ({"cwd": "/no/dir"}, 28, "can't chdir to /no/dir: No such file or directory"),
        ({"stdout": "/no/dir/x"}, 26, 'can\'t open output file "/no/dir/x": No such file or directory'),
        ({"stderr": "/proc/version"}, 26, 'can\'t open error file "/proc/version": Permission denied'),
        ({"stdin": "/no/in"}, 26, 'can\'t open input file "/no/in": No such file or directory'),
        ({"binary": True, "command": "/no/such", "no_shell": True}, 27, "can't execute job /no/such: No such file"),
        ({"uid": None}, 1, "is unknown on this host"),
        ({"min_uid": 2**31}, 1, "is below min_uid"),
        ({"min_gid": 2**31}, 1, "is below min_gid"),
        ({"tmpdir": "/proc/no/1.1.q"}, 11, "can't make directory /proc/no/1.1.q: No such file or directory"),
    ],
)
def test_failures_before_the_job(cell: Cell, config: dict[str, object], failed: int, reason: str) -> None:
    if cell.as_root and "stderr" in config:
        config = config | {"stderr": "/etc/no_right"}
        reason = reason.replace("/proc/version", "/etc/no_right")
    task = cell.run("echo ran\n", **config)
    assert task.exit["failed"] == failed
    assert re.match(r"\d\d/\d\d/\d{4} \d\d:\d\d:\d\d \[\d+:\d+\]: ", task.exit["reason"])
    if {"cwd", "stdout", "stderr", "stdin"}.intersection(config):
        assert f" [{cell.user.pw_uid}:" in task.exit["reason"], "as whom it was tried, as in 8.1.9"
    assert reason in task.exit["reason"]
    assert (task.exit["exit_status"], task.exit["start_time"]) == (0, 0)


@pytest.mark.statement("EX-4")
def test_unreadable_config_is_reported(cell: Cell) -> None:
    task = cell.task("true\n", slots="two")
    task.start()
    assert task.wait()["failed"] == 1
    assert '"slots" is not of type int' in task.exit["reason"]


@pytest.mark.statement("EN-7")
def test_environment_is_complete_and_exact(cell: Cell) -> None:
    environment = {"PATH": "/usr/bin:/bin", "MANY": "one\n two\n\nthree=3\n", "EMPTY": "", "Q": "'\""}
    show = "import os; print(sorted(os.environ.items()))"
    task = cell.run(command="/usr/bin/python3", args=["-S", "-c", show], no_shell=True, environment=environment, stderr=None)
    paths = {"SGE_STDOUT_PATH": task.config["stdout"], "SGE_STDERR_PATH": task.config["stdout"]}
    added = {"SGE_JOB_SPOOL_DIR": str(task.directory), "LC_CTYPE": "C.UTF-8"}  # the latter is python's own
    expected = sorted((environment | paths | added).items())
    assert task.stdout == f"{expected}\n"


@pytest.mark.statement("SO-12")
def test_output_goes_into_directories_and_is_merged_and_appended(cell: Cell) -> None:
    names = {"stdout": str(cell.home), "stderr": str(cell.home), "default_stdout": "j.o7", "default_stderr": "j.e7"}
    script = "echo $SGE_STDOUT_PATH; echo $SGE_STDERR_PATH >&2\n"
    cell.run(script, **names)
    assert (cell.home / "j.o7").read_text() == f"{cell.home}/j.o7\n"
    assert (cell.home / "j.e7").read_text() == f"{cell.home}/j.e7\n"
    cell.run(script, merge=True, **names)
    assert (cell.home / "j.o7").read_text() == f"{cell.home}/j.o7\n" * 3
    found = (cell.home / "j.o7").stat()
    assert (found.st_uid, found.st_mode & 0o777) == (cell.user.pw_uid, 0o644)


@pytest.mark.statement("SO-12")
def test_input_umask_and_working_directory(cell: Cell) -> None:
    (cell.home / "in").write_text("read\n")
    (cell.home / "in").chmod(0o644)
    task = cell.run("cat; umask; pwd\n", stdin=str(cell.home / "in"), umask=0o027)
    assert task.stdout == f"read\n0027\n{cell.home}\n"


@pytest.mark.statement("EX-4")
def test_rights_of_supplementary_groups_count(root_cell: Cell) -> None:
    directory = root_cell.home / "group"
    directory.mkdir()
    directory.chmod(0o750)
    os.chown(directory, 0, 12345)
    task = root_cell.run("pwd\n", cwd=str(directory), groups=[root_cell.user.pw_gid, 12345])
    assert task.stdout == f"{directory}\n"
    assert root_cell.run("pwd\n", cwd=str(directory), groups=[root_cell.user.pw_gid]).exit["failed"] == 28


@pytest.mark.statement("EX-6")
def test_job_leads_a_session(cell: Cell) -> None:
    pid, session, group = cell.run("echo $$; ps -o sid=,pgid= -p $$\n").stdout.split()
    assert pid == session == group


@pytest.mark.statement("EX-17")
def test_priority(cell: Cell) -> None:
    assert cell.run("nice\n", nice=NICER).stdout == f"{NICER}\n"


@pytest.mark.statement("EX-6")
def test_ids_of_the_job(root_cell: Cell) -> None:
    config = {"gid_range": "40000-40001", "groups": [root_cell.user.pw_gid, 12345]}
    task = root_cell.run("id -u; id -g; id -G; cat /proc/self/status\n", **config)
    lines = task.stdout.splitlines()
    uid, gid = root_cell.user.pw_uid, root_cell.user.pw_gid
    assert lines[:2] == [str(uid), str(gid)]
    groups = {int(number) for number in lines[2].split()}
    assert {gid, 12345} < groups and groups & {40000, 40001}
    assert f"Uid:\t{uid}\t{uid}\t{uid}\t{uid}" in lines
    assert "CapEff:\t0000000000000000" in lines


def test_signals_of_the_job_are_as_in_a_fresh_process(cell: Cell) -> None:
    task = cell.run(command="grep", args=["-E", "^Sig(Blk|Ign):", "/proc/self/status"], no_shell=True)
    masks = {name: int(mask, 16) for name, mask in re.findall(r"(\w+):\s+(\w+)\n", task.stdout)}
    # 32 and 33 are the C library's own: no program can set them, and posix_spawn (make's, say) hands them down ignored.
    assert masks.keys() == {"SigBlk", "SigIgn"} and masks["SigBlk"] == 0
    assert masks["SigIgn"] & ~(0b11 << 31) == 0


def test_no_descriptors_are_handed_down(cell: Cell) -> None:
    assert cell.run(command="ls", args=["/proc/self/fd"], no_shell=True).stdout.split() == ["0", "1", "2", "3"]


@pytest.mark.statement("QC-19")
@pytest.mark.parametrize("end", ["exit 0", "kill -9 $$", "exit 100"])
def test_scratch_directory_is_made_and_removed(cell: Cell, end: str) -> None:
    tmpdir = cell.tmp / "1.1.all.q"
    script = (
        f"stat -c '%U %a' $TMPDIR; cd $TMPDIR; mkdir -p d/e; touch d/e/f; ln -s {cell.home} l; chmod 0 d/e d; {end}\n"
    )
    (cell.home / "kept").touch()
    environment = {"TMPDIR": str(tmpdir), "PATH": "/usr/bin:/bin"}
    task = cell.run(script, tmpdir=str(tmpdir), environment=environment)
    assert task.stdout == f"{cell.user.pw_name} 700\n"
    assert not tmpdir.exists()
    assert (cell.home / "kept").exists()


@pytest.mark.statement("QC-19")
def test_scratch_directory_is_removed_when_the_job_cannot_start(cell: Cell) -> None:
    tmpdir = cell.tmp / "1.1.all.q"
    assert cell.run("true\n", tmpdir=str(tmpdir), cwd="/no/dir").exit["failed"] == 28
    assert not tmpdir.exists()


@pytest.mark.statement("QC-19")
def test_scratch_directory_below_one_that_only_root_may_write_to(root_cell: Cell) -> None:
    tmpdir = root_cell.home.parent / "closed" / "below" / "1.1.all.q"
    task = root_cell.run(f"stat -c '%a %u' {tmpdir}; touch {tmpdir}/x\n", tmpdir=str(tmpdir))
    assert (task.exit["failed"], task.exit["exit_status"]) == (0, 0)
    assert task.stdout == f"700 {root_cell.user.pw_uid}\n"
    assert not tmpdir.exists()


@pytest.mark.statement("QC-19", "EX-1")
@pytest.mark.parametrize("stranger", ["directory", "link", "file"])
def test_where_another_user_has_the_path_the_scratch_directory_has_another_name(root_cell: Cell, stranger: str) -> None:
    tmpdir = root_cell.tmp / "1.1.all.q"
    sits = root_cell.home if stranger == "link" else tmpdir
    if stranger == "file":
        tmpdir.touch()
    elif stranger == "link":
        tmpdir.symlink_to(root_cell.home)
    else:
        tmpdir.mkdir()
        os.chown(tmpdir, root_cell.user.pw_uid + 1, -1)
    if stranger != "file":
        (sits / "kept").touch()
    environment = {"TMPDIR": str(tmpdir), "PATH": f"{tmpdir}:/usr/bin:/bin", "TMP": str(tmpdir), "OTHER": f"{tmpdir}.bak"}
    script = "echo $TMPDIR $TMP ${PATH%%:*} $OTHER; pwd; touch $TMPDIR/x; stat -c '%a %U' $TMPDIR\n"
    prolog = {"prolog": "/bin/echo $in", "variables": {"in": str(tmpdir)}}
    task = root_cell.run(script, tmpdir=str(tmpdir), environment=environment, login_shells=[], **prolog)
    place, *lines = task.stdout.splitlines()
    assert re.fullmatch(rf"{tmpdir}\.[0-9a-f]{{8}}", place)
    assert lines == [f"{place} {place} {place} {tmpdir}.bak", str(root_cell.home), f"700 {root_cell.user.pw_name}"]
    assert task.exit["failed"] == 0
    assert os.listdir(root_cell.tmp) == ["1.1.all.q"]
    assert stranger == "file" or (sits / "kept").exists()


@pytest.mark.statement("EX-2")
@pytest.mark.parametrize(
    ("status", "config", "failed"),
    [
        (99, {}, 25),
        (100, {}, 30),
        (99, {"forbid_reschedule": True}, 0),
        (100, {"forbid_apperror": True}, 0),
        (1, {}, 0),
    ],
)
def test_exit_status_of_the_job(cell: Cell, status: int, config: dict[str, bool], failed: int) -> None:
    task = cell.run(f"exit {status}\n", **config)
    assert (task.exit["failed"], task.exit["exit_status"]) == (failed, status)


@pytest.mark.statement("EX-4")
@pytest.mark.parametrize(("name", "status"), [("TERM", 143), ("KILL", 137), ("SEGV", 139)])
def test_job_that_dies_through_a_signal(cell: Cell, name: str, status: int) -> None:
    task = cell.run(f"kill -{name} $$\n")
    assert (task.exit["failed"], task.exit["exit_status"], task.exit["signal"]) == (100, status, status - 128)


@pytest.mark.statement("EX-18", "SO-6")
def test_binding_holds_for_all_processes_of_the_task(cell: Cell) -> None:
    processor = max(os.sched_getaffinity(0))
    show = "import os; print(sorted(os.sched_getaffinity(0)))"
    prolog = cell.file("prolog", f"#!/bin/sh\nexec {sys.executable} -S -c '{show}'\n")
    task = cell.run(
        command=sys.executable, args=["-S", "-c", show], no_shell=True, prolog=str(prolog), processors=[processor]
    )
    assert task.stdout == f"[{processor}]\n" * 2


@pytest.mark.statement("SO-6")
def test_a_job_that_cannot_be_bound_runs_unbound(cell: Cell) -> None:
    task = cell.run("true\n", processors=[1000])
    assert task.exit["failed"] == 0
    assert "can't bind to the processors [1000]" in task.trace
