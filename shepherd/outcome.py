"""The outcome of a task from the ends of its steps: the `failed` codes of each step and the content of `exit`.

Pure bookkeeping, fed by `run`. Source: sge_shepherd(8) exit values (EX-2, EX-3), sge_status(5) (EX-4).
"""

from __future__ import annotations

from dataclasses import dataclass
from signal import SIGKILL

from gridengine.usage.failed import (
    AFTER_JOB,
    APPLICATION_ERROR,
    BEFORE_EPILOG,
    BEFORE_JOB,
    BEFORE_PE_START,
    BEFORE_PE_STOP,
    BEFORE_PROLOG,
    ENFORCED,
    HOST_CRASHED,
    IN_EPILOG,
    IN_PE_START,
    IN_PE_STOP,
    IN_PROLOG,
    MIGRATING,
    RESCHEDULED,
)
from shepherd.faults import BY_CODE, JOB

CLEAN = "clean_command"
AFTER_JOB_STEPS = (CLEAN, "pe_stop", "epilog")
BEFORE = {
    "prolog": BEFORE_PROLOG,
    "pe_start": BEFORE_PE_START,
    "job": BEFORE_JOB,
    CLEAN: 0,
    "pe_stop": BEFORE_PE_STOP,
    "epilog": BEFORE_EPILOG,
}
IN = {
    "prolog": IN_PROLOG,
    "pe_start": IN_PE_START,
    "job": 0,
    CLEAN: 0,
    "pe_stop": IN_PE_STOP,
    "epilog": IN_EPILOG,
}
METHODS = ("prolog", "pe_start", "pe_stop", "epilog")

EXIT_RESCHEDULE = 99
EXIT_APPLICATION_ERROR = 100
_BY_SIGNAL = range(129, 129 + 64)  # exit statuses of a shell whose child a signal has ended


@dataclass(frozen=True, slots=True)
class Ended:
    """The end of a process. `exit_status` by the shell's convention: 128 + `signal` when a signal ended the process.

    `setup_failed`: not 0 when the program was never reached, with its `reason` and `fault` (`faults`). `reason` is also why the
    shepherd ended it.
    """

    exit_status: int = 0
    signal: int = 0
    setup_failed: int = 0
    reason: str = ""
    fault: str = BY_CODE


class Outcome:
    """Collects the ends of the steps. If the job has run to its end the last failure decides, since a later failure is more
    precise about the queue's state; else the failure for which the job is rerun.

    `method`: the prolog, pe_start, pe_stop or epilog that failed, else "". `fault`: the cause (`faults`).
    """

    def __init__(self, forbid_reschedule: bool, forbid_apperror: bool) -> None:
        self.failed = 0
        self.reason = ""
        self.method = ""
        self.fault = BY_CODE
        self.exit_status = 0
        self.signal = 0
        self.unsuccessful: set[str] = set()
        self.is_lost = False  # with the host
        self._ran = False  # the job itself, to its end
        self._special_exits = {}
        if not forbid_reschedule:
            self._special_exits[EXIT_RESCHEDULE] = RESCHEDULED
        if not forbid_apperror:
            self._special_exits[EXIT_APPLICATION_ERROR] = APPLICATION_ERROR

    def fail(self, step: str, failed: int, reason: str, fault: str = BY_CODE) -> None:
        """Step `step` could not be done, or failed with this code; failures of `clean_command` are ignored.

        A failure after a job that has not run, or that continues in another attempt, is only added to its reason.
        """
        if step == CLEAN:
            return
        self.unsuccessful.add(step)
        if step in AFTER_JOB_STEPS and self._runs_later:
            self.reason = f"{self.reason}; {reason}"
            return
        self.failed = failed
        self.reason = f"{self.reason}; {reason}" if step in AFTER_JOB_STEPS and self.reason else reason
        self.method = step if step in METHODS else ""
        self.fault = fault

    @property
    def _runs_later(self) -> bool:
        return bool(self.failed) and (not self._ran or self.runs_again or self.failed == APPLICATION_ERROR)

    @property
    def runs_again(self) -> bool:
        """Whether the job is to continue in another attempt."""
        return self.failed in (MIGRATING, RESCHEDULED)

    def record(self) -> dict[str, object]:
        """The part of `exit` that this class decides."""
        names = ("failed", "exit_status", "signal", "reason", "method", "fault")
        return {name: getattr(self, name) for name in names}

    def method_ended(self, name: str, ended: Ended, as_owner: bool = False) -> None:
        """A prolog, pe_start, pe_stop or epilog has ended. `as_owner`: the method ran as the job's owner, who can send it
        signals: its death by a signal is no fault of the queue."""
        if ended.setup_failed:
            self.fail(name, ended.setup_failed, ended.reason, ended.fault)
        elif ended.exit_status:
            reason = ended.reason or f"{name} ended with exit status {ended.exit_status}"
            fault = JOB if as_owner and ended.exit_status in _BY_SIGNAL else BY_CODE
            self.fail(name, self._special_exits.get(ended.exit_status, IN[name]), reason, fault)

    def job_ended(self, ended: Ended, kill_reason: str, migrating: bool = False, limit_enforced: bool = False) -> None:
        """The job itself has ended. `kill_reason`: why the shepherd ended it, "" if it did not. `migrating`: the job was to
        be saved and ended, and continues elsewhere for any exit status (CK-4). `limit_enforced`: the shepherd ended the
        job for exceeding h_rt, h_cpu or h_vmem; the job is never rerun, for any exit status (RL-2)."""
        if ended.setup_failed:
            self.fail("job", ended.setup_failed, ended.reason, ended.fault)
            return
        self._ran = True
        self.exit_status, self.signal = ended.exit_status, ended.signal
        if migrating:
            self.fail("job", MIGRATING, kill_reason or "the job migrates")
        elif limit_enforced:
            self.fail("job", ENFORCED, kill_reason)
        elif ended.signal:
            self.fail("job", AFTER_JOB, kill_reason or f"job died through signal {ended.signal}")
        elif ended.exit_status in self._special_exits:
            self.fail("job", self._special_exits[ended.exit_status], f"job ended with exit status {ended.exit_status}")

    def lost(self, name: str, ended: Ended, why: str) -> None:
        """A process of this step has died with the host (EX-10). No method follows. A job that had ended before has ended."""
        self.is_lost = True
        if name in AFTER_JOB_STEPS:
            self.fail(name, AFTER_JOB, why)
            return
        if name == "job":
            self._ran = True
            self.exit_status, self.signal = ended.exit_status, ended.signal
        self.fail("job", HOST_CRASHED, why)

    def killed(self, name: str, why: str) -> None:
        """A method was killed because the task was to end; before the job this is the job's end too."""
        if name not in AFTER_JOB_STEPS:
            self.job_ended(Ended(128 + SIGKILL, SIGKILL), why)
        self.fail(name, AFTER_JOB, why)
