"""qhost: the state of the execution hosts. Source: qhost(1); statements QH-1 … QH-4."""

import os

from clients import program
from clients.render import output_of
from gridengine.options.status import STATUS_OPTIONS


def qhost(arguments: list[str]) -> int:
    """Print the host table; the exit status."""
    fields, operands = program.simple_options("qhost", STATUS_OPTIONS, arguments)
    if operands:
        return program.report_misuse("qhost", f'qhost: invalid option argument "{operands[0]}"')
    if "users" in fields:
        # -u selects jobs by owner, so it implies -j
        fields["jobs"] = True
    hosts = {
        "hosts": fields.get("hosts", []),
        "requests": fields.get("requests", []),
        "resources": fields.get("resources"),
    }
    hosts["load"] = os.environ.get("SGE_LOAD_AVG", "")
    body: dict[str, object] = {"hosts": hosts}
    if "queues" in fields:
        body["queues"] = {}
    if "jobs" in fields:
        body["jobs"] = {"users": fields.get("users") or ["*"], "states": ["r", "s"]}
    data = program.read("status", body)
    output = output_of(fields)
    output.write(output.hosts(data, fields))
    return 0
