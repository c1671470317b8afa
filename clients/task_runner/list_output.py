"""The output of qtasks: a table, the details of a command, and -json with the names of docs/schemas/qtasks.json."""

from gridengine.values.printable import printable
from gridengine.values.quantities import long_date

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from clients.task_runner.saved_list import SavedList
    from gridengine.task_lists.task_lines import ListedCommand
    from gridengine.task_lists.task_states import TaskState

_HEAD = ("number", "name", "state", "exit", "attempt", "host", "start", "seconds", "command")
_NUMBERS = ("number", "exit", "attempt", "seconds")
_MAX_OUTPUT = 1 << 20


def table(saved: "SavedList", lines: "Iterable[ListedCommand]") -> "Iterator[str]":
    """A line for each command, below a head."""
    rows = [_HEAD, *(_row(line, saved.state(line.number)) for line in lines)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = zip(_HEAD[:-1], row, widths, strict=False)
        fixed = [cell.rjust(width) if head in _NUMBERS else cell.ljust(width) for head, cell, width in cells]
        yield "  ".join([*fixed, row[-1]]) + "\n"


def _row(line: "ListedCommand", state: "TaskState") -> tuple[str, ...]:
    started = bool(state.start)
    return (
        str(line.number),
        line.name or "-",
        state.state,
        outcome(state),
        str(state.attempt) if state.attempt else "-",
        state.host or "-",
        long_date(state.start) if started else "-",
        f"{state.end - state.start:.3f}" if state.end else "-",
        printable(line.command),
    )


def outcome(state: "TaskState") -> str:
    """The exit status of the last attempt, or its signal; `-` for none."""
    if not state.end:
        return "-"
    return f"signal {state.signal}" if state.signal else str(state.exit_status)


def details(saved: "SavedList", line: "ListedCommand") -> "Iterator[str]":
    """Everything about a command, and the outputs that are kept apart."""
    for head, cell in zip(_HEAD, _row(line, saved.state(line.number)), strict=True):
        yield f"{head:<10}{cell}\n"
    if line.after:
        yield f"{'after':<10}{', '.join(map(str, line.after))}\n"
    if cause := saved.state(line.number).cause:
        yield f"{'skipped':<10}command {cause} has not ended with 0\n"
    for head, name in (("output", "out"), ("errors", "err")):
        try:
            with open(f"{saved.directory}/{name}/{line.number}", "rb") as file:
                text = file.read(_MAX_OUTPUT).decode("utf-8", "replace")
        except OSError:
            continue
        yield f"{head}:\n{text}" + ("" if text.endswith("\n") else "\n")


def as_json(saved: "SavedList", lines: "Iterable[ListedCommand]") -> "dict[str, Any]":
    return {"tasks": [_record(line, saved.state(line.number)) for line in lines]}


def _record(line: "ListedCommand", state: "TaskState") -> "dict[str, Any]":
    return {
        "number": line.number,
        "name": line.name or None,
        "command": line.command,
        "after": list(line.after),
        "state": state.state,
        "attempt": state.attempt,
        "host": state.host or None,
        "start_s": state.start or None,
        "end_s": state.end or None,
        "exit_status": state.exit_status if state.end and not state.signal else None,
        "signal": state.signal or None,
        "cause": state.cause or None,
    }
