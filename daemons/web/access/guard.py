"""The guard before all pages: host check, authentication and CSRF protection.

Owns the rules that isolate the pages from other sites in the same browser: the Host header, the session's cookie or a token, the
CSRF token of each change, and the headers of each answer. The request holds the authenticated caller (`shared.CALLER`,
`shared.CSRF`); the qmaster decides on the caller's rights. Source: adr/0134, docs/security.md.
"""

from __future__ import annotations

import hmac
import os
from collections.abc import Awaitable, Callable
from functools import partial
from urllib.parse import SplitResult, quote, unquote, urlsplit

from aiohttp import hdrs, web
from aiohttp.typedefs import Middleware

from daemons.runtime.http_listener import note_login
from daemons.runtime.name_service import Lookups, NameServiceError, find_user
from daemons.web.access.logins import Login, Logins
from daemons.web.access.shares import MOST_STREAMS, Shares
from daemons.web.api.problem import problem
from daemons.web.api.scopes import includes_scope, needed_scope
from daemons.web.shared import CALLER, CSRF, IS_LOGGED_IN
from gridengine.addresses import canonical, is_loopback
from gridengine.protocols.gdi.requests import Caller

COOKIE, NEXT = "ge_session", "ge_next"
"""Cookies: the secret of a session, and the page that a visitor requested before the login."""
LOGIN = web.RequestKey("login", Login)
"""The session or token by which a request was let in."""
_PUBLIC_PATHS = ("/healthz", "/readyz", "/static/", "/login")
_READ_METHODS = frozenset((hdrs.METH_GET, hdrs.METH_HEAD, hdrs.METH_OPTIONS))
_FORMS = frozenset(("application/x-www-form-urlencoded", "multipart/form-data"))
_HEADERS = {
    "Content-Security-Policy": "default-src 'self'; base-uri 'none'; frame-ancestors 'none'; form-action 'self'; "
    "object-src 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",  # with none, browsers hide the Origin of forms, too
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_REFUSAL_HEADERS = {401: {hdrs.WWW_AUTHENTICATE: "Bearer"}, 429: {hdrs.RETRY_AFTER: "10"}}
_NEXT_COOKIE_S = 900

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Guard:
    """The guard of one server. `names`: host names that browsers may use; `tls`: whether the server accepts HTTPS only."""

    def __init__(self, logins: Logins, names: frozenset[str], tls: bool) -> None:
        self._logins, self._names, self.tls = logins, names, tls
        self._users: Lookups[Caller, bool] = Lookups(lambda caller: is_user(caller), lambda caller: f'user "{caller.user}"')
        self._shares = Shares()

    def protect(self, app: web.Application) -> None:
        """Put the guard before an application; other middlewares run after the guard."""
        app.middlewares.insert(0, self._middleware())
        app.on_response_prepare.append(_add_headers)

    def _middleware(self) -> Middleware:
        @web.middleware
        async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
            if not self._names_this_host(request):
                return _refusal(request, 421, "this server has another host name: see `names` in common/web")
            login = self._login(request)
            try:
                if login is not None and not await self._users.find(login.caller):
                    self._logins.end(login.digest)
                    login = None
            except NameServiceError as error:  # the login stays
                return _refusal(request, 503, str(error))
            if login is not None:
                note_login(request)
                request[LOGIN], request[CALLER], request[CSRF] = login, login.caller, login.csrf
                is_logged_in: Callable[[], bool] = partial(self._logins.has, login)
                request[IS_LOGGED_IN] = is_logged_in
            elif not _is_public(request):
                return self._refuse_without_login(request)
            if login is not None and login.kind == "token":
                needed = _scope_needed_by(request)
                if not includes_scope(login.scope, needed):
                    return _refusal(request, 403, f"this token is of the scope {login.scope}, and this needs {needed}")
            checked_handler = partial(_check_and_handle, login=login, handler=handler)
            if login is None:
                return await checked_handler(request)
            answer = await self._shares.answer(login.caller.user, request, checked_handler)
            if answer is None:
                return _refusal(request, 429, f"you already have {MOST_STREAMS} open streams: close pages or programs")
            return answer

        return guard

    def _names_this_host(self, request: web.Request) -> bool:
        """Whether the Host header names this host: a foreign name for its address is an attack (DNS rebinding)."""
        name = _split_address(f"//{request.headers.get(hdrs.HOST, '')}").hostname
        return name is not None and (canonical(name) or name.lower()) in self._names

    def _login(self, request: web.Request) -> Login | None:
        scheme, _, token = request.headers.get(hdrs.AUTHORIZATION, "").partition(" ")
        if scheme.lower() == "bearer":
            return self._logins.find("token", token.strip(), _remote(request))
        cookie = request.cookies.get(COOKIE, "")
        return self._logins.find("session", cookie, _remote(request)) if cookie else None

    def _refuse_without_login(self, request: web.Request) -> web.Response:
        is_part = "HX-Request" in request.headers  # the login page does not fit into a part of a page
        if request.path.startswith("/api/") or request.method not in _READ_METHODS or is_part:
            return _refusal(request, 401, "log in first: gridengine web --login prints a link, --token a token for programs")
        response = web.Response(status=303, headers={hdrs.LOCATION: "/login"})
        response.set_cookie(
            NEXT, quote(request.path_qs), httponly=True, samesite="Lax", path="/login", secure=self.tls, max_age=_NEXT_COOKIE_S
        )
        return response


def _remote(request: web.Request) -> str:
    """The address of the browser or program, "" if it is gone."""
    return canonical(request.remote or "")


async def _check_and_handle(request: web.Request, login: Login | None, handler: Handler) -> web.StreamResponse:
    if request.method not in _READ_METHODS and (fault := await _forgery_fault(request, login)):
        return _refusal(request, 403, fault)
    return await handler(request)


def page_after_login(request: web.Request) -> str:
    """The address to open after a login: the page requested before, if on this server, else the overview."""
    text = unquote(request.cookies.get(NEXT, ""))
    fine = text.startswith("/") and not text.startswith(("//", "/\\")) and not _split_address(text).netloc and text.isprintable()
    return text if fine else "/"


def _scope_needed_by(request: web.Request) -> str:
    """The scope that a token needs for a request."""
    resource = request.match_info.route.resource
    return needed_scope(request.method, resource.canonical if resource is not None else "", request.match_info)


def _split_address(address: str) -> SplitResult:
    """The parts of an untrusted address; all parts are empty if the text is not an address."""
    try:
        return urlsplit(address)
    except ValueError:
        return urlsplit("")


def is_user(caller: Caller) -> bool:
    """Whether this user exists, and still belongs to the group of the login. Blocks. Raises NameServiceError."""
    try:
        user = find_user(caller.user)
    except KeyError:
        return False
    return user.pw_uid == caller.uid and caller.gid in os.getgrouplist(caller.user, user.pw_gid)


def _is_public(request: web.Request) -> bool:
    """Whether a request needs no login; the metrics are public for programs on this host only."""
    path = request.path
    if path == "/metrics":
        return is_loopback(_remote(request))
    is_listed = any(path == each or (path.startswith(each) and each.endswith("/")) for each in _PUBLIC_PATHS)
    return is_listed or path.startswith("/login/")


async def _forgery_fault(request: web.Request, login: Login | None) -> str:
    """The reason to refuse a change that may be forged: sent by the user's browser without the user's intent. "" for none.
    Tokens cannot be forged this way. A login link needs only its secret, regardless of an existing session.
    """
    if login is not None and login.kind == "token":
        return ""
    if fault := _cross_site_fault(request):
        return fault
    if login is None or request.path.startswith("/login/"):
        return ""
    given = request.headers.get("X-CSRF-Token", "")
    if not given and request.content_type in _FORMS:
        field = (await request.post()).get("csrf", "")
        given = field if isinstance(field, str) else ""
    if not hmac.compare_digest(given.encode(), login.csrf.encode()):
        return "this form belongs to an earlier session: load the page again"
    return ""


def _cross_site_fault(request: web.Request) -> str:
    """The reason to refuse a change that a page of another site requests, "" for none."""
    origin = request.headers.get(hdrs.ORIGIN)
    if request.headers.get("Sec-Fetch-Site", "none") not in ("same-origin", "none"):
        return "a page of another site has sent this request"
    if origin is not None and _split_address(origin).netloc.lower() != request.host.lower():
        return "a page of another site has sent this request"
    return ""


def _refusal(request: web.Request, status: int, text: str) -> web.Response:
    headers = _REFUSAL_HEADERS.get(status, {})
    if request.path.startswith("/api/"):
        response = problem(status, text)
        response.headers.update(headers)
        return response
    return web.Response(text=text + "\n", status=status, headers=headers)


async def _add_headers(request: web.Request, response: web.StreamResponse) -> None:
    response.headers.update(_HEADERS)
    response.headers.setdefault(hdrs.CACHE_CONTROL, "no-store")
