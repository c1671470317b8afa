"""What may be asked of DuckDB: one statement that reads tables, and no function about the program or its host.

Owns the list of what is refused. The limits of the process hold without it; it keeps settings, paths and logs from readers, and
gives a clear error in place of a failed write. Called by `duckdb_database`. Source: adr/0177.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import duckdb

from daemons.dbwriter.database import DatabaseFault

_READING = (duckdb.StatementType.SELECT, duckdb.StatementType.EXPLAIN)
_EXPLAIN = re.compile(r"\s*explain\s+(analyze\s+)?(\([^)]*\)\s*)?", re.IGNORECASE)
#: of the functions and views about the program those that tell of tables; all others of these prefixes are refused
_ABOUT_TABLES = (
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
_REFUSED = frozenset(
    ("checkpoint", "force_checkpoint", "write_log", "current_setting", "getenv", "getvariable", "pg_settings")
    + ("query", "query_table", "json_execute_serialized_sql", "parse_duckdb_log_message", "nextval")
)
_NAMES = ("function_name", "table_name")


def refuse_more_than_a_question(cursor: duckdb.DuckDBPyConnection, statement: str) -> None:
    """Raises DatabaseFault: it is not one SELECT or EXPLAIN, or calls what is not for readers. Also duckdb.Error."""
    # the module's function of this name would open a second database, which looks for files of the host
    statements = cursor.extract_statements(statement)
    if len(statements) != 1 or statements[0].type not in _READING:
        raise DatabaseFault("one SELECT or EXPLAIN can be asked here, and nothing else", wrong=True)
    text = statement
    if statements[0].type == duckdb.StatementType.EXPLAIN:
        text = _EXPLAIN.sub("", statement, count=1)
    tree = json.loads(cursor.execute("SELECT json_serialize_sql($1)", [text]).fetchall()[0][0])
    if tree["error"]:
        raise DatabaseFault("one SELECT or EXPLAIN can be asked here, and nothing else", wrong=True)
    for name in _names(tree):
        if name in _REFUSED or (name.startswith(_PREFIXES) and name.partition("_")[2] not in _ABOUT_TABLES):
            raise DatabaseFault(f"{name} is not for questions: they read the tables and views", wrong=True)


def _names(tree: Any) -> Iterator[str]:
    """The functions and tables that a statement names."""
    todo = [tree]
    while todo:
        part = todo.pop()
        if isinstance(part, dict):
            yield from (str(part[name]).lower() for name in _NAMES if part.get(name))
            todo.extend(part.values())
        elif isinstance(part, list):
            todo.extend(part)
