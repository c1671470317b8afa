"""qstat: the state of jobs and queue instances. Source: qstat(1); statements ST-1 … ST-35.

Owns the choice of what is asked of the qmaster and which format prints it; formats are in `clients.render`.
"""

import os
import sys

from clients import program
from clients.render.jobs import QUEUE_WIDTH, JobTable, queue_width
from clients.request_files import default_settings
from clients.selection import instance_selection
from gridengine.options.option import options_of
from gridengine.options.status import DEBUG_OPTIONS, STATUS_OPTIONS

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    Fields = dict[str, Any]
    #: [phase, rows] each, in the order of the phases
    Phases = Iterable[list[Any]]


def qstat(arguments: list[str]) -> int:
    """Print what the options ask for; the exit status."""
    defaults = _default_fields()
    table = STATUS_OPTIONS + (DEBUG_OPTIONS if "MORE_INFO" in os.environ else ())
    fields, operands = program.simple_options("qstat", table, arguments)
    if operands:
        return program.misused("qstat", table, "", f'qstat: invalid option argument "{operands[0]}"')
    fields = {**defaults, **fields}
    if "jobs" in fields:
        return _job_details(fields)
    if "c" in fields.get("group", ""):
        return _cluster_queues(fields)
    full = any(name in fields for name in ("full", "resources", "explain", "dump_queues"))
    return _jobs_and_queues(fields, full)


def _default_fields() -> "Fields":
    """Options of the cell's sge_qstat and of ~/.sge_qstat; the command line overrides each (ST-30)."""
    found: Fields = {}
    of_file: Fields = {}
    last = ""
    for option, values, place in default_settings("sge_qstat", options_of("qstat", STATUS_OPTIONS)):
        file = place.rpartition(",")[0]
        if file != last:
            found, of_file, last = {**found, **of_file}, {}, file
        option.apply(of_file, values, place)
    return {**found, **of_file}


def _jobs_and_queues(fields: "Fields", full: bool) -> int:
    """The job list, and with -f the queue instances; one question, so that both are of the same moment."""
    select = instance_selection(fields)
    extended = any(name in fields for name in ("ext", "urg", "pri"))
    details = ["shares"] * extended + ["requests"] * ("requested" in fields) + ["slaves"] * ("task_usage" in fields)
    group = fields.get("group", "")
    jobs: Fields = {"users": fields.get("users", []), "select": select, "single": "d" in group, "details": details}
    if "states" in fields:
        jobs["states"] = fields["states"]
    body: Fields = {"jobs": jobs}
    if full:
        body["queues"] = {"select": select, "explain": fields.get("explain", ""), "resources": fields.get("resources")}
        body["queues"]["load"] = os.environ.get("SGE_LOAD_AVG", "")
    elif select:
        # whether the criteria select anything decides on the exit status
        body["queues"] = {"select": select}
    if "dump_jobs" in fields or "dump_queues" in fields:
        return _dump(program.read("status", body), fields)
    # the rows come while they are printed: ten thousand jobs cost this process and the qmaster no memory
    data, further = program.read_lines("job_list", body)
    if "queues" in fields and not data["queues"]:
        return 1
    if "json" in fields:
        from clients.render import json_status

        sys.stdout.writelines(json_status.job_listing(data, further, full))
        return 0
    slot_lines = "t" in group or "task_usage" in fields
    if "xml" in fields:
        from clients.render.xml_jobs import job_list

        sys.stdout.writelines(job_list(data, further, fields, full, slot_lines))
        return 0
    program.show(_text(data, further, fields, full, slot_lines))
    return 0


def _text(data: "Fields", further: "Phases", fields: "Fields", full: bool, slot_lines: bool) -> "Iterator[str]":
    """What the options ask for as text, in pieces."""
    running = data["jobs"]["running"]
    if full or "requested" in fields:
        # all that stands in the lines of jobs themselves is a name
        from clients.render.printable import printable

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
        *("ext" in fields, "urg" in fields, "pri" in fields, slot_lines, "task_usage" in fields, "requested" in fields),
        queue=width,
        binding="no_binding" not in fields,
    )


def _dump(data: "Fields", fields: "Fields") -> int:
    """-dj, -dq: what the qmaster answered, as it is (ST-35)."""
    import json

    parts = {"jobs": "dump_jobs", "queues": "dump_queues"}
    print(json.dumps({part: data[part] for part, option in parts.items() if option in fields}, indent=1))
    return 0


def _job_list(running: "list[Any]", further: "Phases", table: JobTable, fields: "Fields") -> "Iterator[str]":
    """The reduced format; a header only if there is a job."""
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


def _cluster_queues(fields: "Fields") -> int:
    data = program.read("status", {"cluster_queues": {"select": instance_selection(fields)}})
    if "queues" in fields and not data["cluster_queues"]:
        return 1
    if "json" in fields:
        from clients.render import json_status

        program.print_json(json_status.cluster_queues(data["cluster_queues"]))
        return 0
    if "xml" in fields:
        from clients.render.xml_jobs import cluster_queue_summary

        sys.stdout.writelines(cluster_queue_summary(data["cluster_queues"], "ext" in fields))
        return 0
    from clients.render.instances import cluster_queue_format

    if data["cluster_queues"]:
        program.show(cluster_queue_format(data["cluster_queues"], "ext" in fields))
    return 0


def _job_details(fields: "Fields") -> int:
    """-j: everything about jobs; unknown ones are reported at the end. Exit 1 if none is known, but 0 as XML."""
    from clients.render import job_detail

    data = program.read("status", {"job_detail": {"jobs": fields["jobs"]}})["job_detail"]
    binding = "no_binding" not in fields
    if "json" in fields:
        from clients.render import json_records

        program.print_json(json_records.job_details(data))
        return 0
    if "xml" in fields:
        from clients.render.xml_job_detail import detailed_jobs

        sys.stdout.writelines(detailed_jobs(data))
        return 0
    if "reasons" in data:
        program.show(job_detail.pending_reasons(data["reasons"]))
        return 0
    program.show(job_detail.job_details(data["jobs"], binding))
    if data["unknown"]:
        sys.stdout.flush()
        program.complain("Following jobs do not exist: ")
        for target in data["unknown"]:
            program.complain(target)
    return 1 if data["unknown"] and not data["jobs"] else 0


def main() -> int:
    return program.run("qstat", qstat)
