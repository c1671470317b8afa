"""What a token may be used for: the scope that each request to this server needs.

Owns the scopes, and which one a method and a path need: what changes nothing needs `read`, what is about jobs and reservations
`submit`, all else `all`. Each scope includes those before it. What the token's user may do is the qmaster's.

Source: adr/0134.
"""

from __future__ import annotations

from collections.abc import Mapping

from aiohttp import hdrs

from daemons.web.api.resources import RESOURCES
from gridengine.gdi.reading import BODIES
from gridengine.web import ALL, READ, SCOPES, SUBMIT

_ROOT = "/api/v1"
_READING = frozenset((hdrs.METH_GET, hdrs.METH_HEAD, hdrs.METH_OPTIONS))
_OF_USERS = frozenset(
    "submit alter_jobs delete_jobs hold_jobs resubmit_jobs reserve alter_reservations delete_reservations".split()
)
"""Requests of the GDI that are about jobs and reservations alone."""


def scope_of_request(name: str) -> str:
    """The scope that a request of the GDI needs, whatever is in its body."""
    if name in BODIES:
        return READ
    return SUBMIT if name in _OF_USERS else ALL


_TABLE = {
    (row.method, _ROOT + row.path): SUBMIT if row.path.startswith("/jobs/") and not row.reads else scope_of_request(row.request)
    for row in RESOURCES
}


def needed_scope(method: str, path: str, parts: Mapping[str, str]) -> str:
    """The scope that a request needs. `path`: as the route has it, with `{name}` for a part; `parts`: their values."""
    if method in _READING:
        return READ
    if path == f"{_ROOT}/requests/{{name}}":
        return scope_of_request(parts.get("name", ""))
    if path == f"{_ROOT}/streams/{{name}}":
        return READ
    return _TABLE.get((method, path), ALL)


def suffices(scope: str, needed: str) -> bool:
    """Whether a token of this scope may be used for what needs that one; a scope that is none suffices for nothing."""
    return scope in SCOPES and SCOPES.index(scope) >= SCOPES.index(needed)
