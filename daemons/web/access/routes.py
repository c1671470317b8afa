"""Login and logout, and the account page of the visitor: role, usage, sessions and tokens.

Source: adr/0134. The secret of a link is in its path, which Referrer-Policy hides from other sites. The login needs a click, so
that a program which opens all links of a mail does not use up the link.
"""

from __future__ import annotations

from aiohttp import hdrs, web
from multidict import MultiMapping

from daemons.web.access.guard import COOKIE, LOGIN, NEXT, Guard, page_after_login
from daemons.web.access.links import Links, token_fault
from daemons.web.access.logins import LONGEST_S, Logins
from daemons.web.pages.formats import moment
from daemons.web.pages.forms import Question, no_question, with_question
from daemons.web.pages.my_usage import my_usage
from daemons.web.pages.page import Data, Page, Visit, html, page_route, render, visit_of
from daemons.web.pages.templating import templates
from daemons.web.shared import WEB
from gridengine.protocols import web as agreed


class Access:
    """The routes of login, logout and account page."""

    def __init__(self, links: Links, logins: Logins, guard: Guard) -> None:
        self._links, self._logins, self._guard = links, logins, guard
        self._page = Page("/me", "me.html", self._me)

    def add_to(self, app: web.Application) -> None:
        """Put the guard before an application, and the routes into it."""
        self._guard.protect(app)
        app.add_routes(
            [
                web.get("/login", self._show_login),
                web.get("/login/{secret}", self._show_link),
                web.post("/login/{secret}", self._log_in),
                web.post("/logout", self._log_out),
                web.post("/me", with_question(self._ask_about_login, self._revoke)),
                web.post("/me/tokens", with_question(no_question, self._grant)),
                page_route(self._page),
            ]
        )

    async def _show_login(self, request: web.Request) -> web.Response:
        """Show how to log in."""
        return _login_page(request)

    async def _show_link(self, request: web.Request) -> web.Response:
        """Show the user of a link, with a button to log in."""
        caller = self._links.find_caller(request.match_info["secret"])
        return _login_page(request, user=caller.user) if caller is not None else _invalid_link_page(request)

    async def _log_in(self, request: web.Request) -> web.Response:
        """Log in by a link. An existing session of this browser ends."""
        caller = self._links.follow(request.match_info["secret"])
        if caller is None:
            return _invalid_link_page(request)
        try:
            secret, _ = self._logins.begin(caller)
        except OSError as error:
            return _login_page(request, status=503, fault=f"The web server cannot log you in: {error.strerror}.")
        if LOGIN in request and request[LOGIN].kind == "session":
            self._logins.end(request[LOGIN].digest)
        response = web.Response(status=303, headers={hdrs.LOCATION: page_after_login(request)})
        response.del_cookie(NEXT, path="/login")
        response.set_cookie(
            COOKIE, secret, httponly=True, samesite="Strict", path="/", secure=self._guard.tls, max_age=int(LONGEST_S)
        )
        return response

    async def _log_out(self, request: web.Request) -> web.Response:
        self._logins.end(request[LOGIN].digest)
        response = web.Response(status=303, headers={hdrs.LOCATION: "/login"})
        response.del_cookie(COOKIE, path="/")
        return response

    async def _me(self, visit: Visit) -> Data:
        """The visitor with their usage, sessions and tokens."""
        shown: Data = {"logins": list(self._logins.of(visit.caller.user)), "caller": visit.caller, "role_of": visit.role}
        shown |= await my_usage(visit)
        return shown | {"scopes": agreed.SCOPES[::-1], "most_days": agreed.MAX_TOKEN_DAYS, "token": "", "fault": "", "values": {}}

    async def _grant(self, request: web.Request) -> web.Response:
        """Create a token, and show it once. Requires a browser session: a token cannot create tokens."""
        visit, fields = visit_of(request), await request.post()
        values = {name: str(fields.get(name, "")).strip() for name in ("label", "scope", "days")}
        days = int(values["days"]) if values["days"].isascii() and values["days"].isdigit() and len(values["days"]) < 6 else 0
        fault, secret = token_fault(days, values["scope"], values["label"]), ""
        if request[LOGIN].kind != "session":
            fault = "a token cannot create tokens: log in with a browser"
        if not fault:
            try:
                secret, _ = self._logins.grant(visit.caller, days, values["scope"], values["label"])
            except OSError as error:
                fault = f"the web server cannot save it: {error.strerror}"
        data = await self._me(visit) | {"token": secret, "fault": fault, "values": values if fault else {}}
        return html(render(self._page, visit._replace(here="/me"), data), 422 if fault else 200)

    def _ask_about_login(self, visit: Visit, fields: MultiMapping[object]) -> Question | None:
        """Ask to confirm the end of a session or token."""
        digest = str(fields.get("digest", ""))
        for login in self._logins.of(visit.caller.user):
            if login.digest == digest:
                effect = "Programs that use it are refused." if login.kind == "token" else "Its browser must log in again."
                what = f"{login.kind} {login.label}".strip()
                title = f"Revoke this {what}, created {moment(login.made)}?"
                return Question(title, "Revoke", [effect, "This cannot be undone."])
        return None

    async def _revoke(self, request: web.Request) -> web.Response:
        """End a session or token of the visitor."""
        fields: MultiMapping[object] = await request.post()
        digest = str(fields.get("digest", ""))
        if digest in {each.digest for each in self._logins.of(visit_of(request).caller.user)}:
            self._logins.end(digest)
        if digest == request[LOGIN].digest and "HX-Request" in request.headers:
            return web.Response(headers={"HX-Redirect": "/login"})  # a whole page, not a part of this one
        return web.Response(status=303, headers={hdrs.LOCATION: "/me"})


def _invalid_link_page(request: web.Request) -> web.Response:
    """The page for an invalid link. Secrets of 256 bits cannot be guessed, so no counter is needed that may lock users out."""
    return _login_page(request, status=403, fault="This link has been used, or is too old.")


def _login_page(request: web.Request, user: str = "", fault: str = "", status: int = 200) -> web.Response:
    shown = templates().get_template("login.html").render(
        cell=request.app[WEB].cell.name, user=user, fault=fault, here=request.path_qs, minutes=agreed.LINK_MINUTES
    )
    return web.Response(text=shown, status=status, content_type="text/html")
