"""Scripts, styles and pictures of the pages: `GET /static/NAME`.

All files below `static/` are read and compressed once, when the server starts; addresses carry the beginning of a file's
hash, so that a browser keeps what it has until it changes. Called by `app.py` (ROUTES) and the templates (`url_of`).
"""

from __future__ import annotations

import gzip
import hashlib
import mimetypes
from functools import cache
from pathlib import Path
from typing import NamedTuple

from aiohttp import hdrs, web

PLACE = Path(__file__).parent / "static"
_DAY_S = 86400
_SERVED = frozenset((".css", ".js", ".svg", ".txt"))


class StaticFile(NamedTuple):
    """A file as it is sent. `tag`: the beginning of its hash."""

    content_type: str
    body: bytes
    compressed: bytes
    tag: str


@cache
def files() -> dict[str, StaticFile]:
    """All files by name below `static/`."""
    return {str(path.relative_to(PLACE)): _read(path) for path in sorted(PLACE.rglob("*")) if path.suffix in _SERVED}


def _read(path: Path) -> StaticFile:
    body = path.read_bytes()
    content_type = mimetypes.types_map.get(path.suffix, "text/plain")
    return StaticFile(content_type, body, gzip.compress(body, mtime=0), hashlib.sha256(body).hexdigest()[:16])


def url_of(name: str) -> str:
    """The address of a file, which changes with what is in it. Raises KeyError for one that is not there."""
    return f"/static/{name}?v={files()[name].tag}"


async def static_file(request: web.Request) -> web.Response:
    """A file, compressed where the browser takes that; 304 when it has it."""
    found = files().get(request.match_info["name"])
    if found is None:
        raise web.HTTPNotFound(text="There is no such file.\n")
    lasting = request.query.get("v") == found.tag
    headers = {
        hdrs.ETAG: f'"{found.tag}"',
        hdrs.VARY: hdrs.ACCEPT_ENCODING,
        hdrs.CACHE_CONTROL: f"public, max-age={365 * _DAY_S}, immutable" if lasting else "no-cache",
    }
    if any(each.value in (found.tag, "*") for each in request.if_none_match or ()):
        return web.Response(status=304, headers=headers)
    body = found.body
    if "gzip" in request.headers.get(hdrs.ACCEPT_ENCODING, "") and len(found.compressed) < len(body):
        body = found.compressed
        headers[hdrs.CONTENT_ENCODING] = "gzip"
    return web.Response(body=body, content_type=found.content_type, charset="utf-8", headers=headers)


ROUTES = [web.get("/static/{name:.+}", static_file)]
