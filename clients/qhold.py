"""qhold: keep jobs from being started. Source: qhold(1); statement SO-49."""

from clients import program
from gridengine.options.control import CONTROL_OPTIONS

OPERANDS = "job_task_list"


def hold(name: str, arguments: list[str], release: bool) -> int:
    """Place holds, or take them off for qrls; the exit status."""
    fields, operands = program.simple_options(name, CONTROL_OPTIONS, arguments, OPERANDS)
    targets = [target for operand in operands for target in operand.split(",") if target]
    if not targets and not fields.get("users"):
        return program.misused(name, CONTROL_OPTIONS, OPERANDS, f"{name}: no jobs are named")
    return program.request("hold_jobs", {"targets": targets, "release": release, **fields})


def qhold(arguments: list[str]) -> int:
    return hold("qhold", arguments, release=False)


def main() -> int:
    return program.run("qhold", qhold)
