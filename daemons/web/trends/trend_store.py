"""The store of trends: samples of named series, in several resolutions, in one SQLite file of bounded size.

Owns the file. A series has the values of its `MEASURES` for each step of time. The steps of a resolution are kept in chunks: a
row has all values of one series in one chunk, packed as floats, NaN without a sample. The finest chunk of all series is in
memory, and written and folded into the coarser resolutions every `SAVE_S`. Source: adr/0290.
"""

from __future__ import annotations

import asyncio
import logging
import math
import os
import threading
from array import array
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

import apsw

from daemons.runtime.log_once import LogOnce
from gridengine.errors import plain_fault

_log = logging.getLogger(__name__)
T = TypeVar("T")

CELL, HOST, QUEUE, GPU = "cell", "host", "queue", "gpu"
"""Kinds of series; `series_name` has the name of a series."""
MEASURES: dict[str, tuple[str, ...]] = {
    CELL: ("used", "reserved", "free", "down", "pending", "running", "load"),
    HOST: ("load", "memory", "used"),
    QUEUE: ("used", "total"),
    GPU: ("used", "total", "busy"),
}
"""The values of a series by its kind: numbers of slots and tasks, load by core, used fraction of memory,
numbers of GPUs."""
_NAN = math.nan
_SCHEMA = """
create table if not exists chunk(resolution integer, number integer, series text, samples blob,
    primary key (resolution, number, series)) without rowid
"""
_SIDES = ("", "-wal", "-shm")
_BYTES = 4
_HIGHEST = 2**62
"""Above all numbers of chunks."""


class Resolution(NamedTuple):
    """`step_s`: seconds between two values; `steps`: of a chunk; `chunks`: that are kept, one more than the time needs."""

    step_s: int
    steps: int
    chunks: int

    @property
    def chunk_s(self) -> int:
        return self.step_s * self.steps


RESOLUTIONS = (Resolution(60, 60, 25), Resolution(600, 36, 29), Resolution(3600, 24, 31), Resolution(21_600, 40, 37))
"""One minute for 24 hours, ten minutes for 7 days, an hour for 30 days, six hours for 360 days. A step is a whole number of
steps of the finer resolution, within a chunk."""
FINEST = RESOLUTIONS[0]
SAVE_S = 600
"""Seconds between two writes."""
_SAVE_STEPS = SAVE_S // FINEST.step_s


class Trend(NamedTuple):
    """`step_s`: seconds between two values; `times`: epoch s; `values`: by measure, None where there is no sample."""

    step_s: int
    times: list[int]
    values: dict[str, list[float | None]]


def series_name(kind: str, name: str = "") -> str:
    """The name of a series: of the cell, of its GPUs, of a host, or of a cluster queue."""
    return f"{kind}/{name}" if name else kind


def _width(series: str) -> int:
    return len(MEASURES[series.partition("/")[0]])


def _empty(width: int, resolution: Resolution) -> array[float]:
    return array("f", [_NAN]) * (width * resolution.steps)


class TrendStore:
    """All trends of one web server. `path`: of the file, None to keep nothing."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._busy = asyncio.Lock()
        self._logged = LogOnce()
        self._db: apsw.Connection | None = None
        #: of the finest resolution: the number of the present chunk, its samples by series, and the steps that are not saved
        self._number = -1
        self._chunk: dict[str, array[float]] = {}
        self._unsaved: set[int] = set()

    async def add(self, now: float, samples: Mapping[str, Sequence[float]]) -> None:
        """Take a sample of each series at the time `now`, epoch s; a later one of the same minute replaces it."""
        async with self._busy:
            number, step = divmod(int(now // FINEST.step_s), FINEST.steps)
            periods = {each // _SAVE_STEPS for each in self._unsaved}
            if periods and (number != self._number or periods != {step // _SAVE_STEPS}):
                await asyncio.to_thread(self._save)
            if number != self._number:
                self._chunk = await asyncio.to_thread(self._guarded, lambda db: _load(db, number), {})
                self._number = number
                self._unsaved.clear()
            for series, values in samples.items():
                width = len(values)
                chunk = self._chunk.get(series)
                if chunk is None:
                    chunk = self._chunk[series] = _empty(width, FINEST)
                chunk[step * width : (step + 1) * width] = array("f", values)
            self._unsaved.add(step)

    async def save(self) -> None:
        """Write the unsaved samples."""
        async with self._busy:
            if self._unsaved:
                await asyncio.to_thread(self._save)

    async def close(self) -> None:
        """Write the unsaved samples, and close the file."""
        await self.save()
        await asyncio.to_thread(self._close)

    async def read(self, series: str, span_s: float, now: float) -> Trend:
        """The trend of a series in the `span_s` before `now`, from its first sample to its last, in the finest resolution that
        lasts so long."""
        return await asyncio.to_thread(self._read, series, span_s, now)

    # --- in threads -------------------------------------------------------------------------------------------------------

    def _read(self, series: str, span_s: float, now: float) -> Trend:
        kept = (each for each in RESOLUTIONS if each.chunk_s * (each.chunks - 1) >= span_s)
        resolution = next(kept, RESOLUTIONS[-1])
        first, last = (int(when // resolution.step_s) for when in (now - span_s, now))
        first += 1
        width, numbers = _width(series), range(first // resolution.steps, last // resolution.steps + 1)
        chunks: dict[int, array[float]] = {}
        chunks = self._guarded(lambda db: _chunks(db, resolution, numbers, series), chunks)
        if resolution is FINEST and self._number in numbers and series in self._chunk:
            chunks[self._number] = self._chunk[series]
        rows: list[Sequence[float]] = []
        for step in range(first, last + 1):
            chunk, at = chunks.get(step // resolution.steps), step % resolution.steps * width
            rows.append(chunk[at : at + width] if chunk is not None else ())
        present = [number for number, row in enumerate(rows) if any(value == value for value in row)]
        begin, end = (present[0], present[-1] + 1) if present else (0, 0)
        columns = [[row[at] if row and row[at] == row[at] else None for row in rows[begin:end]] for at in range(width)]
        times = [(first + number) * resolution.step_s for number in range(begin, end)]
        return Trend(resolution.step_s, times, dict(zip(MEASURES[series.partition("/")[0]], columns, strict=True)))

    def _save(self) -> None:
        """Write the finest chunk, and fold its unsaved steps into the coarser resolutions."""
        number, unsaved = self._number, sorted(self._unsaved)
        if self._guarded(lambda db: _write(db, number, unsaved, self._chunk), False):
            self._unsaved.clear()

    def _close(self) -> None:
        with self._lock:
            if self._db is not None:
                self._db.close()
                self._db = None

    def _guarded(self, action: Callable[[apsw.Connection], T], default: T) -> T:
        """The result of an action on the file, in one transaction; `default` without a file, and after an error, which is logged.
        A damaged file is renamed, and a new one begun."""
        if self._path is None:
            return default
        with self._lock:
            try:
                if self._db is None:
                    self._db = _open(self._path)
                with self._db:
                    result = action(self._db)
                self._logged.clear()
                return result
            except (apsw.CorruptError, apsw.NotADBError) as error:
                self._rename_damaged(self._path, plain_fault(error))
            except (apsw.Error, OSError) as error:
                if self._logged.is_new(reason := plain_fault(error)):
                    _log.error("cannot keep trends in %s: %s", self._path, reason)
        return default

    def _rename_damaged(self, path: Path, reason: str) -> None:
        if self._db is not None:
            self._db.close()
            self._db = None
        aside = path.with_name(f"{path.name}.damaged")
        try:
            for side in _SIDES[1:]:
                path.with_name(path.name + side).unlink(missing_ok=True)
            path.rename(aside)
            _log.error("%s is damaged, and kept as %s: trends begin anew: %s", path, aside.name, reason)
        except OSError as error:
            _log.error("%s is damaged, and cannot be renamed: %s", path, plain_fault(error))


def _open(path: Path) -> apsw.Connection:
    """The connection to the file, which is made if it is missing. Raises apsw.Error, OSError."""
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600))
    db = apsw.Connection(str(path))
    try:
        db.set_busy_timeout(1000)
        db.execute("pragma journal_mode=wal")
        db.execute("pragma synchronous=normal")
        db.execute("pragma journal_size_limit=4194304")
        db.execute(_SCHEMA)
    except apsw.Error:
        db.close()
        raise
    return db


def _unpack(series: str, resolution: Resolution, packed: bytes) -> array[float] | None:
    """A chunk; None if it has another form, as of another release."""
    width = _width(series) if series.partition("/")[0] in MEASURES else 0
    if len(packed) != width * resolution.steps * _BYTES:
        return None
    return array("f", packed)


def _load(db: apsw.Connection, number: int) -> dict[str, array[float]]:
    """A chunk of the finest resolution, of all series."""
    rows = db.execute("select series, samples from chunk where resolution = ? and number = ?", (FINEST.step_s, number))
    unpacked = {series: _unpack(series, FINEST, packed) for series, packed in rows}
    return {series: chunk for series, chunk in unpacked.items() if chunk is not None}


def _chunks(db: apsw.Connection, resolution: Resolution, numbers: Sequence[int], series: str) -> dict[int, array[float]]:
    """Chunks of one series, by number."""
    found = {}
    for number in numbers:
        chunk = _chunk(db, resolution, number, series)
        if chunk is not None:
            found[number] = chunk
    return found


def _chunk(db: apsw.Connection, resolution: Resolution, number: int, series: str) -> array[float] | None:
    query = "select samples from chunk where resolution = ? and number = ? and series = ?"
    row = db.execute(query, (resolution.step_s, number, series)).fetchone()
    return _unpack(series, resolution, row[0]) if row is not None else None


def _write(db: apsw.Connection, number: int, unsaved: Sequence[int], chunks: Mapping[str, array[float]]) -> bool:
    """Write a finest chunk of all series; fold its steps `unsaved` into the coarser chunks; drop chunks beyond the
    bounds. Returns True."""
    insert = "insert or replace into chunk values (?, ?, ?, ?)"
    for series, chunk in chunks.items():
        db.execute(insert, (FINEST.step_s, number, series, chunk.tobytes()))
        fine, finer, fine_number, steps = chunk, FINEST, number, list(unsaved)
        for resolution in RESOLUTIONS[1:]:
            first = fine_number * finer.steps
            ratio = resolution.step_s // finer.step_s
            coarse_number = first // ratio // resolution.steps
            coarse = _chunk(db, resolution, coarse_number, series)
            if coarse is None:
                coarse = _empty(_width(series), resolution)
            steps = sorted({(first + step) // ratio % resolution.steps for step in steps})
            for step in steps:
                begin = (coarse_number * resolution.steps + step) * ratio - first
                _fold(fine, begin, begin + ratio, coarse, step, _width(series))
            db.execute(insert, (resolution.step_s, coarse_number, series, coarse.tobytes()))
            fine, finer, fine_number = coarse, resolution, coarse_number
    for resolution in RESOLUTIONS:
        _drop(db, resolution, number * FINEST.chunk_s // resolution.chunk_s)
    return True


def _fold(fine: array[float], begin: int, end: int, coarse: array[float], step: int, width: int) -> None:
    """Set a step of the coarse chunk to the means of the steps `begin` to `end` of the fine chunk. `width`: values of a step."""
    for at in range(width):
        values = [value for value in fine[begin * width + at : end * width : width] if value == value]
        coarse[step * width + at] = sum(values) / len(values) if values else _NAN


def _drop(db: apsw.Connection, resolution: Resolution, present: int) -> None:
    """Drop the chunks of a resolution beyond its bound: chunks farthest from the present chunk, so that a clock that was wrong
    for a while costs few chunks."""
    numbers: list[int] = []
    query = "select number from chunk where resolution = ? and number < ? order by number desc limit 1"
    while row := db.execute(query, (resolution.step_s, numbers[-1] if numbers else _HIGHEST)).fetchone():
        numbers.append(row[0])
    numbers.sort(key=lambda number: abs(number - present))
    for number in numbers[resolution.chunks :]:
        db.execute("delete from chunk where resolution = ? and number = ?", (resolution.step_s, number))
