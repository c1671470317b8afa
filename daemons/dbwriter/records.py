"""Parsing of lines of the reporting and the accounting file into facts about jobs, queues, hosts, share tree and reservations.

Owns the record formats and the check of lines. Pure. Called by the writer.
Source: sge_reporting(5), sge_accounting(5); RP-1, AC-1, DB-12; seed 002, 5.4.3.2.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from gridengine.errors import CorruptDataError
from gridengine.usage.accounting import WIDTH, AccountingRecord, parse_line

_MAX_TIME = 2**33
"""The largest valid time, epoch seconds."""
_INTEGER_LIMIT = 2**31


class InvalidRecordError(CorruptDataError):
    """An invalid line; the text is the reason."""


class JobKey(NamedTuple):
    """A `job`, `task` or slave task (`pe_task`: its name). Job numbers repeat after years; the time of submission (`submitted`,
    epoch s) makes the key unique."""

    job: int
    task: int
    pe_task: str
    submitted: int


@dataclass(frozen=True, slots=True)
class JobFacts:
    """The fields of a record about the job itself. `key`: of the job, task or slave task of the record."""

    key: JobKey
    name: str
    group: str
    owner: str
    account: str
    priority: int
    project: str
    department: str


@dataclass(frozen=True, slots=True)
class TaskUsage:
    """The usage of a task of `job`. `values`: by column of `sge_job_usage` without its prefix; `requests`: variable, value."""

    job: JobFacts
    time: float
    values: dict[str, object]
    requests: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class UnitUse:
    """The use of a device by an ended task of `job`. `values`: of the columns of `sge_unit_usage`."""

    job: JobFacts
    values: tuple[object, ...]


@dataclass(frozen=True, slots=True)
class JobEvent:
    """An entry of the log of `job`. `event`: its name; `state`: of the job then, since `state_time`. Times are epoch seconds."""

    job: JobFacts
    time: int
    event: str
    state: str
    user: str
    host: str
    state_time: int
    message: str


@dataclass(frozen=True, slots=True)
class Values:
    """Values of a host, or of a queue instance (`queue`, `host`), at a time. `values`: (name, text, number or None, capacity or
    None) each."""

    queue: str
    host: str
    time: int
    values: tuple[tuple[str, str, float | None, float | None], ...]


@dataclass(frozen=True, slots=True)
class Share:
    """A node of the share tree at a time. `fields`: in the order of the reporting file, the times in epoch seconds."""

    fields: tuple[object, ...]


@dataclass(frozen=True, slots=True)
class ReservationKey:
    """An advance reservation: its `number`, and the time when it was `submitted` (epoch s), since numbers repeat after years."""

    number: int
    submitted: int


@dataclass(frozen=True, slots=True)
class NewReservation:
    """A new advance reservation, `key`."""

    key: ReservationKey
    owner: str


@dataclass(frozen=True, slots=True)
class ReservationAttributes:
    """The attributes of the advance reservation `key` from a time on. `start`, `end`: epoch s; `resources`: (variable, value)
    each."""

    key: ReservationKey
    time: int
    name: str
    account: str
    start: int
    end: int
    granted_pe: str
    resources: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class ReservationEvent:
    """An entry of the log of the advance reservation `key`. `event`: its name; `state`: code of the reservation."""

    key: ReservationKey
    time: int
    state: str
    event: str
    host: str
    message: str


@dataclass(frozen=True, slots=True)
class ReservationUsage:
    """The slots of a queue instance that the advance reservation `key` held."""

    key: ReservationKey
    time: int
    queue: str
    host: str
    slots: int


Fact = (
    JobFacts
    | TaskUsage
    | UnitUse
    | JobEvent
    | Values
    | Share
    | NewReservation
    | ReservationAttributes
    | ReservationEvent
    | ReservationUsage
)


def reporting_record(line: str) -> Fact | None:
    """The fact in a line of the reporting file; None for an empty line or a comment. Raises InvalidRecordError."""
    if not line or line[0] == "#":
        return None
    time, _, rest = line.partition(":")
    kind, _, rest = rest.partition(":")
    record_format = _RECORD_FORMATS.get(kind)
    if record_format is None:
        raise InvalidRecordError(f'"{kind[:40]}" is no kind of record that this program knows')
    if kind == "acct":
        return accounting_record(rest, _record_time(time))
    fields = rest.split(":")
    if len(fields) < record_format.min_fields:
        raise InvalidRecordError(f"a {kind} record has {record_format.min_fields} fields; this one has {len(fields)}")
    _record_time(time)
    try:
        return record_format.read(fields)
    except ValueError as error:
        raise InvalidRecordError(f"a {kind} record: {error}") from None


def accounting_record(line: str, time: float | None = None) -> TaskUsage | None:
    """The usage in a line of the accounting file; None for an empty line or a comment. Raises InvalidRecordError.

    time: when the line was written, epoch s; None: the end of the job counts.
    """
    if not line.strip() or line[0] == "#":
        return None
    record = parse_line(line)
    if record is None:
        raise InvalidRecordError(f"an accounting record has {WIDTH} fields; this one has {line.count(':') + 1}")
    try:
        return _task_usage(record, time)
    except ValueError as error:
        raise InvalidRecordError(f"an accounting record: {error}") from None


def _record_time(text: str) -> int:
    if not (text.isascii() and text.isdigit()) or int(text) > _MAX_TIME:
        raise InvalidRecordError(f'"{text[:40]}" is no time')
    return int(text)


def _parse_integer(text: str) -> int:
    """A number in the range of the database's integers. Raises ValueError."""
    number = int(text)
    if not -_INTEGER_LIMIT <= number < _INTEGER_LIMIT:
        raise ValueError(f"{text[:40]} is too large a number")
    return number


def _parse_optional_time(text: str) -> int | None:
    """An epoch time; None for 0, which means no time. Raises ValueError."""
    seconds = int(text)
    if not 0 <= seconds <= _MAX_TIME:
        raise ValueError(f'"{text[:40]}" is no time')
    return seconds or None


def _parse_time(text: str) -> int:
    """An epoch time, 0 for no time. Raises ValueError."""
    return _parse_optional_time(text) or 0


#: fields of an accounting record that are numbers of sge_job_usage under the same name
_NUMBERS = tuple(
    "ru_wallclock ru_utime ru_stime ru_maxrss ru_ixrss ru_ismrss ru_idrss ru_isrss ru_minflt ru_majflt ru_nswap ru_inblock "
    "ru_oublock ru_msgsnd ru_msgrcv ru_nsignals ru_nvcsw ru_nivcsw cpu mem io iow maxvmem".split()
)
_NUMBER_FIELDS = [(name, list(AccountingRecord.__annotations__).index(name)) for name in _NUMBERS]


def _task_usage(record: AccountingRecord, time: float | None) -> TaskUsage:
    submitted = _parse_optional_time(record.submission_time) or 0
    key = JobKey(_parse_integer(record.job_number), _parse_integer(record.task_number), record.pe_taskid, submitted)
    labels = (record.job_name, record.group, record.owner, record.account)
    job = JobFacts(key, *labels, _parse_integer(record.priority), _project(record.project), record.department)
    values: dict[str, object] = {
        "qname": record.qname,
        "hostname": record.hostname,
        "start_time": _parse_optional_time(record.start_time),
        "end_time": _parse_optional_time(record.end_time),
        "failed": _parse_integer(record.failed),
        "exit_status": _parse_integer(record.exit_status),
        "granted_pe": record.granted_pe,
        "slots": _parse_integer(record.slots),
        "ar_number": _parse_integer(record.arid),
    }
    for name, index in _NUMBER_FIELDS:
        values[name] = float(record[index])
    written = time if time is not None else _parse_time(record.end_time) or submitted
    return TaskUsage(job, written, values, _category_requests(record.category))


@lru_cache(1024)
def _category_requests(category: str) -> tuple[tuple[str, str], ...]:
    """The `-l` requests, the queues and the parallel environment of a category: `-l mem=1G,arch=x -q all.q -pe smp 2`."""
    if category in ("", "NONE"):
        return ()
    tokens = category.split()
    requests: list[tuple[str, str]] = []
    for option, value in zip(tokens, tokens[1:], strict=False):
        if option == "-l":
            requests += [(name, amount) for part in value.split(",") for name, _, amount in [part.partition("=")] if name]
        elif option in ("-q", "-pe"):
            requests.append((option[1:], value))
    return tuple(requests)


def _project(text: str) -> str:
    """The project; NONE, as in accounting records, where other records have an empty field."""
    return text or "NONE"


def _new_job(fields: list[str]) -> JobFacts:
    submitted, job, task, pe_task, name, owner, group, project, department, account, priority = fields[:11]
    key = JobKey(_parse_integer(job), _parse_integer(task), pe_task, _parse_optional_time(submitted) or 0)
    return JobFacts(key, name, group, owner, account, _parse_integer(priority), _project(project), department)


def _unit_usage(fields: list[str]) -> UnitUse:
    times = (_parse_optional_time(field) for field in fields[11:13])
    figures = (float(figure) if figure else None for figure in fields[17:22])
    return UnitUse(_new_job(fields), (*times, *fields[13:17], *figures, _parse_integer(fields[22])))


def _job_log(fields: list[str]) -> JobEvent:
    time, event, job, task, pe_task, state, user, host, state_time, priority, submitted = fields[:11]
    name, owner, group, project, department, account = fields[11:17]
    key = JobKey(_parse_integer(job), _parse_integer(task), pe_task, _parse_optional_time(submitted) or 0)
    facts = JobFacts(key, name, group, owner, account, _parse_integer(priority), _project(project), department)
    return JobEvent(facts, _parse_time(time), event, state, user, host, _parse_integer(state_time), ":".join(fields[17:]))


def _pairs(text: str) -> Iterator[list[str]]:
    return (part.split("=") for part in text.split(",") if part)


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if abs(value) < 1e300 else None


def _loads(text: str) -> tuple[tuple[str, str, float | None, float | None], ...]:
    return tuple((name, rest[0], _number(rest[0]), None) for name, *rest in _pairs(text) if rest)


def _consumables(text: str) -> tuple[tuple[str, str, float | None, float | None], ...]:
    return tuple((name, rest[0], _number(rest[0]), _number(rest[1])) for name, *rest in _pairs(text) if len(rest) > 1)


def _queue(fields: list[str]) -> Values:
    queue, host, time, state = fields[:4]
    return Values(queue, host, _parse_time(time), (("state", state, None, None),))


def _queue_consumable(fields: list[str]) -> Values:
    return Values(fields[0], fields[1], _parse_time(fields[2]), _consumables(":".join(fields[4:])))


def _host(fields: list[str]) -> Values:
    return Values("", fields[0], _parse_time(fields[1]), _loads(":".join(fields[3:])))


def _host_consumable(fields: list[str]) -> Values:
    return Values("", fields[0], _parse_time(fields[1]), _consumables(":".join(fields[3:])))


def _share(fields: list[str]) -> Share:
    time, usage_time, node, user, project, shares, jobs, *numbers = fields
    values = (float(text or 0) for text in numbers[:12])
    times = _parse_optional_time(time), _parse_optional_time(usage_time)
    return Share((*times, node, user, project, _parse_integer(shares), _parse_integer(jobs), *values))


def _new_ar(fields: list[str]) -> NewReservation:
    return NewReservation(_reservation(fields), fields[2])


def _ar_attribute(fields: list[str]) -> ReservationAttributes:
    time, name, account, start, end, pe = fields[0], *fields[3:8]
    resources = tuple((one[0], one[1]) for one in _pairs(":".join(fields[8:])) if len(one) > 1)
    times = _parse_time(start), _parse_time(end)
    return ReservationAttributes(_reservation(fields[1:]), _parse_time(time), name, account, *times, pe, resources)


_HOST_IN_TEXT = re.compile(r"@([A-Za-z0-9][A-Za-z0-9.-]*[A-Za-z0-9])|\bhost \"?([A-Za-z0-9][A-Za-z0-9.-]*[A-Za-z0-9])")


def _ar_log(fields: list[str]) -> ReservationEvent:
    message = ":".join(fields[5:])
    host = _HOST_IN_TEXT.search(message)
    name = (host[1] or host[2]) if host else ""
    return ReservationEvent(_reservation(fields[1:]), _parse_time(fields[0]), fields[3], fields[4], name, message)


def _ar_acct(fields: list[str]) -> ReservationUsage:
    return ReservationUsage(_reservation(fields[1:]), _parse_time(fields[0]), fields[3], fields[4], _parse_integer(fields[5]))


def _reservation(fields: Iterable[str]) -> ReservationKey:
    submitted, number, *_ = fields
    return ReservationKey(_parse_integer(number), _parse_optional_time(submitted) or 0)


@dataclass(frozen=True, slots=True)
class _RecordFormat:
    """The minimum number of fields of a kind of record, without time and kind, and their parser, which may raise ValueError."""

    min_fields: int
    read: Callable[[list[str]], Fact]


_RECORD_FORMATS = {
    "new_job": _RecordFormat(11, _new_job),
    "job_log": _RecordFormat(17, _job_log),
    "acct": _RecordFormat(1, _new_job),  # read by accounting_record
    "unit_usage": _RecordFormat(23, _unit_usage),
    "queue": _RecordFormat(4, _queue),
    "queue_consumable": _RecordFormat(5, _queue_consumable),
    "host": _RecordFormat(4, _host),
    "host_consumable": _RecordFormat(4, _host_consumable),
    "sharelog": _RecordFormat(19, _share),
    "new_ar": _RecordFormat(3, _new_ar),
    "ar_attribute": _RecordFormat(8, _ar_attribute),
    "ar_attr": _RecordFormat(8, _ar_attribute),  # the name in files of 8.1.9, in spite of its manual
    "ar_log": _RecordFormat(5, _ar_log),
    "ar_acct": _RecordFormat(6, _ar_acct),
}
