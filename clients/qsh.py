"""qsh: an xterm on an exec host, on the display of the user. Source: sge_submit(1) qsh, -display; IA-3, SO-10.

The window belongs to the job: this command ends when the job has been dispatched.
"""

import os

from clients.interactive import report_submission, submit_interactive, wait_for_start
from clients.program import CommandError
from clients.submission import ReadSubmission, read_submission

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from clients.ending_signals import EndingSignals


def qsh(arguments: list[str]) -> int:
    """Submit the job; exit 0 when the window was started."""
    job = read_submission("qsh", arguments)
    if not (job.settings.get("help") or job.settings.get("verify")):
        _check_display(job)
    from clients.ending_signals import run_interruptible

    return run_interruptible(lambda signals: _submit(job, signals))


def _submit(job: ReadSubmission, signals: "EndingSignals") -> int:
    submitted = submit_interactive("qsh", "qsh", job, signals)
    if isinstance(submitted, int):
        return submitted
    report_submission(*submitted)
    signals.deliver()
    return 0 if wait_for_start("qsh", submitted[0], verbose=True) else 1


def _check_display(job: ReadSubmission) -> None:
    """Check that the display has the name of a host, so that the exec host can reach it. Raises CommandError."""
    environment = job.target.request.setdefault("environment", {})
    display = environment.setdefault("DISPLAY", os.environ.get("DISPLAY", ""))
    if not display:
        raise CommandError("error: no DISPLAY variable found with interactive job", 1)
    if display.startswith(("unix:", ":")):
        raise CommandError(f'error: the display "{display}" is a local one: -display needs the name of a host, as in host:0', 1)
