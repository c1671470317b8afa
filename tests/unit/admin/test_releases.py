"""Releases beside each other: the link that is swapped, the files that are moved, and the releases that are kept."""

from __future__ import annotations

import fcntl
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

import daemons.runtime.release
import shepherd.release
from clients.admin import installation
from clients.admin.__main__ import main as admin_main
from clients.admin.errors import AdminError
from clients.admin.releases import Releases
from clients.admin.releases import main as releases_main
from gridengine.files.release_lock import lock_release_exclusively, lock_release_shared


def built(prefix: Path, name: str, *programs: str, libraries: str = "all", date: int = 0) -> None:
    """A release as `tools/install` leaves it."""
    place = prefix / "releases" / name
    (place / "bin").mkdir(parents=True)
    (place / "share" / "gridengine").mkdir(parents=True)
    (prefix / "libraries" / libraries).mkdir(parents=True, exist_ok=True)
    for program in programs:
        (place / "bin" / program).write_text(name)
    (place / "lock").touch()
    (place / "release.json").write_text(json.dumps({"protocol": 1, "spool": 2, "libraries": libraries, "date": date}))


def age(prefix: Path, *names: str) -> None:
    """Mark releases as used in sequence, long ago."""
    for when, name in enumerate(names):
        os.utime(prefix / "releases" / name / "lock", (when, when))


def test_programs_are_those_of_the_release_in_use_and_files_of_others_stay(tmp_path: Path) -> None:
    built(tmp_path, "1", "qsub", "qold")
    built(tmp_path, "2", "qsub", "qnew")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "foreign").write_text("not ours")
    releases = Releases(tmp_path)
    releases.make_current("1")
    releases.make_current("2")
    assert releases.current().name == "2"
    assert (tmp_path / "bin" / "qsub").read_text() == "2"
    assert sorted(os.listdir(tmp_path / "bin")) == ["foreign", "qnew", "qsub"]
    age(tmp_path, "1", "2")
    assert releases.names() == ["2", "1"]
    releases.make_current("1")
    assert (tmp_path / "bin" / "qsub").read_text() == "1" and not (tmp_path / "bin" / "qnew").is_symlink()


@pytest.mark.statement("DM-1")
def test_the_library_is_that_of_the_release_in_use(tmp_path: Path) -> None:
    for name in ("1", "2"):
        built(tmp_path, name, "qsub")
        for path in (Path("lib/lx-amd64/libdrmaa.so"), Path("include/drmaa.h"), Path("lib/gridengine/x.py")):
            (tmp_path / "releases" / name / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / "releases" / name / path).write_text(name)
        Releases(tmp_path).make_current(name)
        found = (tmp_path / "lib" / "lx-amd64" / "libdrmaa.so", tmp_path / "include" / "drmaa.h")
        assert [path.read_text() for path in found] == [name, name]
    assert os.listdir(tmp_path / "lib") == ["lx-amd64"]


def test_an_incomplete_release_is_not_put_into_use(tmp_path: Path) -> None:
    built(tmp_path, "1", "qsub")
    releases = Releases(tmp_path)
    releases.make_current("1")
    (tmp_path / "releases" / "2" / "bin").mkdir(parents=True)
    with pytest.raises(AdminError, match="no release here"):
        releases.make_current("2")
    assert releases.current().name == "1" and releases.names() == ["1"]


@pytest.mark.parametrize("share", [lock_release_shared, lambda held: fcntl.flock(held, fcntl.LOCK_SH)], ids=["record", "flock"])
def test_old_ones_are_kept_until_nothing_runs_from_them(tmp_path: Path, share: Callable[[int], object]) -> None:
    names = ["1", "2", "3", "4", "5"]
    for name in names:
        built(tmp_path, name, "qsub", libraries=f"of-{name}")
    age(tmp_path, *names)
    releases = Releases(tmp_path)
    releases.make_current("5")
    with (tmp_path / "releases" / "1" / "lock").open() as held:
        share(held.fileno())
        assert releases.prune(2) == ["2"]
        assert releases.names() == ["5", "4", "3", "1"]
        assert sorted(os.listdir(tmp_path / "libraries")) == ["of-1", "of-3", "of-4", "of-5"]
    assert releases.prune(2) == ["1"]
    assert sorted(os.listdir(tmp_path / "releases")) == ["3", "4", "5"]


def test_releases_from_which_programs_run_are_known_by_both_kinds_of_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("1", "2", "3"):
        built(tmp_path, name, "qsub", libraries="0")
    with (tmp_path / "releases/1/lock").open() as held, (tmp_path / "releases/3/lock").open() as held_by_an_older_release:
        lock_release_shared(held.fileno())
        fcntl.flock(held_by_an_older_release, fcntl.LOCK_SH)
        assert Releases(tmp_path).running() == ["1", "3"]
        monkeypatch.setattr("sys.argv", ["releases", str(tmp_path)])
        assert releases_main() == 0 and capsys.readouterr().out == "1 3\n"
    assert Releases(tmp_path).running() == []
    monkeypatch.setattr("sys.argv", ["releases", str(tmp_path / "nothing")])
    assert releases_main() == 0 and capsys.readouterr().out == "\n"


@pytest.mark.parametrize("module", [daemons.runtime.release, shepherd.release], ids=["daemon", "shepherd"])
def test_a_reader_of_a_release_cannot_prevent_a_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: ModuleType
) -> None:
    (tmp_path / "lock").touch()
    monkeypatch.setattr(daemons.runtime.release, "DIRECTORY", tmp_path)
    monkeypatch.setattr(shepherd.release, "__file__", str(tmp_path / "lib" / "shepherd" / "release.py"))
    with (tmp_path / "lock").open() as another_users, (tmp_path / "lock").open("r+b") as removing:
        fcntl.flock(another_users, fcntl.LOCK_EX)
        with pytest.raises(OSError, match="Bad file descriptor"):  # not without the right to write
            lock_release_exclusively(another_users.fileno())
        held = module.hold_release()
        assert not lock_release_exclusively(removing.fileno())
    for descriptor in held or ():
        os.close(descriptor)


def test_an_installation_that_stands_the_old_way_becomes_a_release(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    old = f"#!{tmp_path}/venv/bin/python3 -IS\n"
    (tmp_path / "bin" / "qsub").write_text(old)
    (tmp_path / "bin" / "foreign").write_text("#!/bin/sh\n")
    spooling = tmp_path / "venv" / "lib" / "python3.11" / "site-packages" / "daemons" / "qmaster" / "spooling"
    spooling.mkdir(parents=True)
    (spooling / "spool_versions.py").write_text("VERSION = 7\n")
    share = tmp_path / "share" / "gridengine"
    share.mkdir(parents=True)
    (share / "pyproject.toml").write_text('[project]\nversion = "0.0.9"\n')
    releases = Releases(tmp_path)
    assert releases.adopt() == "0.0.9-before"
    assert (tmp_path / "bin" / "qsub").is_symlink() and (tmp_path / "bin" / "qsub").read_text() == old
    assert (releases.current().protocol, releases.current().spool) == (0, 7)
    built(tmp_path, "1", "qsub")
    releases.make_current("1")
    assert (tmp_path / "bin" / "qsub").read_text() == "1" and (tmp_path / "bin" / "foreign").read_text() == "#!/bin/sh\n"
    assert (tmp_path / "share" / "gridengine").is_symlink() and (tmp_path / "venv").is_dir()
    assert releases.adopt() == "" and releases.names() == ["1", "0.0.9-before"]
    releases.make_current("0.0.9-before")
    assert (tmp_path / "bin" / "qsub").read_text() == old


@pytest.mark.parametrize(
    ("dates", "noted"),
    [((1_800_000_000, 1_700_000_000), True), ((1, 2), False), ((0, 5), False), ((5, 0), False), ((-1, 0), False)],
)
def test_the_installation_of_an_older_release_is_noted(
    tmp_path: Path, dates: tuple[int, int], noted: bool, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, date in zip("12", dates, strict=True):
        built(tmp_path, name, "qsub", date=date)
        monkeypatch.setattr(sys, "argv", ["releases", str(tmp_path), name, "2"])
        assert releases_main() == 0
    output = capsys.readouterr().out
    assert bool(output) is noted
    if noted:
        assert output.startswith("note: release 2 of 2023-11-14 22:13 UTC is older than 1 of 2027-01-15 08:00 UTC, which was in")


def test_a_release_from_before_there_were_dates_is_older_than_all_that_came_later(tmp_path: Path) -> None:
    for name, date in (("1", 0), ("2", 0), ("3", 5)):
        built(tmp_path, name, "qsub", date=date)
    facts = tmp_path / "releases" / "1" / "release.json"
    facts.write_text(json.dumps({"protocol": 1, "spool": 2, "libraries": "all"}))
    first, *later = (Releases(tmp_path).read(name) for name in "123")
    assert str(first) == "1" and not first.is_older_than(first)
    assert all(first.is_older_than(other) and not other.is_older_than(first) for other in later)
    facts.write_text("[1]")
    with pytest.raises(AdminError, match="cannot read"):
        Releases(tmp_path).read("1")


def test_the_program_shows_its_release(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    built(tmp_path, "0.1.0-abc", date=1_700_000_000)
    program = tmp_path / "releases" / "0.1.0-abc" / "lib" / "clients" / "admin" / "installation.py"
    monkeypatch.setattr(installation, "__file__", str(program))
    monkeypatch.setattr(sys, "argv", ["gridengine", "version"])
    assert admin_main() == 0
    assert capsys.readouterr().out.splitlines()[1:] == ["release 0.1.0-abc of 2023-11-14 22:13 UTC"]
    (tmp_path / "releases" / "0.1.0-abc" / "release.json").unlink()
    assert admin_main() == 0
    assert len(capsys.readouterr().out.splitlines()) == 1
