"""qhost -xml. Owns element names and order. Called by qhost. Source: QH-4; O."""

from clients.render.hosts import shown_values
from clients.render.xml_jobs import DECLARATION, SCHEMAS, escape
from gridengine.values.instance_name import queue_of

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

_VALUES = "arch_string num_proc m_socket m_core m_thread load_avg mem_total mem_used swap_total swap_used".split()
_TOPOLOGY = ("m_socket", "m_core", "m_thread")


def host_list(
    hosts: "list[dict[str, Any]]",
    topology: bool,
    queues: "dict[str, list[dict[str, Any]]] | None",
    jobs: "dict[str, list[Any]] | None",
) -> "Iterator[str]":
    """The document: hosts with their values, resources, queue instances and jobs."""
    yield f'{DECLARATION}<qhost xmlns:xsd="{SCHEMAS}/qhost/qhost.xsd">\n'
    for host in hosts:
        yield f" <host name='{escape(host['name'])}'>\n"
        for name, value in zip(_VALUES, shown_values(host), strict=True):
            if topology or name not in _TOPOLOGY:
                yield f"   <hostvalue name='{name}'>{escape(value)}</hostvalue>\n"
        for dominance, name, value in host.get("resources", ()):
            yield f"   <resourcevalue name='{escape(name)}' dominance='{dominance}'>{escape(value)}</resourcevalue>\n"
        for row in (queues or {}).get(host["name"], ()):
            yield from _queue(row)
        for row, grants in (jobs or {}).get(host["name"], ()):
            yield from _job(row, grants, queues is None)
        yield " </host>\n"
    yield "</qhost>\n"


def _queue(row: "dict[str, Any]") -> "Iterator[str]":
    name = escape(queue_of(row["name"]))
    yield f" <queue name='{name}'>\n"
    for key, value in (
        ("qtype_string", row["type"]),
        ("slots_used", row["used"]),
        ("slots", row["total"]),
        ("slots_resv", row["resv"]),
        ("state_string", row["states"]),
    ):
        yield f"   <queuevalue qname='{name}' name='{key}'>{escape(value)}</queuevalue>\n"
    yield " </queue>\n"


def _job(row: "list[Any]", grants: "list[list[Any]]", named: bool) -> "Iterator[str]":
    """A `job` element per slot, the master's first. `named`: with `queue_name`, since no queues are shown."""
    number, priority, name, owner, state_codes, moment, all_grants, _, tasks = row[:9]
    for instance, _, slaves in grants:
        for kind in ["MASTER"] * (all_grants[0][0] == instance) + ["SLAVE"] * slaves:
            yield f" <job name='{number}'>\n"
            values = [
                ("priority", f"'{priority:f}'"),
                ("qinstance_name", escape(instance)),
                ("job_name", escape(name)),
                ("job_owner", escape(owner)),
                ("job_state", state_codes),
                ("start_time", int(moment)),
                *([("queue_name", escape(instance))] if named else []),
                ("pe_master", kind),
            ]
            if tasks:
                values.append(("taskid", tasks))
            for key, value in values:
                yield f"   <jobvalue jobid='{number}' name='{key}'>{value}</jobvalue>\n"
            yield " </job>\n"
