"""-json of qstat, qhost and qselect: jobs, queue instances, cluster queues and hosts as plain data.

Owns the names, which docs/schemas publishes and which therefore stay: units last (`_s`, `_bytes`), null for what is not
known. Called by the commands. Shapes of what comes in: docs/gdi.md.
"""

from itertools import chain

from gridengine import json_text
from gridengine.instance_name import host_of, queue_and_host
from gridengine.job_rows import GRANTS, INSTANCE, details_of

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
    found: dict[str, Fields] = {row["name"]: _host(row) for row in data["hosts"]}
    for part, key in (("queues", "queue_instances"), ("jobs", "jobs")):
        if part in data:
            for host in found.values():
                host[key] = []
    for row in data.get("queues", ()):
        name = host_of(row["name"])
        if name in found:
            found[name]["queue_instances"].append(instance(row))
    for row in data["jobs"]["running"] if "jobs" in data else ():
        for name in dict.fromkeys(host_of(grant[INSTANCE]) for grant in row[GRANTS]):
            if name in found:
                found[name]["jobs"].append(job(row, "running"))
    return {"hosts": list(found.values())}


def grants(pairs: "Iterable[Row]") -> "list[Fields]":
    """Slots at queue instances."""
    return [{"queue_instance": pair[0], "slots": pair[1]} for pair in pairs]


def job(row: "Row", phase: str) -> "Fields":
    """A line of the job list: a running task, or pending or finished tasks of a job in the same state."""
    number, priority, name, owner, letters, moment, granted, slots, tasks = row[:9]
    found: Fields = {
        "job_id": number,
        "tasks": str(tasks) if tasks else None,
        "name": name,
        "owner": owner,
        "phase": phase,
        "state": letters,
        "priority": priority,
        "submit_time_s": moment if phase in ("pending", "finished") else None,
        "start_time_s": None if phase in ("pending", "finished") else moment,
        "slots": slots,
        "granted": grants(granted),
    }
    details = details_of(row)
    if "nurg" in details:
        found["shares"] = _shares(details)
    if details.get("slaves"):
        found["slave_tasks"] = [_slave(*slave) for slave in details["slaves"]]
    if "hard" in details:
        found["requests"] = _requests(details)
    return found


def _slave(where: str, name: str, usage: list[float]) -> "Fields":
    cpu, memory, io = usage or (None, None, None)
    return {"task_id": name, "queue_instance": where, "cpu_s": cpu, "mem_gb_s": memory, "io_gb": io}


def _shares(details: "Fields") -> "Fields":
    """What -ext, -urg and -pri add."""
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
    """What -r adds."""
    found = {name: details[name] for name in _SAME_REQUESTS}
    found["hard"] = [{"name": name, "value": value, "urgency": urgency} for name, value, urgency in details["hard"]]
    found["soft"] = [{"name": name, "value": value} for name, value in details["soft"]]
    requested, granted = details["pe"], details["granted_pe"]
    found["pe"] = {"name": requested[0], "slots": requested[1]} if requested else None
    found["granted_pe"] = {"name": granted[0], "slots": granted[1]} if granted else None
    return found


def instance(row: "Fields") -> "Fields":
    """A queue instance, with the resources of -F and the reasons of -explain if they were asked for."""
    queue, host = queue_and_host(row["name"])
    found: Fields = {
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
        found["resources"] = _resources(row["resources"])
    if "explain" in row:
        found["reasons"] = [{"state": letter, "text": text} for letter, texts in row["explain"].items() for text in texts]
    return found


def _resources(rows: "Iterable[Row]") -> "list[Fields]":
    return [{"name": name, "value": value, "level": letters[:1], "source": letters[1:]} for letters, name, value in rows]


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
    found: Fields = {"name": row["name"], **dict(zip(names.split(), row["values"], strict=True))}
    if "resources" in row:
        found["resources"] = _resources(row["resources"])
    return found
