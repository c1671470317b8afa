"""The spool: one SQLite file with the journal of events, snapshots, job payloads and the accounting index.

Owns the file; nobody else opens it for writing. One connection writes and checkpoints (WAL, synchronous FULL). A
failed write raises `SpoolError` and the daemon ends: an answer is never given for what is not on disk.
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
from msgspec import Struct, field

from daemons.qmaster.decision import Payload
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
from daemons.qmaster.spooling.answer_table import AnswerTable, Receipt
from daemons.qmaster.spooling.ended_payloads import EndedPayloads
from daemons.qmaster.spooling.history_table import HistoryTable, PendingTransaction
from daemons.qmaster.spooling.job_parts import JobParts
from daemons.qmaster.spooling.patches import Listener, recorded
from daemons.qmaster.spooling.reservation_table import ReservationTable
from daemons.qmaster.spooling.spool_file import SpoolError, SpoolPosition
from daemons.qmaster.tell.held_slots import Held
from daemons.qmaster.tell.interventions import Intervention
from daemons.qmaster.tell.job_history import Line
from gridengine.accounting import AccountingRecord
from gridengine.state.affected import Affected
from gridengine.state.apply import apply
from gridengine.state.events import AnyEvent, decode_events, encode_events
from gridengine.state.machines.event import InvalidTransition
from gridengine.state.parts import Assembly, pack_state
from gridengine.state.state import State
from gridengine.units import INFINITY

KEEP_JOURNAL = 20_000
"""Transactions in the journal before a snapshot replaces them."""
_AGAIN_AFTER = 20
"""A snapshot that failed is tried again when the journal has grown by a part of that: one in so many."""

_EPOCHS = 1000
"""Epochs that follow on each other and are told apart by their incarnations."""

_PROBE = "probe"

_SCHEMA = """
create table if not exists journal(revision integer primary key, time real, user text, host text, events blob);
create table if not exists snapshot(id integer primary key check (id = 1), revision integer, state blob);
create table if not exists payload(job_id integer primary key, script blob, environment blob);
create table if not exists reporting(id integer primary key autoincrement, line text);
create table if not exists history(id integer primary key, revision integer, time real, user text, host text,
    kind text, name text, before text, after text);
"""


class Transaction(Struct):
    """All that one request changes; written whole or not at all."""

    revision: int
    time: float
    user: str
    host: str
    events: list[AnyEvent]
    payloads: dict[int, Payload] = field(default_factory=dict)
    #: jobs that have ended
    dropped: list[int] = field(default_factory=list)
    #: (job id, task id, record) of each try that ended
    accounting: list[tuple[int, int, AccountingRecord]] = field(default_factory=list)
    #: lines for the reporting file
    records: list[str] = field(default_factory=list)
    #: what reservations hold from now on, or held until now
    held: list[Held] = field(default_factory=list)
    #: (kind, name, text before, text after) of configuration objects, JSON or ""
    history: list[tuple[str, str, str, str]] = field(default_factory=list)
    #: under which key the answer is remembered, and that in JSON
    answered: tuple[Receipt, bytes] | None = None
    #: for those who are told
    affected: Affected = field(default_factory=Affected)
    #: for the log
    interventions: list[Intervention] = field(default_factory=list)


class Spool:
    """The spool file of a cell, which is made where there is none; with the id of a `cell` there must be one, of that cell.

    `keep_journal`: transactions in the journal before a snapshot is wanted in their place.
    `last_commit`: number of the last commit, 0 while nobody follows.
    """

    def __init__(self, path: Path, cell: str = "", keep_journal: int = KEEP_JOURNAL) -> None:
        self.path = path
        self._keep_journal = self._snapshot_at = keep_journal
        self.last_commit = 0
        #: in which this host is the master; two masters one after the other never have the same incarnation. 0 where it is alone
        self.epoch = 0
        self._listener: Listener | None = None
        if cell and not path.exists():
            raise SpoolError(f"spool {path} is gone")
        spool_versions.check(path)
        self._db = spool_file.connect(path)
        try:
            if cell and self.recall(spool_file.CELL) != cell:
                raise SpoolError(f"spool {path} is not of the cell {cell}")
            spool_file.settle(self._db)
            with self._db:
                form_before = self._form()
                tables = (accounting_table, reservation_table, history_table, answer_table, job_parts)
                self._db.execute(_SCHEMA + "".join(table.SCHEMA for table in tables))
                self._jobs, self._ended = JobParts(self._db), EndedPayloads(self._db)
                self._job_histories = HistoryTable(self._db, self._ended)
                self.accounted = AccountingTable(self._db)
                self.held_slots = ReservationTable(self._db)
                self.answered = AnswerTable(self._db)
                self._take_over(self.recall(spool_versions.KEY))
                if self.position.commit and self._form() != form_before:
                    spool_file.count_commit(self._db)  # no patchset leads here: copies are made anew
        except apsw.Error as error:
            raise SpoolError(f"cannot open spool {path}: {error}") from error
        self._journalled = 0

    def _form(self) -> tuple[Any, ...]:
        """What no patchset carries: the tables as SQLite counts their changes, and the version of what is in them."""
        return (*self._db.execute("pragma schema_version").fetchall(), self.recall(spool_versions.KEY))

    def _take_over(self, version: str) -> None:
        """Bring a spool of an earlier version to this one, if the state accepts what comes of it. Raises SpoolError."""
        if version == str(spool_versions.VERSION):
            return
        if version:
            spool_versions.upgrade(self._db, self.path, int(version))
            self.load()
        self.remember(spool_versions.KEY, str(spool_versions.VERSION))

    def follow(self, listener: Listener) -> None:
        """From now on count all commits, and tell of each what it has changed once it is on disk."""

        def listens(position: SpoolPosition, patchset: bytes) -> None:
            self.last_commit = position.commit
            listener(position, patchset)

        self.last_commit = self.position.commit
        self._listener = listens

    def _transaction(self) -> AbstractContextManager[None]:
        """Every change of the file is made within one of these. Raises apsw.Error, also at its end."""
        return spool_file.transaction(self._db) if self._listener is None else recorded(self._db, self._listener)

    @property
    def position(self) -> SpoolPosition:
        """How far this spool is; the commits are counted only while somebody follows."""
        return spool_file.position_of(self._db)

    @property
    def empty(self) -> bool:
        """True before the first transaction: the cell's initial configuration is to be loaded."""
        row = self._db.execute("select (select count(*) from journal) + (select count(*) from snapshot)").fetchone()
        return row is not None and not row[0]

    def load(self) -> State:
        """The state as of the last committed transaction. No host counts as heard. Raises SpoolError for a record that cannot
        be read, and for an event that cannot follow on those before it."""
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
            self._jobs.note(assembly.state.jobs)  # up to version 3 they were all in it
            assembly.add(self._jobs.read())
            return assembly.whole()
        except apsw.Error:
            raise
        except Exception as error:  # noqa: BLE001 - what is wrong with a foreign one may be anything
            reason = f"{type(error).__name__}: {error}"
            raise SpoolError(f"spool {self.path}, the snapshot of revision {row[0]} cannot be read ({reason})") from error

    def _replay(self, state: State, revision: int, record: bytes) -> list[AnyEvent]:
        """Apply a transaction of the journal; its events."""
        place = f"spool {self.path}, revision {revision} of the journal"
        try:
            events = decode_events(record)
        except (msgspec.DecodeError, ValueError) as error:
            raise SpoolError(f"{place}: {error}") from error
        affected = Affected()
        for event in events:
            try:
                affected.note(state, event)
                apply(state, event)
            except InvalidTransition as error:
                raise SpoolError(f"{place}: {error}") from error
            except Exception as error:  # noqa: BLE001 - what a foreign event meets may be anything
                reason = f"{type(error).__name__}: {error}"
                raise SpoolError(f"{place}: {type(event).__name__} cannot be applied ({reason})") from error
        self._jobs.note(affected.written)
        state.revision = revision
        return events

    def commit(self, transactions: Sequence[Transaction], keep_story_s: float = INFINITY) -> None:
        """Write transactions durably, all in one commit. `keep_story_s`: for how long the story of a job that is gone is kept."""
        try:
            with self._transaction():
                for transaction in transactions:
                    self._write(transaction)
                if tells := self._job_histories.due:
                    self._job_histories.write(transactions[-1].time, keep_story_s)
        except apsw.Error as error:
            self._ended.rolled_back()
            raise spool_file.write_fault(self.path, error) from error
        self._ended.committed()
        if tells:
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
    def wants_snapshot(self) -> bool:
        return self._journalled >= self._snapshot_at

    def note_written(self, jobs: Iterable[int]) -> None:
        """The records of these jobs are others now: the next snapshot is to have them."""
        self._jobs.note(jobs)

    def parts(self, state: State) -> list[bytes]:
        """The state as it is, for a mirror (`gridengine.state.parts`). Raises SpoolError."""
        try:
            return [pack_state(state), *self._jobs.parts(state.jobs)]
        except apsw.Error as error:
            raise SpoolError(f"cannot read spool {self.path}: {error}") from error

    def snapshot(self, state: State) -> None:
        """Replace the journal by a snapshot of the state, of which all is written. Costs what has changed since the last one.

        Raises SpoolError. Nothing is lost or other than before then: the journal says the same, and the next snapshot is due
        when some more is in it.
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
        """Script and environment of a job, also of one of the last that have ended; empty when the job is unknown."""
        row = self._db.execute("select script, environment from payload where job_id=?", (job_id,)).fetchone()
        if row is None:
            return Payload(None, {})
        return Payload(row[0], msgspec.json.decode(zlib.decompress(row[1]), type=dict[str, str]))

    def job_history(self, job_id: int, most: int) -> list[Line]:
        """The last `most` lines of the story of a job, in order; none if nothing is known of it."""
        return self._job_histories.of(job_id, most)

    def records(self, row: int, most: int = -1) -> Iterator[tuple[int, str]]:
        """Lines for the reporting file that wait behind a row, as (row id, line) in order; at most so many, -1 for all."""
        return self._db.execute("select id, line from reporting where id > ? order by id limit ?", (row, most))

    def last_record(self) -> int:
        """The row id of the newest line for the reporting file that there ever was, 0 when there was none."""
        row = self._db.execute("select seq from sqlite_sequence where name='reporting'").fetchone()
        return int(row[0]) if row else 0

    def forget_records(self, row: int) -> None:
        """Lines up to a row are in the reporting file. Raises SpoolError."""
        try:
            with self._transaction():
                self._db.execute("delete from reporting where id <= ?", (row,))
        except apsw.Error as error:
            raise spool_file.write_fault(self.path, error) from error

    def history(
        self, limit: int, revision: int = 0, kind: str = "", name: str = "", user: str = "", before: int = 0
    ) -> list[tuple[Any, ...]]:
        """Changes of configuration objects, the newest first: (revision, time, user, host, kind, name, before, after).

        `before`, `after`: attributes, None where there was no object. At most `limit` transactions; with a revision only
        that one; with kind or name only changes of such objects; with a user only his; with `before` only older revisions.
        """
        where = "(?1 = 0 or revision = ?1) and (?2 = '' or kind = ?2) and (?3 = '' or name = ?3)"
        where += " and (?5 = '' or user = ?5) and (?6 = 0 or revision < ?6)"
        newest = f"select distinct revision from history where {where} order by revision desc limit ?4"
        columns = "revision, time, user, host, kind, name, before, after"
        query = f"select {columns} from history where revision in ({newest}) and {where} order by id desc"
        rows = self._db.execute(query, (revision, kind, name, limit, user, before))
        return [(*row[:6], *(msgspec.json.decode(text) if text else None for text in row[6:])) for row in rows]

    def recall(self, key: str) -> str:
        """A small fact kept beside the state, "" when there is none."""
        return spool_file.recall(self._db, key)

    def remember(self, key: str, value: str) -> None:
        """Keep a fact, in a commit of its own. Raises SpoolError."""
        try:
            with self._transaction():
                spool_file.remember(self._db, key, value)
        except apsw.Error as error:
            raise spool_file.write_fault(self.path, error) from error

    def probe(self) -> None:
        """See whether there is room for what comes. Raises SpoolError.

        A commit alone does not show that: the first ones find room in the log that SQLite has left.
        """
        try:
            spool_file.take_room(self.path.parent)
        except OSError as error:
            raise spool_file.write_fault(self.path, error) from error
        self.remember(_PROBE, "")

    def begin(self, now_ms: int) -> int:
        """The incarnation of a qmaster that starts now: higher than those of all before it on this spool.

        On disk at the return; if that is full, the clock alone tells the incarnations apart.
        """
        incarnation = max(self.position.incarnation + 1, now_ms)
        incarnation += (self.epoch - incarnation) % _EPOCHS if self.epoch else 0
        with suppress(apsw.FullError, apsw.IOError), self._transaction():
            spool_file.remember(self._db, spool_file.INCARNATION, str(incarnation))
            self.answered.remove_old(now_ms / 1000)
        return incarnation

    def close(self) -> None:
        self._db.close()
