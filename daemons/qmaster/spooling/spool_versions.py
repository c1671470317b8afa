"""Versions of the spool: the changes of its records from each version to the next, and the upgrade of older spools.

Owns the table of steps and the rewriting, within a transaction of the caller, so an upgrade happens as a whole or not at all.
Light: no state, no Ray. Called by `spool` when it opens a file, and by `cell_identity` before the start. CONTRIBUTING.md
explains how to add a step.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import apsw
import msgspec

from daemons.qmaster.spooling import spool_file
from daemons.qmaster.spooling.spool_file import SpoolError
from gridengine.errors import plain_fault

VERSION = 5
"""The version that this program writes. Increased when a program of the version before would misread or lose records."""

KEY = "version"
"""Key of the version in the spool's table of facts."""

Record = dict[str, Any]
"""A record as decoded JSON, in the form of the version before; a step may change it in place."""


class Step(NamedTuple):
    """The step from one version to the next. `event`: converts an event of the journal; `state`: converts the snapshot
    (`gridengine.state.state.Snapshot`), and from version 4 on also parts of it that have only `jobs`. Each returns the record in
    the form of the next version; None if nothing changed."""

    event: Callable[[Record], Record] | None = None
    state: Callable[[Record], Record] | None = None


_FLAGS_OF_V4 = ("ended_by_operator", "rescheduling", "subordinated", "threshold_suspended", "suspended")


def _flags_to_conditions(state: Record) -> Record:
    """The flags of each task become the names in its `conditions`; `deleted_by` becomes the user of `deleted`."""
    ended = [finished["job"] for finished in state.get("finished", ()) if finished.get("job")]
    for job in (*state.get("jobs", {}).values(), *ended):
        for task in job.get("tasks", {}).values():
            conditions = {flag: "" for flag in _FLAGS_OF_V4 if task.pop(flag, False)}
            if user := task.pop("deleted_by", ""):
                conditions["deleted"] = user
            task["conditions"] = conditions
    return state


STEPS: dict[int, Step] = {
    # jobs may have a comment and a history, which a program of version 1 would lose; its records keep their meaning
    1: Step(),
    # hosts may be drained, which a program of version 2 would forget, and would send jobs there
    2: Step(),
    # the jobs of a snapshot have a table of their own, which a program of version 3 would not read; the next snapshot moves them
    3: Step(),
    # a task has one field for its conditions instead of six; the events keep their form
    4: Step(state=_flags_to_conditions),
}
"""Version -> the step from this version to the next."""


def check(path: Path) -> None:
    """Refuse a spool that this program cannot read, and leave it as it is. Raises SpoolError."""
    if not path.exists() or not path.stat().st_size:
        return
    try:
        # read-only: otherwise the last connection would merge the side file when it closes
        with closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)) as db:
            known = db.execute("select 1 from sqlite_master where name='meta'").fetchone()
            version = spool_file.recall(db, KEY) if known else ""
        cut_off = spool_file.ends_within_a_page(path)
    except (apsw.Error, OSError) as error:
        raise SpoolError(f"cannot read spool {path}: {plain_fault(error)}") from error
    if cut_off:
        raise SpoolError(f"cannot read spool {path}: it ends within a page, so its end is cut off")
    if version and not (version.isdecimal() and int(version)):
        raise SpoolError(f'cannot read spool {path}: its version is "{version}"')
    if version and int(version) > VERSION:
        raise SpoolError(
            f"spool {path} has version {version}, this program reads versions up to {VERSION}: start the newer program that "
            "wrote it, or put back a copy of the spool from before its upgrade"
        )


def upgrade(db: apsw.Connection, path: Path, version: int) -> None:
    """Rewrite all records of a spool of this earlier version, within the caller's transaction. Raises SpoolError, apsw.Error."""
    steps = [STEPS[number] for number in range(version, VERSION)]
    if changes := [step.event for step in steps if step.event is not None]:
        for revision, record in db.execute("select revision, events from journal order by revision").fetchall():
            location = f"revision {revision} of the journal"
            events = [_convert(changes, event, path, location) for event in _decode(record, path, location)]
            db.execute("update journal set events=? where revision=?", (msgspec.json.encode(events), revision))
    if changes := [step.state for step in steps if step.state is not None]:
        for revision, record in db.execute("select revision, state from snapshot").fetchall():
            location = f"the snapshot of revision {revision}"
            state = _convert(changes, _decode(record, path, location, packed=True), path, location)
            db.execute("update snapshot set state=?", (_pack(state),))
        for part, record in db.execute("select part, records from jobs order by part").fetchall():
            location = f"part {part} of the jobs of the snapshot"
            jobs = {str(job["id"]): job for job in _decode(record, path, location, packed=True)}
            changed = _convert(changes, {"jobs": jobs}, path, location)["jobs"]
            db.execute("update jobs set records=? where part=?", (_pack(list(changed.values())), part))


def _pack(value: Any) -> bytes:
    return zlib.compress(msgspec.json.encode(value), 1)


def _decode(record: Any, path: Path, location: str, packed: bool = False) -> Any:
    try:
        return msgspec.json.decode(zlib.decompress(record) if packed else record)
    except (zlib.error, msgspec.DecodeError) as error:
        raise SpoolError(f"spool {path}, {location}: {error}") from error


def _convert(changes: list[Callable[[Record], Record]], record: Record, path: Path, location: str) -> Record:
    try:
        for change in changes:
            record = change(record)
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        reason = f"{type(error).__name__}: {error}"
        raise SpoolError(f"spool {path}, {location}: cannot be brought to version {VERSION} ({reason})") from error
    return record
