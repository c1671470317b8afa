"""The socket at which the database is asked: stored queries, SQL that only reads, how far the writer is, imports.

Owns the requests and who may send them: everybody of this host may ask; only root and the writer's own user may import, since
a file is read with the writer's rights, and ask PostgreSQL in SQL of their own unless it is reached with fewer rights.
Source: DB-22, DB-23; gridengine/arco.py; adr/0130.
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

from daemons.dbwriter import question_process
from daemons.dbwriter.answer_text import Shape
from daemons.dbwriter.database import DatabaseFault
from daemons.dbwriter.queries import OURS, QueryFault, read_queries
from daemons.dbwriter.settings import Settings
from daemons.dbwriter.writer import Writer
from daemons.runtime.connection_limiter import Connection, ConnectionLimiter
from daemons.runtime.http_listener import HttpListeners
from daemons.runtime.listener import peer_credentials
from daemons.runtime.request_bodies import RequestBodyError, read_pieces
from gridengine import arco

#: questions that are answered at once, and of one user; more of them are refused
_AT_ONCE, _SHARE = 4, 2
#: bytes of a request, and connections of one user; those of the web server, which asks for all, count for nobody
_LARGEST, _CONNECTIONS = 2**18, 16

Fields = Mapping[str, Any]


class NotGranted(Exception):
    """A request that is not granted; the text is for the user."""


class Server:
    """Answers at a Unix socket for as long as it is open, on the running event loop."""

    def __init__(self, writer: Writer, settings: Settings, site_queries: Path) -> None:
        self._writer, self._settings, self._site_queries = writer, settings, site_queries
        self._asking: Counter[int] = Counter()
        self._listeners: HttpListeners | None = None
        self._answers: dict[str, Callable[[Fields, int], Awaitable[object]]] = {
            arco.QUERIES: self._list,
            arco.RUN: self._run,
            arco.SQL: self._sql,
            arco.IMPORT: self._import,
            arco.STATUS: self._status,
        }

    def open(self, listener: socket.socket) -> None:
        """Serve at a listening socket."""
        self._listeners = HttpListeners(ConnectionLimiter(), self._answer)
        self._listeners.open(listener, _CONNECTIONS)

    async def close(self) -> None:
        if self._listeners is not None:
            await self._listeners.close()

    async def _answer(self, name: str, request: web.BaseRequest, connection: Connection) -> web.Response:
        answer = self._answers.get(name)
        if answer is None:
            return web.json_response({"error": f"there is no request {name}"}, status=404)
        try:
            user = _user_of(request, connection)
            fields = json.loads(await _body(request))
            json.dumps(fields, ensure_ascii=False).encode()  # halves of characters are no text for a database
            if not isinstance(fields, dict):
                raise NotGranted("a request is a JSON object")
            data = await answer(fields, user)
        except (NotGranted, QueryFault, DatabaseFault, RequestBodyError) as fault:
            return web.json_response({"error": str(fault)})
        except (ValueError, RecursionError):  # UnicodeError among them
            return web.json_response({"error": "a request is a JSON object"}, status=400)
        if isinstance(data, bytes):
            return web.Response(body=data, content_type="application/json")
        return web.json_response(data)

    async def _list(self, fields: Fields, user: int) -> object:
        queries, faults = read_queries(OURS, self._site_queries)
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

    async def _run(self, fields: Fields, user: int) -> object:
        queries, _ = read_queries(OURS, self._site_queries)
        name, values = fields.get("query"), fields.get("values", {})
        if not isinstance(name, str) or not isinstance(values, dict) or {*map(type, values.values())} - {str}:
            raise NotGranted("a query is run by its name, with texts as values of its fields")
        query = queries.get(name)
        if query is None:
            raise NotGranted(f'there is no query "{name}": gridengine arco list shows all')
        return await self._ask(*query.bound(values), fields, user, {"pivot": query.pivot or None, "plot": query.plot or None})

    async def _sql(self, fields: Fields, user: int) -> object:
        statement = fields.get("sql")
        if not isinstance(statement, str) or not statement.strip():
            raise NotGranted("there is no SQL in the request")
        if not self._settings.database.startswith("duckdb:") and not self._settings.reader and not _trusted(user):
            raise NotGranted("SQL of one's own needs a reader in common/arco, an address that can only read (docs/accounting.md)")
        return await self._ask(statement.strip().rstrip(";"), [], fields, user, {})

    async def _ask(self, statement: str, values: list[object], fields: Fields, user: int, more_fields: Fields) -> bytes:
        """Raises NotGranted, DatabaseFault."""
        shape, patience = _shape(fields), fields.get("patience", arco.PATIENCE_S)
        if type(patience) not in (int, float) or not 0 < patience <= arco.PATIENCE_S:
            raise NotGranted(f"patience is up to {arco.PATIENCE_S:.0f} seconds")
        database = self._writer.database
        if database is None:
            raise NotGranted(f"the database cannot be asked now: {self._writer.progress.fault or 'it is being opened'}")
        if self._asking.total() >= _AT_ONCE or self._asking[user] >= _SHARE:
            raise NotGranted("too many questions are being answered: ask again in a moment")
        self._asking[user] += 1
        try:
            return await asyncio.to_thread(question_process.ask, database, statement, values, shape, patience, more_fields)
        finally:
            self._asking[user] -= 1

    async def _import(self, fields: Fields, user: int) -> object:
        if not _trusted(user):
            raise NotGranted("only root and the user of sge_dbwriter import files")
        path = fields.get("path")
        if not isinstance(path, str) or not path.startswith("/"):
            raise NotGranted("the path of a file to import must be absolute")
        try:
            with open(path, "rb"):
                pass
        except (OSError, ValueError) as error:
            raise NotGranted(f"sge_dbwriter cannot read {path}: {getattr(error, 'strerror', None) or error}") from None
        if any(str(one.path) == path and not one.ended for one in self._writer.imports):
            raise NotGranted(f"{path} is being imported already")
        self._writer.request(Path(path))
        return {}

    async def _status(self, fields: Fields, user: int) -> object:
        progress = self._writer.progress
        return {
            "database": self._settings.database.partition(":")[0],
            "schema": progress.schema,
            "lines": progress.lines,
            "behind": progress.behind,
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


def _shape(fields: Fields) -> Shape:
    """Raises NotGranted."""
    rows, size, cell = fields.get("limit", arco.ROWS), fields.get("bytes", arco.ANSWER_BYTES), fields.get("cell", 0)
    if type(rows) is not int or not 1 <= rows <= arco.ROWS:
        raise NotGranted(f"a limit is from 1 to {arco.ROWS} rows")
    if type(size) is not int or not 1 <= size <= arco.ANSWER_BYTES:
        raise NotGranted(f"an answer has from 1 to {arco.ANSWER_BYTES} bytes")
    if type(cell) is not int or not 0 <= cell <= arco.ANSWER_BYTES:
        raise NotGranted(f"a text is cut to 1 to {arco.ANSWER_BYTES} characters, or with 0 not at all")
    return Shape(rows, size, cell)


async def _body(request: web.BaseRequest) -> str:
    """Raises RequestBodyError; UnicodeDecodeError, which is a ValueError."""
    body = b""
    async for piece in read_pieces(request.content):
        body += piece
        if len(body) > _LARGEST:
            raise RequestBodyError(f"a request has {_LARGEST} bytes at most")
    return body.decode()


def listen(path: Path) -> socket.socket:
    """A socket that every user may connect to; it is not there before it listens. Raises OSError."""
    path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    made = path.with_suffix(".new")
    made.unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(str(made))
    made.chmod(0o666)
    listener.listen()
    listener.setblocking(False)
    made.replace(path)
    return listener


def _user_of(request: web.BaseRequest, connection: Connection) -> int:
    """Who asks, as the kernel says; or whom a peer that is trusted names, with that user's rights and share alone."""
    peer = request.transport.get_extra_info("socket") if request.transport is not None else None
    if peer is None:
        raise NotGranted("the connection is gone")
    user, _ = peer_credentials(peer)
    if _trusted(user):
        connection.note_authenticated()
    named = request.headers.getall(arco.ON_BEHALF, [])
    if not named:
        return int(user)
    if not _trusted(int(user)):
        raise NotGranted("only root and the user of sge_dbwriter ask on behalf of others")
    if len(named) > 1 or not (named[0].isascii() and named[0].isdigit() and len(named[0]) <= 10):
        raise NotGranted(f"{arco.ON_BEHALF} is the number of one user")
    return int(named[0])


def _trusted(user: int) -> bool:
    return user in (0, os.geteuid())
