"""qdel: delete jobs. Source: qdel(1); statement SO-46."""

from clients import program
from gridengine.options.control import CONTROL_OPTIONS, JOB_LIST

OPERANDS = "job_task_list"


def qdel(arguments: list[str]) -> int:
    """Delete the jobs named; the exit status."""
    fields, _ = program.simple_options("qdel", CONTROL_OPTIONS, arguments, OPERANDS, operand=JOB_LIST)
    bodies = program.job_lists(fields)
    if not bodies:
        return program.misused("qdel", CONTROL_OPTIONS, OPERANDS, "qdel: no jobs are named")
    return program.requests("delete_jobs", bodies)


def main() -> int:
    return program.run("qdel", qdel)
