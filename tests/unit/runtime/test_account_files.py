"""Names of callers from the files of a host: as new as the files, and only where the name service asks them first."""

from __future__ import annotations

import asyncio
import grp
import os
import pwd
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from daemons.runtime import account_files, local_users
from daemons.runtime.account_files import AccountFiles
from daemons.runtime.local_users import LocalUsers

PASSWD = "root:x:0:0:root:/root:/bin/bash\nann:x:1001:100::/home/ann:/bin/sh\nann2:x:1001:100::/:/bin/sh\n"
GROUP = "root:x:0:\nusers:x:100:ann,joe\n"


@pytest.fixture
def etc(tmp_path: Path) -> Path:
    (tmp_path / "nsswitch.conf").write_text("# files\npasswd: files systemd\ngroup:\tfiles systemd\nhosts: files dns\n")
    (tmp_path / "passwd").write_text(PASSWD)
    (tmp_path / "group").write_text(GROUP)
    return tmp_path


def test_names_are_those_of_the_first_lines(etc: Path) -> None:
    files = AccountFiles(etc)
    assert files.names(0, 0) == ("root", "root")
    assert files.names(1001, 100) == ("ann", "users")


@pytest.mark.parametrize(("uid", "gid"), [(1002, 100), (1001, 101)])
def test_a_user_outside_the_files_is_not_denied(etc: Path, uid: int, gid: int) -> None:
    assert AccountFiles(etc).names(uid, gid) is None


@pytest.mark.parametrize(
    "sources",
    [
        "passwd: sss files\ngroup: files\n",
        "passwd: files\ngroup: sss files\n",
        "passwd: files [SUCCESS=continue] sss\ngroup: files\n",
        "passwd: files\ngroup: files [SUCCESS=merge] sss\n",
        "passwd: files\n",
        "#passwd: files\ngroup: files\n",
        "",
    ],
)
def test_the_files_do_not_count_where_another_source_may_decide(etc: Path, sources: str) -> None:
    (etc / "nsswitch.conf").write_text(sources)
    assert AccountFiles(etc).names(0, 0) is None


def test_changes_count_at_once(etc: Path) -> None:
    """Of files whose content is kept: they are not new."""

    def change(name: str, text: str) -> None:
        (etc / name).write_text(text)
        os.utime(etc / name, (0, 0))

    change("nsswitch.conf", (etc / "nsswitch.conf").read_text())
    change("passwd", PASSWD)
    change("group", GROUP)
    files = AccountFiles(etc)
    assert files.names(1001, 100) == ("ann", "users")
    change("passwd.new", PASSWD.replace("ann", "joe"))  # of the same size and time
    (etc / "passwd.new").rename(etc / "passwd")
    assert files.names(1001, 100) == ("joe", "users")
    change("group", f"{GROUP}staff:x:50:\n")
    assert files.names(1001, 50) == ("joe", "staff")
    change("passwd", "root:x:0:0:root:/root:/bin/bash\n")
    assert files.names(1001, 50) is None, "a deleted user is unknown at once"
    change("nsswitch.conf", "passwd: ldap files\ngroup: ldap files\n")
    assert files.names(0, 0) is None


@pytest.mark.parametrize("missing", ["nsswitch.conf", "passwd", "group"])
def test_without_a_file_the_name_service_is_asked(etc: Path, missing: str) -> None:
    (etc / missing).unlink()
    assert AccountFiles(etc).names(0, 0) is None


def test_lines_that_the_c_library_skips_are_no_users(etc: Path) -> None:
    skipped = b"+joe:x:7:7::/:/bin/sh\n#ann:x:7:7::/:/bin/sh\nx\n:::\nb:x:seven:7::/:/bin/sh\n"
    (etc / "passwd").write_bytes(skipped + b"m\xe4x:x:7:0::/:/bin/sh\n")
    assert AccountFiles(etc).names(7, 0) == (os.fsdecode(b"m\xe4x"), "root")


@pytest.mark.parametrize(("age_s", "times"), [(3600, 1), (0, 3), (-3600, 3)])
def test_a_file_is_read_once_when_no_change_can_have_its_time(
    etc: Path, monkeypatch: pytest.MonkeyPatch, age_s: int, times: int
) -> None:
    """A clock of files has ticks of some milliseconds: two changes in one tick look like one."""
    changed = time.time() - age_s
    for file in etc.iterdir():
        os.utime(file, (changed, changed))
    opened = []

    def counting(path: Path, **more: Any) -> Any:
        opened.append(path.name)
        return open(path, **more)

    monkeypatch.setattr(account_files, "open", counting, raising=False)
    files = AccountFiles(etc)
    for _ in range(3):
        assert files.names(0, 0) == ("root", "root")
    assert sorted(opened) == sorted(["nsswitch.conf", "passwd", "group"] * times)


def test_the_answers_are_those_of_the_c_library_on_this_host() -> None:
    files = AccountFiles()
    for user in pwd.getpwall():
        if names := files.names(user.pw_uid, user.pw_gid):
            assert names == (pwd.getpwuid(user.pw_uid).pw_name, grp.getgrgid(user.pw_gid).gr_name)


def test_a_caller_in_the_files_costs_no_thread(etc: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_users, "AccountFiles", lambda: AccountFiles(etc))
    monkeypatch.setattr(threading.Thread, "start", lambda _: pytest.fail("a thread was started"))

    async def scene() -> tuple[str, str]:
        return await LocalUsers().names(1001, 100)

    assert asyncio.run(scene()) == ("ann", "users")
