"""A server of one page, which shows everything that the pages are made of: the macros, styles and scripts, without a cell.

Tests open it in a browser, and have it send the page again as the live stream does.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from aiohttp import web
from jinja2 import ChoiceLoader, Environment, FileSystemLoader

from daemons.web import static_files
from daemons.web.pages.page import ListSettings
from daemons.web.pages.templating import templates
from tests.integration.web.serving import Serving

CSP = "default-src 'self'; frame-ancestors 'none'; form-action 'self'; base-uri 'none'; object-src 'none'"
TEMPLATE = "gallery.html"
_STATES = ("", "a", "aA", "d", "du", "E", "c", "o", "s", "S", "C", "D")


def sample(**more: object) -> dict[str, Any]:
    """The data of the page: an instance in each state."""
    instances = [
        {
            "name": f"all.q@node{number:02d}.cluster.example.org",
            "used": number % 9,
            "total": 8,
            "reserved": 2 if number == 3 else 0,
            "load": number * 0.71,
            "states": states,
            "since": 1795000000 + number * 3600 if states else None,
        }
        for number, states in enumerate(_STATES)
    ]
    memory = [4e8 + 3e7 * (step * 7 % 13) for step in range(60)]
    peak = [max(memory[: step + 1]) for step in range(60)]
    plot = {"times": [1795000000 + 60 * step for step in range(60)], "memory": memory, "peak": peak}
    person = {"cell": "default", "csrf": "a-token", "user": "alice", "role": "user"}
    frame: dict[str, Any] = {**person, "live": True, "age_s": None, "alone": False, "badge": (3, "bad")}
    frame["settings"] = ListSettings("/?state=a", "a-token", [], False)
    return {"here": "/?state=a", "sort": "-load", "instances": instances, **plot, **frame, **more}


def environment() -> Environment:
    """The template environment of the pages, with the gallery's template."""
    own = FileSystemLoader(Path(__file__).parent / "templates")
    pages = templates()
    assert pages.loader is not None
    return pages.overlay(loader=ChoiceLoader([own, pages.loader]))


class Gallery:
    """The server. `data`: the data of the page; `streams`: the events for each open page; `posted`: headers and fields of the
    forms that were sent; `answers`: the answers, unless there is a `refusal`, which is a page with status 403; `closed`: no
    streams."""

    def __init__(self) -> None:
        self.data = sample()
        self.template = environment().get_template(TEMPLATE)
        self.answers = [("info", "alice has disabled 2 queue instances")]
        self.refusal = ""
        self.posted: list[tuple[dict[str, str], dict[str, list[str]]]] = []
        self.streams: list[asyncio.Queue[tuple[str, str]]] = []
        self.closed = False
        self._serving = Serving(self._make)
        self.url = ""

    def start(self) -> None:
        self.url = self._serving.start()

    def stop(self) -> None:
        self._serving.stop()

    def send(self, event: str, data: str) -> None:
        """Send an event to every open page."""
        self._serving.call(lambda: [stream.put_nowait((event, data)) for stream in self.streams])

    def send_main(self, **changes: object) -> None:
        """Send the main block again, with other data."""
        self.send("main", self.main(**changes))

    def main(self, **changes: object) -> str:
        context = self.template.new_context({**self.data, **changes})
        return "".join(self.template.blocks["main"](context))

    def drop(self) -> None:
        """End all streams, as a server does now and then."""
        self.send("", "")

    async def _make(self) -> web.Application:
        app = web.Application(middlewares=[_strict])
        own = (web.get("/live", self._live), web.post("/act", self._act), web.get("/", self._page))
        app.add_routes([*static_files.ROUTES, *own])
        return app

    async def _page(self, request: web.Request) -> web.Response:
        text = self.template.render(self.data)
        response = web.Response(text=text, content_type="text/html")
        response.enable_compression()
        return response

    async def _act(self, request: web.Request) -> web.Response:
        fields = await request.post()
        self.posted.append((dict(request.headers), {name: list(map(str, fields.getall(name))) for name in fields}))
        if self.refusal:
            page = self.template.environment.get_template("error.html")
            text = page.render(status=403, problem=self.refusal, advice="", here="/act", cell="default")
            return web.Response(text=text, status=403, content_type="text/html")
        template = self.template.environment.from_string("{{ ui.answers(answers) }}")
        text = template.render(answers=self.answers)
        return web.Response(text=text, content_type="text/html")

    async def _live(self, request: web.Request) -> web.StreamResponse:
        if self.closed:
            raise web.HTTPServiceUnavailable
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "Cache-Control": "no-store"})
        await response.prepare(request)
        await response.write(b": here\n\n")
        stream: asyncio.Queue[tuple[str, str]] = asyncio.Queue()
        self.streams.append(stream)
        try:
            while (sent := await stream.get())[0]:
                lines = "".join(f"data: {line}\n" for line in sent[1].split("\n"))
                await response.write(f"event: {sent[0]}\n{lines}\n".encode())
        finally:
            self.streams.remove(stream)
        return response


@web.middleware
async def _strict(request: web.Request, handler: Any) -> web.StreamResponse:
    response: web.StreamResponse = await handler(request)
    if not response.prepared:
        response.headers["Content-Security-Policy"] = CSP
    return response
