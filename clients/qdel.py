"""qdel: delete jobs. Source: qdel(1); statement SO-46."""

from clients import program
from gridengine.options.control import CONTROL_OPTIONS, JOB_LIST


def qdel(arguments: list[str]) -> int:
    """Delete the jobs named; the exit status."""
    fields, _ = program.simple_options("qdel", CONTROL_OPTIONS, arguments, operand=JOB_LIST)
    bodies = program.job_lists(fields)
    if not bodies:
        return program.report_misuse("qdel", "qdel: no jobs are named")
    return program.requests_for_jobs("delete_jobs", bodies)
