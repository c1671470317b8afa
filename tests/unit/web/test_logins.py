"""Unusual logins: repeated, as another user, with a full disk, and while a page is open. docs/security.md."""

from __future__ import annotations

import os
import pwd
from typing import Any

import pytest

from daemons.web.access import guard as guards
from daemons.web.access.links import MOST
from daemons.web.pages.page import render
from gridengine.protocols.gdi.requests import Caller
from tests.unit.web.access_server import AccessServer, Client, csrf, log_in, status
from tests.unit.web.followed import ALICE, BOB, Followed


def test_a_new_link_ends_the_session_that_this_browser_had(access_server: AccessServer, at: Any) -> None:
    async def play(client: Client) -> str:
        await log_in(client, access_server)
        await log_in(client, access_server, BOB)
        async with client.get("/me") as me:
            return await me.text()

    assert "<h1>bob</h1>" in at(play)
    assert list(access_server.sessions.of("alice")) == []


def test_a_new_link_leaves_tokens_alone(access_server: AccessServer, at: Any) -> None:
    token, _ = access_server.sessions.grant(ALICE, 1)

    async def play(client: Client) -> int:
        headers = {"Authorization": f"Bearer {token}"}
        await status(client, f"/login/{access_server.links.make(ALICE)}", "POST", headers=headers)
        return await status(client, "/jobs", headers=headers)

    assert at(play) == 200


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_other_sites_cannot_switch_the_user(access_server: AccessServer, at: Any, site: str) -> None:
    async def play(client: Client) -> int:
        await log_in(client, access_server)
        return await status(client, f"/login/{access_server.links.make(BOB)}", "POST", headers={"Sec-Fetch-Site": site})

    assert at(play) == 403
    assert len(list(access_server.sessions.of("alice"))) == 1


def test_a_user_with_many_links_takes_none_from_others(access_server: AccessServer) -> None:
    alices, first = access_server.links.make(ALICE), access_server.links.make(BOB)
    bobs = [access_server.links.make(BOB) for _ in range(MOST)]
    assert access_server.links.find_caller(alices) == ALICE
    assert access_server.links.find_caller(first) is None
    assert [access_server.links.find_caller(secret) for secret in bobs] == [BOB] * MOST


@pytest.mark.parametrize("address", ["//[", "http://[", "/x", "//a]"])
def test_malformed_addresses_are_refused(access_server: AccessServer, at: Any, address: str) -> None:
    async def play(client: Client) -> list[int]:
        found = [await status(client, "/jobs", headers={"Host": address})]
        link = f"/login/{access_server.links.make(ALICE)}"
        found.append(await status(client, link, "POST", headers={"Cookie": f"ge_next={address}"}))
        found.append(await status(client, "/jobs", "POST", headers={"Origin": address}, data={"csrf": csrf(access_server)}))
        found.append(await status(client, "/live", params={"page": address}))
        return found

    assert at(play) == [421, 303, 403, 404]


@pytest.mark.parametrize(
    ("caller", "expected"),
    [
        (Caller("ann", 900, "staff", 50, "h1"), True),
        (Caller("ann", 900, "project", 60, "h1"), True),
        (Caller("ann", 900, "secret", 70, "h1"), False),  # she was of this group once
        (Caller("ann", 901, "staff", 50, "h1"), False),  # another of the same name
        (Caller("joe", 902, "staff", 50, "h1"), False),
    ],
)
def test_a_login_is_of_a_user_with_his_group(monkeypatch: pytest.MonkeyPatch, caller: Caller, expected: bool) -> None:
    known = {"ann": pwd.struct_passwd(("ann", "x", 900, 50, "", "/", "/bin/sh"))}
    monkeypatch.setattr(pwd, "getpwnam", known.__getitem__)
    monkeypatch.setattr(os, "getgrouplist", lambda user, group: [group, 60])
    assert guards.is_user(caller) is expected


def test_a_revoked_session_gets_no_updates_of_an_open_page(
    access_server: AccessServer, followed: Followed, at: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("daemons.web.live.PAUSE_S", 0.0)

    async def play(client: Client) -> bytes:
        await log_in(client, access_server)
        async with client.get("/live", params={"page": "/jobs"}) as stream:
            await stream.content.readuntil(b"event: main")
            await stream.content.readuntil(b"\n\n")
            access_server.sessions.end(next(access_server.sessions.of("alice")).digest)
            followed.cell.submit(name="later", hard=["arch=nosuch"])
            followed.cell.master.flush()
            followed.take()
            return await stream.content.read()

    assert at(play) == b""


def test_two_sessions_of_one_user_share_a_page_and_not_its_secret(
    access_server: AccessServer, followed: Followed, at: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    rendered = []
    monkeypatch.setattr("daemons.web.live.PAUSE_S", 60.0)
    monkeypatch.setattr("daemons.web.live.render", lambda *given, **more: rendered.append(1) or render(*given, **more))

    async def sent(client: Client) -> str:
        async with client.get("/live", params={"page": "/jobs"}) as stream:
            await stream.content.readuntil(b"event: main")
            return (await stream.content.readuntil(b"\n\n")).decode()

    async def play(client: Client) -> list[str]:
        found = []
        for _ in range(2):
            client.session.cookie_jar.clear()
            await log_in(client, access_server)
            found.append(await sent(client))
        return found

    followed.cell.submit(holds="u")
    followed.take()
    pages = at(play)
    secrets = [session.csrf for session in access_server.sessions.of("alice")]
    assert len(rendered) == 1
    assert [sorted(secret in page for secret in secrets) for page in pages] == [[False, True]] * 2
    assert pages[0] != pages[1]


def test_a_full_disk_does_not_prevent_reading(access_server: AccessServer, at: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    token, _ = access_server.sessions.grant(ALICE, 7)

    def full(*arguments: object) -> None:
        raise OSError(28, "No space left on device")

    async def play(client: Client) -> tuple[list[int], str]:
        await log_in(client, access_server)
        monkeypatch.setattr("daemons.web.access.logins.atomic_write", full)
        access_server.now += 3600
        found = [await status(client, "/jobs"), await status(client, "/me", headers={"Authorization": f"Bearer {token}"})]
        async with client.post(f"/login/{access_server.links.make(BOB)}") as response:
            return [*found, response.status], await response.text()

    found, text = at(play)
    assert found == [200, 200, 503]
    assert "No space left on device" in text
    assert list(access_server.sessions.of("bob")) == []  # what could not be kept is not good
