"""Damage of a backup is detected and named, and a foreign file creates nothing outside of the directory of its check."""

from __future__ import annotations

import gzip
import io
import random
import stat
import tarfile
import tempfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import apsw
import msgspec
import pytest

from daemons.qmaster.backup import archive, contents
from daemons.qmaster.backup.__main__ import main
from daemons.qmaster.backup.archive import BackupError, Manifest
from daemons.qmaster.backup.contents import open_backup

Members = list[tuple[tarfile.TarInfo, bytes]]


def fault_of(path: Path) -> str:
    """The reason of a refused backup; "" for an accepted backup."""
    try:
        with open_backup(path) as held:
            held.require_invariants(path)
    except BackupError as fault:
        return str(fault)
    return ""


def members(path: Path) -> Members:
    with tarfile.open(path) as made:
        return [(member, made.extractfile(member).read()) for member in made]  # type: ignore[union-attr]


def rewritten(path: Path, change: Callable[[Members], object]) -> str:
    """The reason of the refusal after a change of members without a new seal."""
    held = members(path)
    change(held)
    with tarfile.open(path, "w:gz") as made:
        for member, content in held:
            if member.isreg():
                member.size = len(content)
            made.addfile(member, io.BytesIO(content))
    return fault_of(path)


def _at(held: Members, name: str) -> int:
    return next(index for index, (member, _) in enumerate(held) if member.name == name)


# --- damage --------------------------------------------------------------------------------------------------


def test_a_flipped_bit_is_noticed(backup: Path, tmp_path: Path) -> None:
    """Except for meaningless bits: in the head of the packed file, or in bits that the compression does not use."""
    whole, torn, dice = backup.read_bytes(), tmp_path / "torn", random.Random(5)
    noticed = 0
    for position in (*range(12), len(whole) - 1, *(dice.randrange(10, len(whole)) for _ in range(40))):
        data = bytearray(whole)
        data[position] ^= 1 << dice.randrange(8)
        torn.write_bytes(data)
        fault = fault_of(torn)
        if not fault:
            assert gzip.decompress(data) == gzip.decompress(whole), f"byte {position} of {len(whole)}"
        assert not fault or fault.startswith((f"{torn} is damaged", f"{torn}: ")), fault
        noticed += bool(fault)
    assert noticed > 40


def test_a_truncated_file_is_noticed(backup: Path, tmp_path: Path) -> None:
    whole, torn = backup.read_bytes(), tmp_path / "torn"
    for length in (0, 1, 9, 100, len(whole) // 2, len(whole) - 9, len(whole) - 1):
        torn.write_bytes(whole[:length])
        assert fault_of(torn).startswith((f"{torn} is damaged or no backup", f"{torn} is no backup")), length
    torn.write_bytes(whole + b"more")
    assert fault_of(torn) != ""


def test_a_torn_page_of_the_spool_is_named(backup: Path) -> None:
    def tear(held: Members) -> None:
        index = _at(held, "spool.db")
        member, content = held[index]
        held[index] = member, content[:8192] + b"\0" * 4096 + content[12288:]

    assert rewritten(backup, tear) == f'{backup}: the member "spool.db" is damaged: its checksum does not match'


def test_a_spool_that_was_damaged_before_the_backup_is_refused(backup: Path, tmp_path: Path) -> None:
    """The seal of such a backup matches, so SQLite checks the spool, too."""
    with open_backup(backup) as held:
        content = bytearray((held.directory / "spool.db").read_bytes())
        content[8192:12288] = b"\xff" * 4096
        (held.directory / "spool.db").write_bytes(content)
        archive.write(tmp_path / "b", held.manifest, {name: held.directory / name for name in held.manifest.members})
    assert 'the member "spool.db" was damaged when it was saved: ' in fault_of(tmp_path / "b")


def test_a_state_that_breaks_an_invariant_is_refused(backup: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contents, "invariants", lambda state: ["job 1 has no task left and is there", "more"])
    assert fault_of(backup).endswith("its spool is inconsistent: job 1 has no task left and is there (and 1 more)")


def _without(name: str) -> Callable[[Members], object]:
    return lambda held: held.pop(_at(held, name))


def _other_manifest(held: Members) -> None:
    index = _at(held, "manifest.json")
    held[index] = held[index][0], held[index][1].replace(b'"cell": "one"', b'"cell": "two"')


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (_without("seal"), 'is truncated: the member "seal" is missing'),
        (_without("manifest.json"), 'the member "manifest.json" is missing'),
        (_without("spool.db"), 'the member "spool.db" is missing'),
        (_without("keys/gdi_key"), 'the member "keys/gdi_key" is missing'),
        (_other_manifest, 'the member "manifest.json" is damaged: its seal does not match'),
    ],
)
def test_a_missing_member_is_named(backup: Path, change: Callable[[Members], object], reason: str) -> None:
    assert reason in rewritten(backup, change)


# --- foreign files -------------------------------------------------------------------------------------------


def _member(name: str, kind: bytes = tarfile.REGTYPE, link: str = "") -> Callable[[Members], object]:
    member = tarfile.TarInfo(name)
    member.type, member.linkname = kind, link
    return lambda held: held.insert(0, (member, b""))


@pytest.mark.parametrize(
    "change",
    [
        _member("../../etc/x"),
        _member("common/../../../x"),
        _member("common/./x"),
        _member("common"),
        _member("elsewhere/x"),
        _member("common/link", tarfile.SYMTYPE, "/etc"),
        _member("common/link", tarfile.LNKTYPE, "../../etc/passwd"),
        _member("common/device", tarfile.CHRTYPE),
        _member("common/fifo", tarfile.FIFOTYPE),
        _member("common/directory", tarfile.DIRTYPE),
        _member("spool.db"),
        _member("common/unknown"),
    ],
)
def test_an_unknown_member_is_refused(
    backup: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: Callable[[Members], object]
) -> None:
    _refuses(backup, tmp_path, monkeypatch, change)


def test_a_member_with_an_absolute_path_is_refused(backup: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _refuses(backup, tmp_path, monkeypatch, _member(str(tmp_path / "x")))


def _refuses(backup: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: Callable[[Members], object]) -> None:
    """The backup is unpacked within the directory of the test, so the check sees escaped files."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    before = sorted(tmp_path.rglob("*"))
    fault = rewritten(backup, change)
    assert 'a backup has no member "' in fault or "is not a plain file" in fault or "twice" in fault or "does not know" in fault
    assert sorted(tmp_path.rglob("*")) == before


def test_a_file_that_is_not_a_backup_is_refused(tmp_path: Path) -> None:
    for content in (b"", b"hello", b"\x1f\x8b" + b"x" * 100):
        (tmp_path / "b").write_bytes(content)
        assert f"{tmp_path / 'b'} is damaged or no backup" in fault_of(tmp_path / "b")
    assert fault_of(tmp_path / "none").endswith("No such file or directory")


def _resealed(backup: Path, to: Path, **fields: object) -> Path:
    with open_backup(backup) as held:
        manifest = msgspec.convert({**msgspec.to_builtins(held.manifest), **fields}, Manifest)
        archive.write(to, manifest, {name: held.directory / name for name in manifest.members})
    return to


def test_a_newer_format_is_refused(backup: Path, tmp_path: Path) -> None:
    assert "has format 9, this program reads formats up to 1" in fault_of(_resealed(backup, tmp_path / "b", format=9))
    newer = _resealed(backup, tmp_path / "c", spool_version=99)
    assert "its spool has version 99, this program reads versions up to" in fault_of(newer)
    with open_backup(backup) as held:
        with closing(apsw.Connection(str(held.directory / "spool.db"))) as db:
            db.execute("update meta set value='99' where key='version'")
        archive.write(tmp_path / "d", held.manifest, {name: held.directory / name for name in held.manifest.members})
    assert "has version 99" in fault_of(tmp_path / "d")


def test_a_directory_of_the_manifest_cannot_leave_the_target(backup: Path, tmp_path: Path) -> None:
    escaped = _resealed(backup, tmp_path / "b", directories={"common/../../../x": 0o777})
    assert 'a backup has no directory "common/../../../x"' in fault_of(escaped)


def test_unpacked_files_are_private_and_removed(backup: Path) -> None:
    with open_backup(backup) as held:
        directory = held.directory
        paths = (directory, directory.parent, directory / "spool.db", directory / "keys/gdi_key")
        modes = {stat.filemode(path.stat().st_mode)[4:] for path in paths}
    assert modes == {"------"} and not directory.parent.exists()


def test_the_program_prints_a_sentence(
    backup: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", ["sge_backup", "verify", str(backup)])
    assert main() == 0
    output = capsys.readouterr()
    assert output.err == "" and "is whole, made 2027-01-15T08:00:00+00:00 on master: the cell one below " in output.out
    assert "it holds 1 job, 1 queue, " in output.out
    rewritten(backup, _member("common/x\x1b[2J"))
    assert main() == 1
    output = capsys.readouterr()
    assert output.out == "" and output.err.startswith("gridengine: ") and "\x1b" not in output.err
