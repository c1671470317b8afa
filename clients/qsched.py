"""qsched: the resources that the scheduler reserves for waiting jobs (-R y), and their times. Source: qsched(1); statement UT-1.

Owns the tables of 8.1.9. They show the result of the last scheduling run.

Deviation: 8.1.9 reads a file that a separate program makes of `common/schedule`, minutes late, and only with MONITOR in the
scheduler's params; here the command sends a request to the qmaster.
"""

import time

from clients import program
from gridengine.options.planned import PLANNED_OPTIONS
from gridengine.values.quantities import long_date
from gridengine.values.units import parse_memory

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    Fields = dict[str, Any]
    Row = dict[str, Any]

#: an instance is shown as free if it has at least these amounts
_MINIMUM = {"slots": 1.0, "h_vmem": 2.0**30}
_HEADINGS = ("job-ID", "user", "start", "end", "slots", "h_vmem")


def qsched(arguments: list[str]) -> int:
    """Print the selected plans; the exit status."""
    fields, operands = program.simple_options("qsched", PLANNED_OPTIONS, _split_options(arguments))
    if operands:
        return program.report_misuse("qsched", f'qsched: invalid option argument "{operands[0]}"')
    all_users = not fields.keys().isdisjoint(("all", "jobs", "queues"))
    users = ["*"] if all_users else [fields["user"]] if "user" in fields else []
    body: Fields = {"planned": {"users": users}}
    if "queues" in fields:
        body["queues"] = {"resources": sorted(_MINIMUM)}
    data = program.read("status", body)
    if "queues" in fields:
        program.show(_free_instances(data))
        return 0
    rows = _select_rows(data["planned"], fields)
    program.show(_details(rows) if "full" in fields else _table(rows))
    return 0


def _split_options(arguments: list[str]) -> list[str]:
    """The arguments, with `--user=alice` split into two."""
    tokens: list[str] = []
    for argument in arguments:
        name, sign, value = argument.partition("=")
        tokens += [name, value] if sign and argument.startswith("--") else [argument]
    return tokens


def _select_rows(rows: "list[Row]", fields: "Fields") -> "list[Row]":
    """The rows of the selected tasks; in the order of -j, by number, or by start."""
    if "jobs" in fields:
        return [row for job, task in fields["jobs"] for row in rows if row["job"] == job and task in (0, row["task"])]
    return sorted(rows, key=lambda row: (row["job"], row["task"])) if "by_job" in fields else rows


def _table(rows: "list[Row]") -> "Iterator[str]":
    cells = [
        (
            _label(row),
            row["owner"],
            _date_text(row["start_time"]),
            _date_text(row["end_time"]),
            str(row["slots"]),
            row["h_vmem"] or "0",
        )
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
    """-q: instances with free resources, and the tasks for which resources are reserved there."""
    for instance in data["queues"]:
        free = {name: value for _, name, value in instance["resources"]}
        if all(parse_memory(free[name]) >= minimum for name, minimum in _MINIMUM.items() if name in free):
            task_labels = [_label(row) for row in data["planned"] if any(name == instance["name"] for name, _ in row["granted"])]
            values = [f"{name}={free[name]}" for name in sorted(free)]
            yield " ".join([f"{instance['name']}:", *values, *task_labels]) + "\n"


def _entry(name: str, amounts: "list[list[Any]]") -> str:
    """` all.q@h1 (slots = 2)`."""
    return f" {name} ({', '.join(f'{consumable} = {_amount(amount)}' for consumable, amount in amounts)})"


def _amount(amount: float) -> str:
    """An amount as a whole number with the largest possible suffix: `2G`, `1000`."""
    for suffix, unit in (("T", 2**40), ("G", 2**30), ("M", 2**20), ("K", 2**10)):
        if amount and amount % unit == 0:
            return f"{amount / unit:g}{suffix}"
    return f"{amount:.15g}"


def _label(row: "Row") -> str:
    return f"{row['job']}.{row['task']}"


def _date_text(moment: float) -> str:
    """A time as qstat prints it."""
    return time.strftime("%m/%d/%Y %H:%M:%S", time.localtime(moment))
