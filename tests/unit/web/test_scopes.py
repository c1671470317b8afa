"""Scopes of tokens: the scope for each request, and the refusal of tokens with a smaller scope before anything is done."""

from __future__ import annotations

from typing import Any

import pytest

from daemons.web.api.openapi import document
from daemons.web.api.resources import ANY
from daemons.web.api.scopes import includes_scope, needed_scope, scope_of_request
from gridengine.protocols.gdi.reading import BODIES
from gridengine.protocols.web import ALL, READ, SCOPES, SUBMIT
from tests.unit.web.access_server import AccessServer, Client
from tests.unit.web.followed import ALICE

SUBMITS = {"submit", "alter_jobs", "delete_jobs", "hold_jobs", "resubmit_jobs"} | {
    f"{verb}" for verb in ("reserve", "alter_reservations", "delete_reservations")
}
#: of the REST API, all that changes something and is not in here needs `all`
OF_USERS = {
    ("POST", "/jobs"),
    ("PATCH", "/jobs/{id}"),
    ("DELETE", "/jobs/{id}"),
    *(("POST", f"/jobs/{{id}}/{verb}") for verb in "hold release suspend resume reschedule clear copy".split()),
    ("POST", "/reservations"),
    ("PATCH", "/reservations/{id}"),
    ("DELETE", "/reservations/{id}"),
}
ENDPOINTS = [
    (method.upper(), path.removeprefix("/api/v1"))
    for path, methods in document()["paths"].items()
    for method in methods
    if not path.startswith("/api/v1/requests/")
]


@pytest.mark.parametrize(("method", "path"), ENDPOINTS)
def test_each_endpoint_needs_its_scope(method: str, path: str) -> None:
    if path.startswith("/streams/"):
        path = "/streams/{name}"
    reads = method == "GET" or path.startswith("/streams/")
    required = READ if reads else SUBMIT if (method, path) in OF_USERS else ALL
    assert needed_scope(method, f"/api/v1{path}", {}) == required


@pytest.mark.parametrize("name", ANY)
def test_each_request_of_the_gdi_needs_its_scope(name: str) -> None:
    required = READ if name in BODIES else SUBMIT if name in SUBMITS else ALL
    assert scope_of_request(name) == required == needed_scope("POST", "/api/v1/requests/{name}", {"name": name})


def test_forms_of_pages_and_unknown_paths_need_all() -> None:
    assert {needed_scope("POST", path, {}) for path in ("/jobs", "/me", "/me/tokens", "/nothing", "/api/{tail}", "")} == {ALL}
    assert [[includes_scope(scope, needed) for needed in SCOPES] for scope in (*SCOPES, "none")] == [
        [True, False, False],
        [True, True, False],
        [True, True, True],
        [False, False, False],
    ]


@pytest.mark.statement("DM-5")
def test_a_token_is_refused_what_its_scope_does_not_say(access_server: AccessServer, at: Any, followed: Any) -> None:
    tokens = {scope: access_server.sessions.grant(ALICE, 1, scope)[0] for scope in SCOPES}

    async def play(client: Client) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for scope, token in tokens.items():
            headers = {"Authorization": f"Bearer {token}"}
            for method, path, body in (
                ("GET", "/api/v1/jobs", None),
                ("GET", "/jobs", None),
                ("POST", "/api/v1/jobs?dry_run=true", {"binary": True, "script_file": "/bin/true"}),
                ("PUT", "/api/v1/config/project/x", {"name": "x"}),
                ("POST", "/api/v1/requests/shutdown", {"what": "nothing"}),
            ):
                async with client.request(method, path, headers=headers, json=body, allow_redirects=False) as response:
                    refused = response.status == 403 and "this token is of the scope" in await response.text()
                    found.setdefault(scope, []).append(403 if refused else 200)
        return found

    assert at(play) == {"read": [200, 200, 403, 403, 403], "submit": [200, 200, 200, 403, 403], "all": [200] * 5}
    assert {login.address for login in access_server.sessions.of("alice")} == {"127.0.0.1"}


def test_a_token_of_an_earlier_release_is_good_for_all(access_server: AccessServer) -> None:
    token, _ = access_server.sessions.grant(ALICE, 1, "read", "x")
    text = access_server.path.read_text()
    for field in ('"scope":"read",', '"label":"x",', ',"address":""'):
        assert field in text
        text = text.replace(field, "")
    access_server.path.write_text(text)
    access_server.open()
    found = access_server.sessions.find("token", token)
    assert found is not None and (found.scope, found.label) == (ALL, "")
