"""qselect: names of the queue instances that meet criteria. Source: qselect(1); statements QS-1 … QS-5."""

from clients import program
from clients.selection import instance_selection
from gridengine.options.status import STATUS_OPTIONS


def qselect(arguments: list[str]) -> int:
    """Print a name per line; exit 1 when nothing is selected (QS-5)."""
    fields, operands = program.simple_options("qselect", STATUS_OPTIONS, arguments)
    if operands:
        return program.report_misuse("qselect", f'qselect: invalid option argument "{operands[0]}"')
    data = program.read("status", {"queues": {"select": instance_selection(fields)}})
    if "json" in fields:
        program.print_json({"queue_instances": [row["name"] for row in data["queues"]]})
        return 0 if data["queues"] else 1
    program.show(f"{row['name']}\n" for row in data["queues"])
    return 0 if data["queues"] else 1
