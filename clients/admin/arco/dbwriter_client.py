"""The client of sge_dbwriter: one request at its socket, one answer.

Owns the message for a missing answer. Called by the commands of `gridengine arco`.
Source: gridengine/protocols/arco.py.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from clients.admin.cell import InstalledCell
from clients.admin.errors import AdminError
from clients.admin.local_daemons import this_host
from clients.admin.socket_request import NoReplyError, ask
from gridengine.protocols import arco

_MARGIN_S = 10.0


@dataclass(frozen=True, slots=True)
class Answer:
    """Rows of an answer: times are ISO texts, intervals seconds. `more`: rows were cut off; `too_large`: because of their size.

    `plot`, `pivot`: the plot and the pivot of the query, {} for none.
    """

    columns: list[str]
    types: list[str]
    rows: list[list[Any]]
    more: bool
    plot: dict[str, Any] = field(default_factory=dict)
    pivot: dict[str, Any] = field(default_factory=dict)
    too_large: bool = False


class DbwriterClient:
    """The writer of a cell, on this host."""

    def __init__(self, cell: InstalledCell) -> None:
        self._cell = cell

    def ask(self, request: str, **fields: object) -> dict[str, Any]:
        """The answer to a request. AdminError: the request is refused, or sge_dbwriter does not answer."""
        path = self._cell.run_dir / arco.SOCKET
        given_fields = {name: value for name, value in fields.items() if value is not None}
        try:
            return ask(path, request, given_fields, arco.PATIENCE_S + _MARGIN_S)
        except NoReplyError as error:
            raise AdminError(self._explain_no_reply(path, error)) from None

    def rows(self, request: str, **fields: object) -> Answer:
        """The answer to a request for rows. AdminError: as `ask`."""
        answer = self.ask(request, **fields)
        shown = answer.get("plot") or {}, answer.get("pivot") or {}
        return Answer(answer["columns"], answer["types"], answer["rows"], answer["more"], *shown, answer["too_large"])

    def _explain_no_reply(self, path: Path, error: NoReplyError) -> str:
        if not (self._cell.files.common / arco.SETTINGS_FILE).exists():
            path, here = self._cell.files.common / arco.SETTINGS_FILE, this_host(self._cell)
            if here != self._cell.master_host:
                return f"host {here} has no {path}: run gridengine arco on the master host {self._cell.master_host}"
            return f"this cell has no database: {path} is not there (docs/accounting.md)"
        return (
            f"sge_dbwriter does not answer at {path}: {error}; it runs on the master host {self._cell.master_host}, where "
            "gridengine start starts it"
        )
