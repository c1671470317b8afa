"""qdel: delete jobs. Source: qdel(1); statement SO-46."""

from clients import program
from gridengine.options.control import CONTROL_OPTIONS

OPERANDS = "job_task_list"


def qdel(arguments: list[str]) -> int:
    """Delete the jobs named; the exit status."""
    fields, operands = program.simple_options("qdel", CONTROL_OPTIONS, arguments, OPERANDS)
    targets = [target for operand in operands for target in operand.split(",") if target]
    if not targets and not fields.get("users"):
        return program.misused("qdel", CONTROL_OPTIONS, OPERANDS, "qdel: no jobs are named")
    return program.request("delete_jobs", {"targets": targets, **fields})


def main() -> int:
    return program.run("qdel", qdel)
