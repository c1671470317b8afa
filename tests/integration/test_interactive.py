"""Interactive jobs as their users have them: streams, exit status, terminals, and clients that come to grief."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pexpect
import pytest

from clients import gdi
from clients.session_connection import SessionRefusedError, connect
from daemons.runtime.tickets import holder_of, session_ticket
from tests.integration.cells import BIN, PATIENCE_S, DemoCell, eventually, kill_daemon, run, without_waits
from tests.integration.debian import need

PROMPT = "ready> "


def spawn(cell: DemoCell, *command: str, **environment: str) -> pexpect.spawn:
    """A command in a terminal of 33 rows and 111 columns."""
    known = {**cell.environment, "TERM": "vt100", "PS1": PROMPT, **environment}
    settings = {"cwd": cell.work, "dimensions": (33, 111), "timeout": PATIENCE_S, "encoding": "utf-8"}
    return pexpect.spawn(str(BIN / command[0]), list(command[1:]), env=known, **settings)


def start(cell: DemoCell, *command: str) -> subprocess.Popen[bytes]:
    pipe = subprocess.PIPE
    return subprocess.Popen(
        [str(BIN / command[0]), *command[1:]], env=cell.environment, cwd=cell.work, stdin=pipe, stdout=pipe, stderr=pipe
    )


def jobs(cell: DemoCell) -> list[list[str]]:
    return [line.split() for line in cell.must("qstat", "-u", "*").splitlines()[2:]]


def record(cell: DemoCell, job: str) -> dict[str, str]:
    printed = cell.command("qacct", "-j", job).stdout
    return {fields[0]: fields[1].strip() for line in printed.splitlines() if len(fields := line.split(None, 1)) == 2}


def the_job(cell: DemoCell) -> str:
    """The number of the one job there is, when it runs."""
    eventually("it runs", lambda: [row[4] for row in jobs(cell)] == ["r"])
    return jobs(cell)[0][0]


@pytest.fixture(autouse=True)
def nothing_left(demo_cell: DemoCell) -> Iterator[None]:
    yield
    demo_cell.command("qdel", "-u", "*")
    eventually("no job is left", lambda: not jobs(demo_cell))


@pytest.mark.statement("IA-1", "SO-24", "EN-1")
def test_streams_and_exit_status_are_those_of_the_command(demo_cell: DemoCell) -> None:
    done = demo_cell.command("qrsh", "echo $QUEUE $JOB_NAME; cat; echo oops >&2; exit 7", input="a\nb", stdin=None)
    assert (done.returncode, done.stdout, done.stderr) == (7, "all.q echo\na\nb", "oops\n")
    done = demo_cell.command("qrsh", "-nostdin", "cat; kill -TERM $$", input="lost", stdin=None)
    assert (done.returncode, done.stdout) == (128 + 15, "")
    assert demo_cell.command("qrsh", "-noshell", "printf", "%s.", "a  b", "$X").stdout == "a  b.$X."


@pytest.mark.statement("SO-24", "IA-1", "AC-2")
def test_verbose_prints_the_progress_and_the_job_is_accounted(demo_cell: DemoCell) -> None:
    done = demo_cell.command("qrsh", "-verbose", "-N", "talk", "exit 3")
    job = done.stdout.split()[2]
    assert done.stdout == f'Your job {job} ("talk") has been submitted\n'
    assert done.stderr.splitlines() == [
        "waiting for interactive job to be scheduled ...",
        f"Your interactive job {job} has been successfully scheduled.",
        "Establishing builtin session to host node1 ...",
    ]
    eventually("it is accounted", lambda: record(demo_cell, job).get("exit_status") == "3")
    assert record(demo_cell, job)["failed"].split()[0] == "0"


@pytest.mark.statement("IA-9")
def test_large_input_and_output_lose_nothing(demo_cell: DemoCell) -> None:
    data = os.urandom(2**20) * 24
    there = demo_cell.command("qrsh", "cat", input=data, stdin=None, text=False)
    assert there.returncode == 0
    assert hashlib.sha256(there.stdout).digest() == hashlib.sha256(data).digest()


@pytest.mark.statement("IA-9")
def test_closed_streams_and_the_background(demo_cell: DemoCell) -> None:
    closed = ["bash", "-c", 'qrsh "cat; echo there >&2; exit 5" <&- >&-; echo $?']
    done = run(closed, env=demo_cell.environment)
    assert (done.stdout, done.stderr) == ("5\n", "there\n")
    behind = 'set -m; qrsh "echo from behind; exit 3" & wait $!; echo status=$?'
    shell = pexpect.spawn("bash", ["--norc", "-c", behind], env=demo_cell.environment, timeout=PATIENCE_S, encoding="utf-8")
    shell.expect_exact("from behind")
    shell.expect_exact("status=3")
    shell.close()


@pytest.mark.statement("IA-4", "SO-22")
def test_now_or_never(demo_cell: DemoCell) -> None:
    done = demo_cell.command("qrsh", "-l", "slots=99", "true")
    assert done.returncode == 1
    done = demo_cell.command("qrsh", "-pe", "smp", "99", "true")
    assert (done.returncode, done.stderr) == (1, 'Your "qrsh" request could not be scheduled, try again later.\n')
    assert demo_cell.command("qrsh", "-q", "nowhere.q", "true").returncode == 1
    waiting = start(demo_cell, "qrsh", "-now", "n", "-h", "echo here")
    eventually("it waits", lambda: [row[4] for row in jobs(demo_cell)] == ["hqw"])
    demo_cell.must("qrls", jobs(demo_cell)[0][0])
    assert waiting.communicate(timeout=PATIENCE_S)[0] == b"here\n" and waiting.returncode == 0


@pytest.mark.statement("IA-6")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_to_the_client_ends_the_job(demo_cell: DemoCell, number: signal.Signals) -> None:
    client = start(demo_cell, "qrsh", "sleep 1000")
    job = the_job(demo_cell)
    client.send_signal(number)
    assert client.wait(timeout=PATIENCE_S) == 128 + number
    eventually("the job is over", lambda: record(demo_cell, job).get("exit_status", "").startswith("137"))
    client.communicate()


@pytest.mark.statement("QM-7", "EX-6")
def test_deletion_and_suspension_are_those_of_any_job(demo_cell: DemoCell) -> None:
    client = start(demo_cell, "qrsh", "while sleep 0.1; do echo x; done")
    job = the_job(demo_cell)
    demo_cell.must("qmod", "-sj", job)
    eventually("it is suspended", lambda: jobs(demo_cell)[0][4] == "s")
    demo_cell.must("qmod", "-usj", job)
    eventually("it goes on", lambda: jobs(demo_cell)[0][4] == "r")
    demo_cell.must("qdel", job)
    client.communicate(timeout=PATIENCE_S)
    assert client.returncode == 137


@pytest.mark.statement("IA-2", "IA-7", "SO-29", "SB-9")
def test_a_login_shell_in_a_terminal(demo_cell: DemoCell) -> None:
    shell = spawn(demo_cell, "qrsh", "-v", f"PS1={PROMPT}")
    shell.expect(r"[$#>] $")
    assert jobs(demo_cell)[0][2] == "QRLOGIN"
    shell.sendline("stty size; tty; echo TERM=$TERM.")
    for text in ("33 111", "/dev/pts/", "TERM=vt100."):
        shell.expect_exact(text)  # in this order
    shell.setwinsize(40, 90)
    shell.sendline("until [ \"$(stty size)\" = '40 90' ]; do sleep 0.1; done; echo re''sized")
    shell.expect_exact("resized")
    first, second = f"sleep 1000.{os.getpid()}", f"sleep 1001.{os.getpid()}"
    shell.sendline(f"{first}; echo status=$?")
    eventually("it sleeps", lambda: states_of(first) == ["S"])
    shell.sendintr()
    eventually("it is interrupted", lambda: not states_of(first))
    shell.sendline(second)
    eventually("it sleeps", lambda: states_of(second) == ["S"])
    shell.send("\x1a")
    shell.expect(f"Stopped +{second}")
    shell.sendline("fg")
    eventually("it goes on", lambda: states_of(second) == ["S"])
    shell.sendintr()
    eventually("it is interrupted", lambda: not states_of(second))
    shell.sendline("exit 5")
    shell.expect(pexpect.EOF)
    shell.close()
    assert shell.exitstatus == 5


def states_of(command: str) -> list[str]:
    """The state letters of proc(5) of the processes with this command line."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if path.read_bytes().split(b"\0")[:-1] == command.encode().split():
                found.append(path.with_name("stat").read_text().rpartition(")")[2].split()[0])
        except OSError:
            continue
    return found


@pytest.mark.statement("IA-2", "SO-29")
def test_qlogin_prints_its_progress_and_a_command_can_have_a_terminal(demo_cell: DemoCell) -> None:
    login = spawn(demo_cell, "qlogin")
    login.expect(r'Your job (\d+) \("QLOGIN"\) has been submitted')
    login.expect(r"[$#>] $")
    login.send("\x04")
    login.expect(pexpect.EOF)
    login.close()
    assert login.exitstatus == 0
    command = spawn(demo_cell, "qrsh", "-pty", "y", "tty; stty size; exit 4")
    command.expect_exact("/dev/pts/")
    command.expect_exact("33 111")
    command.expect(pexpect.EOF)
    command.close()
    assert command.exitstatus == 4
    assert demo_cell.command("qrsh", "-pty", "n", "tty").stdout == "not a tty\n"


@pytest.mark.statement("IA-2", "IA-6")
def test_a_session_whose_client_died_can_be_taken_up_again(demo_cell: DemoCell) -> None:
    first = spawn(demo_cell, "qrsh")
    first.expect(r"[$#>] $")
    job = the_job(demo_cell)
    first.sendline("kept=trea''sure; echo said $kept")
    first.expect_exact("said treasure")
    first.kill(signal.SIGKILL)
    first.close()
    second = spawn(demo_cell, "qrsh", "-attach", job)
    second.expect_exact("said treasure")
    second.sendline("echo still $kept")
    second.expect_exact("still treasure")
    third = spawn(demo_cell, "qrsh", "-attach", job)
    second.expect_exact("another client has taken the session over")
    third.sendline("exit 6")
    third.expect(pexpect.EOF)
    third.close()
    assert third.exitstatus == 6


@pytest.mark.statement("IA-9", "EX-9")
def test_a_session_outlives_the_daemon_of_its_host(demo_cell: DemoCell) -> None:
    client = start(demo_cell, "qrsh", "seq 1 200000; read line; echo got $line; seq 1 200000")
    the_job(demo_cell)
    kill_daemon(demo_cell.place / "spool" / "execd" / "node1" / "execd.pid")
    demo_cell.must("gridengine", "start", "--host-name", "node1")
    output, errors = client.communicate(b"word\n", timeout=PATIENCE_S)
    numbers = b"".join(b"%d\n" % number for number in range(1, 200001))
    assert output == numbers + b"got word\n" + numbers
    assert (client.returncode, without_waits(errors)) == (0, b"")


@pytest.mark.statement("IA-10", "SE-3")
def test_attaching_to_a_job_that_does_not_exist_is_refused(demo_cell: DemoCell) -> None:
    done = demo_cell.command("qrsh", "-attach", "999999")
    assert done.returncode == 1 and "job 999999 does not exist" in done.stderr


@pytest.mark.statement("IA-10")
def test_a_ticket_of_an_earlier_job_of_the_number_opens_nothing(
    demo_cell: DemoCell, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = f"sleep 1000.{os.getpid()}"
    client = start(demo_cell, "qrsh", command)
    job = int(the_job(demo_cell))
    eventually("its session is open", lambda: states_of(command))
    for name in ("SGE_ROOT", "SGE_CELL"):
        monkeypatch.setenv(name, demo_cell.environment[name])
    place = gdi.call("session", {"job_id": job}).data
    keys = demo_cell.place / "spool" / "execd" / demo_cell.host / "keys"
    key, task = (keys / "gdi_key").read_text().strip(), tuple(place["task"])
    owner, submitted = holder_of(place["ticket"], key, task) or ("", 0.0)
    assert owner
    for holder in ((owner, submitted - 1), ("somebody", submitted)):
        earlier = {**place, "ticket": session_ticket(key, task, holder)}
        with pytest.raises(SessionRefusedError, match="not a valid ticket"):
            connect(earlier, {"client": None, "received": None, "size": None})
    demo_cell.must("qdel", str(job))
    client.communicate(timeout=PATIENCE_S)


@pytest.fixture
def display() -> Iterator[str]:
    """An X server without a screen that listens at a port, with xterm beside it."""
    need("Xvfb")
    need("xterm")
    reading, writing = os.pipe()
    command = ["Xvfb", "-displayfd", str(writing), "-listen", "tcp", "-ac", "-nolisten", "unix"]
    server = subprocess.Popen(command, pass_fds=[writing], stderr=subprocess.DEVNULL)
    os.close(writing)
    try:
        yield f"localhost:{os.read(reading, 16).decode().strip()}"
    finally:
        server.terminate()
        server.wait()
        os.close(reading)


@pytest.mark.statement("IA-3", "SO-10")
def test_qsh_opens_a_window_on_the_display(demo_cell: DemoCell, display: str) -> None:
    there = demo_cell.work / "in-the-window"
    demo_cell.must("qsh", "-display", display, "--", "-e", "sh", "-c", f"echo $DISPLAY >{there}; sleep 1000")
    job = the_job(demo_cell)
    assert jobs(demo_cell)[0][2] == "INTERACTIV"
    eventually("the window is there", lambda: there.exists() and there.read_text())
    assert there.read_text().startswith("localhost:")
    demo_cell.must("qdel", job)
