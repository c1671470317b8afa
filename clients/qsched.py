"""qsched: what the scheduler keeps free for waiting jobs (-R y), and from when. Source: qsched(1); statement UT-1.

Owns the tables of 8.1.9. What they show is of the last scheduling run.

Deviation: 8.1.9 reads a file that a program beside the scheduler makes of `common/schedule`, minutes late, and only with MONITOR
in the scheduler's params; here the qmaster is asked.
"""

import time

from clients import program
from gridengine.options.planned import PLANNED_OPTIONS
from gridengine.quantities import long_date
from gridengine.units import parse_memory

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    Fields = dict[str, Any]
    Row = dict[str, Any]

#: an instance is shown as free if it has as much as this of each
_LEAST = {"slots": 1.0, "h_vmem": 2.0**30}
_HEADINGS = ("job-ID", "user", "start", "end", "slots", "h_vmem")


def qsched(arguments: list[str]) -> int:
    """Print what the options ask for; the exit status."""
    fields, operands = program.simple_options("qsched", PLANNED_OPTIONS, _divided(arguments))
    if operands:
        return program.misused("qsched", f'qsched: invalid option argument "{operands[0]}"')
    everybody = not fields.keys().isdisjoint(("all", "jobs", "queues"))
    users = ["*"] if everybody else [fields["user"]] if "user" in fields else []
    body: Fields = {"planned": {"users": users}}
    if "queues" in fields:
        body["queues"] = {"resources": sorted(_LEAST)}
    data = program.read("status", body)
    if "queues" in fields:
        program.show(_free_instances(data))
        return 0
    rows = _chosen(data["planned"], fields)
    program.show(_details(rows) if "full" in fields else _table(rows))
    return 0


def _divided(arguments: list[str]) -> list[str]:
    """`--user=alice` as two words."""
    words: list[str] = []
    for word in arguments:
        name, sign, value = word.partition("=")
        words += [name, value] if sign and word.startswith("--") else [word]
    return words


def _chosen(rows: "list[Row]", fields: "Fields") -> "list[Row]":
    """Those that are asked for; in the order of -j, by number, or by start."""
    if "jobs" in fields:
        return [row for job, task in fields["jobs"] for row in rows if row["job"] == job and task in (0, row["task"])]
    return sorted(rows, key=lambda row: (row["job"], row["task"])) if "by_job" in fields else rows


def _table(rows: "list[Row]") -> "Iterator[str]":
    cells = [
        (_label(row), row["owner"], _moment(row["start_time"]), _moment(row["end_time"]), str(row["slots"]), row["h_vmem"] or "0")
        for row in rows
    ]
    widths = [max(map(len, column)) for column in zip(_HEADINGS, ("", "", "x" * 19, "x" * 19, "", ""), *cells, strict=True)]
    yield "  ".join(map(str.ljust, _HEADINGS, widths)) + "\n"
    yield "  ".join("-" * width for width in widths) + "\n"
    for cell in cells:
        left, right = map(str.ljust, cell[:4], widths), map(str.rjust, cell[4:], widths[4:])
        yield "  ".join([*left, *right]) + "\n"


def _details(rows: "list[Row]") -> "Iterator[str]":
    for row in rows:
        slots = row["slots"]
        yield f"Job {_label(row)}\n"
        yield f"    user      = {row['owner']}\n"
        yield f"    start     = {long_date(row['start_time'])}\n"
        yield f"    end       = {long_date(row['end_time'])}\n"
        yield f"    slots     = {slots}\n"
        yield f"    h_vmem    = {row['h_vmem'] or 0}\n"
        yield f"    pe        ={_entry(row['pe'], [['slots', slots]]) if row['pe'] else ''}\n"
        yield f"    queue     ={''.join(_entry(name, [['slots', number]]) for name, number in row['granted'])}\n"
        yield f"    resources ={''.join(_entry(host, taken) for host, taken in row['hosts'].items())}\n\n"


def _free_instances(data: "Fields") -> "Iterator[str]":
    """-q: instances that have something free, and the tasks for which something is kept there."""
    for instance in data["queues"]:
        free = {name: value for _, name, value in instance["resources"]}
        if all(parse_memory(free[name]) >= least for name, least in _LEAST.items() if name in free):
            kept = [_label(row) for row in data["planned"] if any(name == instance["name"] for name, _ in row["granted"])]
            values = [f"{name}={free[name]}" for name in sorted(free)]
            yield " ".join([f"{instance['name']}:", *values, *kept]) + "\n"


def _entry(name: str, amounts: "list[list[Any]]") -> str:
    """` all.q@h1 (slots = 2)`."""
    return f" {name} ({', '.join(f'{consumable} = {_amount(amount)}' for consumable, amount in amounts)})"


def _amount(amount: float) -> str:
    """The largest letter by which it is a whole number: `2G`, `1000`."""
    for letter, unit in (("T", 2**40), ("G", 2**30), ("M", 2**20), ("K", 2**10)):
        if amount and amount % unit == 0:
            return f"{amount / unit:g}{letter}"
    return f"{amount:.15g}"


def _label(row: "Row") -> str:
    return f"{row['job']}.{row['task']}"


def _moment(moment: float) -> str:
    """A time as qstat prints it."""
    return time.strftime("%m/%d/%Y %H:%M:%S", time.localtime(moment))


def main() -> int:
    return program.run("qsched", qsched)
