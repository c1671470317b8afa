"""The messages files in the browser: permissions, hosts, and the newest first."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from daemons.web import message_files
from daemons.web.message_files import may_read, read_messages
from daemons.web.pages import formats
from gridengine.protocols.gdi.requests import Caller
from tests.unit.web.browsing import rows, text_of, visiting
from tests.unit.web.followed import ALICE, ROOT, Followed

LINES = """\
11/20/2026 18:00:00|  main|h1|I|starting
a line of a crash
11/20/2026 18:00:01|worker|h1|W|a warning | with a bar
11/20/2026 18:00:02|worker|h1|E|an error
"""


@pytest.fixture
def browse(followed: Followed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """`master`: the host of the qmaster. The web server is on h1."""

    def run(address: str, caller: Caller = ROOT, master: str = "h1") -> Any:
        monkeypatch.setattr("tests.unit.web.followed.MASTER", master)

        async def playing() -> Any:
            async with visiting(followed, tmp_path, caller) as visitor:
                return await visitor.get(address)

        followed.take()
        return asyncio.run(playing())

    return run


@pytest.fixture(autouse=True)
def files(tmp_path: Path) -> Path:
    """The qmaster's directory is its own, as in a cell."""
    for place in (tmp_path / "qmaster", tmp_path / "execd" / "h1"):
        place.mkdir(parents=True)
        (place / "messages").write_text(LINES)
    (tmp_path / "qmaster").chmod(0o700)
    return tmp_path


def test_the_newest_message_comes_first(browse: Any) -> None:
    page = browse("/messages")
    assert rows(page) == [
        [formats.logged("11/20/2026 18:00:02"), "E error", "worker", "an error"],
        [formats.logged("11/20/2026 18:00:01"), "W warning", "worker", "a warning | with a bar"],
        ["", "", "-", "a line of a crash"],
        [formats.logged("11/20/2026 18:00:00"), "I info", "main", "starting"],
    ]
    assert page.xpath("//select[@name='of']/option/@value") == ["qmaster", "h1"]
    assert len(rows(browse("/messages?of=h1"))) == 4


@pytest.mark.parametrize(
    ("query", "number"), [("?level=W", 2), ("?level=E", 1), ("?level=C", 0), ("?level=x", 4), ("?find=BAR", 1), ("?page=9", 4)]
)
def test_messages_are_filtered(browse: Any, query: str, number: int) -> None:
    assert len(rows(browse(f"/messages{query}"))) == number


def test_on_another_host_the_page_names_the_host_of_the_file(browse: Any) -> None:
    page = browse("/messages", master="master")
    assert "The qmaster runs on master" in text_of(page)
    assert not rows(page)


@pytest.mark.parametrize("name", ["h2", "../qmaster", "/etc", "..%2Fqmaster", "%00"])
def test_only_files_of_daemons_are_shown(browse: Any, name: str) -> None:
    page = browse(f"/messages?of={name}")
    assert "There is no messages file" in text_of(page)
    assert not rows(page)


@pytest.mark.parametrize("of", ["qmaster", "h1"])
def test_a_user_sees_none(browse: Any, of: str) -> None:
    page = browse(f"/messages?of={of}", ALICE)
    assert '"alice" must be operator' in text_of(page)
    assert not rows(page)


def test_an_operator_only_sees_files_that_they_may_read(
    followed: Followed, browse: Any, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    followed.cell.admin("config_add", kind="operator", name="alice")
    monkeypatch.setattr("daemons.web.pages.messages.may_read", lambda path, *user: path.is_relative_to(files / "execd"))
    assert "alice may not read" in text_of(browse("/messages", ALICE))
    assert len(rows(browse("/messages?of=h1", ALICE))) == 4
    monkeypatch.undo()


def test_file_permissions_decide_on_reading(files: Path) -> None:
    file, mine, gid = files / "qmaster" / "messages", os.getuid(), os.getgid()
    assert may_read(file, "root", 0, 0)
    assert may_read(file, "me", mine, gid)
    assert not may_read(file, "somebody", 54321, 54321)
    assert may_read(Path("/etc/passwd"), "somebody", 54321, 54321)
    file.chmod(0o044)
    assert mine == 0 or not may_read(file, "me", mine, gid), "the owner's bits are the only ones that count for him"


def test_of_a_long_file_the_end_is_read(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(message_files, "MAX_BYTES", 100)
    found, is_cut = read_messages(files / "qmaster" / "messages")
    assert [each.text for each in found] == ["an error", "a warning | with a bar"]
    assert is_cut
