"""The layout of host groups: a directed graph in layers, each group to the right of all groups that contain it.

Owns layers, the order within a layer, and positions; drawn by `templates/hostgroups.html`. Pure. Source: GU-1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

WIDTH, HEIGHT, GAP_X, GAP_Y, MARGIN = 190, 44, 70, 14, 8
"""Size of a box, and of the space between boxes; user units."""
_SWEEPS = 4


class GroupBox(NamedTuple):
    """A group with its position (`x`, `y`). `hosts`, `groups`: number of its direct members."""

    name: str
    x: int
    y: int
    hosts: int
    groups: int


class GroupLine(NamedTuple):
    """A line from a group (`holder`) to a member group (`held`); `path`: of SVG."""

    holder: str
    held: str
    path: str


class GroupGraph(NamedTuple):
    """`boxes`: of all groups; `lines`: between them. `width`, `height`: of the whole drawing."""

    boxes: list[GroupBox]
    lines: list[GroupLine]
    width: int
    height: int


def lay_out(members: Mapping[str, Sequence[str]]) -> GroupGraph:
    """The drawing of groups. `members`: hosts and groups of each group; unknown groups are ignored."""
    held = {name: [each for each in dict.fromkeys(of) if each in members] for name, of in members.items()}
    columns = _order_columns(_layers(held), held)
    rows = max(map(len, columns), default=0)
    boxes = {
        name: GroupBox(
            name,
            MARGIN + number * (WIDTH + GAP_X),
            MARGIN + row * (HEIGHT + GAP_Y),
            sum(not each.startswith("@") for each in members[name]),
            len(held[name]),
        )
        for number, column in enumerate(columns)
        for row, name in enumerate(column)
    }
    lines = [_line(boxes[name], boxes[each]) for name, of in held.items() for each in of]
    width = 2 * MARGIN + len(columns) * (WIDTH + GAP_X) - GAP_X if columns else 0
    return GroupGraph([*boxes.values()], lines, width, 2 * MARGIN + rows * (HEIGHT + GAP_Y) - GAP_Y if rows else 0)


def related(members: Mapping[str, Sequence[str]], name: str) -> set[str]:
    """A group with all its holders and all its member groups, also indirect."""
    holders: dict[str, list[str]] = {}
    for holder, of in members.items():
        for each in of:
            holders.setdefault(each, []).append(holder)
    return {name} | _reachable(members, name) | _reachable(holders, name)


def _reachable(steps: Mapping[str, Sequence[str]], begin: str) -> set[str]:
    reached: set[str] = set()
    ahead = [begin]
    while ahead:
        for each in steps.get(ahead.pop(), ()):
            if each.startswith("@") and each not in reached:
                reached.add(each)
                ahead.append(each)
    return reached


def _layers(held: Mapping[str, Sequence[str]]) -> list[list[str]]:
    """Groups by the length of the longest path to them. Groups of a cycle, which no qmaster accepts, come last."""
    waits = dict.fromkeys(held, 0)
    for of in held.values():
        for each in of:
            waits[each] += 1
    columns: list[list[str]] = []
    now = sorted(name for name, count in waits.items() if not count)
    placed = set(now)
    while now:
        columns.append(now)
        after: list[str] = []
        for name in now:
            for each in held[name]:
                waits[each] -= 1
                if not waits[each]:
                    after.append(each)
        now = sorted(after)
        placed.update(now)
    rest = sorted(held.keys() - placed)
    return [*columns, rest] if rest else columns


def _order_columns(columns: list[list[str]], held: Mapping[str, Sequence[str]]) -> list[list[str]]:
    """Place each group near its holders, so that few lines cross; unrelated groups come below the others."""
    holders: dict[str, list[str]] = {name: [] for name in held}
    for name, of in held.items():
        for each in of:
            holders[each].append(name)
    if columns:
        columns[0].sort(key=lambda name: (not held[name], name))
    for sweep in range(_SWEEPS):
        row_of = {name: row for column in columns for row, name in enumerate(column)}
        near, across = (holders, columns[1:]) if sweep % 2 == 0 else (held, columns[-2:0:-1])
        for column in across:
            column.sort(key=lambda name: _mean_row([row_of[each] for each in near[name]], row_of[name]))  # noqa: B023
            row_of.update((name, row) for row, name in enumerate(column))
    return columns


def _mean_row(neighbour_rows: list[int], own_row: int) -> float:
    return sum(neighbour_rows) / len(neighbour_rows) if neighbour_rows else own_row


def _line(holder: GroupBox, held: GroupBox) -> GroupLine:
    begin, end = (holder.x + WIDTH, holder.y + HEIGHT // 2), (held.x, held.y + HEIGHT // 2)
    middle = (begin[0] + end[0]) // 2
    path = f"M{begin[0]} {begin[1]}C{middle} {begin[1]} {middle} {end[1]} {end[0]} {end[1]}"
    return GroupLine(holder.name, held.name, path)
