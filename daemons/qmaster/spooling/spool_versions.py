"""Versions of the spool: what changed from each to the next in the records that it holds, and how older ones are taken over.

Owns the table of steps and the rewriting, within a transaction of the caller: so an upgrade happens as a whole or not at all.
Light: no state, no Ray. Called by `spool` when it opens one, and by `cell_identity` before anything is started. How a step is
added: CONTRIBUTING.md.
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

VERSION = 4
"""The version that this program writes. Goes up when a program of the version before would misread or lose what is written."""

KEY = "version"
"""Under which it is kept in the spool's table of facts."""

Record = dict[str, Any]
"""A record as JSON has it, as the program of the version before wrote it; a step may change it in place."""


class Step(NamedTuple):
    """From one version to the next. `event`: an event of the journal; `state`: the snapshot (`gridengine.state.state.Snapshot`),
    and from version 4 on also parts of it that have `jobs` alone. Each gives the record as the next version has it; None where
    nothing changed."""

    event: Callable[[Record], Record] | None = None
    state: Callable[[Record], Record] | None = None


STEPS: dict[int, Step] = {
    # jobs may have a comment and have a story, which a program of version 1 would lose; what that wrote means the same
    1: Step(),
    # hosts may be drained, which a program of version 2 would forget, and would send jobs there
    2: Step(),
    # the jobs of a snapshot lie in a table of their own, which a program of version 3 would not read; they move with the next one
    3: Step(),
}
"""Version -> the step from it to the next."""


def check(path: Path) -> None:
    """Refuse a spool that this program cannot read, and leave it as it is. Raises SpoolError."""
    if not path.exists() or not path.stat().st_size:
        return
    try:
        # for reading only: else the last one who closes it would take its side file into it
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
            place = f"revision {revision} of the journal"
            events = [_changed(changes, event, path, place) for event in _decoded(record, path, place)]
            db.execute("update journal set events=? where revision=?", (msgspec.json.encode(events), revision))
    if changes := [step.state for step in steps if step.state is not None]:
        for revision, record in db.execute("select revision, state from snapshot").fetchall():
            place = f"the snapshot of revision {revision}"
            state = _changed(changes, _decoded(record, path, place, packed=True), path, place)
            db.execute("update snapshot set state=?", (_packed(state),))
        for part, record in db.execute("select part, records from jobs order by part").fetchall():
            place = f"part {part} of the jobs of the snapshot"
            jobs = {str(job["id"]): job for job in _decoded(record, path, place, packed=True)}
            changed = _changed(changes, {"jobs": jobs}, path, place)["jobs"]
            db.execute("update jobs set records=? where part=?", (_packed(list(changed.values())), part))


def _packed(value: Any) -> bytes:
    return zlib.compress(msgspec.json.encode(value), 1)


def _decoded(record: Any, path: Path, place: str, packed: bool = False) -> Any:
    try:
        return msgspec.json.decode(zlib.decompress(record) if packed else record)
    except (zlib.error, msgspec.DecodeError) as error:
        raise SpoolError(f"spool {path}, {place}: {error}") from error


def _changed(changes: list[Callable[[Record], Record]], record: Record, path: Path, place: str) -> Record:
    try:
        for change in changes:
            record = change(record)
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        reason = f"{type(error).__name__}: {error}"
        raise SpoolError(f"spool {path}, {place}: cannot be brought to version {VERSION} ({reason})") from error
    return record
