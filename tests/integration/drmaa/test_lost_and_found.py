"""A program that was restarted, a qmaster that is killed under one that waits, an answer that is lost."""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.integration.cells import COMMAND_S, DemoCell, eventually
from tests.integration.drmaa.programs import Programs
from tests.integration.victims import victims


@pytest.mark.statement("DM-1")
def test_a_later_process_goes_on_with_a_session(programs: Programs) -> None:
    contact, over, held = programs.python("""
over = s.runJob(shell("exit 7"))
s.synchronize([over], FOREVER, False)
tell([s.contact, over, s.runJob(job("/bin/true", jobSubmissionState="drmaa_hold"))])
os._exit(0)
""")
    printed = programs.python(
        f"""
tell(s.contact)
tell(s.jobStatus("{held}"))
tell(s.wait("{over}", FOREVER).exitStatus)
s.control("DRMAA_JOB_IDS_SESSION_ALL", "release")
tell(s.wait("DRMAA_JOB_IDS_SESSION_ANY", FOREVER).jobId)
tell(tried(s.wait, "DRMAA_JOB_IDS_SESSION_ANY", 0)[0])
""",
        CONTACT=contact,
    )
    assert printed == [contact, "user_on_hold", 7, held, "InvalidJobException"]


def _kill_qmaster(cell: DemoCell) -> None:
    (pid,) = victims(cell, "qmaster actor")
    os.kill(pid, signal.SIGKILL)


@pytest.mark.statement("DM-1")
def test_a_qmaster_that_is_killed_is_waited_for(programs: Programs) -> None:
    cell = programs.cell
    gate = cell.work / "gate"
    program = programs.start(f"""
numbers = s.runBulkJobs(shell("while [ ! -e {gate} ]; do sleep 0.1; done; exit 5"), 1, 2, 1)
tell(numbers)
tell([s.wait("DRMAA_JOB_IDS_SESSION_ANY", FOREVER).exitStatus for _ in numbers])
""")
    assert program.stdout is not None and program.stdout.readline()
    _kill_qmaster(cell)
    gate.touch()
    out, err = program.communicate(timeout=COMMAND_S)
    assert (out, err) == ("[5, 5]\n", "")
    eventually("the qmaster answers again", lambda: cell.command("qstat").returncode == 0)


class LosesAnAnswer:
    """Stands at the qmaster's socket: passes on whatever comes, until a submission has been answered; that is `lost` instead."""

    def __init__(self, place: Path, lost: Callable[[], None]) -> None:
        self._behind, self._lost = place.with_name("behind.sock"), lost
        self.done = threading.Event()
        place.rename(self._behind)
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(place))
        place.chmod(0o777)
        self._listener.listen(8)
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while not self.done.is_set():
            client, _ = self._listener.accept()
            with client, socket.socket(socket.AF_UNIX) as qmaster:
                qmaster.connect(str(self._behind))
                self._pass_on(client, qmaster)

    def _pass_on(self, client: socket.socket, qmaster: socket.socket) -> None:
        while request := client.recv(262144):
            qmaster.sendall(request)
            answer = qmaster.recv(262144)
            if request.startswith(b"POST /v1/submit "):
                self.done.set()
                assert answer.startswith(b"HTTP/1.1 200")
                self._listener.close()  # nobody may wait at it for the next qmaster
                self._lost()
                return
            client.sendall(answer)


@pytest.mark.statement("DM-1", "SP-3")
def test_a_lost_answer_is_one_job(programs: Programs) -> None:
    cell = programs.cell

    def lost() -> None:
        _kill_qmaster(cell)
        # the library asks again for a while only, once it knows that the answer is lost
        eventually("the qmaster answers again", lambda: cell.command("qstat").returncode == 0)

    between = LosesAnAnswer(cell.place / "run" / "gdi.sock", lost)
    number = programs.python("""
tell(s.runJob(job("/bin/true", jobSubmissionState="drmaa_hold", jobName="once")))
""")
    assert between.done.is_set()
    jobs = [line.split()[0] for line in cell.must("qstat").splitlines() if " once " in line]
    cell.command("qdel", number)
    assert jobs == [number]
