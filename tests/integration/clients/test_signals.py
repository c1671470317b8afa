"""Signals to commands that wait for a job: the exit code, and the fate of the job."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from fcntl import LOCK_EX, LOCK_NB, flock
from pathlib import Path
from typing import IO

import pytest

from tests.integration.cells import PATIENCE_S, eventually, without_waits
from tests.integration.clients.test_connection import ROOT, accepted, plain
from tools.launchers import start_of

INT, TERM, HUP, QUIT = signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT
WAITING = {
    "qsub -sync": ("qsub", "-sync", "y", "-b", "y", "true"),
    "qsub -now": ("qsub", "-now", "y", "-b", "y", "true"),
    "qsh": ("qsh", "-display", "desk:1"),
    "qlogin": ("qlogin",),
    "qrsh": ("qrsh", "true"),
    "srun": ("slurm.srun", "true"),
    "sbatch": ("slurm.sbatch", "--wait", "--wrap", "true"),
}
#: exit code after each signal, and whether the job is deleted; None: the command waits on
ENDS: dict[str, dict[signal.Signals, tuple[int, bool] | None]] = {
    **dict.fromkeys(("qsub -sync", "qsub -now", "qsh"), {INT: (130, True), TERM: (1, True), HUP: None, QUIT: None}),
    **dict.fromkeys(("qlogin", "qrsh", "srun"), {number: (128 + number, True) for number in (INT, TERM, HUP, QUIT)}),
    "sbatch": {INT: (130, False), TERM: (-TERM, False), HUP: (-HUP, False), QUIT: (-QUIT, False)},
}


def waiting_command(
    run_dir: Path, arguments: tuple[str, ...], close_fds: bool = True
) -> tuple[socket.socket, subprocess.Popen[bytes]]:
    """A command as a shell starts it in the foreground, and the socket at which it sends its requests."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(run_dir / "gdi.sock"))
    listener.listen(4)
    listener.settimeout(PATIENCE_S)
    start = f"import sys; sys.path.append({str(ROOT)!r})\n{start_of(f'clients.{arguments[0]}')}"

    def as_usual() -> None:
        for number in (INT, TERM, HUP, QUIT):
            signal.signal(number, signal.SIG_DFL)

    call = [sys.executable, "-IS", "-c", start, *arguments[1:]]
    streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    process = subprocess.Popen(call, **streams, close_fds=close_fds, preexec_fn=as_usual)  # noqa: PLW1509
    return listener, process


SUBMITTED = plain(b'{"status":0,"answers":[],"data":{"job_id":7,"tasks":"","name":"true"}}')
DELETED = plain(b'{"status":0,"answers":[["info","alice has deleted job 7"]],"data":null}')


@pytest.mark.statement("SO-34", "IA-6")
@pytest.mark.parametrize(("client", "number"), [(client, number) for client, ends in ENDS.items() for number in ends])
def test_a_signal_to_a_command_that_waits(run_dir: Path, client: str, number: signal.Signals) -> None:
    listener, process = waiting_command(run_dir, WAITING[client])
    with listener:
        submit, _ = accepted(listener, "submit")
        submit.sendall(SUBMITTED)
        wait, _ = accepted(listener, "wait")
        wait.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        process.send_signal(number)
        ends = ENDS[client][number]
        if ends is None:
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(0.3)
            line = b'{"task_id":1,"exit_status":3,"failed":0}\n'
            wait.sendall(b"%x\r\n%b\r\n" % (len(line), line) + b"e\r\n" + b'{"done":true}\n' + b"\r\n0\r\n\r\n")
        elif ends[1]:
            delete, request = accepted(listener, "delete_jobs")
            assert request.endswith(b'{"targets":["7"]}')
            delete.sendall(DELETED)
            delete.close()
        out, err = process.communicate(timeout=PATIENCE_S)
        submit.close()
        wait.close()
        listener.settimeout(0)
        with pytest.raises(BlockingIOError):
            accepted(listener, "delete_jobs")
    assert process.returncode == (ends[0] if ends else 3 if client == "qsub -sync" else 0), err
    assert b"Traceback" not in err
    if client.startswith("qsub"):
        assert (b"Interrupted!" in err, b"alice has deleted job 7" in out) == (bool(ends), bool(ends))


@pytest.mark.statement("SO-34")
@pytest.mark.parametrize(("number", "status"), [(INT, 130), (TERM, 1)])
@pytest.mark.parametrize("client", ["qsub -sync", "qsub -now", "qsh"])
def test_a_job_whose_number_comes_after_the_signal_is_deleted(
    run_dir: Path, client: str, number: signal.Signals, status: int
) -> None:
    listener, process = waiting_command(run_dir, WAITING[client])
    with listener:
        submit, _ = accepted(listener, "submit")
        process.send_signal(number)
        submit.sendall(SUBMITTED)
        delete, request = accepted(listener, "delete_jobs")
        assert request.endswith(b'{"targets":["7"]}')
        delete.sendall(DELETED)
        process.communicate(timeout=PATIENCE_S)
        submit.close()
        delete.close()
    assert process.returncode == status


UNKNOWN = b"it is not known whether the job was submitted; if it was, it is deleted when the qmaster answers"
UNDELETED = b"the qmaster does not answer: job 7 is deleted when it does"
HELD = ("qsub -sync", "qsub -now", "qsh", "qlogin", "qrsh", "srun")


def end(process: subprocess.Popen[bytes], number: signal.Signals, is_repeated: bool) -> tuple[int, bytes]:
    """The exit code of a command after one signal, or a second one, and the last line that it prints."""
    process.send_signal(number)
    if is_repeated:
        eventually("it has ended", lambda: process.send_signal(number) or process.poll() is not None)
    _, err = process.communicate(timeout=PATIENCE_S)
    return process.returncode, without_waits(err).splitlines()[-1]


@pytest.mark.statement("SO-34", "IA-6")
@pytest.mark.parametrize(("number", "is_repeated"), [(INT, False), (TERM, True)])
@pytest.mark.parametrize("client", HELD)
def test_a_submission_that_is_not_answered_ends_in_the_background(
    run_dir: Path, client: str, number: signal.Signals, is_repeated: bool
) -> None:
    """Some seconds after the first signal, or at the second; the job is deleted when its number comes."""
    listener, process = waiting_command(run_dir, WAITING[client])
    with listener:
        submit, _ = accepted(listener, "submit")
        assert end(process, number, is_repeated) == ((ENDS[client][number] or (0,))[0], UNKNOWN)
        submit.sendall(SUBMITTED)
        delete, request = accepted(listener, "delete_jobs")
        assert request.endswith(b'{"targets":["7"]}')
        delete.sendall(DELETED)
        submit.close()
        delete.close()


@pytest.mark.statement("SO-34", "IA-6")
@pytest.mark.parametrize(("number", "is_repeated"), [(INT, True), (TERM, False)])
@pytest.mark.parametrize("client", HELD)
def test_a_deletion_that_is_not_answered_ends_in_the_background(
    run_dir: Path, client: str, number: signal.Signals, is_repeated: bool
) -> None:
    """The deletion is retried, also when the qmaster ends meanwhile."""
    listener, process = waiting_command(run_dir, WAITING[client])
    with listener:
        submit, _ = accepted(listener, "submit")
        submit.sendall(SUBMITTED)
        wait, _ = accepted(listener, "wait")
        wait.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        assert end(process, number, is_repeated) == ((ENDS[client][number] or (0,))[0], UNDELETED)
        for answer in (plain(b"", b"503 Service Unavailable"), DELETED):
            delete, _ = accepted(listener, "delete_jobs")
            delete.sendall(answer)
            delete.close()
        submit.close()
        wait.close()


@pytest.mark.statement("SO-34")
def test_a_command_in_the_background_holds_no_file_of_its_caller(run_dir: Path, tmp_path: Path) -> None:
    """As the lock of a script, on a descriptor that the command inherits."""
    with open(tmp_path / "lock", "w") as lock, open(tmp_path / "lock") as other:
        flock(lock, LOCK_EX)
        os.set_inheritable(lock.fileno(), True)
        listener, process = waiting_command(run_dir, WAITING["qsub -sync"], close_fds=False)
        lock.close()
        with listener:
            submit, _ = accepted(listener, "submit")
            end(process, INT, is_repeated=True)
            eventually("the lock is free", lambda: is_free(other))
            submit.close()


def is_free(file: IO[str]) -> bool:
    try:
        flock(file, LOCK_EX | LOCK_NB)
    except BlockingIOError:
        return False
    return True
