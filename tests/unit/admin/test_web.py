"""Users who may start the web server of a host, and the message to other users."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from clients.admin import web
from clients.admin.errors import AdminError


@pytest.fixture
def cell(tmp_path: Path) -> Any:
    """A cell of the user 1500; its host runs no web server."""
    files = SimpleNamespace(common=SimpleNamespace(stat=lambda: SimpleNamespace(st_uid=1500)))
    variables = {"SGE_CELL": "c"}
    return SimpleNamespace(files=files, settings={"admin_user": "sge"}, run_dir=tmp_path, environment=lambda: variables)


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The command line that started the server."""
    found: list[str] = []
    monkeypatch.setattr(web, "web_of", lambda cell: "sge_web")
    monkeypatch.setattr(web, "process_of", lambda daemon: None)
    monkeypatch.setattr(web, "find_installation", lambda: SimpleNamespace(program=lambda name: f"/bin/{name}"))
    monkeypatch.setattr(web, "start", lambda daemon, *_: found.append(daemon))
    monkeypatch.setattr(os, "execve", lambda path, argv, variables: found.append(" ".join([*argv, variables["SGE_CELL"]])))
    return found


@pytest.mark.parametrize("user", [0, 1500])
def test_root_and_the_owner_start_it(cell: Any, started: list[str], monkeypatch: pytest.MonkeyPatch, user: int) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: user)
    web.start_server(cell)
    web.become_server(cell)
    assert started == ["sge_web", "/bin/sge_web --foreground c"]


def test_other_users_are_referred_to_the_owner(cell: Any, started: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1501)
    printing = (web.print_link, web.print_tokens, lambda cell: web.print_token(cell, 1, "all", ""))
    for ask in (web.start_server, web.become_server, *printing):
        with pytest.raises(AdminError, match="no web server .*: sge starts it with gridengine web"):
            ask(cell)
    assert started == []


def test_tokens_are_listed_with_scope_and_last_use(
    cell: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    one = {"label": "", "scope": "read", "made": 0.0, "used": 60.0, "until": 86_400.0, "address": "10.0.0.9"}
    monkeypatch.setattr(web, "ask_server", lambda cell, request: {"tokens": [one]} if request == "tokens" else {})
    web.print_tokens(cell)
    head, line = capsys.readouterr().out.splitlines()
    assert head.split() == ["label", "scope", "made", "last", "used", "from", "valid", "until"]
    assert line.split()[:2] == ["-", "read"] and "10.0.0.9" in line
