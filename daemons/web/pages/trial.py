"""A change of the configuration tried on a copy of the cell: the effects that a form shows before the change is saved.

Owns the question to the qmaster, where a process answers (adr/0335), and the sections of the answer. Called by the pages of
objects. Nothing is changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from daemons.runtime.qmaster_client import NoQmasterError
from daemons.web.pages.formats import NOTHING, moment
from daemons.web.pages.page import Visit
from gridengine.protocols.gdi.requests import Answer

Row = dict[str, Any]
_COLUMNS = {"before": "Before", "after": "After", "text": "Reason"}


class EffectRow(NamedTuple):
    """A job or a reservation that is affected: `label` and `address` of its page, values `before` and `after`, the reason."""

    label: str
    address: str
    owner: str
    before: str
    after: str
    text: str


class EffectSection(NamedTuple):
    """Effects of one kind below a `heading`: the first `rows` of `total`."""

    heading: str
    total: int
    rows: list[EffectRow]

    @property
    def columns(self) -> list[tuple[str, str]]:
        """The columns that have values: field and label."""
        return [(field, label) for field, label in _COLUMNS.items() if any(getattr(row, field) for row in self.rows)]

    @property
    def heads(self) -> list[tuple[str, str, str]]:
        """All columns, as a table takes them."""
        return [(label, "", "") for label in ("Name", "Owner", *(label for _, label in self.columns))]


class Trial(NamedTuple):
    """The effects of a change: `instances` by state codes (docs/gdi.md), and `sections` of jobs and reservations. `pending`:
    number of pending jobs. `refusal`: the reason if there are no effects."""

    instances: list[Row]
    sections: list[EffectSection]
    pending: int
    refusal: str = ""


async def try_on_cell(visit: Visit, changes: list[dict[str, Any]]) -> Trial:
    """The effects of changes of objects, as the visitor would make them."""
    body = {"about": "change", "jobs": [], "changes": changes, "starts": True}
    try:
        answer = await visit.shared.ask("forecast", body, visit.caller)
    except NoQmasterError as away:
        answer = Answer(1, [("error", str(away))])
    if answer.status:
        return Trial([], [], 0, " ".join(text for _, text in answer.answers))
    effects: Any = answer.data
    return Trial(effects["instances"]["first"], [*_sections(effects)], effects["pending"])


def _sections(effects: dict[str, Any]) -> Iterator[EffectSection]:
    for kind, (heading, made) in _KINDS.items():
        listed = effects.get(kind, {"count": 0})
        if listed["count"]:
            yield EffectSection(heading, listed["count"], [made(row) for row in listed["first"]])


def _of_job(row: Row, before: str = "", after: str = "", label: str = "") -> EffectRow:
    shown = f"{label or row['id']} {row['name']}"
    return EffectRow(shown, f"/jobs/{row['id']}", row["owner"], before, after, row.get("text", ""))


def _tasks(row: Row) -> EffectRow:
    is_array = max(row["before"], row["after"]) > 1
    return _of_job(row, f"{row['before']} tasks", f"{row['after']} tasks") if is_array else _of_job(row)


def _running(row: Row) -> EffectRow:
    before, after = (row["before"], row["after"]) if row["before"] != row["after"] else ("", "")
    return _of_job(row, before, after, f"{row['id']}.{row['task']}")


def _reservation(row: Row) -> EffectRow:
    after = "in error" if row["broken"] else ""
    label = f"{row['id']} {row['name']}".rstrip()
    return EffectRow(label, f"/reservations/{row['id']}", row["owner"], "", after, "; ".join(row["texts"]))


def _places(row: Row) -> EffectRow:
    return _of_job(row, str(row["before"] or NOTHING), str(row["after"] or NOTHING))


def _expected(row: Row) -> EffectRow:
    return _of_job(row, _range(row["before"]), _range(row["after"]))


def _range(times: Row) -> str:
    earliest, latest = times["earliest"], times["latest"]
    if times["text"]:
        return str(times["text"])
    if not earliest:
        return f"later than {moment(times['later_than'])}"
    if latest - earliest >= 1:
        return f"{moment(earliest)} to {moment(latest)}"
    return moment(earliest) if latest else f"{moment(earliest)} or later"


_KINDS: dict[str, tuple[str, Callable[[Row], EffectRow]]] = {
    "starting": ("Pending jobs that could start now", _tasks),
    "waiting": ("Pending jobs that could no longer start now", _tasks),
    "possible": ("Pending jobs that could start at all", _of_job),
    "impossible": ("Pending jobs that could never start", _of_job),
    "running": ("Running tasks that are affected", _running),
    "reservations": ("Advance reservations that are affected", _reservation),
    "planned": ("Reserved starts of pending jobs", lambda row: _of_job(row, moment(row["before"]), moment(row["after"]))),
    "order": ("Places of pending jobs", _places),
    "expected": ("Expected starts", _expected),
}
"""Kinds of effects: heading, and the row of an effect."""
