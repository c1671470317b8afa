"""Accounting records as data: their 45 fields in order, the parser of a line, and the filter of records.

Owns names and order of the fields (sge_accounting(5), AC-1) and the filter of qacct (QA-1 … QA-8). Pure; light enough
for clients. Called by qacct for files and by the qmaster for its index, so that they filter alike, and for mail messages.
"""

from _operator import add as _add
from _operator import itemgetter  # the C part alone, as commands pay for every import

from gridengine.values.field_names import LABELLED

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from gridengine.usage.unit_usage import UnitUsage

    Test = Callable[["AccountingRecord"], bool]

#: key in the JSON object behind the fields: the reason of the task's failure
REASON = "reason"
UNITS = "resource map"
"""Label of the named units that the task had, as `gpu=node1=(0 1)`."""


class AccountingRecord(tuple[str, ...]):
    """The fields of a line by name, as texts of the file. Numbers may have a fraction; times are epoch s, `mem` is
    GB s, `io` GB, `maxvmem` bytes, the rest of usage s or as in getrusage(2). NONE: no such thing.

    A record of the index may have one more text, a JSON object: the descriptive fields of the job by name
    (`field_names.LABELLED`), under `reason` the reason of the task's failure, and under `unit usage` the use of its devices.
    Source: sge_accounting(5), AC-1.
    """

    # a plain tuple, since typing.NamedTuple and what it imports cost a command as much as its request
    __slots__ = ()

    qname: str
    hostname: str
    group: str
    owner: str
    job_name: str
    job_number: str
    account: str
    priority: str
    submission_time: str
    start_time: str
    end_time: str
    failed: str
    exit_status: str
    ru_wallclock: str
    ru_utime: str
    ru_stime: str
    ru_maxrss: str
    ru_ixrss: str
    ru_ismrss: str
    ru_idrss: str
    ru_isrss: str
    ru_minflt: str
    ru_majflt: str
    ru_nswap: str
    ru_inblock: str
    ru_oublock: str
    ru_msgsnd: str
    ru_msgrcv: str
    ru_nsignals: str
    ru_nvcsw: str
    ru_nivcsw: str
    project: str
    department: str
    granted_pe: str
    slots: str
    task_number: str
    cpu: str
    mem: str
    io: str
    category: str
    iow: str
    pe_taskid: str
    maxvmem: str
    arid: str
    ar_sub_time: str

    def replace(self, **fields: str) -> "AccountingRecord":
        """The record with other texts in these fields."""
        known = dict(zip(FIELDS, self, strict=False)) | fields
        return AccountingRecord([*(known[name] for name in FIELDS), *self[WIDTH:]])

    @property
    def notes(self) -> dict[str, str]:
        """The values that a record of the index has beyond the fields of a line, by label for people."""
        extra = self._extra()
        shown = {field.label: extra[field.name] for field in LABELLED if extra.get(field.name)}
        return shown | {label: extra[label] for label in (UNITS, REASON) if extra.get(label)}

    @property
    def reason(self) -> str:
        """The reason for which the task failed or was killed, "" if the index has none."""
        return str(self._extra().get(REASON, ""))

    @property
    def unit_usage(self) -> "list[UnitUsage]":
        """The usage of its devices; a line of the file has none."""
        if not (rows := self._extra().get("unit usage")):
            return []
        from gridengine.usage.unit_usage import of_rows

        return of_rows(rows)

    def _extra(self) -> "dict[str, Any]":
        if len(self) <= WIDTH:
            return {}
        import json

        extra: dict[str, Any] = json.loads(self[WIDTH])
        return extra


FIELDS = tuple(AccountingRecord.__annotations__)
#: number of fields of a line
WIDTH = len(FIELDS)
for _position, _name in enumerate(FIELDS):
    setattr(AccountingRecord, _name, property(itemgetter(_position)))
#: number of fields in the oldest files
_MIN_FIELDS = FIELDS.index("category")
_MISSING = {"arid": "0", "ar_sub_time": "0", "pe_taskid": "NONE"}
#: the fields that totals add up, in their order
SUMMED_FIELDS = ("ru_wallclock", "ru_utime", "ru_stime", "cpu", "mem", "io", "iow")

EXACT_FIELDS = {
    "owner": "owner",
    "group": "group",
    "account": "account",
    "project": "project",
    "department": "department",
    "pe": "granted_pe",
    "slots": "slots",
    "ar": "arid",
}
"""Fields that are compared as they are, by their names in the filter."""


def parse_line(line: str) -> AccountingRecord | None:
    """The record of a line of the file; None for comments and empty lines. Older files lack fields (QA-5)."""
    if line[:1] == "#" or len(line.strip()) < 2:
        return None
    values = line.rstrip("\r\n").split(":")
    if len(values) < _MIN_FIELDS:
        return None
    return AccountingRecord(values[:WIDTH] + [_MISSING.get(name, "0") for name in FIELDS[len(values) :]])


_counts = itemgetter(*map(FIELDS.index, "job_number failed exit_status slots task_number arid".split()))
_times = itemgetter(*map(FIELDS.index, "submission_time start_time end_time ar_sub_time".split()))
_numbers = itemgetter(
    *(at for at, name in enumerate(FIELDS) if name.startswith("ru_")),
    *map(FIELDS.index, "job_number failed exit_status slots task_number cpu mem io iow maxvmem arid".split()),
    *map(FIELDS.index, "submission_time start_time end_time ar_sub_time".split()),
)
#: epoch s in the year 9892, and far more than anything that is counted
_MAX_TIME, _MAX_NUMBER = 250_000_000_000, 1e30
_used = itemgetter(*map(FIELDS.index, SUMMED_FIELDS))


def record_filter(query: "dict[str, Any]") -> "Test":
    """A function that returns whether a record matches. Fields of `query`, all optional, "" for any value:

    job (id, name or pattern), tasks (ranges), owner, account, project, department, pe, slots, ar, group (name), host,
    queue (expressions without host groups), begin and end (epoch s, of the start or with by_end of the end),
    master_only (no slave tasks), unsuccessful (with a code of failure or an exit status), instances (names of queue instances).
    Raises InvalidValueError.
    """
    tests: list[Test] = []
    for name, field in EXACT_FIELDS.items():
        if query.get(name):
            tests.append(_equals(field, str(query[name])))
    if query.get("host"):
        host = query["host"].lower()
        tests.append(lambda record: record.hostname.lower() == host)
    if query.get("job"):
        tests.append(_job_test(query["job"]))
    if query.get("tasks"):
        from gridengine.values.ranges import Ranges

        tasks = Ranges.parse(query["tasks"])
        tests.append(lambda record: int(record.task_number) in tasks)
    if query.get("queue"):
        from gridengine.syntax.queue_expression import QueueExpressions

        expressions = QueueExpressions.parse(query["queue"])
        tests.append(lambda record: expressions.matches(record.qname, record.hostname, ()))
    if query.get("begin") or query.get("end"):
        moment = itemgetter(FIELDS.index("end_time" if query.get("by_end") else "start_time"))
        begin, end = query.get("begin") or 0, query.get("end") or float("inf")
        tests.append(lambda record: begin <= float(moment(record)) <= end)
    if query.get("master_only"):
        tests.append(_equals("pe_taskid", "NONE"))
    if query.get("unsuccessful"):
        tests.append(lambda record: not record.failed == record.exit_status == "0")
    if query.get("instances") is not None:
        instances = frozenset(query["instances"])
        tests.append(lambda record: instance_of(record) in instances)
    if len(tests) == 1:
        return tests[0]
    return lambda record: all(test(record) for test in tests) if tests else True


def is_valid_record(record: AccountingRecord) -> bool:
    """Whether all numeric fields are numbers; lines of files may hold anything."""
    try:
        times = list(map(float, _times(record)))
        total = sum(map(float, _numbers(record)))
    except ValueError:
        return False
    # an infinite number or a NaN makes the sum infinite or NaN
    return all(map(str.isdecimal, _counts(record))) and 0 <= min(times) and max(times) < _MAX_TIME and abs(total) < _MAX_NUMBER


def instance_of(record: AccountingRecord) -> str:
    """The queue instance that the task ran in."""
    return f"{record.qname}@{record.hostname}"


def fields_getter(names: "Sequence[str]") -> "Callable[[AccountingRecord], tuple[str, ...]]":
    """A function that returns these fields of a record, in this order."""
    positions = [FIELDS.index(name) for name in names]
    # an itemgetter of one field returns no tuple, and there is none of no field
    return itemgetter(*positions) if len(positions) > 1 else lambda record: tuple(record[at] for at in positions)


class Sums:
    """The usage of records, added up for each value of the fields `group_by`.

    `by_key`: values of these fields -> [number of records, then the sums of `SUMMED_FIELDS`, in the units of the record].
    """

    def __init__(self, group_by: "Sequence[str]") -> None:
        self.by_key: dict[tuple[str, ...], list[float]] = {}
        self._key = fields_getter(group_by)

    def add(self, record: AccountingRecord) -> None:
        """Add a record. Raises ValueError, and adds nothing, if its usage is no number."""
        self.add_row(self._key(record), [1, *map(float, _used(record))])

    def add_row(self, key: "Sequence[str]", row: "Sequence[float]") -> None:
        """Add sums that another process made."""
        known = self.by_key.get(tuple(key))
        self.by_key[tuple(key)] = list(map(_add, known, row)) if known else list(row)

    def rows(self) -> "list[tuple[tuple[str, ...], list[float]]]":
        """(key, sums) of each group, as `add_row` takes them."""
        return list(self.by_key.items())


def _equals(field: str, value: str) -> "Test":
    position = FIELDS.index(field)
    return lambda record: record[position] == value


def _job_test(job: str) -> "Test":
    ids = frozenset(part for part in job.split(",") if part.isdecimal())
    if ids:
        return lambda record: record.job_number in ids
    from gridengine.syntax.wildcard import compile_expression

    matches = compile_expression(job)
    return lambda record: matches(record.job_name)
