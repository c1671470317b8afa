"""The output of the commands with -xml: a document. One of the forms of `clients.render`."""

import sys

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    Fields = dict[str, Any]

FOR_PEOPLE = False


def write(pieces: "Iterable[str]") -> None:
    """Print the pieces unchanged."""
    sys.stdout.writelines(pieces)


def job_list(data: "Fields", further: "Iterable[list[Any]]", fields: "Fields", full: bool) -> "Iterator[str]":
    """qstat: jobs, and queue instances with -f."""
    from clients.render import xml_jobs

    return xml_jobs.job_list(data, further, fields, full, "t" in fields.get("group", "") or "task_usage" in fields)


def cluster_queues(rows: "list[Fields]", fields: "Fields") -> "Iterator[str]":
    """qstat -g c."""
    from clients.render import xml_jobs

    return xml_jobs.cluster_queue_summary(rows, "ext" in fields)


def job_details(data: "Fields", fields: "Fields") -> "Iterator[str]":
    """qstat -j."""
    from clients.render import xml_job_detail

    return xml_job_detail.detailed_jobs(data)


def hosts(data: "Fields", fields: "Fields") -> "Iterator[str]":
    """qhost."""
    from clients.render.instances import by_host
    from clients.render.xml_hosts import host_list

    return host_list(data["hosts"], "no_binding" not in fields, *by_host(data, fields))


def quotas(rows: "list[Fields]") -> "Iterator[str]":
    """qquota."""
    from clients.render.quotas import xml_rules

    return xml_rules(rows)


def reservations(data: "Fields", fields: "Fields") -> "Iterator[str]":
    """qrstat."""
    from clients.render.xml_reservations import reservation_list

    return reservation_list(data["reservations"])
