"""Scripts, styles and pictures of the pages: `GET /static/NAME`.

All files below `static/` are read and compressed once, at the start of the server. Addresses contain the beginning of a file's
hash, so that browsers can cache a file until it changes. Called by `app.py` (ROUTES) and the templates (`url_of`).
"""

from __future__ import annotations

import gzip
import hashlib
import mimetypes
from functools import cache
from pathlib import Path
from typing import NamedTuple

from aiohttp import hdrs, web

DIRECTORY = Path(__file__).parent / "static"
_DAY_S = 86400
_SERVED = frozenset((".css", ".js", ".svg", ".txt"))


class StaticFile(NamedTuple):
    """A file in the form of the answer: `body`, and `compressed` with gzip. `content_type`: of HTTP. `tag`: the beginning of its
    hash."""

    content_type: str
    body: bytes
    compressed: bytes
    tag: str


@cache
def files() -> dict[str, StaticFile]:
    """All files by name below `static/`."""
    return {str(path.relative_to(DIRECTORY)): _read(path) for path in sorted(DIRECTORY.rglob("*")) if path.suffix in _SERVED}


def _read(path: Path) -> StaticFile:
    body = path.read_bytes()
    content_type = mimetypes.types_map.get(path.suffix, "text/plain")
    return StaticFile(content_type, body, gzip.compress(body, mtime=0), hashlib.sha256(body).hexdigest()[:16])


def url_of(name: str) -> str:
    """The address of a file, which changes with its content. Raises KeyError for an unknown file."""
    return f"/static/{name}?v={files()[name].tag}"


async def static_file(request: web.Request) -> web.Response:
    """A file, compressed if the browser accepts it; 304 if the browser has it."""
    file = files().get(request.match_info["name"])
    if file is None:
        raise web.HTTPNotFound(text="There is no such file.\n")
    is_permanent = request.query.get("v") == file.tag
    headers = {
        hdrs.ETAG: f'"{file.tag}"',
        hdrs.VARY: hdrs.ACCEPT_ENCODING,
        hdrs.CACHE_CONTROL: f"public, max-age={365 * _DAY_S}, immutable" if is_permanent else "no-cache",
    }
    if any(each.value in (file.tag, "*") for each in request.if_none_match or ()):
        return web.Response(status=304, headers=headers)
    body = file.body
    if "gzip" in request.headers.get(hdrs.ACCEPT_ENCODING, "") and len(file.compressed) < len(body):
        body = file.compressed
        headers[hdrs.CONTENT_ENCODING] = "gzip"
    return web.Response(body=body, content_type=file.content_type, charset="utf-8", headers=headers)


ROUTES = [web.get("/static/{name:.+}", static_file)]
