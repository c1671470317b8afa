"""qstatus: the jobs of a user in short, with sums by owner. Source: qstatus(1); statement UT-1.

Owns the tables of 8.1.9: what runs, then what waits, each only if there is something. A row a task.

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
_WORDS_OF_RUNNING = {"d": "stalled", "s": "suspended", "S": "suspended by queue"}
_WORDS_OF_WAITING = {"E": "Error", "h": "hold"}


class TaskLine:
    """A task that runs or waits. `job`, `slots`: numbers; `time`: epoch s of start or submission; `running`: where."""

    def __init__(self, row: "list[Any]", fields: "Fields", runs: bool) -> None:
        details = details_of(row)
        self.job, self.owner, self.time, letters = row[ID], row[OWNER], row[TIME], row[STATE_CODES]
        self.name = row[NAME] + (f"[{row[TASKS]}]" if "tasks" in fields and row[TASKS] != "" else "")
        pe = details["granted_pe"] if runs else details["pe"]
        self.parallel = pe is not None
        self.slots = (pe[1] if runs else _least(pe[1])) if pe else 1
        queue, _, host = master_of(row).partition("@")
        self.running = host.partition(".")[0] if "machine" in fields else queue
        words = _WORDS_OF_RUNNING if runs else _WORDS_OF_WAITING
        self.remark = ", ".join(word for letter, word in words.items() if letter in letters)


def _least(pe_range: str) -> int:
    """The smallest number of slots that a job asks for."""
    return int(pe_range.partition(",")[0].partition("-")[0] or 1)


def qstatus(arguments: list[str]) -> int:
    """Print what the options ask for; the exit status."""
    fields, operands = program.simple_options("qstatus", OVERVIEW_OPTIONS, _divided(arguments))
    fault = _contradiction(fields, operands)
    if fault:
        return program.misused("qstatus", f"qstatus: {fault}")
    users = ["*"] if "all" in fields else operands  # none is the caller
    states = ["r", "p", *(["s"] if "suspended" in fields else [])]
    body = {"jobs": {"users": users, "states": states, "single": True, "details": ["requests"]}}
    data = program.read("status", body)["jobs"]
    with_owner, columns = _with_owner(fields), _columns(fields)
    for phase, runs in (("running", True), ("pending", False)):
        lines = [TaskLine(row, fields, runs) for row in data[phase]]
        if columns:
            lines.sort(key=lambda line: [getattr(line, name) for name in columns])
        if lines and "unlisted" not in fields:
            program.show(_listing(lines, runs, "" if with_owner else lines[0].owner, "relative" in fields))
        if lines and "counts" in fields:
            program.show(_counts(lines, runs, with_owner))
    return 0


def _divided(arguments: list[str]) -> list[str]:
    """`-acs job` and `-sjob` as words of one letter each; what is no such word stays as it is."""
    letters = {name[1:]: option for option in OVERVIEW_OPTIONS for name in option.names if len(name) == 2}
    words: list[str] = []
    follows = False  # an argument
    for word in arguments:
        if follows or word[:1] != "-" or len(word) < 3 or word[1] not in letters or word in ("-help", "--help"):
            words.append(word)
            follows = not follows and word == "-s"
            continue
        flags, sign, argument = word[1:].partition("s")
        words += [f"-{letter}" for letter in flags] + (["-s"] if sign else []) + ([argument] if argument else [])
        follows = bool(sign) and not argument
    return words


def _with_owner(fields: "Fields") -> bool:
    return bool(fields.get("owner", "all" in fields))


def _contradiction(fields: "Fields", operands: list[str]) -> str:
    """Why these options cannot be meant together; "" if they can."""
    if len(operands) > 1:
        return f'one user is expected, "{operands[1]}" is another'
    if operands and "all" in fields:
        return f'-a means all users, "{operands[0]}" one'
    if "grouped" in fields and "sort" in fields:
        return "-g and -s are two orders"
    if "grouped" in fields and not _with_owner(fields):
        return "-g sorts by owners, which are not shown without -a or -o"
    return ""


def _columns(fields: "Fields") -> list[str]:
    """By which columns lines are sorted; "running" is the same for all that wait, which keeps their order."""
    wanted: list[str] = ["owner", "running"] if "grouped" in fields else fields.get("sort", ["running"])
    if "owner" in wanted and not _with_owner(fields):
        program.complain("qstatus: owners are not shown, so jobs are not sorted by them")
        wanted = [name for name in wanted if name != "owner"]
    return wanted


def _listing(lines: "list[TaskLine]", runs: bool, user: str, relative: bool) -> "Iterator[str]":
    """A heading, a line a task, an empty line. `user`: whose they are; "" for a column of owners."""
    owner = "" if user else f"{'owner':<10} "
    moment = "start time          running in" if runs else "submit time        "
    yield f"{'Running' if runs else 'Waiting'} jobs{f' for user: {user}' if user else ':'}\n"
    heading = f" job-ID  # {'name':<{_NAME_WIDTH}} {owner}{moment}"
    yield f"{heading}\n{'-' * len(heading)}\n"
    now = time.time()
    for line in lines:
        who = "" if user else f"{_cut(line.owner)} "
        when = _ago(now - line.time) if relative else time.strftime("%m/%d/%Y %H:%M:%S", time.localtime(line.time))
        where = f"{line.running:<10} " if runs else ""
        remark = f"({line.remark})" if line.remark else ""
        yield f"{line.job:>7} {line.slots:>2} {_short(line.name):<{_NAME_WIDTH}} {who}{when:>19} {where}{remark}\n"
    yield "\n"


def _counts(lines: "list[TaskLine]", runs: bool, by_owner: bool) -> "Iterator[str]":
    """Jobs and slots, of serial and parallel ones, by owner, and in all if there may be several."""
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


def _short(name: str) -> str:
    """A long name without its middle."""
    return name if len(name) <= _NAME_WIDTH else f"{name[:11]}...{name[-11:]}"


def _ago(seconds: float) -> str:
    """`-1d 02:03:04`."""
    whole = max(0, int(seconds))
    return f"-{whole // 86400}d {whole // 3600 % 24:02}:{whole // 60 % 60:02}:{whole % 60:02}"


def main() -> int:
    return program.run("qstatus", qstatus)
