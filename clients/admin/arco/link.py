"""The road to sge_dbwriter: one request at its socket, one answer.

Owns the transport, and what is said when nobody answers. Called by the commands of `gridengine arco`.
Source: gridengine/arco.py.
"""

from __future__ import annotations

import http.client
import json
import socket
from dataclasses import dataclass, field
from typing import Any

from clients.admin.cell import InstalledCell
from clients.admin.refusal import Refusal
from gridengine import arco

_MARGIN_S = 10.0


@dataclass(frozen=True, slots=True)
class Answer:
    """Rows of an answer: times are ISO texts, intervals seconds. `more`: rows were left off.

    `plot`, `pivot`: how the query says that they are drawn and turned, {} if it does not.
    """

    columns: list[str]
    types: list[str]
    rows: list[list[Any]]
    more: bool
    plot: dict[str, Any] = field(default_factory=dict)
    pivot: dict[str, Any] = field(default_factory=dict)


class Link:
    """The writer of a cell, on this host."""

    def __init__(self, cell: InstalledCell) -> None:
        self._cell = cell

    def ask(self, request: str, **fields: object) -> dict[str, Any]:
        """The answer to a request. Refusal: it is not granted, or nobody answers."""
        path = str(self._cell.run_dir / arco.SOCKET)
        body = json.dumps({name: value for name, value in fields.items() if value is not None})
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(arco.PATIENCE_S + _MARGIN_S)
            try:
                connection.connect(path)
                asked = http.client.HTTPConnection("localhost")
                asked.sock = connection
                asked.request("POST", f"/v1/{request}", body, {"Connection": "close"})
                answer = json.loads(asked.getresponse().read())
            except (OSError, http.client.HTTPException, ValueError) as error:
                raise Refusal(self._silence(path, error)) from None
        if "error" in answer:
            raise Refusal(answer["error"])
        return dict(answer)

    def rows(self, request: str, **fields: object) -> Answer:
        """The same for a request that is answered with rows."""
        answer = self.ask(request, **fields)
        shown = answer.get("plot") or {}, answer.get("pivot") or {}
        return Answer(answer["columns"], answer["types"], answer["rows"], answer["more"], *shown)

    def _silence(self, path: str, error: Exception) -> str:
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        if not (self._cell.files.common / arco.SETTINGS_FILE).exists():
            return f"this cell has no database: {self._cell.files.common / arco.SETTINGS_FILE} is not there (docs/accounting.md)"
        return (
            f"sge_dbwriter does not answer at {path}: {reason}; it runs on the master host {self._cell.master_host}, where "
            "gridengine start starts it"
        )
