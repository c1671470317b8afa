"""qhost: the state of the execution hosts. Source: qhost(1); statements QH-1 … QH-4."""

import os
import sys

from clients import program
from gridengine.options.status import STATUS_OPTIONS

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any


def qhost(arguments: list[str]) -> int:
    """Print the host table; the exit status."""
    fields, operands = program.simple_options("qhost", STATUS_OPTIONS, arguments)
    if operands:
        return program.misused("qhost", STATUS_OPTIONS, "", f'qhost: invalid option argument "{operands[0]}"')
    if "users" in fields:
        # whose jobs: so jobs are meant
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
    if "json" in fields:
        from clients.render import json_status

        program.print_json(json_status.hosts(data))
        return 0
    if "xml" not in fields:
        from clients.render.printable import printable

        data = printable(data)
    queues = _by_host(data["queues"], lambda row: row["name"]) if "queues" in fields else None
    jobs = None
    if "jobs" in fields:
        from clients.render.instances import jobs_by_instance

        tasks = jobs_by_instance(data["jobs"]["running"])
        jobs = {
            host: [task for instance in instances for task in tasks[instance]]
            for host, instances in _by_host(sorted(tasks), str).items()
        }
    if "xml" in fields:
        from clients.render.xml_hosts import host_list

        sys.stdout.writelines(host_list(data["hosts"], "no_binding" not in fields, queues, jobs))
        return 0
    from clients.render.hosts import host_table

    titled = bool(fields.get("resources"))
    program.show(host_table(data["hosts"], "no_binding" not in fields, queues, jobs, titled))
    return 0


def _by_host(rows: "Iterable[Any]", name_of: "Callable[[Any], str]") -> "dict[str, list[Any]]":
    """Rows of queue instances by the host in their names."""
    from gridengine.instance_name import host_of

    found: dict[str, list[Any]] = {}
    for row in rows:
        found.setdefault(host_of(name_of(row)), []).append(row)
    return found


def main() -> int:
    return program.run("qhost", qhost)
