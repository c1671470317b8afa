"""The qmaster is killed behind the commit of a submission and before its answer: one number is printed, and there is one job."""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.integration.cells import PATIENCE_S, DemoCell, eventually
from tests.integration.victims import victims


class Between:
    """Stands at the qmaster's socket for one request: passes it on, and when the answer is there lets `lose` happen instead."""

    def __init__(self, place: Path, lose: Callable[[], None]) -> None:
        self.answers: list[bytes] = []
        self._behind, self._lose = place.with_name("behind.sock"), lose
        place.rename(self._behind)
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(place))
        place.chmod(0o777)
        self._listener.listen(8)
        self._thread = threading.Thread(target=self._once, daemon=True)
        self._thread.start()

    def _once(self) -> None:
        client, _ = self._listener.accept()
        with client, socket.socket(socket.AF_UNIX) as qmaster:
            qmaster.settimeout(PATIENCE_S)
            qmaster.connect(str(self._behind))
            while b'"script_file"' not in (data := client.recv(65536)):
                qmaster.sendall(data)
            qmaster.sendall(data)
            self.answers.append(qmaster.recv(65536))
            self._lose()
        self._listener.close()

    def join(self) -> None:
        self._thread.join(PATIENCE_S)


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
