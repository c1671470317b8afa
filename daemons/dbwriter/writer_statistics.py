"""Statistics of the writer's own work, in the form of ARCo: throughput, durations, and row counts of tables.

Owns the tables `sge_statistic` and `sge_statistic_values`. Called by the writer. Source: DB-13, DB-21 (DBWriter Performance).
"""

from __future__ import annotations

from daemons.dbwriter.database import Database, transaction


def write_statistic(database: Database, variable: str, value: float, now: float, name: str = "dbwriter") -> None:
    """Store a value. now: epoch s; name: its object, the writer or a table. Raises DatabaseError."""
    with transaction(database):
        _insert_statistic(database, variable, value, now, name)


def write_row_counts(database: Database, now: float) -> None:
    """Store the number of rows of each table. Raises DatabaseError."""
    tables = sorted(table for table in database.columns if table.startswith("sge_"))
    with transaction(database):
        for table in tables:
            _insert_statistic(database, "row_count", float(database.rows(f"SELECT count(*) FROM {table}")[0][0]), now, table)


def _insert_statistic(database: Database, variable: str, value: float, now: float, name: str) -> None:
    parent = database.rows("SELECT s_id FROM sge_statistic WHERE s_name = $1", [name])
    if not parent:
        parent = database.rows("SELECT coalesce(max(s_id), 0) + 1 FROM sge_statistic")
        database.run("INSERT INTO sge_statistic VALUES ($1, $2)", [parent[0][0], name])
    number = database.rows("SELECT coalesce(max(sv_id), 0) + 1 FROM sge_statistic_values")[0][0]
    columns = [f"sv_{column}" for column in ("id", "parent", "time_start", "time_end", "variable", "dvalue")]
    database.insert("sge_statistic_values", columns, [(number, parent[0][0], now, now, variable, value)])
