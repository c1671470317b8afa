"""Effects of a change of the configuration on the cell as it is now: the question to the qmaster, and the lines of its answer.

Owns the texts around the figures of the request `forecast` about a change (docs/gdi.md). Called by `config` and `policy_try`
after the plan of the change, which has the instances that appear, go, or become orphaned or ambiguous. Source: adr/0335.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import typer

from clients import gdi
from clients.admin.errors import AdminError
from clients.render.forecasts import expected_range
from gridengine.values.printable import printable
from gridengine.values.quantities import iso_date
from gridengine.values.units import counted

Row = dict[str, Any]
_PLANNED = frozenset("oc")
"""State codes that the plan of a change explains."""


def show_effects(changes: list[dict[str, Any]], starts: bool) -> None:
    """Print the effects; a line on stderr if they cannot be computed: the plan is valid without them. `starts`: with the expected
    starts. AdminError: the qmaster does not answer."""
    try:
        answer = gdi.call("forecast", {"about": "change", "jobs": [], "changes": changes, "starts": starts})
    except gdi.Unreachable as error:
        raise AdminError(str(error)) from None
    if answer.status:
        typer.echo(f"no effects are shown: {'; '.join(text for _, text in answer.answers)}", err=True)
        return
    for line in effect_lines(printable(answer.data)):
        typer.echo(line)


def effect_lines(effects: dict[str, Any]) -> Iterator[str]:
    """The lines of an answer: a heading for each kind of effect, and its first rows."""
    yield "effects on the cell as it is now, nothing is changed:"
    states = [line for group in effects["instances"]["first"] if (line := _states(group))]
    for line in states:
        yield f"  {line}"
    is_any = bool(states)
    for kind, (heading, text) in _KINDS.items():
        listed = effects.get(kind)
        if listed and listed["count"]:
            is_any = True
            yield f"  {heading}: {listed['count']}"
            yield from (f"    {text(row)}" for row in listed["first"])
            if listed["count"] > len(listed["first"]):
                yield f"    and {listed['count'] - len(listed['first'])} more"
    if not is_any:
        yield f"  none on queue states, reservations, running tasks and {counted(effects['pending'], 'pending job')}"
    if effects["examined"] < effects["pending"]:
        yield f"  whether they can ever start is known of the first {effects['examined']} of {effects['pending']} pending jobs"


def _states(group: Row) -> str:
    """Queue instances that change their state; "" for states that the plan has."""
    before, after = group["before"], group["after"]
    if after is None or set(before or "") ^ set(after) <= _PLANNED:
        return ""
    hidden = group["count"] - len(group["names"])
    names = " ".join(group["names"]) + (f" and {hidden} more" if hidden else "")
    tasks = f" ({counted(group['tasks'], 'task')} there)" if group["tasks"] else ""
    if before is None:
        return f"{counted(group['count'], 'new queue instance')} in state {after}: {names}"
    change = f"from state {before} to {after}" if before and after else f"to state {after}" if after else f"out of state {before}"
    return f"{counted(group['count'], 'queue instance')} {change}: {names}{tasks}"


def _job(row: Row) -> str:
    return f'job {row["id"]} ("{row["name"]}") of {row["owner"]}'


def _tasks(row: Row) -> str:
    """A job with its number of tasks that start now, and the cause if they are fewer."""
    tasks = f", {row['after']} instead of {counted(row['before'], 'task')}" if max(row["before"], row["after"]) > 1 else ""
    return f"{_job(row)}{tasks}" + (f": {row['text']}" if "text" in row else "")


def _running(row: Row) -> str:
    what = row["text"] or f"state {row['before']} -> {row['after']}"
    return f"{_job(row)}, task {row['task']} in {row['instance']}: {what}"


def _reservation(row: Row) -> str:
    verb = "breaks" if row["broken"] else "stays"
    return f"advance reservation {row['id']} of {row['owner']} {verb}: {'; '.join(row['texts'])}"


def _planned(row: Row) -> str:
    before, after = (iso_date(row[side]) if row[side] else "none" for side in ("before", "after"))
    return f"{_job(row)}: {before} -> {after}"


def _place(row: Row) -> str:
    return f"{row['before'] or '-':>6} -> {row['after'] or '-':<6} {_job(row)}"


def _expected(row: Row) -> str:
    return f"{_job(row)}: {_when(row['before'])} -> {_when(row['after'])}"


def _when(times: Row) -> str:
    """An expected start as a range, or the sentence why there is none."""
    return f"none ({times['text']})" if times["text"] else expected_range(times)


_KINDS: dict[str, tuple[str, Callable[[Row], str]]] = {
    "starting": ("pending jobs that could start now", _tasks),
    "waiting": ("pending jobs that could no longer start now", _tasks),
    "possible": ("pending jobs that could start at all", _job),
    "impossible": ("pending jobs that could never start", lambda row: f"{_job(row)}: {row['text']}"),
    "running": ("running tasks that are affected", _running),
    "reservations": ("advance reservations that are affected", _reservation),
    "planned": ("reserved starts of pending jobs (-R y) that move", _planned),
    "order": ("pending jobs with another place", _place),
    "expected": ("expected starts that move, of the first pending jobs", _expected),
}
"""Kinds of effects: heading, and the text of a row."""
