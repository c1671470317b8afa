"""Access to the pages, and attacks by other sites and other users. Each of these rules is a defence: docs/security.md."""

from __future__ import annotations

import re
from typing import Any

import pytest

from daemons.web.access.guard import COOKIE
from daemons.web.access.logins import IDLE_S, LONGEST_S, MOST
from gridengine.protocols.web import LINK_MINUTES
from tests.unit.web.access_server import AccessServer, Client, csrf, log_in, status
from tests.unit.web.followed import ALICE, BOB, Followed

# --- logging in -------------------------------------------------------------------------------------------------------


def test_a_link_logs_its_user_in_and_leads_to_the_requested_page(access_server: AccessServer, at: Any) -> None:
    async def play(client: Client) -> tuple[str, str, str]:
        async with client.get("/jobs?owner=bob", allow_redirects=False) as sent_away:
            assert (sent_away.status, sent_away.headers["Location"]) == (303, "/login")
        async with client.get(link := f"/login/{access_server.links.make(ALICE)}") as offered:
            page = await offered.text()
        async with client.post(link, allow_redirects=False) as logged_in:
            place = logged_in.headers["Location"]
        async with client.get("/me") as me:
            return page, place, await me.text()

    offered, place, me = at(play)
    assert "Log in as alice" in offered
    assert place == "/jobs?owner=bob"
    assert "<h1>alice</h1>" in me


def test_looking_at_a_link_does_not_use_it_up_and_following_it_does(access_server: AccessServer, at: Any) -> None:
    link = f"/login/{access_server.links.make(ALICE)}"

    async def play(client: Client) -> list[int]:
        looks = [await status(client, link) for _ in range(3)]
        return [*looks, await status(client, link, "POST"), await status(client, link, "POST"), await status(client, link)]

    assert at(play) == [200, 200, 200, 303, 403, 403]


def test_a_link_is_good_for_some_minutes(access_server: AccessServer, at: Any) -> None:
    late, early = (f"/login/{access_server.links.make(ALICE)}" for _ in range(2))

    async def play(client: Client) -> list[int]:
        access_server.now += LINK_MINUTES * 60 - 1
        first = await status(client, early, "POST")
        access_server.now += 1
        return [first, await status(client, late, "POST")]

    assert at(play) == [303, 403]


def test_wrong_links_do_not_block_logins(access_server: AccessServer, at: Any) -> None:
    """All users behind a tunnel have one address. A link has 256 bits."""

    async def play(client: Client) -> list[int]:
        wrong = [await status(client, f"/login/wrong{number}", method) for method in ("GET", "POST") for number in range(30)]
        link = f"/login/{access_server.links.make(ALICE)}"
        return [*wrong, await status(client, link), await status(client, link, "POST")]

    assert at(play) == [403] * 60 + [200, 303]
    assert len(access_server.links.make(ALICE)) * 6 >= 256


@pytest.mark.parametrize("target", ["//evil.example/", "/\\evil.example", "https://evil.example/", "/%0d%0aSet-Cookie:x=1", "x"])
def test_a_login_leads_nowhere_else(access_server: AccessServer, at: Any, target: str) -> None:
    async def play(client: Client) -> str:
        headers = {"Cookie": f"ge_next={target}"}
        async with client.post(f"/login/{access_server.links.make(ALICE)}", headers=headers, allow_redirects=False) as response:
            assert "x" not in response.cookies
            return str(response.headers["Location"])

    assert at(play) == "/"


@pytest.mark.parametrize("tls", [False, True])
def test_the_cookie_is_for_this_server_alone(access_server: AccessServer, at: Any, tls: bool) -> None:
    async def play(client: Client) -> Any:
        async with client.post(f"/login/{access_server.links.make(ALICE)}", allow_redirects=False) as response:
            return response.cookies[COOKIE]

    cookie = at(play, tls)
    assert (cookie["httponly"], cookie["samesite"], cookie["path"], bool(cookie["secure"])) == (True, "Strict", "/", tls)


# --- sessions and tokens ----------------------------------------------------------------------------------------------


def test_no_page_is_read_without_a_login(at: Any) -> None:
    async def play(client: Client) -> dict[str, int]:
        paths = ("/", "/jobs", "/jobs/1", "/instances", "/hosts", "/me", "/live?page=/jobs", "/nothing", "/api/v1/jobs")
        return {path: await status(client, path) for path in paths}

    found = at(play)
    assert found.pop("/api/v1/jobs") == 401
    assert set(found.values()) == {303}


def test_public_paths_need_no_login(at: Any) -> None:
    async def play(client: Client) -> list[int]:
        return [await status(client, path) for path in ("/healthz", "/readyz", "/static/style.css", "/login", "/metrics")]

    assert at(play) == [200] * 5


def test_a_session_expires_unused_and_after_a_week(access_server: AccessServer, at: Any) -> None:
    async def play(client: Client) -> list[int]:
        await log_in(client, access_server)
        found = []
        for pause in (IDLE_S - 1, IDLE_S - 1, IDLE_S):
            access_server.now += pause
            found.append(await status(client, "/jobs"))
        await log_in(client, access_server)
        begin = access_server.now
        while access_server.now < begin + LONGEST_S:
            access_server.now += IDLE_S / 2
            found.append(await status(client, "/jobs"))
        return found

    found = at(play)
    assert found[:3] == [200, 200, 303]
    assert found[3:] == [200] * (len(found) - 4) + [303]


def test_a_restart_keeps_sessions_and_no_secret_is_on_disk(access_server: AccessServer, at: Any) -> None:
    secret, _ = access_server.sessions.begin(ALICE)
    token, _ = access_server.sessions.grant(BOB, 3)
    access_server.open()

    async def play(client: Client) -> list[int]:
        return [
            await status(client, "/me", headers={"Cookie": f"{COOKIE}={secret}"}),
            await status(client, "/me", headers={"Authorization": f"Bearer {token}"}),
            await status(client, "/me", headers={"Authorization": f"Bearer {secret}"}),
            await status(client, "/me", headers={"Cookie": f"{COOKIE}={token}"}),
        ]

    assert at(play) == [200, 200, 303, 303]
    text = access_server.path.read_text()
    assert secret not in text
    assert token not in text
    assert access_server.path.stat().st_mode & 0o777 == 0o600


def test_use_of_a_token_does_not_extend_its_days(access_server: AccessServer, at: Any) -> None:
    token, _ = access_server.sessions.grant(ALICE, 2)

    async def play(client: Client) -> list[int]:
        found = []
        for pause in (0, 2 * 86_400 - 1, 1):
            access_server.now += pause
            found.append(await status(client, "/jobs", headers={"Authorization": f"Bearer {token}"}))
        return found

    assert at(play) == [200, 200, 303]


def test_a_logged_out_or_revoked_session_has_no_access(access_server: AccessServer, at: Any) -> None:
    async def play(client: Client) -> list[int]:
        await log_in(client, access_server)
        found = [await status(client, "/logout", "POST", data={"csrf": csrf(access_server)}), await status(client, "/jobs")]
        await log_in(client, access_server)
        fields = {"csrf": csrf(access_server), "digest": next(access_server.sessions.of("alice")).digest, "confirmed": "1"}
        return [*found, await status(client, "/me", "POST", data=fields), await status(client, "/jobs")]

    assert at(play) == [303, 303, 303, 303]
    assert list(access_server.sessions.of("alice")) == []


def test_a_part_of_a_page_is_no_login_page(access_server: AccessServer, at: Any) -> None:
    """htmx puts answers into an open page: without a login it gets an error, or the whole page goes to the login."""

    async def play(client: Client) -> tuple[int, int, str | None]:
        part = {"HX-Request": "true"}
        before = await status(client, "/jobs", headers=part)
        await log_in(client, access_server)
        own = next(access_server.sessions.of(ALICE.user)).digest
        fields = {"csrf": csrf(access_server), "digest": own, "confirmed": "1"}
        async with client.post("/me", data=fields, headers=part, allow_redirects=False) as response:
            return before, response.status, response.headers.get("HX-Redirect")

    assert at(play) == (401, 200, "/login")


def test_users_cannot_revoke_logins_of_other_users(access_server: AccessServer, at: Any) -> None:
    _, bobs = access_server.sessions.begin(BOB)

    async def play(client: Client) -> None:
        await log_in(client, access_server)
        await status(client, "/me", "POST", data={"csrf": csrf(access_server), "digest": bobs.digest})

    at(play)
    assert list(access_server.sessions.of("bob")) == [bobs]


def test_a_removed_user_has_no_access(access_server: AccessServer, at: Any) -> None:
    async def play(client: Client) -> list[int]:
        await log_in(client, access_server)
        before = await status(client, "/jobs")
        access_server.users.remove("alice")
        return [before, await status(client, "/jobs")]

    assert at(play) == [200, 303]
    assert list(access_server.sessions.of("alice")) == []


def test_the_oldest_of_too_many_sessions_makes_way(access_server: AccessServer) -> None:
    first, _ = access_server.sessions.begin(ALICE)
    for _ in range(MOST):
        access_server.now += 1
        access_server.sessions.begin(ALICE)
    assert access_server.sessions.find("session", first) is None
    assert len(list(access_server.sessions.of("alice"))) == MOST


# --- other pages ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("headers", "field", "expected"),
    [
        ({}, "", 403),
        ({}, "wrong", 403),
        ({"X-CSRF-Token": "wrong"}, "right", 403),
        ({}, "right", 200),
        ({"X-CSRF-Token": "right"}, "", 200),
        ({"Sec-Fetch-Site": "cross-site"}, "right", 403),
        ({"Sec-Fetch-Site": "same-site"}, "right", 403),
        ({"Sec-Fetch-Site": "same-origin"}, "right", 200),
        ({"Origin": "http://evil.example"}, "right", 403),
        ({"Origin": "null"}, "right", 403),
    ],
)
def test_a_change_must_come_from_a_page_of_the_session(
    followed: Followed, access_server: AccessServer, at: Any, headers: dict[str, str], field: str, expected: int
) -> None:
    followed.cell.submit(hard=["arch=nosuch"])

    async def play(client: Client) -> int:
        await log_in(client, access_server)
        right = csrf(access_server)
        sent = {name: value.replace("right", right) for name, value in headers.items()}
        data = {"action": "delete", "confirmed": "1", "target": "1", "csrf": field.replace("right", right)}
        return await status(client, "/jobs", "POST", data=data, headers=sent)

    assert at(play) == expected
    assert (1 in followed.cell.state.jobs) == (expected == 403)


def test_the_token_of_another_session_is_none(followed: Followed, access_server: AccessServer, at: Any) -> None:
    _, bobs = access_server.sessions.begin(BOB)
    followed.cell.submit(hard=["arch=nosuch"])

    async def play(client: Client) -> int:
        await log_in(client, access_server)
        fields = {"action": "delete", "confirmed": "1", "target": "1", "csrf": bobs.csrf}
        return await status(client, "/jobs", "POST", data=fields)

    assert at(play) == 403


def test_a_program_with_a_token_needs_no_form(followed: Followed, access_server: AccessServer, at: Any) -> None:
    token, _ = access_server.sessions.grant(ALICE, 1)
    followed.cell.submit(hard=["arch=nosuch"])

    async def play(client: Client) -> int:
        fields = {"action": "delete", "confirmed": "1", "target": "1"}
        return await status(client, "/jobs", "POST", data=fields, headers={"Authorization": f"Bearer {token}"})

    assert at(play) == 200
    assert 1 not in followed.cell.state.jobs


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_other_sites_cannot_log_users_in(access_server: AccessServer, at: Any, site: str) -> None:
    async def play(client: Client) -> int:
        return await status(client, f"/login/{access_server.links.make(BOB)}", "POST", headers={"Sec-Fetch-Site": site})

    assert at(play) == 403


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("localhost:8646", 200), ("127.0.0.1", 200), ("LOCALHOST", 200), ("[fd88::1]:8646", 200), ("[FD88:0::1]", 200),
        ("evil.example", 421), ("[fd88::2]:8646", 421), ("localhost.evil.example", 421), ("", 421),
    ],
)
def test_a_browser_that_means_another_host_is_sent_away(access_server: AccessServer, at: Any, host: str, expected: int) -> None:
    async def play(client: Client) -> int:
        await log_in(client, access_server)
        return await status(client, "/jobs", headers={"Host": host})

    assert at(play) == expected


def test_no_page_is_shown_within_another_or_runs_what_is_not_of_this_server(access_server: AccessServer, at: Any) -> None:
    async def play(client: Client) -> list[Any]:
        await log_in(client, access_server)
        found = []
        for path in ("/", "/login", "/jobs/99", "/healthz"):
            async with client.get(path) as response:
                found.append(response.headers)
        return found

    for headers in at(play):
        policy = headers["Content-Security-Policy"]
        assert re.search(r"default-src 'self'(;|$)", policy)
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Cache-Control"] == "no-store"


@pytest.mark.statement("DM-5")
def test_a_token_is_made_on_the_page_of_its_user_and_shown_once(access_server: AccessServer, at: Any) -> None:
    async def play(client: Client) -> list[str]:
        await log_in(client, access_server)
        fields = {"label": "nightly <b>", "scope": "read", "days": "7", "csrf": csrf(access_server)}
        texts = []
        for changed in ({}, {"days": "0"}, {"scope": "write"}):
            async with client.post("/me/tokens", data=fields | changed) as response:
                texts.append(f"{response.status} {await response.text()}")
        return texts

    made, *wrong = at(play)
    (token,) = [login for login in access_server.sessions.of("alice") if login.kind == "token"]
    assert (token.scope, token.label, token.until) == ("read", "nightly <b>", access_server.now + 7 * 86_400)
    assert made.startswith("200 ") and "nightly &lt;b&gt;" in made and "not shown again" in made
    assert "422 " in wrong[0][:4] and "1 to 366 days" in wrong[0] and "one of read, submit, all" in wrong[1]


def test_a_token_makes_no_token(access_server: AccessServer, at: Any) -> None:
    token, _ = access_server.sessions.grant(ALICE, 1)

    async def play(client: Client) -> tuple[int, str]:
        fields = {"label": "", "scope": "all", "days": "7"}
        async with client.post("/me/tokens", data=fields, headers={"Authorization": f"Bearer {token}"}) as response:
            return response.status, await response.text()

    status_code, text = at(play)
    assert status_code == 422 and "a token cannot create tokens" in text
    assert len(list(access_server.sessions.of("alice"))) == 1
