"""Spools of other versions and damaged spools: upgraded as a whole, or refused with position and reason and not changed."""

from __future__ import annotations

import shutil
import zlib
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import msgspec
import pytest

from daemons.qmaster.spooling import spool_versions
from daemons.qmaster.spooling.cell_identity import claim_spool
from daemons.qmaster.spooling.spool import Spool
from daemons.qmaster.spooling.spool_file import SpoolError
from daemons.qmaster.spooling.spool_versions import STEPS, VERSION, Record, Step
from daemons.runtime.cell import Cell
from tests.past.kept import DATA, unpack

FIRST = DATA / "spool-v1"
MIDDLE, LAST = 300, 422
"""Revisions of transactions in the journal of the kept spool."""


@pytest.fixture
def spool(tmp_path: Path) -> Path:
    """A spool of version 1."""
    return unpack(FIRST, tmp_path)


def ask(spool: Path, query: str, *values: Any) -> Any:
    """The first value of the result of a query; only a query that changes the file changes it."""
    with closing(apsw.Connection(str(spool))) as db:
        row = db.execute(query, values).fetchone()
    return row[0] if row else None


def version(spool: Path) -> str:
    return str(ask(spool, "select value from meta where key='version'"))


def events(spool: Path, revision: int) -> list[Record]:
    found: list[Record] = msgspec.json.decode(ask(spool, "select events from journal where revision=?", revision))
    return found


def contents(directory: Path) -> dict[str, bytes]:
    """All bytes that a reader of the spool would see, without the index of the side file and without an empty side file."""
    return {file.name: file.read_bytes() for file in directory.iterdir() if file.suffix != ".db-shm" and file.stat().st_size}


def refusal(spool: Path) -> str:
    """The reason for which the spool is not read. Nothing is written."""
    before = contents(spool.parent)
    with pytest.raises(SpoolError) as refused:
        Spool(spool).load()
    assert contents(spool.parent) == before
    return str(refused.value)


# --- upgrades --------------------------------------------------------------------------------------------------


def test_there_is_a_step_from_each_version() -> None:
    assert list(STEPS) == list(range(1, VERSION))


def test_an_upgrade_is_made_once(spool: Path) -> None:
    before = Spool(spool).load().snapshot()
    assert version(spool) == str(VERSION)
    assert Spool(spool).load().snapshot() == before


def _two_steps(monkeypatch: pytest.MonkeyPatch, event: Callable[[Record], Record] | None = None) -> None:
    """A program two versions later, with changed job names and mail addresses."""

    def renamed(record: Record) -> Record:
        if record["event"] == "JobSubmitted":
            record["job"]["name"] = "new_" + record["job"]["name"]
        return event(record) if event is not None else record

    def state(record: Record) -> Record:
        for job in record["jobs"].values():
            job["name"] = "new_" + job["name"]
        return record

    def mailed(record: Record) -> Record:
        for job in [record["job"]] if record["event"] == "JobSubmitted" else []:
            job["mail_list"] = [job["name"]]
        return record

    monkeypatch.setattr(spool_versions, "STEPS", {1: Step(renamed, state), 2: Step(mailed)})
    monkeypatch.setattr(spool_versions, "VERSION", 3)


def test_steps_rewrite_the_journal_and_the_snapshot_in_their_order(spool: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _two_steps(monkeypatch)
    names = {job.name: job for job in Spool(spool).load().jobs.values()}
    assert {"new_a_plain", "new_b_plain"} < names.keys() and not {"a_plain", "b_plain"} & names.keys()
    assert names["new_b_plain"].mail_list == ("new_b_plain",), "the later step has seen what the earlier one made"
    assert version(spool) == "3"


def test_flags_of_tasks_become_conditions_and_deleted_by_the_user_of_one(tmp_path: Path) -> None:
    """Act a is in the snapshot, where no flag had a user; act b is in the journal."""
    jobs = {job.name: job for job in Spool(unpack(DATA / "spool-v4", tmp_path)).load().jobs.values()}
    for act, user in (("a", ""), ("b", "root")):
        assert {name: jobs[f"{act}_{name}"].tasks[1].conditions for name in ("plain", "stopped", "outranked", "heated")} == {
            "plain": {},
            "stopped": {"suspended": ""},
            "outranked": {"subordinated": ""},
            "heated": {"threshold_suspended": ""},
        }
        assert jobs[f"{act}_dying"].tasks[1].conditions == {"deleted": "alice"}
        assert jobs[f"{act}_ordered"].tasks[1].conditions == {"deleted": "root", "ended_by_operator": user}
        assert jobs[f"{act}_moving"].tasks[1].conditions == {"rescheduling": user}


def test_an_ended_job_that_is_kept_whole_gets_its_conditions_too() -> None:
    ended = {"id": 1, "job": {"id": 1, "tasks": {"1": {"id": 1, "suspended": True, "deleted_by": "ann"}}}}
    convert = STEPS[4].state
    assert convert is not None
    (converted,) = convert({"finished": [ended, {"id": 2}]})["finished"][:1]
    assert converted["job"]["tasks"]["1"] == {"id": 1, "conditions": {"suspended": "", "deleted": "ann"}}


def test_a_crash_amid_the_upgrade_changes_nothing(spool: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a power failure the machine has the disk content at the rewrite of the last record."""
    crashed = tmp_path / "crashed"

    def crash(record: Record) -> Record:
        if record["event"] == "StraysAbandoned" and not crashed.exists():
            shutil.copytree(spool.parent, crashed, ignore=lambda *_: ["crashed"])
        return record

    before = ask(spool, "select group_concat(hex(events)) from journal")
    _two_steps(monkeypatch, crash)
    Spool(spool)
    for place, number, same in ((spool, "3", False), (crashed / "spool.db", "1", True)):
        assert version(place) == number
        assert (ask(place, "select group_concat(hex(events)) from journal") == before) is same
    assert Spool(crashed / "spool.db").load().snapshot() == Spool(spool).load().snapshot()


def test_a_failed_step_is_reported_and_changes_nothing(spool: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(record: Record) -> Record:
        return {**record, "task_id": record["task"]} if record["event"] == "TaskEnded" else record

    _two_steps(monkeypatch, wrong)
    assert "of the journal: cannot be brought to version 3 (KeyError: 'task')" in refusal(spool)


def test_a_result_that_the_state_refuses_is_not_written(spool: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _two_steps(monkeypatch, lambda record: {**record, "job_id": 7777} if record["event"] == "HoldsChanged" else record)
    assert "HoldsChanged cannot happen" in refusal(spool)
    assert version(spool) == "1"


# --- what cannot be read ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [str(VERSION + 1), "1000"])
def test_a_newer_version_is_refused_and_not_changed(spool: Path, number: str) -> None:
    ask(spool, "update meta set value=? where key='version'", number)
    assert refusal(spool) == (
        f"spool {spool} has version {number}, this program reads versions up to {VERSION}: start the newer program that wrote "
        "it, or put back a copy of the spool from before its upgrade"
    )


@pytest.mark.parametrize("number", ["two", "0", "-1", "1.5"])
def test_an_invalid_version_is_refused(spool: Path, number: str) -> None:
    ask(spool, "update meta set value=? where key='version'", number)
    assert refusal(spool) == f'cannot read spool {spool}: its version is "{number}"'


def test_a_check_keeps_the_side_file_of_a_killed_master(spool: Path, tmp_path: Path) -> None:
    killed = tmp_path / "killed"
    with closing(apsw.Connection(str(spool))) as db:
        db.execute("update meta set value='9' where key='version'")
        shutil.copytree(spool.parent, killed, ignore=lambda *_: ["killed"])
    assert (killed / "spool.db-wal").stat().st_size
    assert "has version 9" in refusal(killed / "spool.db")


def test_a_truncated_file_is_refused(spool: Path) -> None:
    whole = spool.read_bytes()
    spool.write_bytes(whole[: len(whole) * 2 // 3])
    assert refusal(spool) == f"cannot read spool {spool}: database disk image is malformed"


def test_a_file_that_lacks_a_part_of_its_last_page_is_refused(spool: Path) -> None:
    """The check covers all pages, also pages with old accounting records, which are not read at a start."""
    size = ask(spool, "pragma page_size")
    spool.write_bytes(spool.read_bytes()[: -size // 2])
    assert refusal(spool) == f"cannot read spool {spool}: it ends within a page, so its end is cut off"


def test_a_page_that_was_being_copied_from_the_log_is_not_damage(spool: Path, tmp_path: Path) -> None:
    """The log beside the file has the complete end of the file; a power failure at that moment leaves this state."""
    killed = tmp_path / "killed"
    with closing(apsw.Connection(str(spool))) as db:
        size = ask(spool, "pragma page_size")
        db.execute("insert into payload values(7777, zeroblob(?), null)", (3 * size,))
        shutil.copytree(spool.parent, killed, ignore=lambda *_: ["killed", "spool.db-shm"])
    with (killed / "spool.db").open("ab") as file:
        file.write(bytes(size // 2))
    assert Spool(killed / "spool.db").load().revision == LAST


def test_an_overwritten_page_is_refused(spool: Path) -> None:
    """The last page of the journal, which only the loading reads."""
    whole, size = spool.read_bytes(), ask(spool, "pragma page_size")
    root = (ask(spool, "select rootpage from sqlite_master where name='journal'") - 1) * size
    assert whole[root] == 5, "the root of the journal names the last page below it in its head"
    page = (int.from_bytes(whole[root + 8 : root + 12], "big") - 1) * size
    spool.write_bytes(whole[:page] + b"\xff" * size + whole[page + size :])
    assert refusal(spool) == f"cannot read spool {spool}: database disk image is malformed"


def test_an_unfinished_commit_is_not_damage(spool: Path, tmp_path: Path) -> None:
    """The commit was not acknowledged: the cell starts with its earlier state."""
    killed = tmp_path / "killed"
    Spool(spool).close()
    with closing(apsw.Connection(str(spool))) as db:
        db.execute("delete from journal where revision=?", (LAST,))
        shutil.copytree(spool.parent, killed, ignore=lambda *_: ["killed", "spool.db-shm"])
    log = killed / "spool.db-wal"
    log.write_bytes(log.read_bytes()[:-10])
    assert Spool(killed / "spool.db").load().revision == LAST


def test_a_newer_spool_is_not_marked_with_its_cell(spool: Path, tmp_path: Path) -> None:
    """`sge_qmaster` refuses the spool before it writes or starts anything."""
    cell = Cell(tmp_path / "root", "cell", "root", spool.parent, tmp_path / "execd", tmp_path / "run", 6444, 6446)
    cell.common.mkdir(parents=True)
    ask(spool, "update meta set value='99' where key='version'")
    before = spool.read_bytes()
    with pytest.raises(SpoolError, match="has version 99"):
        claim_spool(cell, False, 1_800_000_000.0)
    assert spool.read_bytes() == before
    assert not any(cell.common.iterdir())


def test_a_file_that_is_not_a_spool_is_refused(spool: Path) -> None:
    spool.write_text("all.q\n" * 1000)
    assert refusal(spool) == f"cannot read spool {spool}: file is not a database"


@pytest.mark.parametrize("upgraded", [False, True])
def test_a_torn_record_is_refused_with_its_revision(spool: Path, upgraded: bool) -> None:
    if upgraded:
        Spool(spool).close()
    ask(spool, "update journal set events=substr(events, 1, length(events) - 9) where revision=?", LAST)
    assert refusal(spool) == f"spool {spool}, revision {LAST} of the journal: Input data was truncated"


def test_a_torn_record_stops_an_upgrade_that_rewrites_it(spool: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ask(spool, "update journal set events=substr(events, 1, length(events) - 9) where revision=?", LAST)
    _two_steps(monkeypatch)
    assert refusal(spool) == f"spool {spool}, revision {LAST} of the journal: Input data was truncated"


@pytest.mark.parametrize("steps", [False, True])
def test_a_torn_snapshot_is_refused(spool: Path, monkeypatch: pytest.MonkeyPatch, steps: bool) -> None:
    ask(spool, "update snapshot set state=substr(state, 1, length(state) - 9)")
    if steps:
        _two_steps(monkeypatch)
    assert f"spool {spool}, the snapshot of revision " in (message := refusal(spool))
    assert "incomplete or truncated stream" in message


@pytest.mark.parametrize(
    ("event", "why"),
    [
        ({"event": "JobEnchanted", "job_id": 1}, "Invalid value 'JobEnchanted' - at `$[0].event`"),
        ({"event": "TaskEnded", "job_id": "x"}, "Expected `int`, got `str` - at `$[0].job_id`"),
        ({"event": "HoldsChanged", "job_id": 7777, "tasks": "1"}, "HoldsChanged cannot happen"),
        (
            {"event": "ObjectSet", "kind": "cluster_queue", "name": "b.q", "attributes": {}},
            "ObjectSet cannot be applied (KeyError: '",
        ),
    ],
)
def test_an_event_that_the_state_refuses(spool: Path, event: Record, why: str) -> None:
    ask(spool, "update journal set events=? where revision=?", msgspec.json.encode([event]), MIDDLE)
    assert refusal(spool).startswith(f"spool {spool}, revision {MIDDLE} of the journal: {why}")


def test_a_snapshot_of_another_type_is_refused(spool: Path) -> None:
    Spool(spool).close()
    ask(spool, "update snapshot set state=?", zlib.compress(b'{"jobs": []}'))
    assert refusal(spool).endswith("cannot be read (ValidationError: Expected `object`, got `array` - at `$.jobs`)")
