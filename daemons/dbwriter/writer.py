"""The writer: transfers the lines of a file into the database, each exactly once.

Owns the loop and the handling of failures. A batch and its checkpoint are one transaction, so after a crash the next start
continues after the last commit. Invalid lines, and records that the database refuses, are stored as rejected lines.
Runs in its own thread; other threads request imports and the stop. Source: DB-12, DB-13.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from daemons.dbwriter import records, writer_statistics
from daemons.dbwriter.checkpoints import read_checkpoint, write_checkpoint
from daemons.dbwriter.database import Database, DatabaseError, transaction
from daemons.dbwriter.derived import derive, interval_start
from daemons.dbwriter.file_import import FileImport, ImportedFile
from daemons.dbwriter.loader import Loader
from daemons.dbwriter.retention import delete_expired
from daemons.dbwriter.rotated_file import Chunk, Position, RotatedFile
from daemons.dbwriter.schema import upgrade
from daemons.dbwriter.settings import Settings
from daemons.runtime.log_once import LogOnce
from gridengine.errors import plain_fault

_log = logging.getLogger(__name__)

POLL_S = 1.0
"""Seconds between two reads of a file without new lines."""
BATCH_LINES = 5000
"""Lines of a transaction."""
_RETRY_S = (1.0, 2.0, 5.0, 10.0, 30.0)
#: seconds after an hour's end until its values are derived: its last records are in the file by then
_GRACE_S = 60.0
_DAY_S = 86_400.0
#: stored characters of a rejected line
_MAX_TEXT = 2000
_REPORTING, _DERIVED, _DELETED = "reporting", "derived", "deleted"


Rejected = tuple[int, str, str]
"""A rejected line: its number, the reason, and its text."""


@dataclass(slots=True)
class WriterState:
    """The status of the writer. `schema`: version of the database, 0 before the first connection; `lines`: number of lines
    written since the start; `ready`: the database is open. `fault`: the error after which it retries, or ""; `unread_bytes`: of
    the reporting file."""

    schema: int = 0
    lines: int = 0
    unread_bytes: int = 0
    fault: str = ""
    ready: bool = False


class Writer:
    """Writes into the database that `connect` opens, and reconnects after a failure. `clock`: epoch seconds."""

    def __init__(self, settings: Settings, connect: Callable[[], Database], clock: Callable[[], float] = time.time) -> None:
        self._settings, self._connect, self._clock = settings, connect, clock
        self._reporting_file = RotatedFile(settings.reporting_file)
        self._stop = threading.Event()
        self._pending_imports: deque[FileImport] = deque()
        self.imports: list[FileImport] = []
        self.progress = WriterState()
        self.database: Database | None = None
        """The open database, also for queries; None while there is none."""
        self._loader: Loader
        self._failures = 0
        self._pause_s = 0.0
        self._logged = LogOnce()

    def stop(self) -> None:
        """End after the present transaction. From any thread."""
        self._stop.set()

    def request(self, path: Path) -> FileImport:
        """Queue the import of an accounting file. From any thread."""
        file_import = FileImport(path)
        self.imports.append(file_import)
        self._pending_imports.append(file_import)
        return file_import

    def run(self, once: bool = False) -> None:
        """Write until `stop` is called; `once`: until all input is read. Raises SchemaError; with `once` DatabaseError too."""
        try:
            while not self._stop.is_set():
                try:
                    self._open()
                    while self._step() or not once:
                        if self._stop.wait(self._pause_s):
                            return
                    return
                except (DatabaseError, OSError) as fault:
                    if once:
                        raise
                    self._log_failure(fault)
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

    def _log_failure(self, fault: Exception) -> None:
        self._failures += 1
        self.progress.fault = plain_fault(fault)
        if self._logged.is_new(self.progress.fault):
            _log.error("the database cannot be written now, retrying: %s", self.progress.fault)

    def _step(self) -> bool:
        """Write new records, continue an import, or derive and delete. Returns whether there was input."""
        database = self.database
        assert database is not None
        busy = self._write_new_records(database)
        if self._pending_imports:
            self._continue_import(database, self._pending_imports[0])
            busy = True
        if not busy:
            self._run_maintenance(database)
        self._pause_s = 0.0 if busy else POLL_S
        if self._logged.clear():
            _log.info("the database can be written again")
            self._failures, self.progress.fault = 0, ""
        return busy

    # new records

    def _write_new_records(self, database: Database) -> bool:
        position = read_checkpoint(database, _REPORTING)
        begin = time.monotonic()
        chunk = self._reporting_file.read(position)
        self.progress.unread_bytes = self._reporting_file.unread_bytes(chunk.position)
        if chunk.gap:
            _log.error("%s: %s", self._reporting_file.path, chunk.gap)
        if not chunk.lines and chunk.position == position:
            return False
        for batch in _batches(chunk, position):
            facts, rejected = _parse_lines(batch, records.reporting_record)
            self._commit(database, _REPORTING, batch.position, facts, rejected)
            self.progress.lines += len(batch.lines)
        rate = len(chunk.lines) / max(time.monotonic() - begin, 1e-3)
        writer_statistics.write_statistic(database, "lines_per_second", rate, self._clock())
        return True

    def _commit(
        self, database: Database, source: str, position: Position, facts: Sequence[records.Fact], rejected: Sequence[Rejected]
    ) -> None:
        """Write facts, rejected lines and the checkpoint in one transaction. Facts that the database refuses become rejected."""
        try:
            self._write(database, source, position, facts, rejected)
        except DatabaseError as fault:
            self._loader = Loader(database)
            if fault.transient or not facts:
                raise
            refused = dict(self._find_refused(database, facts))
            if not refused:  # no fact is at fault: for example, the disk is full
                raise
            _log.error("%s: %d records up to line %d are refused by the database: %s", source, len(refused), position.line, fault)
            accepted = [fact for index, fact in enumerate(facts) if index not in refused]
            more = [(position.line, reason, repr(facts[index])[:_MAX_TEXT]) for index, reason in refused.items()]
            self._write(database, source, position, accepted, [*rejected, *more])
        if rejected:
            number, reason, _ = rejected[0]
            _log.warning("%s: %d lines from line %d on are no records: %s", source, len(rejected), number, reason)

    def _write(
        self, database: Database, source: str, position: Position, facts: Sequence[records.Fact], rejected: Sequence[Rejected]
    ) -> None:
        with transaction(database):
            self._loader.load(facts)
            rows = [(source, *line) for line in rejected]
            database.insert("sge_rejected_line", ("rl_source", "rl_line", "rl_reason", "rl_text"), rows)
            write_checkpoint(database, source, position, self._clock())

    def _find_refused(self, database: Database, facts: Sequence[records.Fact], first: int = 0) -> Iterator[tuple[int, str]]:
        """The indexes of facts that the database refuses, with the reasons: by bisection in transactions that are rolled back."""
        database.begin()
        try:
            self._loader.load(facts)
            return
        except DatabaseError as fault:
            if fault.transient:
                raise
            reason = str(fault)
        finally:
            database.rollback()
            self._loader = Loader(database)
        if len(facts) == 1:
            yield first, reason
            return
        middle = len(facts) // 2
        yield from self._find_refused(database, facts[:middle], first)
        yield from self._find_refused(database, facts[middle:], first + middle)

    # an import

    def _continue_import(self, database: Database, file_import: FileImport) -> None:
        """Import the next piece of a file."""
        file = ImportedFile(file_import.path)
        try:
            position = read_checkpoint(database, file_import.source)
            file_import.size = file_import.path.stat().st_size
            chunk = file.read(position)
            if chunk.gap:
                position = Position()
                chunk = file.read(position)
        except OSError as error:
            file_import.state = f"cannot read {file_import.path}: {error.strerror}"
            self._pending_imports.popleft()
            return
        if file_import.state == "waiting" and position.file:  # interrupted earlier, before values were derived
            file_import.include_range(self._earliest_time(database, self._clock()), self._clock())
        file_import.state = "running"
        file_import.bytes = chunk.position.offset
        for batch in _batches(chunk, position):
            facts, rejected = _parse_lines(batch, records.accounting_record)
            usages = [fact for fact in facts if isinstance(fact, records.TaskUsage)]
            new = self._loader.select_new(usages)
            self._commit(database, file_import.source, batch.position, new, rejected)
            file_import.include_facts(new)
            file_import.records += len(new)
            file_import.known += len(usages) - len(new)
            for line, reason, _ in rejected:
                file_import.add_rejection(line, reason)
        if not chunk.lines:
            if file_import.begin:
                derive(database, file_import.begin, file_import.end, self._clock())
                self._loader = Loader(database)
            file_import.state = "done"
            self._pending_imports.popleft()

    # maintenance

    def _run_maintenance(self, database: Database) -> None:
        now = self._clock()
        until = interval_start(database, "hour", now - _GRACE_S)
        since = read_checkpoint(database, _DERIVED).time
        if until > since:
            begin = time.monotonic()
            derive(database, since or self._earliest_time(database, until), until, until)
            write_checkpoint(database, _DERIVED, Position(time=until), until)
            writer_statistics.write_row_counts(database, now)
            writer_statistics.write_statistic(database, "derived_value_time", time.monotonic() - begin, now)
            self._loader = Loader(database)
        if now - read_checkpoint(database, _DELETED).time > _DAY_S:
            begin = time.monotonic()
            delete_expired(database, now, self._settings.keep_days)
            write_checkpoint(database, _DELETED, Position(), now)
            writer_statistics.write_statistic(database, "deletion_time", time.monotonic() - begin, now)
            self._loader = Loader(database)

    @staticmethod
    def _earliest_time(database: Database, until: float) -> float:
        query = (
            "SELECT extract(epoch FROM least((SELECT min(ju_end_time) FROM sge_job_usage), "
            "(SELECT min(hv_time_start) FROM sge_host_values), (SELECT min(qv_time_start) FROM sge_queue_values)))"
        )
        earliest = database.rows(query)[0][0]
        return min(float(earliest), until) if earliest is not None else until


def _batches(chunk: Chunk, before: Position) -> list[Chunk]:
    """A chunk in batches, each with the position after it."""
    offset = before.offset if chunk.position.file == before.file else 0
    line = chunk.position.line - len(chunk.lines)
    batches = []
    for begin in range(0, len(chunk.lines), BATCH_LINES):
        lines = chunk.lines[begin : begin + BATCH_LINES]
        line += len(lines)
        offset += sum(len(raw) + 1 for raw in lines)
        batches.append(Chunk(lines, replace(chunk.position, offset=offset, line=line)))
    return [*batches[:-1], replace(batches[-1], position=chunk.position)] if batches else [Chunk([], chunk.position)]


def _parse_lines(batch: Chunk, read: Callable[[str], records.Fact | None]) -> tuple[list[records.Fact], list[Rejected]]:
    """The facts of lines, and the invalid lines: number, reason, text."""
    facts: list[records.Fact] = []
    rejected: list[Rejected] = []
    first = batch.position.line - len(batch.lines) + 1
    for number, raw in enumerate(batch.lines, start=first):
        line = raw.decode(errors="replace").replace("\0", "\ufffd")
        try:
            fact = read(line)
        except records.InvalidRecordError as fault:
            rejected.append((number, str(fault), line[:_MAX_TEXT]))
        else:
            if fact is not None:
                facts.append(fact)
    return facts, rejected
