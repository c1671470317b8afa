"""The spools of earlier releases are read, and contain their known facts."""

from __future__ import annotations

import tomllib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from gridengine.protocols.delivery import Ended, Inventory, Load
from gridengine.usage.accounting import AccountingRecord
from gridengine.values.task_key import TaskKey
from tests.harness import LOAD, Cell
from tests.past.kept import KEPT, unpack
from tests.past.play import ACTS, HOSTS
from tests.unit.qmaster.asking import read

Facts = dict[str, Any]


def resume(kept: Path, directory: Path, facts: Facts) -> Cell:
    """A cell that goes on with a copy of a kept spool; its hosts have reported again."""
    unpack(kept, directory)
    return heard(Cell.resumed(directory, list(HOSTS), facts["time"]), facts)


def heard(cell: Cell, facts: Facts) -> Cell:
    for host in cell.names:
        if host not in facts["lost"]:
            cell.report(host, Load(cell.now, dict(LOAD), full=True))
    return cell


def facts_of(kept: Path) -> Facts:
    return tomllib.loads((kept / "facts.toml").read_text())


def _in_act(fact: Any, act: str) -> Any:
    """A fact with the name of an act for each `*`."""
    if isinstance(fact, dict):
        return {_in_act(name, act): _in_act(value, act) for name, value in fact.items()}
    if isinstance(fact, list):
        return [_in_act(each, act) for each in fact]
    return fact.replace("*", act) if isinstance(fact, str) else fact


# --- what is found -------------------------------------------------------------------------------------------


def _status(cell: Cell, part: str, **body: Any) -> Any:
    return msgspec.json.decode(msgspec.json.encode(read(cell, "status", **{part: body}).data))[part]


def _gathered(rows: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    found = defaultdict(list)
    for name, text in rows:
        found[name].append(text)
    return dict(found)


def _text(*parts: object) -> str:
    return " ".join(str(element) for element in parts if element != "")


def _places(grants: list[list[Any]]) -> str:
    return " ".join(f"{grant[0]}:{grant[1]}" for grant in grants)


def jobs(cell: Cell) -> Facts:
    phases = _status(cell, "jobs", users=["*"], states=["p", "r", "s", "z"])
    rows = [row for phase in ("running", "pending", "finished", "inconsistent") for row in phases[phase]]
    return _gathered((row[2], _text(row[4], _places(row[6]), row[8])) for row in rows)


def details(cell: Cell) -> Facts:
    found = _status(cell, "job_detail", jobs=["*"])["jobs"]
    return {detail["name"]: detail for detail in found}


def online_usage(cell: Cell) -> Facts:
    return {
        name: usage for name, detail in details(cell).items() for usage in [task["usage"] for task in detail["tasks"]] if usage
    }


def scripts(cell: Cell) -> Facts:
    kept = ((job.name, cell.master.payload(job.id).script) for job in cell.state.jobs.values())
    return {name: script.decode() for name, script in kept if script is not None}


def reservations(cell: Cell) -> Facts:
    rows = _status(cell, "reservations", targets=["*"])["reservations"]
    return _gathered((row["name"], _text(row["state"], _places(row["granted"]), *row["errors"])) for row in rows)


def reservation_details(cell: Cell) -> Facts:
    return {row["name"]: row for row in _status(cell, "reservations", targets=["*"])["reservations"]}


def queues(cell: Cell) -> Facts:
    rows = _status(cell, "queues")
    return {row["name"]: _text(f"{row['resv']}/{row['used']}/{row['total']}", row["states"]) for row in rows}


def accounting(cell: Cell) -> Facts:
    return _gathered((record.job_name, f"{record.failed} {record.exit_status}") for record in _records(cell))


def _records(cell: Cell) -> list[AccountingRecord]:
    data: Any = read(cell, "accounting").data
    return [AccountingRecord(fields) for fields in data["records"]]


def share_usage(cell: Cell) -> Facts:
    rows: Any = read(cell, "share_usage").data
    return {f"{user} {project}": round(cpu, 2) for user, project, cpu, _, _ in rows}


def tasks_to_end(cell: Cell) -> Facts:
    hosts = cell.state.hosts.items()
    return {name: [f"{key[0]}.{key[1]}" for key in host.abandoned] for name, host in hosts if host.abandoned}


def configuration(cell: Cell, name: str) -> Facts:
    kind, _, name = name.partition(" ")
    shown: Any = read(cell, "config_show", kind=kind, names=[name]).data
    return {**shown[0].pop("attributes"), **shown[0]}


def history(cell: Cell, name: str) -> Facts:
    kind, _, name = name.partition(" ")
    changes: Any = read(cell, "config_history", kind=kind, name=name, limit=1).data
    (changed,) = changes[0]["objects"]
    values = {attribute: [changed["before"][attribute], value] for attribute, value in changed["after"].items()}
    return {"user": changes[0]["user"], "host": changes[0]["host"], **values}


WHOLE: tuple[Callable[[Cell], Facts], ...] = (
    jobs, online_usage, scripts, reservations, queues, accounting, tasks_to_end,
    share_usage,
)
"""Readings of which the facts say all."""

PARTS: tuple[Callable[[Cell], Facts], ...] = (details, reservation_details)
"""Queries; the facts name some attributes of some objects."""

ONE_BY_ONE: tuple[Callable[[Cell, str], Facts], ...] = (configuration, history)


def check(cell: Cell, facts: Facts) -> None:
    """Each fact is found."""

    def in_acts(reading: Callable[..., Facts]) -> Iterator[tuple[str, Any]]:
        for act in ACTS:
            yield from _in_act(facts[reading.__name__], act).items()

    for whole in WHOLE:
        assert whole(cell) == dict(in_acts(whole))
    for part in PARTS:
        found = part(cell)
        for name, named in in_acts(part):
            assert named == {attribute: found[name][attribute] for attribute in named}, name
    for one in ONE_BY_ONE:
        for name, named in in_acts(one):
            shown = one(cell, name)
            assert named == {attribute: shown[attribute] for attribute in named}, name


# --- the tests -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kept", KEPT, ids=lambda kept: kept.name)
def test_the_facts_of_a_kept_spool_hold_also_in_a_snapshot_of_today(kept: Path, tmp_path: Path) -> None:
    facts = facts_of(kept)
    cell = resume(kept, tmp_path, facts)
    check(cell, facts)
    cell.master.spool.snapshot(cell.state)
    cell.restart()
    check(heard(cell, facts), facts)


@pytest.mark.statement("EX-9")
@pytest.mark.parametrize("kept", KEPT, ids=lambda kept: kept.name)
def test_the_cell_goes_on_and_each_task_ends_once(kept: Path, tmp_path: Path) -> None:
    facts = facts_of(kept)
    cell = resume(kept, tmp_path, facts)
    before = len(_records(cell))
    there: dict[str, list[TaskKey]] = {host: [] for host in HOSTS if host not in facts["lost"]}
    for job in cell.state.jobs.values():
        for task in job.tasks.values():
            for slave in task.slaves.values():
                if not slave.over:
                    there[slave.host].append((job.id, task.id, task.attempt, slave.number))
            if task.host in there:
                there[task.host].append((job.id, task.id, task.attempt))
    for host, keys in there.items():
        (verdict,) = cell.report(host, Inventory(keys))
        assert verdict.forget == [] and verdict.orphans == [], "each is known"
    for key, host in sorted(((key, host) for host, keys in there.items() for key in keys), key=lambda one: -len(one[0])):
        cell.report(host, Ended(key, end_time=cell.now))
    assert len(_records(cell)) - before == sum(map(len, there.values()))
    assert {name: text for name, text in queues(cell).items() if "/0/" not in text and "u" not in text} == {}
    job = cell.ask("submit", "alice", "a1", name="next", script_file="/bin/sleep", binary=True)
    reservation = cell.ask("reserve", "alice", "a1", duration=60.0)
    numbers: list[Any] = [job.data, reservation.data]
    assert (numbers[0]["job_id"], numbers[1]["id"]) == (facts["next_job"], facts["next_reservation"])
