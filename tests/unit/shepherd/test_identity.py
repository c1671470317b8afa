"""The user of a process of the shepherd: the job's owner, the user of a method, and forbidden users (EX-14, EX-19)."""

from __future__ import annotations

import os
import pwd
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import pytest

from shepherd import identity
from shepherd.identity import Identity, IdentityError, as_user, become, find_identity, owner, real_ids
from tests.unit.shepherd.configuration import config

ALICE = Identity("alice", 1001, 1002, (1002, 50))


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """What root asks of the kernel."""
    made: list[tuple[Any, ...]] = []
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    for name in ("getuid", "getgid", "getegid"):
        monkeypatch.setattr(os, name, lambda: 0)
    monkeypatch.setattr(os, "getgroups", lambda: [0, 4])
    for name in ("setgroups", "setegid", "seteuid", "setresgid", "setresuid"):
        monkeypatch.setattr(os, name, lambda *ids, name=name: made.append((name, *ids)))
    return made


@pytest.mark.statement("EX-19")
def test_root_becomes_the_owner_of_the_job_for_good(calls: list[tuple[Any, ...]]) -> None:
    become(ALICE)
    assert calls == [("setgroups", (1002, 50)), ("setresgid", 1002, 1002, 1002), ("setresuid", 1001, 1001, 1001)]


@pytest.mark.statement("EX-14")
def test_processes_of_a_job_bear_its_group_id(calls: list[tuple[Any, ...]]) -> None:
    become(ALICE, 65400)
    assert calls[0] == ("setgroups", (1002, 50, 65400))


def test_root_looks_with_the_owners_eyes_and_is_root_again_even_after_an_exception(calls: list[tuple[Any, ...]]) -> None:
    as_alice = [("setgroups", (1002, 50)), ("setegid", 1002), ("seteuid", 1001)]
    with pytest.raises(FileNotFoundError), as_user(ALICE):
        assert calls == as_alice
        raise FileNotFoundError
    assert calls == [*as_alice, ("seteuid", 0), ("setegid", 0), ("setgroups", [0, 4])]


@pytest.mark.statement("EX-14", "EX-19")
@pytest.mark.parametrize(("additional", "groups"), [(None, (1002, 50)), (65400, (1002, 50, 65400))])
def test_a_process_spawned_for_the_owner_has_their_ids_and_root_has_its_own_again(
    calls: list[tuple[Any, ...]], additional: int | None, groups: tuple[int, ...]
) -> None:
    spawning = [("setgroups", groups), ("setresgid", 1002, -1, -1), ("setresuid", 1001, -1, -1)]
    with pytest.raises(FileNotFoundError), real_ids(ALICE, additional):
        assert calls == spawning
        raise FileNotFoundError
    assert calls == [*spawning, ("setresuid", 0, -1, -1), ("setresgid", 0, -1, -1), ("setgroups", [0, 4])]


@pytest.mark.statement("EX-19")
@pytest.mark.parametrize("ids", [lambda: as_user(ALICE), lambda: real_ids(ALICE, None)])
def test_a_shepherd_that_cannot_be_root_again_ends(
    calls: list[tuple[Any, ...]], monkeypatch: pytest.MonkeyPatch, ids: Callable[[], AbstractContextManager[None]]
) -> None:
    def refuse(*_: int) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "_exit", sys.exit)
    with pytest.raises(SystemExit) as ended, ids():
        for name in ("seteuid", "setresuid"):
            monkeypatch.setattr(os, name, refuse)
    assert ended.value.code == 1


@pytest.mark.statement("EX-19")
def test_without_root_ids_do_not_change(calls: list[tuple[Any, ...]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1001)
    become(ALICE)
    with as_user(ALICE), real_ids(ALICE, 65400):
        pass
    assert calls == []


@pytest.mark.statement("EX-14", "EX-19")
@pytest.mark.parametrize(
    ("changes", "uid", "problem"),
    [
        ({"uid": None}, 0, 'user "alice" is unknown'),
        ({"gid": None}, 0, 'user "alice" is unknown'),
        ({}, 1002, "without root"),
        ({"min_uid": 1002}, 0, "user id 1001 .* below min_uid 1002"),
        ({"min_gid": 1002}, 1001, "group id 1001 .* below min_gid 1002"),
    ],
)
def test_jobs_of_some_users_are_not_run(
    changes: dict[str, Any], uid: int, problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: uid)
    with pytest.raises(IdentityError, match=problem):
        owner(config(groups=[], **changes))


@pytest.mark.statement("EX-14", "EX-19")
@pytest.mark.parametrize("uid", [0, 1001])
def test_the_least_ids_that_are_allowed_are_allowed(uid: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: uid)
    assert owner(config(groups=[5], min_uid=1001, min_gid=1001)) == Identity("alice", 1001, 1001, (5,))


def test_groups_that_the_execd_did_not_find_are_looked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(os, "getgrouplist", lambda name, gid: [gid, 77] if name == "alice" else [])
    assert owner(config()).groups == (1001, 77)
    assert owner(config(groups=[])).groups == (), "none is not unknown"


@pytest.mark.statement("QC-25", "EX-19")
def test_the_user_of_a_method(monkeypatch: pytest.MonkeyPatch) -> None:
    entries = {
        "carol": pwd.struct_passwd(("carol", "x", 1003, 50, "", "/home/carol", "")),
        "dave": pwd.struct_passwd(("dave", "x", 1004, 51, "", "/home/dave", "/bin/zsh")),
    }
    monkeypatch.setattr(identity.pwd, "getpwnam", entries.__getitem__)
    monkeypatch.setattr(os, "getgrouplist", lambda _, gid: [gid])
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert find_identity("carol") == Identity("carol", 1003, 50, (50,), "/home/carol", "/bin/sh")
    dave = {"HOME": "/home/dave", "USER": "dave", "LOGNAME": "dave", "SHELL": "/bin/zsh"}
    assert find_identity("dave").environment == dave
    with pytest.raises(IdentityError, match='"eve" is unknown'):
        find_identity("eve")
    monkeypatch.setattr(os, "geteuid", lambda: 1003)
    assert find_identity("carol").uid == 1003
    with pytest.raises(IdentityError, match="without root"):
        find_identity("dave")
