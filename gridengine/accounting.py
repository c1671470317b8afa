"""Accounting records as data: their 45 fields in order, how a line is read, and which records a question means.

Owns names and order of the fields (sge_accounting(5), AC-1) and the filter of qacct (QA-1 … QA-8). Pure; light enough
for clients. Called by qacct for files and by the qmaster for its index, so that both filter alike, and for letters.
"""

from gridengine.field_names import LABELLED

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

FIELDS = (
    "qname hostname group owner job_name job_number account priority submission_time start_time end_time failed "
    "exit_status ru_wallclock ru_utime ru_stime ru_maxrss ru_ixrss ru_ismrss ru_idrss ru_isrss ru_minflt ru_majflt "
    "ru_nswap ru_inblock ru_oublock ru_msgsnd ru_msgrcv ru_nsignals ru_nvcsw ru_nivcsw project department granted_pe "
    "slots task_number cpu mem io category iow pe_taskid maxvmem arid ar_sub_time"
).split()
#: how many fields a line has; a record of the index may have one more: what was said of the job and only travels
#: (`gridengine.field_names.LABELLED`), as a JSON object by field
WIDTH = len(FIELDS)
POSITION = {name: position for position, name in enumerate(FIELDS)}
_MISSING = {"arid": "0", "ar_sub_time": "0", "pe_taskid": "NONE"}

#: fields that are compared as they are, by their names in the filter
_PLAIN = {
    "owner": "owner",
    "account": "account",
    "project": "project",
    "department": "department",
    "pe": "granted_pe",
    "slots": "slots",
    "ar": "arid",
}


def notes(record: list[str]) -> dict[str, str]:
    """What a record of the index has beyond the fields of a line, by the label that people see."""
    if len(record) <= WIDTH:
        return {}
    import json

    said = json.loads(record[WIDTH])
    return {field.label: said[field.name] for field in LABELLED if said.get(field.name)}


def parse_line(line: str) -> "list[str] | None":
    """The fields of a line of the file; None for comments and empty lines. Older files lack fields (QA-5)."""
    if line[:1] == "#" or len(line.strip()) < 2:
        return None
    values = line.rstrip("\n").split(":")
    if len(values) < POSITION["category"]:
        return None
    return values[:WIDTH] + [_MISSING.get(name, "0") for name in FIELDS[len(values) :]]


def record_filter(wanted: "dict[str, Any]") -> "Callable[[list[str]], bool]":
    """Whether a record is meant. Fields of `wanted`, all optional, "" for any value:

    job (id, name or pattern), tasks (ranges), owner, account, project, department, pe, slots, ar, group (name), host,
    queue (expressions without host groups), begin and end (epoch s, of the start or with by_end of the end),
    master_only (no slave tasks), instances (names of queue instances). Raises SyntaxFault.
    """
    tests: list[Callable[[list[str]], bool]] = []
    for name, field in _PLAIN.items():
        if wanted.get(name):
            tests.append(_equals(POSITION[field], str(wanted[name])))
    if wanted.get("group"):
        tests.append(_equals(POSITION["group"], wanted["group"]))
    if wanted.get("host"):
        host = wanted["host"].lower()
        tests.append(lambda record: record[1].lower() == host)
    if wanted.get("job"):
        tests.append(_job_test(wanted["job"]))
    if wanted.get("tasks"):
        from gridengine.ranges import Ranges

        tasks, position = Ranges.parse(wanted["tasks"]), POSITION["task_number"]
        tests.append(lambda record: int(record[position]) in tasks)
    if wanted.get("queue"):
        from gridengine.syntax.queue_expression import QueueExpressions

        expressions = QueueExpressions.parse(wanted["queue"])
        tests.append(lambda record: expressions.matches(record[0], record[1], ()))
    if wanted.get("begin") or wanted.get("end"):
        position = POSITION["end_time" if wanted.get("by_end") else "start_time"]
        begin, end = wanted.get("begin") or 0, wanted.get("end") or float("inf")
        tests.append(lambda record: begin <= float(record[position]) <= end)
    if wanted.get("master_only"):
        tests.append(_equals(POSITION["pe_taskid"], "NONE"))
    if wanted.get("instances") is not None:
        instances = frozenset(wanted["instances"])
        tests.append(lambda record: f"{record[0]}@{record[1]}" in instances)
    return lambda record: all(test(record) for test in tests)


def _equals(position: int, value: str) -> "Callable[[list[str]], bool]":
    return lambda record: record[position] == value


def _job_test(job: str) -> "Callable[[list[str]], bool]":
    number, name = POSITION["job_number"], POSITION["job_name"]
    ids = frozenset(part for part in job.split(",") if part.isdecimal())
    if ids:
        return lambda record: record[number] in ids
    from gridengine.syntax.wildcard import compile_expression

    matches = compile_expression(job)
    return lambda record: matches(record[name])
