"""qrsh: run a command, or a login shell, on an exec host, in this terminal. Source: sge_submit(1) qrsh; statements IA, SO-24."""

from clients.interactive import run_session
from clients.submission import ReadSubmission


def qrsh(arguments: list[str]) -> int:
    """Run the command; its exit status."""
    return run_session("qrsh", arguments, _kind)


def _kind(job: ReadSubmission) -> str:
    return "qrsh" if job.operands else "qrlogin"
