"""qstatus: a short list of a user's jobs, with sums by owner. Source: qstatus(1); statement UT-1.

Owns the tables of 8.1.9: running tasks, then pending tasks; an empty table is left out. A row per task.

Deviation: numbers and times sort as such, not as texts; -h exits with 0.
"""

import time

from clients import program
from gridengine.job_rows import ID, NAME, OWNER, STATE_CODES, TASKS, TIME, details_of, master_of
from gridengine.options.overview import OVERVIEW_OPTIONS

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    Fields = dict[str, Any]

_NAME_WIDTH = 25
_HELP = ("-help", "--help")
_RUNNING_REMARKS = {"d": "stalled", "s": "suspended", "S": "suspended by queue"}
_PENDING_REMARKS = {"E": "Error", "h": "hold"}


class TaskLine:
    """A running or pending task. `job`, `slots`: numbers; `time`: epoch s of start or submission; `running`: queue or host."""

    def __init__(self, row: "list[Any]", fields: "Fields", runs: bool) -> None:
        details = details_of(row)
        self.job, self.owner, self.time, state_codes = row[ID], row[OWNER], row[TIME], row[STATE_CODES]
        self.name = row[NAME] + (f"[{row[TASKS]}]" if "tasks" in fields and row[TASKS] != "" else "")
        pe = details["granted_pe"] if runs else details["pe"]
        self.parallel = pe is not None
        self.slots = (pe[1] if runs else _minimum_slots(pe[1])) if pe else 1
        queue, _, host = master_of(row).partition("@")
        self.running = host.partition(".")[0] if "machine" in fields else queue
        remarks = _RUNNING_REMARKS if runs else _PENDING_REMARKS
        self.remark = ", ".join(remark for code, remark in remarks.items() if code in state_codes)


def _minimum_slots(pe_range: str) -> int:
    """The smallest number of slots that a job requests."""
    return int(pe_range.partition(",")[0].partition("-")[0] or 1)


def qstatus(arguments: list[str]) -> int:
    """Print the selected tables; the exit status."""
    fields, operands = program.simple_options("qstatus", OVERVIEW_OPTIONS, _split_flags(arguments))
    fault = _contradiction(fields, operands)
    if fault:
        return program.report_misuse("qstatus", f"qstatus: {fault}")
    users = ["*"] if "all" in fields else operands  # an empty list selects the caller
    states = ["r", "p", *(["s"] if "suspended" in fields else [])]
    body = {"jobs": {"users": users, "states": states, "single": True, "details": ["requests"]}}
    data = program.read("status", body)["jobs"]
    with_owner, columns = _has_owner_column(fields), _columns(fields)
    for phase, runs in (("running", True), ("pending", False)):
        lines = [TaskLine(row, fields, runs) for row in data[phase]]
        if columns:
            lines.sort(key=lambda line: [getattr(line, name) for name in columns])
        if lines and "unlisted" not in fields:
            program.show(_listing(lines, runs, "" if with_owner else lines[0].owner, "relative" in fields))
        if lines and "counts" in fields:
            program.show(_counts(lines, runs, with_owner))
    return 0


def _split_flags(arguments: list[str]) -> list[str]:
    """The arguments, with `-acs job` and `-sjob` split into flags of one character; other arguments stay unchanged."""
    known_flags = {name[1:] for option in OVERVIEW_OPTIONS for name in option.names if len(name) == 2}
    split: list[str] = []
    is_value = False
    for argument in arguments:
        if is_value or argument[:1] != "-" or len(argument) < 3 or argument[1] not in known_flags or argument in _HELP:
            split.append(argument)
            is_value = not is_value and argument == "-s"
            continue
        flags, sign, value = argument[1:].partition("s")
        split += [f"-{flag}" for flag in flags] + (["-s"] if sign else []) + ([value] if value else [])
        is_value = bool(sign) and not value
    return split


def _has_owner_column(fields: "Fields") -> bool:
    return bool(fields.get("owner", "all" in fields))


def _contradiction(fields: "Fields", operands: list[str]) -> str:
    """The contradiction between options, "" if there is none."""
    if len(operands) > 1:
        return f'one user is expected, "{operands[1]}" is a second one'
    if operands and "all" in fields:
        return f'-a selects all users, "{operands[0]}" a single user'
    if "grouped" in fields and "sort" in fields:
        return "-g and -s are two orders"
    if "grouped" in fields and not _has_owner_column(fields):
        return "-g sorts by owners, which are not shown without -a or -o"
    return ""


def _columns(fields: "Fields") -> list[str]:
    """The columns to sort by; "running" is equal for all pending tasks, which keeps their order."""
    columns: list[str] = ["owner", "running"] if "grouped" in fields else fields.get("sort", ["running"])
    if "owner" in columns and not _has_owner_column(fields):
        program.print_error("qstatus: owners are not shown, so jobs are not sorted by them")
        columns = [name for name in columns if name != "owner"]
    return columns


def _listing(lines: "list[TaskLine]", runs: bool, user: str, relative: bool) -> "Iterator[str]":
    """A heading, a line per task, an empty line. `user`: the owner of all tasks, "" for a column of owners."""
    owner = "" if user else f"{'owner':<10} "
    moment = "start time          running in" if runs else "submit time        "
    yield f"{'Running' if runs else 'Waiting'} jobs{f' for user: {user}' if user else ':'}\n"
    heading = f" job-ID  # {'name':<{_NAME_WIDTH}} {owner}{moment}"
    yield f"{heading}\n{'-' * len(heading)}\n"
    now = time.time()
    for line in lines:
        owner_column = "" if user else f"{_cut(line.owner)} "
        when = _age(now - line.time) if relative else time.strftime("%m/%d/%Y %H:%M:%S", time.localtime(line.time))
        where = f"{line.running:<10} " if runs else ""
        remark = f"({line.remark})" if line.remark else ""
        yield f"{line.job:>7} {line.slots:>2} {_shorten(line.name):<{_NAME_WIDTH}} {owner_column}{when:>19} {where}{remark}\n"
    yield "\n"


def _counts(lines: "list[TaskLine]", runs: bool, by_owner: bool) -> "Iterator[str]":
    """Numbers of jobs and slots, serial and parallel, by owner, and the total if there may be several owners."""
    sums: dict[str, list[int]] = {}
    for line in lines:
        for name in (line.owner, ""):
            counts = sums.setdefault(name, [0] * 4)
            counts[2 * line.parallel] += 1
            counts[2 * line.parallel + 1] += line.slots
    rule = "-" * 39 + "\n"
    yield f"\n                {'running' if runs else 'waiting'} #jobs/#slots\nOwner        serial   parallel    total\n{rule}"
    for name in sorted(filter(None, sums)):
        yield f"{_cut(name)}  {_sums(sums[name])}\n"
    yield f"{rule}Sum         {_sums(sums[''])}\n\n" if by_owner else "\n"


def _sums(counts: list[int]) -> str:
    pairs = (counts[0], counts[1]), (counts[2], counts[3]), (counts[0] + counts[2], counts[1] + counts[3])
    return "   ".join(f"{jobs:>3}/{slots:>3}" for jobs, slots in pairs)


def _cut(name: str) -> str:
    return f"{name[:9]}>" if len(name) > 10 else f"{name:<10}"


def _shorten(name: str) -> str:
    """A long name without its middle."""
    return name if len(name) <= _NAME_WIDTH else f"{name[:11]}...{name[-11:]}"


def _age(seconds: float) -> str:
    """`-1d 02:03:04`."""
    whole = max(0, int(seconds))
    return f"-{whole // 86400}d {whole // 3600 % 24:02}:{whole // 60 % 60:02}:{whole % 60:02}"
