"""The writer: from the lines of a file into the database, each exactly once.

Owns the loop, and what happens when something fails: a batch and its checkpoint are one transaction, so whatever dies, the next
start reads on behind what was committed. Lines that are no records, or that the database refuses, are kept in it as rejected.
Runs in a thread of its own; imports and the stop are asked for from others. Source: DB-12, DB-13.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from daemons.dbwriter import figures
from daemons.dbwriter import records as of
from daemons.dbwriter.accounting_import import Import, ImportedFile
from daemons.dbwriter.checkpoints import checkpoint, note_checkpoint
from daemons.dbwriter.database import Database, DatabaseFault, transaction
from daemons.dbwriter.derived import derive, start_of
from daemons.dbwriter.loader import Loader
from daemons.dbwriter.retention import forget
from daemons.dbwriter.schema import upgrade
from daemons.dbwriter.settings import Settings
from daemons.dbwriter.source import Chunk, Position, Source
from gridengine.errors import plain_fault

_log = logging.getLogger(__name__)

POLL_S = 1.0
"""Seconds between two looks at a file that has nothing new."""
BATCH = 5000
"""Lines of a transaction."""
_RETRY_S = (1.0, 2.0, 5.0, 10.0, 30.0)
#: a value is derived when its hour is over for so many seconds: records of its end are in the file by then
_GRACE_S = 60.0
_DAY_S = 86_400.0
#: characters that are kept of a rejected line
_TEXT = 2000
_REPORTING, _DERIVED, _FORGOTTEN = "reporting", "derived", "deleted"


Rejected = tuple[int, str, str]
"""A line that is no record: its number, why, and its text."""


@dataclass(slots=True)
class WriterState:
    """What the writer tells of itself. `fault`: why it waits, "" while it does not; `behind`: bytes not yet read."""

    schema: int = 0
    lines: int = 0
    behind: int = 0
    fault: str = ""
    ready: bool = False


class Writer:
    """Writes into the database that `connect` opens, and opens it anew when it fails. `clock`: epoch seconds."""

    def __init__(self, settings: Settings, connect: Callable[[], Database], clock: Callable[[], float] = time.time) -> None:
        self._settings, self._connect, self._clock = settings, connect, clock
        self._source = Source(settings.reporting_file)
        self._stop = threading.Event()
        self._waiting: deque[Import] = deque()
        self.imports: list[Import] = []
        self.progress = WriterState()
        self.database: Database | None = None
        """For questions; None while there is none."""
        self._loader: Loader
        self._failures = 0
        self._pause_s = 0.0
        self._complained = ""

    def stop(self) -> None:
        """End after the transaction that is under way. From any thread."""
        self._stop.set()

    def request(self, path: Path) -> Import:
        """Import an accounting file in turn. From any thread."""
        wanted = Import(path)
        self.imports.append(wanted)
        self._waiting.append(wanted)
        return wanted

    def run(self, once: bool = False) -> None:
        """Write until told to stop; `once`: until nothing is left to read. Raises SchemaFault; `once`: DatabaseFault too."""
        try:
            while not self._stop.is_set():
                try:
                    self._open()
                    while self._step() or not once:
                        if self._stop.wait(self._pause_s):
                            return
                    return
                except (DatabaseFault, OSError) as fault:
                    if once:
                        raise
                    self._complain(fault)
                    self._close()
                    self._stop.wait(_RETRY_S[min(self._failures, len(_RETRY_S)) - 1])
        finally:
            self._close()

    def _open(self) -> None:
        if self.database is not None:
            return
        database = self._connect()
        try:
            upgrade(database)
            self._loader = Loader(database)
        except BaseException:
            database.close()
            raise
        self.progress.schema = database.rows("SELECT max(v_id) FROM sge_version")[0][0]
        self.database = database
        self.progress.ready = True

    def _close(self) -> None:
        if self.database is not None:
            database, self.database = self.database, None
            database.close()

    def _complain(self, fault: Exception) -> None:
        self._failures += 1
        self.progress.fault = plain_fault(fault)
        if self._complained != self.progress.fault:
            self._complained = self.progress.fault
            _log.error("the database is not written for now, and tried again: %s", self.progress.fault)

    def _step(self) -> bool:
        """Write what is new, go on with an import, derive, delete: whether there was something to do."""
        database = self.database
        assert database is not None
        busy = self._follow(database)
        if self._waiting:
            self._import(database, self._waiting[0])
            busy = True
        if not busy:
            self._tend(database)
        self._pause_s = 0.0 if busy else POLL_S
        if self._failures:
            _log.info("the database is written again")
            self._failures, self._complained, self.progress.fault = 0, "", ""
        return busy

    # what is new

    def _follow(self, database: Database) -> bool:
        position = checkpoint(database, _REPORTING)
        begin = time.monotonic()
        chunk = self._source.read(position)
        self.progress.behind = self._source.behind(chunk.position)
        if chunk.gap:
            _log.error("%s: %s", self._source.path, chunk.gap)
        if not chunk.lines and chunk.position == position:
            return False
        for part in _parts(chunk, position):
            facts, rejected = _read(part, of.reporting_record)
            self._commit(database, _REPORTING, part.position, facts, rejected)
            self.progress.lines += len(part.lines)
        figures.note(database, "lines_per_second", len(chunk.lines) / max(time.monotonic() - begin, 1e-3), self._clock())
        return True

    def _commit(
        self, database: Database, source: str, position: Position, facts: Sequence[of.Fact], rejected: Sequence[Rejected]
    ) -> None:
        """Write facts, rejected lines and the checkpoint in one transaction; without the facts that the database refuses."""
        try:
            self._write(database, source, position, facts, rejected)
        except DatabaseFault as fault:
            self._loader = Loader(database)
            if fault.passing or not facts:
                raise
            refused = dict(self._refused(database, facts))
            if not refused:  # it was not what was written, but that it could not be: a disk that is full
                raise
            _log.error("%s: %d records up to line %d are refused by the database: %s", source, len(refused), position.line, fault)
            taken = [fact for place, fact in enumerate(facts) if place not in refused]
            more = [(position.line, reason, repr(facts[place])[:_TEXT]) for place, reason in refused.items()]
            self._write(database, source, position, taken, [*rejected, *more])
        if rejected:
            number, reason, _ = rejected[0]
            _log.warning("%s: %d lines from line %d on are no records: %s", source, len(rejected), number, reason)

    def _write(
        self, database: Database, source: str, position: Position, facts: Sequence[of.Fact], rejected: Sequence[Rejected]
    ) -> None:
        with transaction(database):
            self._loader.load(facts)
            rows = [(source, *line) for line in rejected]
            database.insert("sge_rejected_line", ("rl_source", "rl_line", "rl_reason", "rl_text"), rows)
            note_checkpoint(database, source, position, self._clock())

    def _refused(self, database: Database, facts: Sequence[of.Fact], first: int = 0) -> Iterator[tuple[int, str]]:
        """The places of facts that the database does not take, and why: halves are tried and taken back."""
        database.begin()
        try:
            self._loader.load(facts)
            return
        except DatabaseFault as fault:
            if fault.passing:
                raise
            reason = str(fault)
        finally:
            database.rollback()
            self._loader = Loader(database)
        if len(facts) == 1:
            yield first, reason
            return
        middle = len(facts) // 2
        yield from self._refused(database, facts[:middle], first)
        yield from self._refused(database, facts[middle:], first + middle)

    # an import

    def _import(self, database: Database, wanted: Import) -> None:
        """Take the next piece of an import."""
        file = ImportedFile(wanted.path)
        try:
            position = checkpoint(database, wanted.source)
            wanted.size = wanted.path.stat().st_size
            chunk = file.read(position)
            if chunk.gap:
                position = Position()
                chunk = file.read(position)
        except OSError as error:
            wanted.state = f"cannot read {wanted.path}: {error.strerror}"
            self._waiting.popleft()
            return
        if wanted.state == "waiting" and position.file:  # an earlier one broke off, before values were derived
            wanted.noted_from(self._earliest(database, self._clock()), self._clock())
        wanted.state = "running"
        wanted.bytes = chunk.position.offset
        for part in _parts(chunk, position):
            facts, rejected = _read(part, of.accounting_record)
            usages = [fact for fact in facts if isinstance(fact, of.TaskUsage)]
            new = self._loader.without_known(usages)
            self._commit(database, wanted.source, part.position, new, rejected)
            wanted.noted(new)
            wanted.records += len(new)
            wanted.known += len(usages) - len(new)
            for line, reason, _ in rejected:
                wanted.reject(line, reason)
        if not chunk.lines:
            if wanted.begin:
                derive(database, wanted.begin, wanted.end, self._clock())
                self._loader = Loader(database)
            wanted.state = "done"
            self._waiting.popleft()

    # what is due

    def _tend(self, database: Database) -> None:
        now = self._clock()
        until = start_of(database, "hour", now - _GRACE_S)
        since = checkpoint(database, _DERIVED).time
        if until > since:
            begin = time.monotonic()
            derive(database, since or self._earliest(database, until), until, until)
            note_checkpoint(database, _DERIVED, Position(time=until), until)
            figures.count_rows(database, now)
            figures.note(database, "derived_value_time", time.monotonic() - begin, now)
            self._loader = Loader(database)
        if now - checkpoint(database, _FORGOTTEN).time > _DAY_S:
            begin = time.monotonic()
            forget(database, now, self._settings.keep_days)
            note_checkpoint(database, _FORGOTTEN, Position(), now)
            figures.note(database, "deletion_time", time.monotonic() - begin, now)
            self._loader = Loader(database)

    @staticmethod
    def _earliest(database: Database, until: float) -> float:
        question = (
            "SELECT extract(epoch FROM least((SELECT min(ju_end_time) FROM sge_job_usage), "
            "(SELECT min(hv_time_start) FROM sge_host_values), (SELECT min(qv_time_start) FROM sge_queue_values)))"
        )
        earliest = database.rows(question)[0][0]
        return min(float(earliest), until) if earliest is not None else until


def _parts(chunk: Chunk, before: Position) -> list[Chunk]:
    """A chunk in batches, each with the position behind it."""
    offset = before.offset if chunk.position.file == before.file else 0
    line = chunk.position.line - len(chunk.lines)
    found = []
    for begin in range(0, len(chunk.lines), BATCH):
        lines = chunk.lines[begin : begin + BATCH]
        line += len(lines)
        offset += sum(len(raw) + 1 for raw in lines)
        found.append(Chunk(lines, replace(chunk.position, offset=offset, line=line)))
    return [*found[:-1], replace(found[-1], position=chunk.position)] if found else [Chunk([], chunk.position)]


def _read(part: Chunk, read: Callable[[str], of.Fact | None]) -> tuple[list[of.Fact], list[Rejected]]:
    """The facts of lines, and the lines that are no records: number, reason, text."""
    facts: list[of.Fact] = []
    rejected: list[Rejected] = []
    first = part.position.line - len(part.lines) + 1
    for number, raw in enumerate(part.lines, start=first):
        line = raw.decode(errors="replace").replace("\0", "\ufffd")
        try:
            fact = read(line)
        except of.NoRecord as fault:
            rejected.append((number, str(fault), line[:_TEXT]))
        else:
            if fact is not None:
                facts.append(fact)
    return facts, rejected
