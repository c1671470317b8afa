"""The table of answers under idempotency keys, in the spool: each answer is written in the commit of its changes.

Owns the table `answered` and its bounds in time and number. An answer describes changes, so the table does not outgrow the
journal. Called through `spool`, within its commits. Source: adr/0143.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import apsw

from daemons.qmaster.decision import Receipt

SCHEMA = """
create table if not exists answered(id integer primary key, time real, user text, key text, request blob, part blob,
    answer blob);
"""
KEEP_S = 3600.0
"""Lifetime of an answer in seconds."""
MOST_OF_A_USER = 5000
"""Limit of keys of one user; the newest are kept: about 1 MB of memory."""
AT_ONCE = 500
"""Number of answers that are written between two removals of old answers, and so the excess over the bounds."""


class AnswerTable:
    """The answers in a spool with an existing table. The keys are also in memory, because nearly all keys are used once."""

    def __init__(self, db: apsw.Connection) -> None:
        self._db = db
        self._written = 0
        self._rows: dict[str, OrderedDict[str, list[int]]] = {}
        for row, user, key in db.execute("select id, user, key from answered order by id"):
            self._note(str(user), str(key), int(row))

    def of(self, user: str, key: str, now: float) -> list[tuple[Receipt, bytes]]:
        """The stored answers to a user under a key; none after the lifetime of an answer. Raises apsw.Error."""
        query = "select request, part, answer from answered where id=? and time > ?"
        keys = self._rows.get(user)
        rows: Any = (self._db.execute(query, (row, now - KEEP_S)) for row in (keys.get(key, ()) if keys else ()))
        return [(Receipt(user, key, request, part), answer) for found in rows for request, part, answer in found]

    def add(self, receipt: Receipt, answer: bytes, now: float) -> None:
        """Store an answer. Raises apsw.Error."""
        row = (now, receipt.user, receipt.key, receipt.request, receipt.part, answer)
        self._db.execute("insert into answered(time, user, key, request, part, answer) values(?,?,?,?,?,?)", row)
        self._note(receipt.user, receipt.key, self._db.last_insert_rowid())
        self._written += 1
        if self._written >= AT_ONCE:
            self.remove_old(now)

    def _note(self, user: str, key: str, row: int) -> None:
        keys = self._rows.setdefault(user, OrderedDict())
        keys.setdefault(key, []).append(row)
        keys.move_to_end(key)

    def remove_old(self, now: float) -> None:
        """Remove answers beyond the bounds in time or in number. Raises apsw.Error."""
        known = self._db.execute("select id from answered where time > ? order by id limit 1", (now - KEEP_S,)).fetchone()
        first, gone = int(known[0]) if known else 2**63, list[int]()
        for user, keys in list(self._rows.items()):
            while keys and (len(keys) > MOST_OF_A_USER or next(iter(keys.values()))[-1] < first):
                gone += keys.popitem(last=False)[1]
            if not keys:
                del self._rows[user]
        self._db.executemany("delete from answered where id=?", ((row,) for row in gone))
        self._written = 0
