"""The socket for requests to the database: stored queries, read-only SQL, status of the writer, imports.

Owns the requests and their permissions. All users of this host may run queries. Only root and the writer's own user may import,
since the writer reads the file with its own rights. The same holds for custom SQL on PostgreSQL without a `reader` address.
Source: DB-22, DB-23; gridengine/protocols/arco.py; adr/0130.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from aiohttp import web

from daemons.dbwriter import query_process
from daemons.dbwriter.answer_text import AnswerLimits
from daemons.dbwriter.database import DatabaseError
from daemons.dbwriter.queries import BUILT_IN_DIRECTORY, QueryError, read_queries
from daemons.dbwriter.settings import Settings
from daemons.dbwriter.writer import Writer
from daemons.runtime.connection_limiter import Connection, ConnectionLimiter
from daemons.runtime.http_listener import HttpListeners
from daemons.runtime.request_bodies import RequestBodyError, read_pieces
from gridengine.errors import RefusalError
from gridengine.files.unix_sockets import peer_credentials, unix_listener
from gridengine.protocols import arco

#: maximum number of concurrent queries, of all users and of one user; further queries are refused
_MAX_QUERIES, _MAX_QUERIES_OF_USER = 4, 2
#: bytes of a request, and connections of one user; connections of the web server, which asks for all users, do not count
_MAX_REQUEST_BYTES, _MAX_CONNECTIONS_OF_USER = 2**18, 16

Fields = Mapping[str, Any]


class DbwriterRequestError(RefusalError):
    """A refused request; the text is for the user."""


class Server:
    """Answers requests at a Unix socket, on the running event loop."""

    def __init__(self, writer: Writer, settings: Settings, site_queries: Path) -> None:
        self._writer, self._settings, self._site_queries = writer, settings, site_queries
        self._running_queries: Counter[int] = Counter()
        self._listeners: HttpListeners | None = None
        self._answers: dict[str, Callable[[Fields, int], Awaitable[object]]] = {
            arco.QUERIES: self._list_queries,
            arco.RUN: self._run_stored_query,
            arco.SQL: self._run_sql,
            arco.IMPORT: self._start_import,
            arco.STATUS: self._status,
        }

    def open(self, listener: socket.socket) -> None:
        """Serve at a listening socket."""
        self._listeners = HttpListeners(ConnectionLimiter(), self._answer)
        self._listeners.open(listener, _MAX_CONNECTIONS_OF_USER)

    async def close(self) -> None:
        if self._listeners is not None:
            await self._listeners.close()

    async def _answer(self, name: str, request: web.BaseRequest, connection: Connection) -> web.Response:
        answer = self._answers.get(name)
        if answer is None:
            return web.json_response({"error": f"there is no request {name}"}, status=404)
        try:
            user = _user_of(request, connection)
            fields = json.loads(await _read_body(request))
            json.dumps(fields, ensure_ascii=False).encode()  # fails for lone surrogates, which no database stores
            if not isinstance(fields, dict):
                raise DbwriterRequestError("a request is a JSON object")
            data = await answer(fields, user)
        except (DbwriterRequestError, QueryError, DatabaseError, RequestBodyError) as fault:
            return web.json_response({"error": str(fault)})
        except (ValueError, RecursionError):  # UnicodeError among them
            return web.json_response({"error": "a request is a JSON object"}, status=400)
        if isinstance(data, bytes):
            return web.Response(body=data, content_type="application/json")
        return web.json_response(data)

    async def _list_queries(self, fields: Fields, user: int) -> object:
        queries, faults = read_queries(BUILT_IN_DIRECTORY, self._site_queries)
        return {
            "queries": [
                {
                    "name": query.name,
                    "category": query.category,
                    "description": query.description,
                    "type": query.type,
                    "view": query.view,
                    "fields": [
                        {"name": one.name, "type": one.type, "label": one.label, "default": one.default} for one in query.fields
                    ],
                    "plot": query.plot or None,
                }
                for query in queries.values()
            ],
            "faults": faults,
        }

    async def _run_stored_query(self, fields: Fields, user: int) -> object:
        queries, _ = read_queries(BUILT_IN_DIRECTORY, self._site_queries)
        name, values = fields.get("query"), fields.get("values", {})
        if not isinstance(name, str) or not isinstance(values, dict) or {*map(type, values.values())} - {str}:
            raise DbwriterRequestError("a query is run by its name, with texts as values of its fields")
        query = queries.get(name)
        if query is None:
            raise DbwriterRequestError(f'there is no query "{name}": gridengine arco list shows all')
        more_fields = {"pivot": query.pivot or None, "plot": query.plot or None}
        return await self._run_query(*query.bind(values), fields, user, more_fields)

    async def _run_sql(self, fields: Fields, user: int) -> object:
        statement = fields.get("sql")
        if not isinstance(statement, str) or not statement.strip():
            raise DbwriterRequestError("there is no SQL in the request")
        if not self._settings.database.startswith("duckdb:") and not self._settings.reader and not _is_trusted(user):
            text = "SQL of one's own needs a reader in common/arco, an address that can only read (docs/accounting.md)"
            raise DbwriterRequestError(text)
        return await self._run_query(statement.strip().rstrip(";"), [], fields, user, {})

    async def _run_query(self, statement: str, values: list[object], fields: Fields, user: int, more_fields: Fields) -> bytes:
        """Run a query in a process of its own. Raises RequestDenied, DatabaseError."""
        answer_limits, timeout_s = _answer_limits(fields), fields.get("patience", arco.PATIENCE_S)
        if type(timeout_s) not in (int, float) or not 0 < timeout_s <= arco.PATIENCE_S:
            raise DbwriterRequestError(f"patience is up to {arco.PATIENCE_S:.0f} seconds")
        database = self._writer.database
        if database is None:
            raise DbwriterRequestError(f"the database cannot be asked now: {self._writer.progress.fault or 'it is being opened'}")
        if self._running_queries.total() >= _MAX_QUERIES or self._running_queries[user] >= _MAX_QUERIES_OF_USER:
            raise DbwriterRequestError("too many queries are running: ask again in a moment")
        self._running_queries[user] += 1
        try:
            return await asyncio.to_thread(query_process.ask, database, statement, values, answer_limits, timeout_s, more_fields)
        finally:
            self._running_queries[user] -= 1

    async def _start_import(self, fields: Fields, user: int) -> object:
        if not _is_trusted(user):
            raise DbwriterRequestError("only root and the user of sge_dbwriter import files")
        path = fields.get("path")
        if not isinstance(path, str) or not path.startswith("/"):
            raise DbwriterRequestError("the path of a file to import must be absolute")
        try:
            with open(path, "rb"):
                pass
        except (OSError, ValueError) as error:
            raise DbwriterRequestError(f"sge_dbwriter cannot read {path}: {getattr(error, 'strerror', None) or error}") from None
        if any(str(one.path) == path and not one.has_ended for one in self._writer.imports):
            raise DbwriterRequestError(f"{path} is being imported already")
        self._writer.request(Path(path))
        return {}

    async def _status(self, fields: Fields, user: int) -> object:
        progress = self._writer.progress
        return {
            "database": self._settings.database.partition(":")[0],
            "schema": progress.schema,
            "lines": progress.lines,
            "behind": progress.unread_bytes,
            "fault": progress.fault,
            "imports": [
                {
                    "path": str(one.path),
                    "state": one.state,
                    "bytes": one.bytes,
                    "size": one.size,
                    "records": one.records,
                    "known": one.known,
                    "rejections": one.rejections,
                    "rejected": one.rejected,
                }
                for one in self._writer.imports
            ],
        }


def _answer_limits(fields: Fields) -> AnswerLimits:
    """The limits of an answer from the fields of a request. Raises RequestDenied."""
    rows, size, text_length = fields.get("limit", arco.ROWS), fields.get("bytes", arco.ANSWER_BYTES), fields.get("cell", 0)
    if type(rows) is not int or not 1 <= rows <= arco.ROWS:
        raise DbwriterRequestError(f"a limit is from 1 to {arco.ROWS} rows")
    if type(size) is not int or not 1 <= size <= arco.ANSWER_BYTES:
        raise DbwriterRequestError(f"an answer has from 1 to {arco.ANSWER_BYTES} bytes")
    if type(text_length) is not int or not 0 <= text_length <= arco.ANSWER_BYTES:
        raise DbwriterRequestError(f"a text is cut to 1 to {arco.ANSWER_BYTES} characters, or with 0 not at all")
    return AnswerLimits(rows, size, text_length)


async def _read_body(request: web.BaseRequest) -> str:
    """Read the body of a request. Raises RequestBodyError; UnicodeDecodeError, which is a ValueError."""
    body = b""
    async for piece in read_pieces(request.content):
        body += piece
        if len(body) > _MAX_REQUEST_BYTES:
            raise RequestBodyError(f"a request has {_MAX_REQUEST_BYTES} bytes at most")
    return body.decode()


def listen(path: Path) -> socket.socket:
    """A listening socket that every user may connect to. Its path appears when it listens. Raises OSError."""
    temporary = path.with_suffix(".new")
    listener = unix_listener(temporary, 0o666)
    temporary.replace(path)
    return listener


def _user_of(request: web.BaseRequest, connection: Connection) -> int:
    """The uid of the caller: of the peer, from the kernel; or as named by a trusted peer, with only that user's rights."""
    peer = request.transport.get_extra_info("socket") if request.transport is not None else None
    if peer is None:
        raise DbwriterRequestError("the connection is gone")
    user = peer_credentials(peer).uid
    if _is_trusted(user):
        connection.note_authenticated()
    header_values = request.headers.getall(arco.ON_BEHALF, [])
    if not header_values:
        return int(user)
    if not _is_trusted(int(user)):
        raise DbwriterRequestError("only root and the user of sge_dbwriter ask on behalf of others")
    if len(header_values) > 1 or not (header_values[0].isascii() and header_values[0].isdigit() and len(header_values[0]) <= 10):
        raise DbwriterRequestError(f"{arco.ON_BEHALF} is the number of one user")
    return int(header_values[0])


def _is_trusted(user: int) -> bool:
    return user in (0, os.geteuid())
