"""The page of `gridengine top`: the qmaster's answer, laid out to fit a terminal.

Owns sections, columns, and warnings. Pure: no clock, no terminal, no qmaster. Called by `top`.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from gridengine.values.units import format_duration, format_memory

#: from this width on, sections are in two columns
WIDE = 120
ORDERS = {"n": "name", "l": "load", "s": "slots"}
"""Keys that sort the hosts -> the value to sort by."""

Row = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Seen:
    """The data of a page: the qmaster's answer to `status`, local findings, and their age."""

    cell: str
    master: str
    time: float
    status: Mapping[str, Any]
    here: list[str] = field(default_factory=list)
    silent_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Section:
    """A table: columns, the first aligned left, and rows."""

    columns: tuple[str, ...]
    rows: Sequence[Row]

    def has_warning(self, row: Row) -> bool:
        """Whether a host's instances are unknown or in error."""
        return self.columns[0] == "HOST" and bool(set(row[1]) & set("uE"))


def frame(seen: Seen, width: int, height: int | None, order: str = "n") -> RenderableType:
    """The page for `width` columns and `height` lines; None: as long as it is."""
    wrong = list(find_problems(seen))
    shown = wrong if height is None else wrong[: max(1, height // 6)]
    lines = [_head(seen, order, width), _numbers(seen)]
    lines += [Text(f"! {text}", style="bold red", no_wrap=True, overflow="ellipsis") for text in shown]
    if more := len(wrong) - len(shown):
        lines.append(Text(f"! and {more} more", style="bold red"))
    sections = [each for each in _sections(seen, order) if each.rows]
    left = None if height is None else max(0, height - len(lines))
    if width < WIDE or len(sections) < 2:
        return Group(*lines, *_stacked(sections, left))
    grid = Table.grid(padding=(0, 2), expand=True)
    grid.add_column(ratio=1)
    grid.add_column(ratio=1)
    grid.add_row(Group(*_stacked(sections[:1], left)), Group(*_stacked(sections[1:], left)))
    return Group(*lines, grid)


def share_lines(available: int, demands: list[int]) -> list[int]:
    """Distribute `available` lines by demand: equal shares, with unneeded lines given to the other sections."""
    given = [0] * len(demands)
    while available > 0 and (hungry := [number for number, demand in enumerate(demands) if given[number] < demand]):
        for number in hungry[:available]:
            given[number] += 1
        available -= len(hungry[:available])
    return given


def find_problems(seen: Seen) -> Iterator[str]:
    """The problems for an administrator, the worst first."""
    if seen.silent_s:
        yield f"the qmaster has not answered for {format_duration(seen.silent_s)}: the data below is as old"
    instances = seen.status.get("queues", [])
    if lost := sorted({_host_of(each) for each in instances if "u" in each["states"]}):
        yield f"{len(lost)} host{'s' if lost[1:] else ''} unreachable: {', '.join(lost)}"
    yield from seen.here
    for each in instances:
        if "E" in each["states"]:
            yield f"{each['name']} is in error: {'; '.join(each['explain'].get('E', [])) or 'see qstat -f -explain E'}"
    for each in seen.status.get("reservations", {}).get("reservations", []):
        if each["state"] in ("E", "W"):
            why = "; ".join(each["errors"]) or f"see qrstat -ar {each['id']}"
            yield f"reservation {each['id']} is in state {each['state']}: {why}"
    if broken := seen.status.get("totals", {}).get("tasks", {}).get("error"):
        yield f"{broken} task{'s' if broken > 1 else ''} in error: see Eqw in qstat -u '*'"


def _head(seen: Seen, order: str, width: int) -> Text:
    clock = time.strftime("%H:%M:%S", time.localtime(seen.time))
    text = Text(f"cell {seen.cell} on {seen.master}  {clock}", style="bold", no_wrap=True, overflow="ellipsis")
    keys = f"   q quit, hosts by: n name, l load, s slots (now {ORDERS[order]})"
    return text.append(keys, style="dim") if len(text) + len(keys) <= width else text


def _numbers(seen: Seen) -> Text:
    instances, totals = seen.status.get("queues", []), seen.status.get("totals", {})
    up = {_host_of(each) for each in instances} - {_host_of(each) for each in instances if "u" in each["states"]}
    hosts = [each for each in seen.status.get("hosts", []) if each["name"] != "global"]
    slots = f"{sum(each['used'] for each in instances)} of {sum(each['total'] for each in instances)} slots in use"
    tasks = [f"{count} {name}" for name, count in totals.get("tasks", {}).items() if count]
    line = f"{len(up)} of {len(hosts)} hosts up, {slots}; tasks: {', '.join(tasks) or 'none'}"
    return Text(line, no_wrap=True, overflow="ellipsis")


def _host_of(instance: Mapping[str, Any]) -> str:
    return str(instance["name"]).partition("@")[2]


def _sections(seen: Seen, order: str) -> Iterator[Section]:
    yield Section(("HOST", "STATE", "SLOTS", "LOAD", "CPUS", "MEMORY", "SWAP"), _hosts(seen, order))
    queues = [
        (
            each["name"], f"{each['used']}/{each['resv']}/{each['total']}", str(each["available"]),
            _number(each["load"]), _closed(each),
        )
        for each in seen.status.get("cluster_queues", [])
    ]
    yield Section(("QUEUE", "USED/RESV/ALL", "FREE", "LOAD", "CLOSED"), queues)
    owners = [(name, str(placed), str(waiting)) for name, placed, waiting in seen.status.get("totals", {}).get("owners", [])]
    yield Section(("USER", "RUNNING", "WAITING"), owners)
    reservations = [
        (
            f"{each['id']} {each['name']}".strip(), each["owner"], each["state"],
            str(sum(slots for _, slots in each["granted"])), _moment(each["start_time"]), _moment(each["end_time"]),
        )
        for each in seen.status.get("reservations", {}).get("reservations", [])
    ]
    yield Section(("RESERVATION", "OWNER", "STATE", "SLOTS", "FROM", "TO"), reservations)


def _hosts(seen: Seen, order: str) -> list[Row]:
    """Hosts with problems first, then in the given order."""
    instances: dict[str, list[Mapping[str, Any]]] = {}
    for each in seen.status.get("queues", []):
        instances.setdefault(_host_of(each), []).append(each)
    found = []
    for each in seen.status.get("hosts", []):
        if each["name"] == "global":
            continue
        _, cpus, _, _, _, load, memory, memory_used, swap, swap_used = each["values"]
        own = instances.get(each["name"], [])
        state_codes = "".join(sorted({code for one in own for code in one["states"]}))
        used = sum(one["used"] for one in own)
        by = {"n": 0.0, "l": -float(load or 0), "s": -float(used)}[order]
        row = (
            each["name"], state_codes, f"{used}/{sum(one['total'] for one in own)}", _number(load),
            "-" if cpus is None else f"{cpus:.0f}", _part(memory_used, memory), _part(swap_used, swap),
        )
        found.append((not set(state_codes) & set("uE"), by, each["name"], row))
    return [row for *_, row in sorted(found)]


def _closed(queue: Mapping[str, Any]) -> str:
    """Slots that accept no jobs, by state code."""
    return " ".join(f"{code}:{count}" for code, count in queue["states"].items() if count)


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _part(used: float | None, whole: float | None) -> str:
    if used is None or whole is None:
        return "-"
    return f"{_short(used)}/{_short(whole)}"


def _short(size: float) -> str:
    """Memory with one decimal, as qhost has it."""
    text = format_memory(size)
    return f"{float(text[:-1]):.1f}{text[-1]}" if text[-1:].isalpha() else f"{size:.0f}"


def _moment(epoch: float) -> str:
    return time.strftime("%m/%d %H:%M", time.localtime(epoch))


def _stacked(sections: list[Section], height: int | None) -> Iterator[RenderableType]:
    """Tables below each other, each with as many rows as fit."""
    demands = [len(section.rows) for section in sections]
    given = demands if height is None else share_lines(height - len(sections), demands)
    for section, count in zip(sections, given, strict=True):
        if height is not None and not count:
            continue
        table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="reverse", expand=True)
        for number, column in enumerate(section.columns):
            table.add_column(column, no_wrap=True, justify="right" if number else "left", ratio=None if number else 1)
        cut = len(section.rows) > count
        for row in section.rows[: count - 1] if cut else section.rows:
            table.add_row(*(Text(cell) for cell in row), style="red" if section.has_warning(row) else "")
        if cut:
            table.add_row(Text(f"and {len(section.rows) - count + 1} more", style="dim"))
        yield table
