"""-json of qstat, qhost and qselect: jobs, queue instances, cluster queues and hosts as plain data.

Owns the field names. They must stay, since docs/schemas publishes them: units last (`_s`, `_bytes`), null for an unknown value.
Called by the commands. Shapes of the input: docs/gdi.md.
"""

from itertools import chain

from gridengine import json_text
from gridengine.job_rows import GRANTS, INSTANCE, details_of
from gridengine.values.instance_name import host_of, queue_and_host

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    Row = list[Any]
    Fields = dict[str, Any]


def job_listing(data: "Fields", further: "Iterable[Row]", full: bool) -> "Iterator[str]":
    """An object with `jobs`, in pieces while their [phase, rows] come, and with `full` the `queue_instances`."""
    yield '{"jobs":['
    between = ""
    for phase, rows in chain((("running", data["jobs"]["running"]),), further):
        if rows:
            yield between + json_text.encode([job(row, phase) for row in rows]).decode()[1:-1]
            between = ","
    yield "]"
    if full:
        yield ',"queue_instances":' + json_text.encode([instance(row) for row in data["queues"]]).decode()
    yield "}\n"


def cluster_queues(rows: "Iterable[Fields]") -> "Fields":
    """The summary by cluster queue."""
    return {"cluster_queues": [_cluster_queue(row) for row in rows]}


def hosts(data: "Fields") -> "Fields":
    """Hosts, with their queue instances and jobs if the answer has them."""
    by_name: dict[str, Fields] = {row["name"]: _host(row) for row in data["hosts"]}
    for part, key in (("queues", "queue_instances"), ("jobs", "jobs")):
        if part in data:
            for host in by_name.values():
                host[key] = []
    for row in data.get("queues", ()):
        name = host_of(row["name"])
        if name in by_name:
            by_name[name]["queue_instances"].append(instance(row))
    for row in data["jobs"]["running"] if "jobs" in data else ():
        for name in dict.fromkeys(host_of(grant[INSTANCE]) for grant in row[GRANTS]):
            if name in by_name:
                by_name[name]["jobs"].append(job(row, "running"))
    return {"hosts": list(by_name.values())}


def grants(pairs: "Iterable[Row]") -> "list[Fields]":
    """Slots at queue instances."""
    return [{"queue_instance": pair[0], "slots": pair[1]} for pair in pairs]


def job(row: "Row", phase: str) -> "Fields":
    """A line of the job list: a running task, or pending or finished tasks of a job in the same state."""
    number, priority, name, owner, state_codes, moment, granted, slots, tasks = row[:9]
    fields: Fields = {
        "job_id": number,
        "tasks": str(tasks) if tasks else None,
        "name": name,
        "owner": owner,
        "phase": phase,
        "state": state_codes,
        "priority": priority,
        "submit_time_s": moment if phase in ("pending", "finished") else None,
        "start_time_s": None if phase in ("pending", "finished") else moment,
        "slots": slots,
        "granted": grants(granted),
    }
    details = details_of(row)
    if "nurg" in details:
        fields["shares"] = _shares(details)
    if "when" in details:
        fields |= {f"{name}_start_s": details["when"][name] or None for name in ("expected", "earliest", "latest")}
    if details.get("slaves"):
        fields["slave_tasks"] = [_slave(*slave) for slave in details["slaves"]]
    if "hard" in details:
        fields["requests"] = _requests(details)
    return fields


def _slave(where: str, name: str, usage: list[float]) -> "Fields":
    cpu, memory, io = usage or (None, None, None)
    return {"task_id": name, "queue_instance": where, "cpu_s": cpu, "mem_gb_s": memory, "io_gb": io}


def _shares(details: "Fields") -> "Fields":
    """The fields that -ext, -urg and -pri add."""
    cpu, memory, io = details["usage"] or (None, None, None)
    return {
        "project": details["project"],
        "department": details["department"],
        "posix_priority": details["ppri"],
        "normalized_posix_priority": details["npprior"],
        "normalized_urgency": details["nurg"],
        "normalized_tickets": details["ntckts"],
        "urgency": details["urgency"],
        "resource_urgency": details["rrcontr"],
        "waiting_urgency": details["wtcontr"],
        "deadline_urgency": details["dlcontr"],
        "deadline_s": details["deadline"] or None,
        "override_tickets": details["override_tickets"],
        "granted_override_tickets": details["tickets"][0],
        "granted_functional_tickets": details["tickets"][1],
        "granted_share_tickets": details["tickets"][2],
        "ticket_share": details["share"],
        "job_share": details["job_share"],
        "cpu_s": cpu,
        "mem_gb_s": memory,
        "io_gb": io,
    }


_SAME_REQUESTS = (
    "hard_queues soft_queues master_queues checkpoint binding predecessors_requested predecessors "
    "array_predecessors_requested array_predecessors"
).split()


def _requests(details: "Fields") -> "Fields":
    """The fields that -r adds."""
    fields = {name: details[name] for name in _SAME_REQUESTS}
    fields["hard"] = [{"name": name, "value": value, "urgency": urgency} for name, value, urgency in details["hard"]]
    fields["soft"] = [{"name": name, "value": value} for name, value in details["soft"]]
    requested, granted = details["pe"], details["granted_pe"]
    fields["pe"] = {"name": requested[0], "slots": requested[1]} if requested else None
    fields["granted_pe"] = {"name": granted[0], "slots": granted[1]} if granted else None
    return fields


def instance(row: "Fields") -> "Fields":
    """A queue instance, with the resources of -F and the reasons of -explain if the options were given."""
    queue, host = queue_and_host(row["name"])
    fields: Fields = {
        "name": row["name"],
        "queue": queue,
        "host": host,
        "types": row["type"],
        "slots_reserved": row["resv"],
        "slots_used": row["used"],
        "slots_total": row["total"],
        "load": _number(row["load"]),
        "arch": row["arch"],
        "states": row["states"],
    }
    if "resources" in row:
        fields["resources"] = _resources(row["resources"])
    if "explain" in row:
        fields["reasons"] = [{"state": code, "text": text} for code, texts in row["explain"].items() for text in texts]
    return fields


def _resources(rows: "Iterable[Row]") -> "list[Fields]":
    return [{"name": name, "value": value, "level": dominance[:1], "source": dominance[1:]} for dominance, name, value in rows]


def _number(text: "str | None") -> "float | None":
    try:
        return float(text) if text is not None else None
    except ValueError:
        return None


def _cluster_queue(row: "Fields") -> "Fields":
    names = {
        "slots_used": "used",
        "slots_reserved": "resv",
        "slots_available": "available",
        "slots_total": "total",
        "slots_temporarily_unavailable": "temporary",
        "slots_needing_attention": "manual",
    }
    counts = {name: row[key] for name, key in names.items()}
    return {"name": row["name"], "load": row["load"], **counts, "slots_by_state": row["states"]}


def _host(row: "Fields") -> "Fields":
    names = "arch num_proc sockets cores threads load mem_total_bytes mem_used_bytes swap_total_bytes swap_used_bytes"
    fields: Fields = {"name": row["name"], **dict(zip(names.split(), row["values"], strict=True))}
    if "resources" in row:
        fields["resources"] = _resources(row["resources"])
    return fields
