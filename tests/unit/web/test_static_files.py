"""Scripts and styles are sent once, compressed, until they change."""

from __future__ import annotations

import asyncio
import gzip
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import make_mocked_request

from daemons.web import static_files


def ask(name: str, query: str = "", **headers: str) -> web.Response:
    sent = {key.replace("_", "-"): value for key, value in headers.items()}
    request: Any = make_mocked_request("GET", f"/static/{name}{query}", sent, match_info={"name": name})
    return asyncio.run(static_files.static_file(request))


def test_a_file_is_compressed_for_clients_that_accept_it() -> None:
    plain, small = ask("style.css"), ask("style.css", Accept_Encoding="br, gzip")
    assert plain.body == (static_files.DIRECTORY / "style.css").read_bytes()
    assert gzip.decompress(small.body) == plain.body
    assert len(small.body) < len(plain.body) / 3
    assert small.headers["Content-Encoding"] == "gzip"
    assert "Content-Encoding" not in plain.headers
    assert small.headers["Vary"] == "Accept-Encoding"


def test_a_browser_keeps_what_it_has() -> None:
    address = static_files.url_of("style.css")
    assert "immutable" in ask("style.css", address.partition("/static/style.css")[2]).headers["Cache-Control"]
    assert ask("style.css", "?v=other").headers["Cache-Control"] == "no-cache"
    tag = ask("style.css").headers["ETag"]
    again = ask("style.css", If_None_Match=tag)
    assert (again.status, again.body) == (304, None)
    assert ask("style.css", If_None_Match='"other"').status == 200


@pytest.mark.parametrize("name", ["nothing.css", "../__init__.py", "vendor/../style.css", "vendor/manifest.json", "", "vendor"])
def test_a_missing_file_is_not_found(name: str) -> None:
    with pytest.raises(web.HTTPNotFound):
        ask(name)


def test_types() -> None:
    assert {ask(name).content_type for name in static_files.files() if name.endswith(".js")} == {"text/javascript"}
    assert ask("style.css").content_type == "text/css"
    assert ask("icon.svg").content_type == "image/svg+xml"


def test_the_address_of_a_file_that_is_not_there() -> None:
    with pytest.raises(KeyError):
        static_files.url_of("nothing.js")
