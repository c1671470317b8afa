"""qhold: keep jobs from being started. Source: qhold(1); statement SO-49."""

from clients import program
from gridengine.options.control import CONTROL_OPTIONS, JOB_LIST


def change_holds(name: str, arguments: list[str], release: bool) -> int:
    """Place holds, or release them for qrls; the exit status."""
    fields, _ = program.simple_options(name, CONTROL_OPTIONS, arguments, operand=JOB_LIST, status=0)
    bodies = program.job_lists(fields)
    if not bodies:
        return program.report_misuse(name, f"{name}: no jobs are named")
    return program.requests_for_jobs("hold_jobs", [{**body, "release": release} for body in bodies])


def qhold(arguments: list[str]) -> int:
    return change_holds("qhold", arguments, release=False)
