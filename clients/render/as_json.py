"""The output of the commands with -json: one line (docs/schemas). One of the forms of `clients.render`."""

import sys

from gridengine import json_text

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    Fields = dict[str, Any]

FOR_PEOPLE = False


def write(pieces: "Iterable[str]") -> None:
    """Print the pieces unchanged."""
    sys.stdout.writelines(pieces)


def _line(value: object) -> "Iterator[str]":
    yield json_text.encode(value).decode() + "\n"


def job_list(data: "Fields", further: "Iterable[list[Any]]", fields: "Fields", full: bool) -> "Iterator[str]":
    """qstat: jobs, and queue instances with -f."""
    from clients.render import json_status

    return json_status.job_listing(data, further, full)


def cluster_queues(rows: "list[Fields]", fields: "Fields") -> "Iterator[str]":
    """qstat -g c."""
    from clients.render import json_status

    return _line(json_status.cluster_queues(rows))


def job_details(data: "Fields", fields: "Fields") -> "Iterator[str]":
    """qstat -j."""
    from clients.render import json_records

    return _line(json_records.job_details(data))


def hosts(data: "Fields", fields: "Fields") -> "Iterator[str]":
    """qhost."""
    from clients.render import json_status

    return _line(json_status.hosts(data))


def quotas(rows: "list[Fields]") -> "Iterator[str]":
    """qquota."""
    from clients.render import json_records

    return _line(json_records.quotas(rows))


def reservations(data: "Fields", fields: "Fields") -> "Iterator[str]":
    """qrstat."""
    from clients.render import json_records

    return _line(json_records.reservations(data))
