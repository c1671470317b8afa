"""qrsh -inherit: start a task of the parallel job that this command runs in, on one of its hosts, and connect its streams.

Called by `interactive`. Source: sge_submit(1) qrsh -inherit, sge_pe(5) control_slaves; statements TI-1, TI-4.
"""

import os
import time

from clients import gdi, program
from clients.ending_signals import SignalledError
from clients.interactive_session import InteractiveSession
from clients.submission import ReadSubmission
from clients.terminal import Terminal
from gridengine.options.option import OptionError

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from typing import Any

_FAILED = 1
_SLOT_WAIT_S, _SLOT_PAUSE_S = 5.0, 0.1
"""For a slot that is in use: the command of a task learns of its end a moment before the qmaster does."""


def run_inherited(job: ReadSubmission) -> int:
    """`qrsh -inherit HOST COMMAND [ARGUMENT ...]`; the exit status of the task. Raises OptionError."""
    if len(job.operands) < 2:
        raise OptionError("-inherit: a host is expected, and a command for it", exit_status=_FAILED)
    master, task_id = _this_job()
    host, *arguments = job.operands
    request = job.target.request
    answer = _start_task(
        {
            "job_id": master,
            "task_id": task_id,
            "host": host,
            "command": arguments[0],
            "args": arguments[1:],
            "cwd": request.get("cwd", ""),
            "environment": request.get("environment", {}),
            "no_shell": bool(request.get("no_shell")),
        }
    )
    program.show_answers(answer)
    if answer.status:
        return answer.status
    terminal = Terminal()
    terminal.watch_signals()
    session = _SlaveSession(answer.data["task"], terminal, stdin=not job.settings.get("nostdin"))
    try:
        return session.run()
    except SignalledError as interruption:
        return session.end_after_signal(interruption.number)


def _start_task(request: "dict[str, Any]") -> gdi.Answer:
    """Request a slave task, and retry for a while when the slot is in use; the last answer."""
    end = time.monotonic() + _SLOT_WAIT_S
    while True:
        answer = gdi.change("start_slave", request)
        if not (answer.status and answer.data and "in_use" in answer.data) or time.monotonic() > end:
            return answer
        time.sleep(_SLOT_PAUSE_S)


def _this_job() -> tuple[int, int]:
    """Numbers of the job and the task that this process belongs to."""
    job, task = os.environ.get("JOB_ID", ""), os.environ.get("SGE_TASK_ID", "undefined")
    if not job.isdigit():
        raise program.CommandError("-inherit works in a parallel job only: JOB_ID is not set", _FAILED)
    return int(job), int(task) if task.isdigit() else 1


class _SlaveSession(InteractiveSession):
    """The session of a slave task; the end of this command does not end the job."""

    def __init__(self, key: list[int], terminal: Terminal, stdin: bool) -> None:
        super().__init__(key[0], terminal, verbose=False, stdin=stdin)
        self._request = {"job_id": key[0], "task_id": key[1], "slave": key[3]}

    def _outcome_from_qmaster(self) -> int:
        answer = gdi.call("session", self._request)
        if answer.data is not None and "exit_status" in answer.data:
            return self._exit_status(answer.data)
        program.show_answers(answer)
        return _FAILED

    def end_after_signal(self, number: int) -> int:
        """End the task."""
        self._terminal.restore()
        self._pump.send_end()
        return 128 + number
