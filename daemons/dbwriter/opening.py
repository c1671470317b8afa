"""The choice of the database by its address. Source: DB-12, adr/0130."""

from __future__ import annotations

from daemons.dbwriter.database import Database, SchemaError


def open_database(address: str, reader: str = "") -> Database:
    """The database of an address: `duckdb:PATH`, or `postgresql://…` (as psql takes it). Raises DatabaseError, SchemaError.

    reader: the address that queries use, with fewer rights; "" for the same address.
    """
    # each implementation loads its own library, and a site needs only one of them
    if address.startswith("duckdb:"):
        from daemons.dbwriter.duckdb_database import DuckdbDatabase

        return DuckdbDatabase(address.removeprefix("duckdb:"))
    if address.startswith(("postgresql:", "postgres:")):
        from daemons.dbwriter.postgresql_database import PostgresqlDatabase

        return PostgresqlDatabase(address, reader)
    # not the whole address: it may hold a password, and other users read these messages
    raise SchemaError(f'database "{address.partition(":")[0]}:…": it must begin with duckdb: or postgresql:')
