"""The table of slots that advance reservations held, in the spool; rows stay after the end of a reservation.

Owns the table `held_slots`. Called through `spool`, within its commits. Source: AR-124; adr/0127.
"""

from __future__ import annotations

from collections.abc import Iterable

import apsw
import msgspec

from daemons.qmaster.notifications.held_slots import Held

SCHEMA = """
create table if not exists held_slots(id integer primary key, ar_id integer, held blob);
create index if not exists held_slots_of on held_slots(ar_id);
"""


class ReservationTable:
    """The rows in a spool with existing tables."""

    def __init__(self, db: apsw.Connection) -> None:
        self._db = db

    def add(self, rows: Iterable[Held]) -> None:
        """Add rows. Raises apsw.Error."""
        texts = ((row.ar_id, msgspec.json.encode(row)) for row in rows)
        self._db.executemany("insert into held_slots(ar_id, held) values(?,?)", texts)

    def of(self, ar_id: int) -> list[Held]:
        """The rows of one reservation, in order; none for an unknown reservation."""
        rows = self._db.execute("select held from held_slots where ar_id=? order by id", (ar_id,))
        return [msgspec.json.decode(text, type=Held) for (text,) in rows]
