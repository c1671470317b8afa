"""The position of the writer in each of its sources, stored in the database itself.

Owns the table `sge_checkpoint`. A checkpoint is written in the transaction of its rows, so it is neither ahead of them nor
behind. Called by the writer. Source: DB-12.
"""

from __future__ import annotations

from daemons.dbwriter.database import Database
from daemons.dbwriter.rotated_file import Position


def read_checkpoint(database: Database, source: str) -> Position:
    """The committed position in a source."""
    query = "SELECT ch_file, ch_offset, ch_line, extract(epoch FROM ch_time) FROM sge_checkpoint WHERE ch_source = $1"
    for file, offset, line, moment in database.rows(query, [source]):
        return Position(file, offset, line, float(moment))
    return Position()


def write_checkpoint(database: Database, source: str, position: Position, now: float) -> None:
    """Write a checkpoint. now: epoch s."""
    database.run(
        "INSERT INTO sge_checkpoint VALUES ($1, $2, $3, $4, to_timestamp($5::double precision)) "
        "ON CONFLICT (ch_source) DO UPDATE SET ch_file = excluded.ch_file, ch_offset = excluded.ch_offset, "
        "ch_line = excluded.ch_line, ch_time = excluded.ch_time",
        [source, position.file, position.offset, position.line, now],
    )
