"""qmod: change the state of queues and jobs. Source: qmod(1); statements QM-1 … QM-11."""

from clients import program
from gridengine.options.control import CONTROL_OPTIONS


def qmod(arguments: list[str]) -> int:
    """Send one `change_states` for each option in their order; the first exit status that is not 0."""
    fields, operands = program.simple_options("qmod", CONTROL_OPTIONS, arguments)
    changes = fields.pop("changes", [])
    if not changes:
        return program.report_misuse("qmod", "qmod: no change is requested")
    if operands:
        # names behind -t or another option belong to the list before that option
        changes[-1]["targets"] += [name for operand in operands for name in operand.replace(",", " ").split()]
    status = 0
    for change in changes:
        status = program.request("change_states", {**change, **fields}) or status
    return status
