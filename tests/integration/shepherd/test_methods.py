"""prolog, pe_start, pe_stop, epilog and starter_method as real processes (EX-1 to EX-3, QC-25 to QC-27, EX-20)."""

from __future__ import annotations

import os
import pwd

import pytest

from shepherd.methods import SAFE_PATH
from tests.integration.shepherd.cell import Cell, wait_for

#: in which what has to end within a second has ended
DEADLINE_S = 60.0
RECORD = """#!/bin/sh
echo "$@ stat=$SGE_JOBEXIT_STAT" >>$HOME/order
exit ${STATUS_%s:-0}
"""


def run(cell: Cell, script: str = "echo job >>$HOME/order\n", **config: object) -> tuple[dict[str, object], list[str]]:
    """A task with all four methods, each recording its name; `status`: exit statuses by name."""
    status = config.pop("status", {})
    assert isinstance(status, dict)
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(cell.home)}
    for name, value in status.items():
        environment[f"STATUS_{name}"] = str(value)
    for name in ("prolog", "pe_start", "pe_stop", "epilog"):
        path = cell.file(name, RECORD % name)
        config.setdefault(name, f"{path} {name}")
    task = cell.run(script, environment=environment, **config)
    order = cell.home / "order"
    return task.exit, order.read_text().splitlines() if order.exists() else []


@pytest.mark.statement("EX-1", "EN-6")
def test_order(cell: Cell) -> None:
    exit, order = run(cell, "echo job >>$HOME/order; exit 3\n")
    assert order == ["prolog stat=", "pe_start stat=", "job", "pe_stop stat=", "epilog stat=3"]
    assert (exit["failed"], exit["exit_status"]) == (0, 3)


@pytest.mark.statement("EX-1", "EX-2", "EX-3", "QI-10")
@pytest.mark.parametrize(
    ("name", "status", "config", "failed", "order"),
    [
        ("prolog", 1, {}, 8, ["prolog", "epilog"]),
        ("prolog", 99, {}, 25, ["prolog", "epilog"]),
        ("prolog", 100, {}, 30, ["prolog", "epilog"]),
        ("prolog", 99, {"forbid_reschedule": True}, 8, ["prolog", "epilog"]),
        ("prolog", 100, {"forbid_apperror": True}, 8, ["prolog", "epilog"]),
        ("pe_start", 1, {}, 10, ["prolog", "pe_start", "pe_stop", "epilog"]),
        ("pe_start", 99, {}, 25, ["prolog", "pe_start", "pe_stop", "epilog"]),
        ("pe_stop", 1, {}, 13, ["prolog", "pe_start", "job", "pe_stop", "epilog"]),
        ("epilog", 1, {}, 15, ["prolog", "pe_start", "job", "pe_stop", "epilog"]),
        ("epilog", 99, {}, 25, ["prolog", "pe_start", "job", "pe_stop", "epilog"]),
        ("epilog", 100, {}, 30, ["prolog", "pe_start", "job", "pe_stop", "epilog"]),
    ],
)
def test_failing_methods(cell: Cell, name: str, status: int, config: dict[str, bool], failed: int, order: list[str]) -> None:
    exit, ran = run(cell, status={name: status}, **config)
    assert exit["failed"] == failed
    assert [line.split()[0] for line in ran] == order
    assert exit["exit_status"] == 0
    assert f"{name} ended with exit status {status}" in str(exit["reason"])


@pytest.mark.statement("EX-3")
@pytest.mark.parametrize(
    ("name", "text", "failed", "reason"),
    [
        ("prolog", "/no/such", 27, "can't execute prolog /no/such: No such file or directory"),
        ("pe_start", "/no/such", 27, "can't execute pe_start"),
        ("pe_stop", "/no/such", 12, "can't execute pe_stop"),
        ("pe_stop", "/etc/passwd", 12, "can't execute pe_stop"),
        ("epilog", "/no/such", 14, "can't execute epilog"),
        ("epilog", "/etc/passwd", 14, "can't execute epilog /etc/passwd: Permission denied"),
        ("epilog", "/etc", 27, "can't execute epilog"),
        ("epilog", "/bin/echo $nosuch", 14, 'epilog: unknown variable "$nosuch"'),
        ("prolog", "/bin/echo 'a", 7, "prolog: can't split"),
        ("prolog", "nosuchuser@/bin/true", 7, "nosuchuser"),
    ],
)
def test_methods_that_cannot_be_started(cell: Cell, name: str, text: str, failed: int, reason: str) -> None:
    exit, _ = run(cell, **{name: text})
    assert exit["failed"] == failed
    assert reason in str(exit["reason"])


@pytest.mark.statement("QC-27", "QC-25")
def test_variables_are_expanded_and_no_shell_is_involved(cell: Cell) -> None:
    text = '/bin/echo $job_id ${host}x "$job_owner y" ";" "*"'
    task = cell.run("true\n", prolog=text)
    assert task.stdout == f"1 h1x {cell.user.pw_name} y ; *\n"


@pytest.mark.statement("QC-25")
def test_variables_that_a_prolog_adds_reach_job_and_epilog(cell: Cell) -> None:
    text = "#!/bin/sh\n[ -w $SGE_JOB_SPOOL_DIR/environment ] || exit 1\necho 'X_GPU=1 2' >>$SGE_JOB_SPOOL_DIR/environment\n"
    prolog = cell.file("prolog", text)
    epilog = cell.file("epilog", "#!/bin/sh\necho epilog $X_GPU\n")
    task = cell.run("echo job $X_GPU\n", prolog=str(prolog), epilog=str(epilog))
    assert (task.exit["failed"], task.stdout) == (0, "job 1 2\nepilog 1 2\n")


@pytest.mark.statement("QC-25", "EX-20")
def test_variables_that_a_prolog_of_root_adds_reach_job_and_epilog_of_root(root_cell: Cell) -> None:
    prolog = root_cell.file("prolog", "#!/bin/sh\necho X_GPU=7 >>$SGE_JOB_SPOOL_DIR/environment\n")
    epilog = root_cell.file("epilog", "#!/bin/sh\necho epilog $X_GPU\n")
    task = root_cell.run("echo job $X_GPU\n", prolog=f"root@{prolog}", epilog=f"root@{epilog}")
    assert (task.exit["failed"], task.stdout) == (0, "job 7\nepilog 7\n")


@pytest.mark.statement("QC-25", "EX-20")
def test_method_of_another_user(root_cell: Cell) -> None:
    environments = {
        "environment": {"PATH": f"{root_cell.home}:/usr/bin", "HOME": str(root_cell.home), "TAR_OPTIONS": "x", "TMPDIR": "/x"},
        "method_environment": {"JOB_ID": "1"},
    }
    task = root_cell.run("id -u\n", prolog="root@/usr/bin/env", epilog="root@/usr/bin/id -u", **environments)
    assert task.exit["failed"] == 0
    *prolog, job, epilog = task.stdout.splitlines()
    found = dict(line.split("=", 1) for line in prolog)
    root = pwd.getpwuid(0)
    assert {found.pop(name) for name in ("SGE_STDOUT_PATH", "SGE_STDERR_PATH")} <= {task.config["stdout"], task.config["stderr"]}
    assert found == {
        "JOB_ID": "1", "PATH": SAFE_PATH, "SGE_JOB_SPOOL_DIR": str(task.directory),
        "HOME": root.pw_dir, "USER": "root", "LOGNAME": "root", "SHELL": root.pw_shell,
    }
    assert (job, epilog) == (str(root_cell.user.pw_uid), "0")


@pytest.mark.statement("QC-25", "EX-20")
def test_a_method_of_the_owner_starts_without_code_of_the_owners(cell: Cell) -> None:
    mine = cell.home / "mine"
    mine.write_text("#!/bin/sh\ntouch $HOME/ran\n")
    mine.chmod(0o755)
    mine.rename(cell.home / "true")
    (cell.home / "rc").write_text("touch $HOME/ran\n")
    method = cell.file("method", "#!/bin/bash\n[ $MINE = 1 ] && env true\n")
    environment = {"HOME": str(cell.home), "PATH": f"{cell.home}:/usr/bin:/bin", "BASH_ENV": str(cell.home / "rc"), "MINE": "1"}
    task = cell.run("/bin/true\n", prolog=str(method), epilog=str(method), environment=environment, login_shells=[])
    assert task.exit["failed"] == 0
    assert not (cell.home / "ran").exists()


@pytest.mark.statement("RL-5", "RL-6", "EX-6")
def test_processes_of_a_method_of_the_owner_have_limits_and_the_additional_group_of_the_job(root_cell: Cell) -> None:
    method = root_cell.file("method", "#!/bin/sh\nulimit -t; ulimit -f; grep ^Groups: /proc/self/status\n")
    task = root_cell.run("true\n", prolog=str(method), limits={"h_cpu": 5, "h_fsize": 2**33}, gid_range="64000-64010")
    cpu_s, blocks, *groups = task.stdout.split()
    assert (cpu_s, int(blocks)) == ("600", 2**33 // 512)
    assert any(64000 <= int(gid) <= 64010 for gid in groups[1:])


@pytest.mark.statement("EX-20")
def test_files_are_opened_as_the_owner_even_for_a_method_of_root(root_cell: Cell) -> None:
    secret = root_cell.file("secret", "x", 0o600)
    task = root_cell.run("true\n", prolog="root@/bin/echo y", stdout=str(secret))
    assert task.exit["failed"] == 26
    assert secret.read_text() == "x"


@pytest.mark.statement("QC-26")
@pytest.mark.parametrize("config", [{}, {"login_shells": []}, {"binary": True, "command": "/bin/x y"}])
def test_starter_method(cell: Cell, config: dict[str, object]) -> None:
    starter = cell.file("starter", '#!/bin/sh\nenv | grep ^SGE_STARTER | sort; echo "$1|$3|$4"; exit 6\n')
    task = cell.run("true\n", starter_method=f"{starter} with", args=["a b", "c"], **config)
    shown = task.stdout.splitlines()
    expected = ["SGE_STARTER_SHELL_PATH=/bin/sh", "SGE_STARTER_SHELL_START_MODE=posix_compliant"]
    if "login_shells" not in config:
        expected.append("SGE_STARTER_USE_LOGIN_SHELL=true")
    assert shown == [*expected, "with|a b|c"]
    assert task.exit["exit_status"] == 6


def test_pe_methods_write_into_files_of_their_own(cell: Cell) -> None:
    files = {"pe_stdout": str(cell.home), "pe_stderr": str(cell.home), "default_pe_stdout": "j.po1"}
    task = cell.run("true\n", pe_start="/bin/echo up", pe_stop="/bin/echo down", default_pe_stderr="j.pe1", **files)
    assert (cell.home / "j.po1").read_text() == "up\ndown\n"
    assert (cell.home / "j.pe1").exists()
    assert task.stdout == ""


@pytest.mark.statement("EX-1", "EX-3")
@pytest.mark.parametrize(("name", "failed"), [("prolog", 8), ("epilog", 15)])
@pytest.mark.parametrize("hangs", ["exec sleep 1000", "kill -STOP $$"])
def test_a_method_is_not_waited_for_forever(cell: Cell, name: str, failed: int, hangs: str) -> None:
    """The outcome of the job stays, and a method that its owner can stop does not set the queue in error."""
    method = cell.file("method", f"#!/bin/sh\n{hangs}\n")
    task = cell.task("exit 3\n", method_timeout_s=0.5, **{name: str(method)})
    task.start()
    end = task.wait(DEADLINE_S)
    assert (end["failed"], end["method"], end["fault"]) == (failed, name, "job")
    assert f"{name} took longer than 0.5 s" in end["reason"]
    assert end["exit_status"] == (3 if name == "epilog" else 0)


@pytest.mark.statement("EX-1")
def test_an_operator_ends_the_epilog_and_a_user_does_not(cell: Cell) -> None:
    method = cell.file("method", "#!/bin/sh\necho up >>$HOME/epilog\nexec sleep 1000\n")
    task = cell.task("exit 3\n", epilog=str(method), environment={"HOME": str(cell.home), "PATH": "/usr/bin:/bin"})
    task.start()
    wait_for((cell.home / "epilog").exists, "the epilog")
    task.command("terminate")
    wait_for(lambda: "command terminate left alone" in task.trace, "the command")
    task.command("end")
    end = task.wait()
    assert (end["failed"], end["exit_status"]) == (100, 3)


@pytest.mark.statement("EX-1")
def test_an_operators_deletion_of_a_running_job_leaves_its_epilog_alone(cell: Cell) -> None:
    method = cell.file("method", "#!/bin/sh\necho down >>$HOME/epilog\n")
    environment = {"HOME": str(cell.home), "PATH": "/usr/bin:/bin"}
    task = cell.task("echo up; exec sleep 1000\n", epilog=str(method), environment=environment)
    task.start()
    task.wait_output("up")
    task.command("end")
    end = task.wait()
    assert (end["failed"], end["exit_status"]) == (100, 137)
    assert "the job was to be deleted" in end["reason"]
    assert (cell.home / "epilog").read_text() == "down\n"


@pytest.mark.statement("SO-12", "EX-1")
@pytest.mark.parametrize("read", [True, False])
def test_no_pipe_of_the_users_holds_a_method_up(cell: Cell, read: bool) -> None:
    pipe = cell.home / "pipe"
    os.mkfifo(pipe)
    os.chown(pipe, cell.user.pw_uid, cell.user.pw_gid)
    reader = os.open(pipe, os.O_RDWR | os.O_NONBLOCK) if read else None
    task = cell.task("echo job\n", stdout=str(pipe), merge=True, prolog="/bin/echo prolog", epilog="/bin/echo epilog")
    task.start()
    if reader is None:
        task.job_pid()
        task.command("kill")  # the job itself waits for a reader, as it would in a shell
    end = task.wait()
    assert (end["exit_status"], "epilog ended with 0" in task.trace) == (0 if read else 137, True)
    if reader is not None:
        assert os.read(reader, 100) == b"job\n"
        os.close(reader)


@pytest.mark.statement("QC-25")
def test_the_files_that_methods_look_at(cell: Cell) -> None:
    text = "cd $SGE_JOB_SPOOL_DIR; grep -h ^job_id= config; cat pe_hostfile; grep -h ^exit_status= usage; cat error exit_status"
    look = cell.file("look", f"#!/bin/sh\n{text}\n")
    task = cell.run("exit 9\n", prolog=str(look), epilog=str(look), host="h1", queue="q", slots=1)
    assert task.exit["exit_status"] == 9
    assert task.stdout == "job_id=1\nh1 1 q@h1 UNDEFINED\n" * 2 + "exit_status=9\n"
