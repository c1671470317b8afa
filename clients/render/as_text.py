"""The output of the commands for people, their default. One of the forms of `clients.render`."""

import os

from clients import program
from clients.render.jobs import QUEUE_WIDTH, JobTable, queue_width

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    Fields = dict[str, Any]
    #: [phase, rows] each, in the order of the phases
    Phases = Iterable[list[Any]]

FOR_PEOPLE = True
write = program.show


def job_list(data: "Fields", further: "Phases", fields: "Fields", full: bool) -> "Iterator[str]":
    """qstat: jobs, and queue instances with -f."""
    slot_lines = "t" in fields.get("group", "") or "task_usage" in fields
    running = data["jobs"]["running"]
    if full or "requested" in fields:
        # the lines of jobs themselves contain only names, which need no escaping
        from gridengine.values.printable import printable

        data["queues"] = printable(data.get("queues"))
        if "requested" in fields:
            running, further = printable(running), map(printable, further)
    width = _queue_width(running)
    if full:
        from clients.render.instances import full_format

        table = _table(fields, slot_lines, 0)
        return full_format(data["queues"], running, further, table, width, "not_empty" in fields)
    return _job_list(running, further, _table(fields, slot_lines, width), fields)


def _queue_width(running: "list[Any]") -> int:
    setting = os.environ.get("SGE_LONG_QNAMES", "")
    return queue_width(setting, running) if setting else QUEUE_WIDTH


def _table(fields: "Fields", slot_lines: bool, width: int) -> JobTable:
    return JobTable(
        ext="ext" in fields,
        urg="urg" in fields,
        pri="pri" in fields,
        slot_lines=slot_lines,
        task_usage="task_usage" in fields,
        requests="requested" in fields,
        queue=width,
        binding="no_binding" not in fields,
        when="when" in fields,
    )


def _job_list(running: "list[Any]", further: "Phases", table: JobTable, fields: "Fields") -> "Iterator[str]":
    """The reduced format; no header without jobs."""
    header = table.header()
    if running:
        yield header
        header = ""
    if "t" in fields.get("group", ""):
        from clients.render.instances import jobs_by_instance

        for tasks in dict(sorted(jobs_by_instance(running).items())).values():
            for row, grants in tasks:
                yield from table.grant_lines(row, grants)
    else:
        yield "".join(table.lines(running))
    for _, rows in further:
        yield header + "".join(table.lines(rows))
        header = ""


def cluster_queues(rows: "list[Fields]", fields: "Fields") -> "Iterator[str]":
    """qstat -g c."""
    from clients.render.instances import cluster_queue_format

    return cluster_queue_format(rows, "ext" in fields)


def job_details(data: "Fields", fields: "Fields") -> "Iterator[str]":
    """qstat -j."""
    from clients.render import job_detail

    if "reasons" in data:
        return job_detail.pending_reasons(data["reasons"], data.get("note", ""))
    return job_detail.job_details(data["jobs"], "no_binding" not in fields, data.get("note", ""))


def hosts(data: "Fields", fields: "Fields") -> "Iterator[str]":
    """qhost."""
    from clients.render.hosts import host_table
    from clients.render.instances import by_host
    from gridengine.values.printable import printable

    data = printable(data)
    return host_table(data["hosts"], "no_binding" not in fields, *by_host(data, fields), bool(fields.get("resources")))


def quotas(rows: "list[Fields]") -> "Iterator[str]":
    """qquota."""
    from clients.render import quotas

    return quotas.table(rows)


def reservations(data: "Fields", fields: "Fields") -> "Iterator[str]":
    """qrstat: a line per reservation, all details with -ar; no output without reservations."""
    from clients.render import reservations as render
    from gridengine.values.printable import printable

    rows = printable(data["reservations"])
    if "reservations" in fields:
        return render.details(rows)
    return render.summary(rows, "explain" in fields) if rows else iter(())
