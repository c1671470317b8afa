"""qstat: the state of jobs and queue instances. Source: qstat(1); statements ST-1 … ST-35.

Owns the contents of the request and the choice of the output form; `clients.render` has the forms.
"""

import os
import sys

from clients import program
from clients.render import output_of
from clients.request_files import default_settings
from clients.selection import instance_selection
from gridengine.options.option import options_of
from gridengine.options.status import DEBUG_OPTIONS, STATUS_OPTIONS

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from typing import Any

    Fields = dict[str, Any]


def qstat(arguments: list[str]) -> int:
    """Print the selected jobs and queues; the exit status."""
    defaults = _default_fields()
    table = STATUS_OPTIONS + (DEBUG_OPTIONS if "MORE_INFO" in os.environ else ())
    fields, operands = program.simple_options("qstat", table, arguments)
    if operands:
        return program.report_misuse("qstat", f'qstat: invalid option argument "{operands[0]}"')
    fields = {**defaults, **fields}
    if "jobs" in fields:
        return _job_details(fields)
    if "c" in fields.get("group", ""):
        return _cluster_queues(fields)
    full = any(name in fields for name in ("full", "resources", "explain", "dump_queues"))
    return _jobs_and_queues(fields, full)


def _default_fields() -> "Fields":
    """Options of the cell's sge_qstat and of ~/.sge_qstat; the command line overrides each (ST-30)."""
    merged: Fields = {}
    of_file: Fields = {}
    last = ""
    for option, values, location in default_settings("sge_qstat", options_of("qstat", STATUS_OPTIONS)):
        file = location.rpartition(",")[0]
        if file != last:
            merged, of_file, last = {**merged, **of_file}, {}, file
        option.apply(of_file, values, location)
    return {**merged, **of_file}


def _jobs_and_queues(fields: "Fields", full: bool) -> int:
    """The job list, and with -f the queue instances; a single request, so both show the same moment."""
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
    if "dump_jobs" in fields or "dump_queues" in fields:
        return _dump(program.read("status", body), fields)
    # the rows come while they are printed: ten thousand jobs cost this process and the qmaster no memory
    data, further = program.read_lines("job_list", body)
    if not data.get("queues") and _matches_no_instance(fields):
        return 1
    if "when" in fields:
        from clients.expected_starts import with_expected_starts

        further = iter(with_expected_starts(further))
    output = output_of(fields)
    output.write(output.job_list(data, further, fields, full))
    return 0


def _matches_no_instance(fields: "Fields") -> bool:
    """Whether -q names no queue instance, which is an error. An instance counts even if other options exclude it (O)."""
    if "queues" not in fields:
        return False
    return not program.read("status", {"queues": {"select": {"queues": fields["queues"]}}})["queues"]


def _dump(data: "Fields", fields: "Fields") -> int:
    """-dj, -dq: the qmaster's answer, unchanged (ST-35)."""
    import json

    parts = {"jobs": "dump_jobs", "queues": "dump_queues"}
    print(json.dumps({part: data[part] for part, option in parts.items() if option in fields}, indent=1))
    return 0


def _cluster_queues(fields: "Fields") -> int:
    data = program.read("status", {"cluster_queues": {"select": instance_selection(fields)}})
    if not data["cluster_queues"] and _matches_no_instance(fields):
        return 1
    output = output_of(fields)
    output.write(output.cluster_queues(data["cluster_queues"], fields))
    return 0


def _job_details(fields: "Fields") -> int:
    """-j: all details of jobs; unknown jobs are reported at the end. Exit 1 if all jobs are unknown, but 0 with XML."""
    data = program.read("status", {"job_detail": {"jobs": fields["jobs"]}})["job_detail"]
    output = output_of(fields)
    output.write(output.job_details(data, fields))
    if not output.FOR_PEOPLE or "reasons" in data or not data["unknown"]:
        return 0
    sys.stdout.flush()
    program.print_error("Following jobs do not exist: ")
    program.print_error(", ".join(map(str, data["unknown"])))
    program.print_end_hints(data["unknown"])
    return 0 if data["jobs"] else 1
