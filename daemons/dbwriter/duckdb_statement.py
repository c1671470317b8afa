"""The check of a query for DuckDB: one statement that reads tables, without functions about the program or its host.

Owns the list of refused functions. The limits of the process do not depend on this check; it hides settings, paths and logs from
readers, and gives a clear error in place of a failed write. Called by `duckdb_database`. Source: adr/0177.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import duckdb

from daemons.dbwriter.database import DatabaseError

_READ_ONLY = (duckdb.StatementType.SELECT, duckdb.StatementType.EXPLAIN)
_EXPLAIN = re.compile(r"\s*explain\s+(analyze\s+)?(\([^)]*\)\s*)?", re.IGNORECASE)
#: functions and views with these prefixes are refused, except those that describe tables
_ALLOWED_SUFFIXES = (
    "tables",
    "columns",
    "views",
    "constraints",
    "indexes",
    "schemas",
    "functions",
    "types",
    "keywords",
    "table_info",
)
_PREFIXES = ("duckdb_", "pragma_")
_REFUSED_FUNCTIONS = frozenset(
    ("checkpoint", "force_checkpoint", "write_log", "current_setting", "getenv", "getvariable", "pg_settings")
    + ("query", "query_table", "json_execute_serialized_sql", "parse_duckdb_log_message", "nextval")
)
_NAME_KEYS = ("function_name", "table_name")


def require_read_only_statement(cursor: duckdb.DuckDBPyConnection, statement: str) -> None:
    """Raises DatabaseError: not exactly one SELECT or EXPLAIN, or a refused function is called. Also duckdb.Error."""
    # duckdb.extract_statements would open a second database, which reads files of the host
    statements = cursor.extract_statements(statement)
    if len(statements) != 1 or statements[0].type not in _READ_ONLY:
        raise DatabaseError("one SELECT or EXPLAIN can be asked here, and nothing else", invalid_query=True)
    text = statement
    if statements[0].type == duckdb.StatementType.EXPLAIN:
        text = _EXPLAIN.sub("", statement, count=1)
    tree = json.loads(cursor.execute("SELECT json_serialize_sql($1)", [text]).fetchall()[0][0])
    if tree["error"]:
        raise DatabaseError("one SELECT or EXPLAIN can be asked here, and nothing else", invalid_query=True)
    for name in _referenced_names(tree):
        if name in _REFUSED_FUNCTIONS or (name.startswith(_PREFIXES) and name.partition("_")[2] not in _ALLOWED_SUFFIXES):
            raise DatabaseError(f"{name} is not allowed in queries: they read the tables and views", invalid_query=True)


def _referenced_names(tree: Any) -> Iterator[str]:
    """The names of the functions and tables in a statement."""
    todo = [tree]
    while todo:
        part = todo.pop()
        if isinstance(part, dict):
            yield from (str(part[name]).lower() for name in _NAME_KEYS if part.get(name))
            todo.extend(part.values())
        elif isinstance(part, list):
            todo.extend(part)
