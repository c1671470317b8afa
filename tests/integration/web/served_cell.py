"""A cell in this process with its web server, for one visitor in a browser."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from aiohttp import web

from daemons.web.app import build_app
from gridengine.protocols.gdi.requests import Caller
from tests.harness import Cell
from tests.integration.web.serving import Serving
from tests.unit.web.browsing import guard
from tests.unit.web.followed import ROOT, Followed, Link, web_of


class ServedCell:
    """`address`: of the pages; `link`: the way of the web server to the qmaster. `prepare(app)`: called before the start.
    The server is to be stopped after the pages that show it."""

    link: Link

    def __init__(
        self,
        cell: Cell,
        directory: Path,
        caller: Caller = ROOT,
        prepare: Callable[[web.Application], None] = lambda app: None,
    ) -> None:
        self.cell, self._followed = cell, Followed(cell)
        self._directory, self._caller, self._prepare = directory, caller, prepare
        self._serving = Serving(self._make)
        self.address = self._serving.start()
        self.stop = self._serving.stop

    async def _make(self) -> web.Application:
        shared, self.link = web_of(self._followed, self._directory)
        app = build_app(shared, [guard(self._caller)])
        self._prepare(app)
        return app

    def do(self, step: Callable[[Cell], object]) -> None:
        """Change the cell between two requests; the web server has the change then."""

        def changed() -> None:
            step(self.cell)
            self.cell.master.flush()
            self._followed.take()

        self._serving.call(changed)
