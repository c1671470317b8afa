"""Signals to commands that wait for a job: the exit code, and the fate of the job."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.integration.cells import PATIENCE_S
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


def waiting_command(run_dir: Path, arguments: tuple[str, ...]) -> tuple[socket.socket, subprocess.Popen[bytes]]:
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
    process = subprocess.Popen(call, stdin=subprocess.DEVNULL, stdout=-1, stderr=-1, preexec_fn=as_usual)  # noqa: PLW1509
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


@pytest.mark.statement("SO-34")
def test_a_second_signal_ends_a_submission_that_is_not_answered(run_dir: Path) -> None:
    listener, process = waiting_command(run_dir, WAITING["qsub -sync"])
    with listener:
        submit, _ = accepted(listener, "submit")
        process.send_signal(INT)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.3)
        process.send_signal(INT)
        _, err = process.communicate(timeout=PATIENCE_S)
        submit.close()
    assert process.returncode == 130
    assert err.decode().splitlines()[-1] == "it is not known whether the job was submitted"
