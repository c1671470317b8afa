"""The guard before all pages: which host is meant, who calls, and whether he meant it.

Owns the rules that make a page safe to be open beside others: the Host header, the session's cookie or a token, the CSRF token of
each change, and the headers of each answer. Whom it lets in is in the request (`shared.CALLER`, `shared.CSRF`); what he may do
there is the qmaster's business. Source: adr/0134, docs/security.md.
"""

from __future__ import annotations

import asyncio
import hmac
import os
import pwd
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from functools import partial
from urllib.parse import SplitResult, quote, unquote, urlsplit

from aiohttp import hdrs, web
from aiohttp.typedefs import Middleware

from daemons.runtime.cell import LOOPBACK
from daemons.runtime.http_listener import note_login
from daemons.web.access.logins import Login, Logins
from daemons.web.access.shares import MOST_STREAMS, Shares
from daemons.web.api.problem import problem
from daemons.web.api.scopes import needed_scope, suffices
from daemons.web.shared import CALLER, CSRF, IS_LOGGED_IN
from gridengine.gdi.requests import Caller

COOKIE, NEXT = "ge_session", "ge_next"
"""Cookies: the secret of a session, and the page that somebody wanted who was not logged in yet."""
LOGIN = web.RequestKey("login", Login)
"""The session or token by which a request was let in."""
_OPEN = ("/healthz", "/readyz", "/static/", "/login")
_READING = frozenset((hdrs.METH_GET, hdrs.METH_HEAD, hdrs.METH_OPTIONS))
_FORMS = frozenset(("application/x-www-form-urlencoded", "multipart/form-data"))
_HEADERS = {
    "Content-Security-Policy": "default-src 'self'; base-uri 'none'; frame-ancestors 'none'; form-action 'self'; "
    "object-src 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",  # with none, browsers hide the Origin of forms, too
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_REFUSED_WITH = {401: {hdrs.WWW_AUTHENTICATE: "Bearer"}, 429: {hdrs.RETRY_AFTER: "10"}}
_KNOWN_S, _MOST_KNOWN = 60.0, 1000
_NEXT_S = 900

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Guard:
    """`names`: of this host, by which browsers may call it. `tls`: it is reached by HTTPS alone."""

    def __init__(self, logins: Logins, names: frozenset[str], tls: bool) -> None:
        self._logins, self._names, self.tls = logins, names, tls
        self._known: OrderedDict[tuple[str, int], float] = OrderedDict()
        self._shares = Shares()

    def protect(self, app: web.Application) -> None:
        """Stand before an application; what else is to come before its handlers comes behind this."""
        app.middlewares.insert(0, self._middleware())
        app.on_response_prepare.append(_add_headers)

    def _middleware(self) -> Middleware:
        @web.middleware
        async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
            if not self._is_for_us(request):
                return _refusal(request, 421, "this server goes by another name: see `names` in common/web")
            login = self._login(request)
            if login is not None and not await self._lives(login.caller):
                self._logins.end(login.digest)
                login = None
            if login is not None:
                note_login(request)
                request[LOGIN], request[CALLER], request[CSRF] = login, login.caller, login.csrf
                is_logged_in: Callable[[], bool] = partial(self._logins.has, login)
                request[IS_LOGGED_IN] = is_logged_in
            elif not _is_open(request):
                return self._not_logged_in(request)
            if login is not None and login.kind == "token" and not suffices(login.scope, needed := _needed(request)):
                return _refusal(request, 403, f"this token is of the scope {login.scope}, and this needs {needed}")
            meant = partial(_if_meant, login=login, handler=handler)
            if login is None:
                return await meant(request)
            answer = await self._shares.answer(login.caller.user, request, meant)
            if answer is None:
                return _refusal(request, 429, f"you have {MOST_STREAMS} streams open already: close pages or programs")
            return answer

        return guard

    def _is_for_us(self, request: web.Request) -> bool:
        """Whether the browser meant this host: another name for its address is somebody else's page (DNS rebinding)."""
        name = _parts(f"//{request.headers.get(hdrs.HOST, '')}").hostname
        return name is not None and name.lower() in self._names

    def _login(self, request: web.Request) -> Login | None:
        scheme, _, token = request.headers.get(hdrs.AUTHORIZATION, "").partition(" ")
        if scheme.lower() == "bearer":
            return self._logins.find("token", token.strip(), request.remote or "")
        cookie = request.cookies.get(COOKIE, "")
        return self._logins.find("session", cookie, request.remote or "") if cookie else None

    def _not_logged_in(self, request: web.Request) -> web.Response:
        is_part = "HX-Request" in request.headers  # of a page, which the login page does not fit into
        if request.path.startswith("/api/") or request.method not in _READING or is_part:
            return _refusal(request, 401, "log in first: gridengine web --login prints a link, --token a token for programs")
        response = web.Response(status=303, headers={hdrs.LOCATION: "/login"})
        response.set_cookie(
            *(NEXT, quote(request.path_qs)), httponly=True, samesite="Lax", path="/login", secure=self.tls, max_age=_NEXT_S
        )
        return response

    async def _lives(self, caller: Caller) -> bool:
        """Whether there still is this user on this host; asked once a minute."""
        key, now = (caller.user, caller.uid), time.monotonic()
        if self._known.get(key, -_KNOWN_S) + _KNOWN_S > now:
            return True
        if not await asyncio.to_thread(_is_user, caller):
            return False
        self._known[key] = now
        if len(self._known) > _MOST_KNOWN:
            self._known.popitem(last=False)
        return True


async def _if_meant(request: web.Request, login: Login | None, handler: Handler) -> web.StreamResponse:
    if request.method not in _READING and (fault := await _not_meant(request, login)):
        return _refusal(request, 403, fault)
    return await handler(request)


def wanted_page(request: web.Request) -> str:
    """Where to go after a login: what was asked for before it, on this server; the overview for anything else."""
    text = unquote(request.cookies.get(NEXT, ""))
    fine = text.startswith("/") and not text.startswith(("//", "/\\")) and not _parts(text).netloc and text.isprintable()
    return text if fine else "/"


def _needed(request: web.Request) -> str:
    """The scope that a token needs for a request."""
    resource = request.match_info.route.resource
    return needed_scope(request.method, resource.canonical if resource is not None else "", request.match_info)


def _parts(address: str) -> SplitResult:
    """The parts of an address that a stranger wrote; none of what is no address."""
    try:
        return urlsplit(address)
    except ValueError:
        return urlsplit("")


def _is_user(caller: Caller) -> bool:
    """Whether there is this user, and he still is of the group with which he logged in."""
    try:
        user = pwd.getpwnam(caller.user)
    except KeyError:
        return False
    return user.pw_uid == caller.uid and caller.gid in os.getgrouplist(caller.user, user.pw_gid)


def _is_open(request: web.Request) -> bool:
    """Whether everybody may read it; the metrics are for programs of this host."""
    path = request.path
    if path == "/metrics":
        return request.remote in (LOOPBACK, "::1")
    return any(path == each or (path.startswith(each) and each.endswith("/")) for each in _OPEN) or path.startswith("/login/")


async def _not_meant(request: web.Request, login: Login | None) -> str:
    """Why a change is refused that a browser may have sent without its user, with the cookie of his session; "" if it is not.

    A program with a token means what it asks. A link needs no more than its secret, whoever is logged in already.
    """
    if login is not None and login.kind == "token":
        return ""
    if fault := _foreign(request):
        return fault
    if login is None or request.path.startswith("/login/"):
        return ""
    given = request.headers.get("X-CSRF-Token", "")
    if not given and request.content_type in _FORMS:
        field = (await request.post()).get("csrf", "")
        given = field if isinstance(field, str) else ""
    if not hmac.compare_digest(given.encode(), login.csrf.encode()):
        return "this form is not of your session any more: load the page again"
    return ""


def _foreign(request: web.Request) -> str:
    """Why a change is refused that another site's page has asked for, "" if none has."""
    origin = request.headers.get(hdrs.ORIGIN)
    if request.headers.get("Sec-Fetch-Site", "none") not in ("same-origin", "none"):
        return "a page of another site has asked for this"
    if origin is not None and _parts(origin).netloc.lower() != request.host.lower():
        return "a page of another site has asked for this"
    return ""


def _refusal(request: web.Request, status: int, text: str) -> web.Response:
    headers = _REFUSED_WITH.get(status, {})
    if request.path.startswith("/api/"):
        response = problem(status, text)
        response.headers.update(headers)
        return response
    return web.Response(text=text + "\n", status=status, headers=headers)


async def _add_headers(request: web.Request, response: web.StreamResponse) -> None:
    response.headers.update(_HEADERS)
    response.headers.setdefault(hdrs.CACHE_CONTROL, "no-store")
