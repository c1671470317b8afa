"""Scopes of tokens: the scope that each request to this server needs.

Owns the scopes, and the scope for each method and path: reads need `read`, requests about jobs and reservations `submit`, all
other requests `all`. Each scope includes the previous scopes. The qmaster decides on the rights of the token's user.

Source: adr/0134.
"""

from __future__ import annotations

from collections.abc import Mapping

from aiohttp import hdrs

from daemons.web.api.resources import RESOURCES
from gridengine.protocols.gdi.reading import BODIES
from gridengine.protocols.web import ALL, READ, SCOPES, SUBMIT

_ROOT = "/api/v1"
_READ_METHODS = frozenset((hdrs.METH_GET, hdrs.METH_HEAD, hdrs.METH_OPTIONS))
_REQUESTS_OF_USERS = frozenset(
    "submit alter_jobs delete_jobs hold_jobs resubmit_jobs reserve alter_reservations delete_reservations".split()
)
"""Requests of the GDI that only concern jobs and reservations."""


def scope_of_request(name: str) -> str:
    """The scope that a request of the GDI needs, independent of its body."""
    if name in BODIES:
        return READ
    return SUBMIT if name in _REQUESTS_OF_USERS else ALL


_SCOPE_OF_ROUTE = {
    (row.method, _ROOT + row.path): SUBMIT if row.path.startswith("/jobs/") and not row.is_read else scope_of_request(row.request)
    for row in RESOURCES
}


def needed_scope(method: str, path: str, parts: Mapping[str, str]) -> str:
    """The scope that a request needs. `path`: as the route has it, with `{name}` for a part; `parts`: their values."""
    if method in _READ_METHODS:
        return READ
    if path == f"{_ROOT}/requests/{{name}}":
        return scope_of_request(parts.get("name", ""))
    if path == f"{_ROOT}/streams/{{name}}":
        return READ
    return _SCOPE_OF_ROUTE.get((method, path), ALL)


def includes_scope(scope: str, needed: str) -> bool:
    """Whether a token of this scope permits requests that need the other scope; an unknown scope permits nothing."""
    return scope in SCOPES and SCOPES.index(scope) >= SCOPES.index(needed)
