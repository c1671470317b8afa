"""The scratch directory: what is removed with it, however a job has left it, and what never is (QC-19)."""

from __future__ import annotations

import errno
import os
import re
from pathlib import Path

import pytest

from shepherd import directories
from tests.unit.shepherd.descriptors import open_descriptors

ME = os.geteuid()


def unnoted(path: str, inode: int = 0) -> None:
    """Nobody wants to know where it is."""


def nest(top: Path, depth: int) -> None:
    """Directories in each other, deeper than any path can say, with a file in each."""
    place = os.open(top, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir("directory", dir_fd=place)
        below = os.open("directory", os.O_RDONLY, dir_fd=place)
        os.close(os.open("file", os.O_CREAT | os.O_WRONLY, dir_fd=below))
        os.close(place)
        place = below
    os.close(place)


@pytest.mark.statement("QC-19", "EX-4")
def test_neither_depth_nor_missing_rights_nor_links_hold_it_up(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").touch()
    top = tmp_path / "7.1.all.q"
    top.mkdir()
    nest(top, 3000)
    (top / "link").symlink_to(outside)
    (top / "directory" / "link").symlink_to(outside)
    (top / "directory" / "directory").chmod(0)
    (top / "directory").chmod(0)
    directories.remove(str(top), ME)
    assert os.listdir(tmp_path) == ["outside"]
    assert os.listdir(outside) == ["kept"]


@pytest.mark.statement("QC-19")
def test_no_more_files_are_open_however_deep_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    top = tmp_path / "top"
    top.mkdir()
    nest(top, 50)
    most = 0
    unlink = os.unlink

    def counted(name: str, dir_fd: int) -> None:
        nonlocal most
        most = max(most, len(os.listdir("/proc/self/fd")))
        unlink(name, dir_fd=dir_fd)

    monkeypatch.setattr(os, "unlink", counted)
    before = open_descriptors()
    directories.remove(str(top), ME)
    assert not top.exists()
    assert 0 < most <= before + 3


@pytest.mark.statement("QC-19")
def test_links_and_directories_of_other_users_stay(tmp_path: Path) -> None:
    (tmp_path / "directory").mkdir()
    (tmp_path / "directory" / "kept").touch()
    (tmp_path / "link").symlink_to(tmp_path / "directory")
    with pytest.raises(OSError, match="Not a directory"):
        directories.remove(str(tmp_path / "link"), ME)
    if ME == 0:
        os.chown(tmp_path / "directory", 4711, -1)
    with pytest.raises(PermissionError):
        directories.remove(str(tmp_path / "directory"), ME + 1)
    assert (tmp_path / "directory" / "kept").exists()
    directories.remove(str(tmp_path / "nothing"), ME)


@pytest.mark.statement("QC-19")
def test_files_that_cannot_be_removed_stay_and_the_rest_goes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    top = tmp_path / "top"
    top.mkdir()
    nest(top, 5)
    (top / "immutable").touch()
    unlink = os.unlink

    def refuse(name: str, dir_fd: int) -> None:
        if name == "immutable":
            raise OSError(errno.EPERM, "no")
        unlink(name, dir_fd=dir_fd)

    monkeypatch.setattr(os, "unlink", refuse)
    with pytest.raises(OSError, match="not empty"):
        directories.remove(str(top), ME)
    assert os.listdir(top) == ["immutable"]


@pytest.mark.statement("QC-19")
def test_removing_ends_while_another_process_goes_on_making_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    top = tmp_path / "top"
    top.mkdir()
    (top / "first").touch()
    clock = iter(range(0, 100_000, 100))
    unlink = os.unlink

    def replaced(name: str, dir_fd: int) -> None:
        unlink(name, dir_fd=dir_fd)
        (top / f"{name[:20]}.").touch()

    monkeypatch.setattr(directories.time, "monotonic", lambda: float(next(clock)))
    monkeypatch.setattr(os, "unlink", replaced)
    with pytest.raises(OSError, match="not empty"):
        directories.remove(str(top), ME)


@pytest.mark.statement("QC-19")
def test_a_remnant_of_the_owner_is_replaced(tmp_path: Path) -> None:
    place = tmp_path / "7.1.all.q"
    place.mkdir()
    (place / "old").touch()
    assert directories.make(str(place), unnoted) == str(place)
    assert (os.listdir(place), place.stat().st_mode & 0o777) == ([], 0o700)


@pytest.mark.statement("QC-19")
@pytest.mark.parametrize("mask", [0o022, 0o077])
def test_root_makes_it_for_an_owner_without_write_permission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mask: int) -> None:
    given: list[tuple[int, int]] = []
    monkeypatch.setattr(os, "fchown", lambda _, uid, gid: given.append((uid, gid)))
    before = open_descriptors()
    os.umask(mask)
    try:
        made = directories.make_for(str(tmp_path / "scratch" / "7.1.all.q"), 4711, 4712, unnoted)
        second = directories.make_for(str(tmp_path / "scratch" / "8.1.all.q"), 4711, 4712, unnoted)
    finally:
        os.umask(0o022)
    assert [Path(each).stat().st_mode & 0o777 for each in (made, second)] == [0o700, 0o700]
    assert given == [(4711, 4712)] * 2
    assert open_descriptors() == before


@pytest.mark.statement("QC-19")
def test_a_directory_that_another_user_has_put_there_meanwhile_keeps_its_owner(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[object] = []
    for name in ("fchown", "fchmod"):
        monkeypatch.setattr(os, name, lambda *what: given.append(what))
    monkeypatch.setattr(os, "geteuid", lambda: ME + 1)
    directories.make_for(str(tmp_path / "7.1.all.q"), 4711, 4712, unnoted)
    assert given == []


@pytest.mark.statement("QC-19")
def test_where_a_stranger_sits_the_task_gets_a_directory_of_another_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    modes: list[int] = []
    mkdir = os.mkdir

    def watched(path: str, mode: int) -> None:
        modes.append(mode)
        mkdir(path, mode)

    monkeypatch.setattr(os, "mkdir", watched)
    place = tmp_path / "7.1.all.q"
    place.write_text("mine")
    made = Path(directories.make(str(place), unnoted))
    assert re.fullmatch(r"7\.1\.all\.q\.[0-9a-f]{8}", made.name) and made.is_dir()
    assert place.read_text() == "mine"
    assert modes == [0o700, 0o700], "nobody puts anything into it before it is its owner's"


@pytest.mark.statement("QC-19", "EX-4")
def test_many_paths_are_tried_but_not_forever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[str] = []

    def taken(path: str, _: int) -> None:
        tried.append(path)
        raise FileExistsError(errno.EEXIST, "File exists")

    monkeypatch.setattr(os, "mkdir", taken)
    with pytest.raises(FileExistsError):
        directories.make(str(tmp_path / "7.1.all.q"), unnoted)
    assert len(set(tried)) == len(tried) == 17


@pytest.mark.statement("QC-19")
def test_files_of_roots_methods_are_removed_and_nothing_stays_open(tmp_path: Path) -> None:
    mine = tmp_path / "7.1.all.q"
    mine.mkdir()
    before = open_descriptors()
    directories.remove(str(mine), ME + 1 if ME == 0 else ME)
    assert not mine.exists()
    assert open_descriptors() == before


@pytest.mark.statement("QC-19")
def test_a_link_that_a_user_has_put_there_meanwhile_is_not_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    outside = tmp_path / "outside"
    outside.mkdir(mode=0o700)
    monkeypatch.setattr(os, "mkdir", lambda path, _: os.symlink(outside, path))
    monkeypatch.setattr(os, "makedirs", lambda *_, **__: None)
    with pytest.raises(OSError, match="directory|symbolic"):
        directories.make_for(str(tmp_path / "7.1.all.q"), ME, os.getegid(), unnoted)
    assert outside.stat().st_mode & 0o777 == 0o700


@pytest.mark.statement("QC-19")
def test_rights_that_the_job_has_taken_away_are_given_back_to_remove_what_is_below(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    top = tmp_path / "7.1.all.q"
    (top / "a" / "b").mkdir(parents=True)
    (top / "a" / "b" / "file").touch()
    given: list[tuple[str, int]] = []
    chmod = os.chmod

    def watched(path: str, mode: int) -> None:
        given.append((Path(os.readlink(path)).name, mode))
        chmod(path, mode)

    (top / "a" / "b").chmod(0)
    monkeypatch.setattr(os, "chmod", watched)
    directories.remove(str(top), ME)
    names = [name for name, _ in given]
    assert {mode for _, mode in given} == {0o700}
    assert names.count("b") == 1 and {"7.1.all.q", "a"} <= set(names), "before it is moved"
    assert not top.exists()


@pytest.mark.statement("QC-19", "EX-10")
def test_where_it_will_be_is_noted_before_it_is_made_and_its_inode_afterwards(tmp_path: Path) -> None:
    notes: list[tuple[str, int, bool]] = []
    place = tmp_path / "7.1.all.q"
    place.symlink_to(tmp_path)  # a stranger sits there
    made = directories.make(str(place), lambda path, inode=0: notes.append((path, inode, os.path.isdir(path))))
    assert notes == [
        (str(place), 0, True),
        (made, 0, False),
        (made, os.stat(made).st_ino, True),
    ]


@pytest.mark.statement("QC-19", "EX-10")
def test_only_the_given_directory_is_removed(tmp_path: Path) -> None:
    place = tmp_path / "7.1.all.q"
    place.mkdir()
    (place / "kept").touch()
    with pytest.raises(FileExistsError, match="another directory"):
        directories.remove(str(place), ME, place.stat().st_ino + 1)
    with pytest.raises(OSError, match="not empty"):
        directories.remove(str(place), ME, 0)
    assert (place / "kept").exists()
    directories.remove(str(place), ME, place.stat().st_ino)
    assert not place.exists()
    place.mkdir()
    directories.remove(str(place), ME, 0)
    assert not place.exists()
