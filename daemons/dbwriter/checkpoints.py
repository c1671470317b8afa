"""How far the writer has come with each of its sources, in the database itself.

Owns the table `sge_checkpoint`. A checkpoint is written in the transaction of the rows that it is about, so it is never ahead of
them nor behind. Called by the writer. Source: DB-12.
"""

from __future__ import annotations

from daemons.dbwriter.database import Database
from daemons.dbwriter.source import Position


def checkpoint(database: Database, source: str) -> Position:
    """How far a source was read, by what is committed."""
    question = "SELECT ch_file, ch_offset, ch_line, extract(epoch FROM ch_time) FROM sge_checkpoint WHERE ch_source = $1"
    for file, offset, line, moment in database.rows(question, [source]):
        return Position(file, offset, line, float(moment))
    return Position()


def note_checkpoint(database: Database, source: str, position: Position, now: float) -> None:
    """Write a checkpoint. now: epoch s."""
    database.run(
        "INSERT INTO sge_checkpoint VALUES ($1, $2, $3, $4, to_timestamp($5::double precision)) "
        "ON CONFLICT (ch_source) DO UPDATE SET ch_file = excluded.ch_file, ch_offset = excluded.ch_offset, "
        "ch_line = excluded.ch_line, ch_time = excluded.ch_time",
        [source, position.file, position.offset, position.line, now],
    )
