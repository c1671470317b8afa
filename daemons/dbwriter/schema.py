"""The schema of the database, made and brought up to date.

Owns the versions: a numbered file of SQL each, the same for all databases, carried out in one transaction with its row in
`sge_version`. Called when a database has been opened. Source: DB-1.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path

from daemons.dbwriter.database import Database, SchemaFault, transaction

_log = logging.getLogger(__name__)
_DIRECTORY = Path(__file__).parent / "schema"


@dataclass(frozen=True, slots=True)
class Version:
    """A version of the schema, and the SQL that leads to it from the one before."""

    id: int
    name: str
    sql: str


def versions() -> list[Version]:
    """All versions, in order: `004_6.1.sql` is version 4, of the name 6.1."""
    files = sorted(_DIRECTORY.glob("*.sql"))
    return [Version(int(file.stem[:3]), file.stem[4:], file.read_text()) for file in files]


def version_of(database: Database) -> int:
    """The version of a database, 0 for one that has none of our tables."""
    if "sge_version" not in database.columns:
        return 0
    return int(database.rows("SELECT coalesce(max(v_id), 0) FROM sge_version")[0][0])


def upgrade(database: Database) -> None:
    """Bring a database to the newest version. Raises SchemaFault, DatabaseFault.

    An empty database gets all of them; what a version finds of the one before stays.
    """
    known = versions()
    there = version_of(database)
    if there > known[-1].id:
        raise SchemaFault(f"the database has version {there} of the schema; this program knows versions up to {known[-1].id}")
    if there and there < known[0].id:
        raise SchemaFault(f"the database has version {there} of the schema; upgrades begin at version {known[0].id}")
    for version in known:
        if version.id <= there:
            continue
        with transaction(database):
            database.script(version.sql)
            database.run("INSERT INTO sge_version VALUES ($1, $2, current_timestamp)", [version.id, version.name])
        _log.info("the database has version %d (%s) of the schema now", version.id, version.name)
    database.learn_columns()
