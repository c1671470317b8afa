"""The qmaster is killed behind the commit of a submission and before its answer: one number is printed, and there is one job."""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from tests.integration.cells import PATIENCE_S, DemoCell, eventually
from tests.integration.victims import victims


class Between:
    """Takes the place of the qmaster's socket until a submission is answered: that answer is kept back, and `lose` happens.

    Other programs of the cell may connect meanwhile, and get their answers.
    """

    def __init__(self, path: Path, lose: Callable[[], None]) -> None:
        self.answers: list[bytes] = []
        self._behind, self._lose = path.with_name("behind.sock"), lose
        path.rename(self._behind)
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(path))
        path.chmod(0o777)
        self._listener.listen(8)
        self._lost = threading.Event()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._forward, args=(client,), daemon=True).start()

    def _forward(self, client: socket.socket) -> None:
        submits = threading.Event()
        with client, socket.socket(socket.AF_UNIX) as qmaster, suppress(OSError):  # the client or the qmaster is gone
            qmaster.connect(str(self._behind))
            threading.Thread(target=self._answer, args=(qmaster, client, submits), daemon=True).start()
            while data := client.recv(65536):
                if b'"script_file"' in data:
                    submits.set()
                    self._listener.shutdown(socket.SHUT_RDWR)
                qmaster.sendall(data)
            if submits.is_set():
                self._lost.wait(PATIENCE_S)

    def _answer(self, qmaster: socket.socket, client: socket.socket, submits: threading.Event) -> None:
        with suppress(OSError):
            while data := qmaster.recv(65536):
                if submits.is_set():
                    self.answers.append(data)
                    self._lose()
                    self._lost.set()
                    client.shutdown(socket.SHUT_RDWR)
                    return
                client.sendall(data)

    def join(self) -> None:
        assert self._lost.wait(PATIENCE_S), "no submission came"


@pytest.mark.statement("SP-3")
def test_a_submission_that_was_carried_out_and_not_answered(cell: DemoCell) -> None:
    def kill() -> None:
        (pid,) = victims(cell, "qmaster actor")
        os.kill(pid, signal.SIGKILL)

    between = Between(cell.place / "run" / "gdi.sock", kill)
    printed = cell.must("qsub", "-terse", "-h", "-b", "y", "true")
    between.join()
    assert [answer.startswith(b"HTTP/1.1 200") for answer in between.answers] == [True]
    eventually("the qmaster answers again", lambda: cell.command("qstat").returncode == 0)
    jobs = [line.split()[0] for line in cell.must("qstat").splitlines()[2:]]
    assert [printed.strip()] == jobs
    cell.must("qdel", *jobs)
