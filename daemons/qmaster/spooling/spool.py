"""The spool: one SQLite file with the journal of events, snapshots, job payloads and the accounting index.

Owns the file; no other module opens it for writing. One connection writes and checkpoints (WAL, synchronous FULL). A
failed write raises `SpoolError` and the daemon ends: a change is never acknowledged before it is on disk.
Source: statements SP-1 … SP-7; house rules on durability.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Any

import apsw
import msgspec

from daemons.qmaster.decision import Payload
from daemons.qmaster.notifications.job_history import Line
from daemons.qmaster.spooling import (
    accounting_table,
    answer_table,
    history_table,
    job_parts,
    reservation_table,
    spool_file,
    spool_versions,
)
from daemons.qmaster.spooling.accounting_table import AccountingTable
from daemons.qmaster.spooling.answer_table import AnswerTable
from daemons.qmaster.spooling.ended_payloads import EndedPayloads
from daemons.qmaster.spooling.history_table import HistoryTable, PendingTransaction
from daemons.qmaster.spooling.job_parts import JobParts
from daemons.qmaster.spooling.patches import Listener, record_transaction
from daemons.qmaster.spooling.reservation_table import ReservationTable
from daemons.qmaster.spooling.spool_file import SpoolError, SpoolPosition
from daemons.qmaster.transaction import Transaction
from gridengine.state.affected import Affected
from gridengine.state.apply import apply
from gridengine.state.events import AnyEvent, decode_events, encode_events
from gridengine.state.machines.event import InvalidTransitionError
from gridengine.state.parts import Assembly, pack_state
from gridengine.state.state import State
from gridengine.values.units import INFINITY

KEEP_JOURNAL = 20_000
"""Transactions in the journal before a snapshot replaces them."""
_AGAIN_AFTER = 20
"""A failed snapshot is tried again when the journal has grown by `KEEP_JOURNAL` divided by this number."""

_EPOCHS = 1000
"""Number of consecutive epochs with distinct incarnations."""

_PROBE = "probe"

_SCHEMA = """
create table if not exists journal(revision integer primary key, time real, user text, host text, events blob);
create table if not exists snapshot(id integer primary key check (id = 1), revision integer, state blob);
create table if not exists payload(job_id integer primary key, script blob, environment blob);
create table if not exists reporting(id integer primary key autoincrement, line text);
create table if not exists history(id integer primary key, revision integer, time real, user text, host text,
    kind text, name text, before text, after text);
"""


class Spool:
    """The spool file of a cell. A missing file is created; with the id of a `cell` the file must exist and belong to this cell.

    `keep_journal`: number of transactions in the journal before a snapshot is due.
    `last_commit`: number of the last commit, 0 without a listener.
    """

    def __init__(self, path: Path, cell: str = "", keep_journal: int = KEEP_JOURNAL) -> None:
        self.path = path
        self._keep_journal = self._snapshot_at = keep_journal
        self.last_commit = 0
        #: epoch of this master; consecutive masters never have the same incarnation. 0 without other master hosts
        self.epoch = 0
        self._listener: Listener | None = None
        if cell and not path.exists():
            raise SpoolError(f"spool {path} is gone")
        spool_versions.check(path)
        self._db = spool_file.connect(path)
        try:
            if cell and self.recall(spool_file.CELL) != cell:
                raise SpoolError(f"spool {path} is not of the cell {cell}")
            spool_file.sync_log(self._db)
            with self._db:
                state_before = self._schema_state()
                tables = (accounting_table, reservation_table, history_table, answer_table, job_parts)
                self._db.execute(_SCHEMA + "".join(table.SCHEMA for table in tables))
                self._jobs, self._ended = JobParts(self._db), EndedPayloads(self._db)
                self._job_histories = HistoryTable(self._db, self._ended)
                self.accounted = AccountingTable(self._db)
                self.held_slots = ReservationTable(self._db)
                self.answered = AnswerTable(self._db)
                self._upgrade(self.recall(spool_versions.KEY))
                if self.position.commit and self._schema_state() != state_before:
                    spool_file.count_commit(self._db)  # no patchset leads here: replicas are copied again
        except apsw.Error as error:
            raise SpoolError(f"cannot open spool {path}: {error}") from error
        self._journalled = 0

    def _schema_state(self) -> tuple[Any, ...]:
        """The facts that no patchset carries: SQLite's counter of schema changes, and the version of the records."""
        return (*self._db.execute("pragma schema_version").fetchall(), self.recall(spool_versions.KEY))

    def _upgrade(self, version: str) -> None:
        """Upgrade a spool of an earlier version, if the state accepts the result. Raises SpoolError."""
        if version == str(spool_versions.VERSION):
            return
        if version:
            spool_versions.upgrade(self._db, self.path, int(version))
            self.load()
        self.remember(spool_versions.KEY, str(spool_versions.VERSION))

    def follow(self, listener: Listener) -> None:
        """Count all commits from now on, and report the changes of each commit to the listener after it is on disk."""

        def notify_listener(position: SpoolPosition, patchset: bytes) -> None:
            self.last_commit = position.commit
            listener(position, patchset)

        self.last_commit = self.position.commit
        self._listener = notify_listener

    def _transaction(self) -> AbstractContextManager[None]:
        """A transaction; every change of the file happens within a transaction. Raises apsw.Error, also at its end."""
        return spool_file.transaction(self._db) if self._listener is None else record_transaction(self._db, self._listener)

    @property
    def position(self) -> SpoolPosition:
        """The position of this spool; commits are counted only while a listener follows."""
        return spool_file.position_of(self._db)

    @property
    def empty(self) -> bool:
        """True before the first transaction; then the caller loads the initial configuration of the cell."""
        row = self._db.execute("select (select count(*) from journal) + (select count(*) from snapshot)").fetchone()
        return row is not None and not row[0]

    def load(self) -> State:
        """The state after the last committed transaction; all hosts count as not heard from. Raises SpoolError for an unreadable
        record, and for an event that is not possible after the events before it."""
        self._journalled = 0
        self._jobs.begin()
        try:
            with self._transaction():
                self._job_histories.begin()
            state = self._snapshot()
            tail = "select revision, time, user, host, events from journal where revision > ? order by revision"
            for revision, time, user, host, record in self._db.execute(tail, (state.revision,)):
                events = self._replay(state, revision, record)
                self._job_histories.note(PendingTransaction(revision, time, user, host, events))
                self._journalled += 1
            self._ended.begin(state.jobs)
        except apsw.Error as error:
            raise SpoolError(f"cannot read spool {self.path}: {error}") from error
        for host in state.hosts.values():
            host.forget()
        return state

    def _snapshot(self) -> State:
        row = self._db.execute("select revision, state from snapshot").fetchone()
        if row is None:
            return State()
        try:
            assembly = Assembly(bytes(row[1]))
            self._jobs.note(assembly.state.jobs)  # up to version 3 it contained all jobs
            assembly.add(self._jobs.read())
            return assembly.whole()
        except apsw.Error:
            raise
        except Exception as error:  # noqa: BLE001 - a foreign snapshot may raise any exception
            reason = f"{type(error).__name__}: {error}"
            raise SpoolError(f"spool {self.path}, the snapshot of revision {row[0]} cannot be read ({reason})") from error

    def _replay(self, state: State, revision: int, record: bytes) -> list[AnyEvent]:
        """Apply a transaction of the journal; returns its events."""
        location = f"spool {self.path}, revision {revision} of the journal"
        try:
            events = decode_events(record)
        except (msgspec.DecodeError, ValueError) as error:
            raise SpoolError(f"{location}: {error}") from error
        affected = Affected()
        for event in events:
            try:
                affected.note(state, event)
                apply(state, event)
            except InvalidTransitionError as error:
                raise SpoolError(f"{location}: {error}") from error
            except Exception as error:  # noqa: BLE001 - a foreign event may raise any exception
                reason = f"{type(error).__name__}: {error}"
                raise SpoolError(f"{location}: {type(event).__name__} cannot be applied ({reason})") from error
        self._jobs.note(affected.written)
        state.revision = revision
        return events

    def commit(self, transactions: Sequence[Transaction], keep_story_s: float = INFINITY) -> None:
        """Write transactions durably, all in one commit. `keep_story_s`: lifetime in seconds of the history of an ended job."""
        try:
            with self._transaction():
                for transaction in transactions:
                    self._write(transaction)
                if is_history_due := self._job_histories.due:
                    self._job_histories.write(transactions[-1].time, keep_story_s)
        except apsw.Error as error:
            self._ended.rolled_back()
            raise spool_file.write_fault(self.path, error) from error
        self._ended.committed()
        if is_history_due:
            self._job_histories.written()

    def _write(self, t: Transaction) -> None:
        execute = self._db.execute
        durable = [event for event in t.events if event.durable]
        execute("insert into journal values(?,?,?,?,?)", (t.revision, t.time, t.user, t.host, encode_events(durable)))
        for job_id, payload in t.payloads.items():
            environment = zlib.compress(msgspec.json.encode(payload.environment), 1)
            execute("insert or replace into payload values(?,?,?)", (job_id, payload.script, environment))
        if t.payloads:
            self._ended.written(t.payloads)
        self._ended.end(t.dropped)
        if t.accounting:
            self.accounted.add(t.accounting)
        if t.held:
            self.held_slots.add(t.held)
        if t.answered:
            self.answered.add(*t.answered, t.time)
        for record in t.records:
            execute("insert into reporting(line) values(?)", (record,))
        self._job_histories.note(PendingTransaction(t.revision, t.time, t.user, t.host, durable))
        for change in t.history:
            execute(
                "insert into history(revision, time, user, host, kind, name, before, after) values(?,?,?,?,?,?,?,?)",
                (t.revision, t.time, t.user, t.host, *change),
            )
        self._journalled += 1

    @property
    def is_snapshot_due(self) -> bool:
        return self._journalled >= self._snapshot_at

    def note_written(self, jobs: Iterable[int]) -> None:
        """Note that the records of these jobs have changed, for the next snapshot."""
        self._jobs.note(jobs)

    def parts(self, state: State) -> list[bytes]:
        """The present state, for a mirror (`gridengine.state.parts`). Raises SpoolError."""
        try:
            return [pack_state(state), *self._jobs.parts(state.jobs)]
        except apsw.Error as error:
            raise SpoolError(f"cannot read spool {self.path}: {error}") from error

    def snapshot(self, state: State) -> None:
        """Replace the journal by a snapshot of the state. All changes of the state are already written. The cost depends on the
        changes since the last snapshot.

        Raises SpoolError. Then nothing is lost or changed: the journal has the same content, and the next snapshot is due
        after some more transactions.
        """
        self._snapshot_at = self._journalled + max(1, self._keep_journal // _AGAIN_AFTER)
        try:
            with self._transaction():
                self._job_histories.write(0.0, INFINITY)
                row = (1, state.revision, pack_state(state))
                self._db.execute("insert or replace into snapshot values(?,?,?)", row)
                self._jobs.write(state.jobs)
                self._db.execute("delete from journal where revision <= ?", (state.revision,))
        except apsw.Error as error:
            raise spool_file.write_fault(self.path, error) from error
        self._job_histories.written()
        self._jobs.written()
        self._journalled, self._snapshot_at = 0, self._keep_journal

    def payload(self, job_id: int) -> Payload:
        """Script and environment of a job, also of one of the last ended jobs; empty for an unknown job."""
        row = self._db.execute("select script, environment from payload where job_id=?", (job_id,)).fetchone()
        if row is None:
            return Payload(None, {})
        return Payload(row[0], msgspec.json.decode(zlib.decompress(row[1]), type=dict[str, str]))

    def job_history(self, job_id: int, most: int) -> list[Line]:
        """The last `most` lines of the history of a job, in order; none for an unknown job."""
        return self._job_histories.of(job_id, most)

    def records(self, row: int, most: int = -1) -> Iterator[tuple[int, str]]:
        """Lines for the reporting file after a row, as (row id, line) in order; at most `most`, -1 for all."""
        return self._db.execute("select id, line from reporting where id > ? order by id limit ?", (row, most))

    def last_record(self) -> int:
        """The highest row id that a line for the reporting file ever had, 0 before the first line."""
        row = self._db.execute("select seq from sqlite_sequence where name='reporting'").fetchone()
        return int(row[0]) if row else 0

    def forget_records(self, row: int) -> None:
        """Delete the lines up to a row, which are in the reporting file. Raises SpoolError."""
        try:
            with self._transaction():
                self._db.execute("delete from reporting where id <= ?", (row,))
        except apsw.Error as error:
            raise spool_file.write_fault(self.path, error) from error

    def history(
        self, limit: int, revision: int = 0, kind: str = "", name: str = "", user: str = "", before: int = 0
    ) -> list[tuple[Any, ...]]:
        """Changes of configuration objects, the newest first: (revision, time, user, host, kind, name, before, after).

        Columns `before`, `after`: attributes, None without an object. At most `limit` transactions. `revision`: only this
        revision; `kind`, `name`: only changes of such objects; `user`: only changes by this user; `before`: only older revisions.
        """
        where = "(?1 = 0 or revision = ?1) and (?2 = '' or kind = ?2) and (?3 = '' or name = ?3)"
        where += " and (?5 = '' or user = ?5) and (?6 = 0 or revision < ?6)"
        newest = f"select distinct revision from history where {where} order by revision desc limit ?4"
        columns = "revision, time, user, host, kind, name, before, after"
        query = f"select {columns} from history where revision in ({newest}) and {where} order by id desc"
        rows = self._db.execute(query, (revision, kind, name, limit, user, before))
        return [(*row[:6], *(msgspec.json.decode(text) if text else None for text in row[6:])) for row in rows]

    def recall(self, key: str) -> str:
        """A small fact that is stored beside the state, "" for a missing fact."""
        return spool_file.recall(self._db, key)

    def remember(self, key: str, value: str) -> None:
        """Store a fact, in a commit of its own. Raises SpoolError."""
        try:
            with self._transaction():
                spool_file.remember(self._db, key, value)
        except apsw.Error as error:
            raise spool_file.write_fault(self.path, error) from error

    def probe(self) -> None:
        """Check that the disk has space for further transactions. Raises SpoolError.

        A commit alone does not prove it: the first commits use free space in the existing log of SQLite.
        """
        try:
            spool_file.probe_space(self.path.parent)
        except OSError as error:
            raise spool_file.write_fault(self.path, error) from error
        self.remember(_PROBE, "")

    def begin(self, now_ms: int) -> int:
        """The incarnation of a qmaster that starts now, higher than all earlier incarnations on this spool.

        On disk at the return; with a full disk only the clock distinguishes the incarnations.
        """
        incarnation = max(self.position.incarnation + 1, now_ms)
        incarnation += (self.epoch - incarnation) % _EPOCHS if self.epoch else 0
        with suppress(apsw.FullError, apsw.IOError), self._transaction():
            spool_file.remember(self._db, spool_file.INCARNATION, str(incarnation))
            self.answered.remove_old(now_ms / 1000)
        return incarnation

    def close(self) -> None:
        self._db.close()
