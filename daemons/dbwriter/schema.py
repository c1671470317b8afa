"""Creation and upgrade of the database schema.

Owns the versions: one numbered SQL file for each, the same for all databases. A file is executed in one transaction with its row
in `sge_version`. Called after a database is opened. Source: DB-1.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path

from daemons.dbwriter.database import Database, SchemaError, transaction

_log = logging.getLogger(__name__)
_DIRECTORY = Path(__file__).parent / "schema"


@dataclass(frozen=True, slots=True)
class Version:
    """Version `id` of the schema, and the SQL (`sql`) that upgrades the previous version to it."""

    id: int
    name: str
    sql: str


def versions() -> list[Version]:
    """All versions, in order: `004_6.1.sql` is version 4, of the name 6.1."""
    files = sorted(_DIRECTORY.glob("*.sql"))
    return [Version(int(file.stem[:3]), file.stem[4:], file.read_text()) for file in files]


def version_of(database: Database) -> int:
    """The schema version of a database, 0 for a database without these tables."""
    if "sge_version" not in database.columns:
        return 0
    return int(database.rows("SELECT coalesce(max(v_id), 0) FROM sge_version")[0][0])


def upgrade(database: Database) -> None:
    """Upgrade a database to the newest version. Raises SchemaError, DatabaseError.

    An empty database passes through all versions. An upgrade keeps the rows of the previous version.
    """
    known_versions = versions()
    current = version_of(database)
    if current > known_versions[-1].id:
        newest = known_versions[-1].id
        raise SchemaError(f"the database has version {current} of the schema; this program knows versions up to {newest}")
    if current and current < known_versions[0].id:
        raise SchemaError(f"the database has version {current} of the schema; upgrades begin at version {known_versions[0].id}")
    for version in known_versions:
        if version.id <= current:
            continue
        with transaction(database):
            database.script(version.sql)
            database.run("INSERT INTO sge_version VALUES ($1, $2, current_timestamp)", [version.id, version.name])
        _log.info("the database has version %d (%s) of the schema now", version.id, version.name)
    database.load_columns()
