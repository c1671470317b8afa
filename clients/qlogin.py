"""qlogin: a login shell on an exec host, in this terminal. Source: sge_submit(1) qlogin; IA-2."""

from clients.interactive import run_session
from clients.submission import ReadSubmission
from gridengine.options.option import OptionError


def qlogin(arguments: list[str]) -> int:
    """Run the login shell; its exit status."""
    return run_session("qlogin", arguments, _kind)


def _kind(job: ReadSubmission) -> str:
    if job.operands:
        raise OptionError(f'"{job.operands[0]}" is no option, and qlogin takes no command')
    return "qlogin"
