"""Lines of the reporting and the accounting file, read: what each tells of a job, queue, host, share tree or reservation.

Owns the forms of the records and what is no record. Pure. Called by the loader.
Source: sge_reporting(5), sge_accounting(5); RP-1, AC-1, DB-12; seed 002, 5.4.3.2.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from gridengine.accounting import WIDTH, AccountingRecord, parse_line

_LATEST = 2**33
"""Epoch seconds beyond which a number is no time."""
_INTEGERS = 2**31


class NoRecord(Exception):
    """A line that is no record; the text says why."""


class JobKey(NamedTuple):
    """Which job, task or slave task. A number may come again after years, the time of submission (epoch s) tells them apart."""

    job: int
    task: int
    pe_task: str
    submitted: int


@dataclass(frozen=True, slots=True)
class JobFacts:
    """What a record says of the job itself."""

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
    """What a task has used. `values`: by column of `sge_job_usage` without its prefix; `requests`: variable, value."""

    job: JobFacts
    time: float
    values: dict[str, object]
    requests: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class JobEvent:
    """An entry of the job log. Times are epoch seconds."""

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
    """Values of a host, or of a queue instance (`queue`, `host`), at a time: name, text, number, capacity."""

    queue: str
    host: str
    time: int
    values: tuple[tuple[str, str, float | None, float | None], ...]


@dataclass(frozen=True, slots=True)
class Share:
    """A node of the share tree at a time, field by field."""

    fields: tuple[object, ...]


@dataclass(frozen=True, slots=True)
class ReservationKey:
    number: int
    submitted: int


@dataclass(frozen=True, slots=True)
class NewReservation:
    key: ReservationKey
    owner: str


@dataclass(frozen=True, slots=True)
class ReservationAttributes:
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
    key: ReservationKey
    time: int
    state: str
    event: str
    host: str
    message: str


@dataclass(frozen=True, slots=True)
class ReservationUsage:
    key: ReservationKey
    time: int
    queue: str
    host: str
    slots: int


Fact = (
    JobFacts
    | TaskUsage
    | JobEvent
    | Values
    | Share
    | NewReservation
    | ReservationAttributes
    | ReservationEvent
    | ReservationUsage
)


def reporting_record(line: str) -> Fact | None:
    """What a line of the reporting file tells; None for an empty line or a comment. Raises NoRecord."""
    if not line or line[0] == "#":
        return None
    time, _, rest = line.partition(":")
    kind, _, rest = rest.partition(":")
    form = _FORMS.get(kind)
    if form is None:
        raise NoRecord(f'"{kind[:40]}" is no kind of record that this program knows')
    if kind == "acct":
        return accounting_record(rest, _time(time))
    fields = rest.split(":")
    if len(fields) < form.width:
        raise NoRecord(f"a {kind} record has {form.width} fields; this one has {len(fields)}")
    _time(time)
    try:
        return form.read(fields)
    except ValueError as error:
        raise NoRecord(f"a {kind} record: {error}") from None


def accounting_record(line: str, time: float | None = None) -> TaskUsage | None:
    """What a line of the accounting file tells; None for an empty line or a comment. Raises NoRecord.

    time: when it was written, epoch s; that of the job's end when nobody knows.
    """
    if not line.strip() or line[0] == "#":
        return None
    record = parse_line(line)
    if record is None:
        raise NoRecord(f"an accounting record has {WIDTH} fields; this one has {line.count(':') + 1}")
    try:
        return _usage(record, time)
    except ValueError as error:
        raise NoRecord(f"an accounting record: {error}") from None


def _time(text: str) -> int:
    if not (text.isascii() and text.isdigit()) or int(text) > _LATEST:
        raise NoRecord(f'"{text[:40]}" is no time')
    return int(text)


def _int(text: str) -> int:
    """A number as the database's integers are. Raises ValueError."""
    number = int(text)
    if not -_INTEGERS <= number < _INTEGERS:
        raise ValueError(f"{text[:40]} is too large a number")
    return number


def _moment(text: str) -> int | None:
    """An epoch time, None for 0: there was none. Raises ValueError."""
    seconds = int(text)
    if not 0 <= seconds <= _LATEST:
        raise ValueError(f'"{text[:40]}" is no time')
    return seconds or None


def _when(text: str) -> int:
    """An epoch time. Raises ValueError."""
    return _moment(text) or 0


#: fields of an accounting record that are numbers of sge_job_usage under the same name
_NUMBERS = tuple(
    "ru_wallclock ru_utime ru_stime ru_maxrss ru_ixrss ru_ismrss ru_idrss ru_isrss ru_minflt ru_majflt ru_nswap ru_inblock "
    "ru_oublock ru_msgsnd ru_msgrcv ru_nsignals ru_nvcsw ru_nivcsw cpu mem io iow maxvmem".split()
)
_PLACES = [(name, list(AccountingRecord.__annotations__).index(name)) for name in _NUMBERS]


def _usage(record: AccountingRecord, time: float | None) -> TaskUsage:
    submitted = _moment(record.submission_time) or 0
    key = JobKey(_int(record.job_number), _int(record.task_number), record.pe_taskid, submitted)
    who = (record.job_name, record.group, record.owner, record.account)
    job = JobFacts(key, *who, _int(record.priority), _project(record.project), record.department)
    values: dict[str, object] = {
        "qname": record.qname,
        "hostname": record.hostname,
        "start_time": _moment(record.start_time),
        "end_time": _moment(record.end_time),
        "failed": _int(record.failed),
        "exit_status": _int(record.exit_status),
        "granted_pe": record.granted_pe,
        "slots": _int(record.slots),
        "ar_number": _int(record.arid),
    }
    for name, place in _PLACES:
        values[name] = float(record[place])
    written = time if time is not None else _when(record.end_time) or submitted
    return TaskUsage(job, written, values, _requests(record.category))


@lru_cache(1024)
def _requests(category: str) -> tuple[tuple[str, str], ...]:
    """The `-l` requests, the queues and the parallel environment of a category: `-l mem=1G,arch=x -q all.q -pe smp 2`."""
    if category in ("", "NONE"):
        return ()
    words = category.split()
    found: list[tuple[str, str]] = []
    for option, value in zip(words, words[1:], strict=False):
        if option == "-l":
            found += [(name, wanted) for part in value.split(",") for name, _, wanted in [part.partition("=")] if name]
        elif option in ("-q", "-pe"):
            found.append((option[1:], value))
    return tuple(found)


def _project(text: str) -> str:
    """Accounting says NONE where the other records have nothing."""
    return text or "NONE"


def _new_job(fields: list[str]) -> JobFacts:
    submitted, job, task, pe_task, name, owner, group, project, department, account, priority = fields[:11]
    key = JobKey(_int(job), _int(task), pe_task, _moment(submitted) or 0)
    return JobFacts(key, name, group, owner, account, _int(priority), _project(project), department)


def _job_log(fields: list[str]) -> JobEvent:
    time, event, job, task, pe_task, state, user, host, state_time, priority, submitted = fields[:11]
    name, owner, group, project, department, account = fields[11:17]
    key = JobKey(_int(job), _int(task), pe_task, _moment(submitted) or 0)
    facts = JobFacts(key, name, group, owner, account, _int(priority), _project(project), department)
    return JobEvent(facts, _when(time), event, state, user, host, _int(state_time), ":".join(fields[17:]))


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
    return Values(queue, host, _when(time), (("state", state, None, None),))


def _queue_consumable(fields: list[str]) -> Values:
    return Values(fields[0], fields[1], _when(fields[2]), _consumables(":".join(fields[4:])))


def _host(fields: list[str]) -> Values:
    return Values("", fields[0], _when(fields[1]), _loads(":".join(fields[3:])))


def _host_consumable(fields: list[str]) -> Values:
    return Values("", fields[0], _when(fields[1]), _consumables(":".join(fields[3:])))


def _share(fields: list[str]) -> Share:
    time, usage_time, node, user, project, shares, jobs, *numbers = fields
    values = (float(text or 0) for text in numbers[:12])
    return Share((_moment(time), _moment(usage_time), node, user, project, _int(shares), _int(jobs), *values))


def _new_ar(fields: list[str]) -> NewReservation:
    return NewReservation(_reservation(fields), fields[2])


def _ar_attribute(fields: list[str]) -> ReservationAttributes:
    time, name, account, start, end, pe = fields[0], *fields[3:8]
    resources = tuple((one[0], one[1]) for one in _pairs(":".join(fields[8:])) if len(one) > 1)
    return ReservationAttributes(_reservation(fields[1:]), _when(time), name, account, _when(start), _when(end), pe, resources)


_HOST_IN_TEXT = re.compile(r"@([A-Za-z0-9][A-Za-z0-9.-]*[A-Za-z0-9])|\bhost \"?([A-Za-z0-9][A-Za-z0-9.-]*[A-Za-z0-9])")


def _ar_log(fields: list[str]) -> ReservationEvent:
    message = ":".join(fields[5:])
    host = _HOST_IN_TEXT.search(message)
    name = (host[1] or host[2]) if host else ""
    return ReservationEvent(_reservation(fields[1:]), _when(fields[0]), fields[3], fields[4], name, message)


def _ar_acct(fields: list[str]) -> ReservationUsage:
    return ReservationUsage(_reservation(fields[1:]), _when(fields[0]), fields[3], fields[4], _int(fields[5]))


def _reservation(fields: Iterable[str]) -> ReservationKey:
    submitted, number, *_ = fields
    return ReservationKey(_int(number), _moment(submitted) or 0)


@dataclass(frozen=True, slots=True)
class _Form:
    """Fields that a record of a kind has at least, without time and kind, and what reads them. Raises ValueError."""

    width: int
    read: Callable[[list[str]], Fact]


_FORMS = {
    "new_job": _Form(11, _new_job),
    "job_log": _Form(17, _job_log),
    "acct": _Form(1, _new_job),  # read by accounting_record
    "queue": _Form(4, _queue),
    "queue_consumable": _Form(5, _queue_consumable),
    "host": _Form(4, _host),
    "host_consumable": _Form(4, _host_consumable),
    "sharelog": _Form(19, _share),
    "new_ar": _Form(3, _new_ar),
    "ar_attribute": _Form(8, _ar_attribute),
    "ar_attr": _Form(8, _ar_attribute),  # so 8.1.9 calls it, whatever its manual says
    "ar_log": _Form(5, _ar_log),
    "ar_acct": _Form(6, _ar_acct),
}
