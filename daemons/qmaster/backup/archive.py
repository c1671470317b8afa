"""A backup as a file: a compressed tar archive of plain files, with a manifest of their checksums and a seal on the manifest.

Owns the format and the checks of a foreign file: any member except a plain file with a name of a backup is refused. Members are
copied out as a stream, never extracted by `tarfile` itself, because Python 3.11.2 lacks its filter. The seal shows damage; it is
not a signature. Called by `saving` and `contents`. Source: adr/0140.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import tarfile
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath
from typing import IO

import msgspec
from msgspec import Struct, field

from gridengine.errors import UserError

FORMAT = 1
"""Increased when a program of the version before would misread the archive."""

SPOOL = "spool.db"
AREAS = ("common", "authority", "keys")
"""Directories of an archive: `common/` of the cell, and two of the qmaster's spool directory."""

_MANIFEST, _SEAL = "manifest.json", "seal"
_MOST_MANIFEST = 2**26
_BLOCK = 2**20
_CLOSED, _CLOSED_DIRECTORY = 0o600, 0o700


class BackupError(UserError):
    """A backup cannot be made, read or restored. The text is one line with the file or member and the reason."""


class Member(Struct):
    """A file of a backup. `size`: bytes; `sha256`: of its content, hexadecimal. `mode`: its permissions in the cell."""

    size: int
    sha256: str
    mode: int


class Manifest(Struct):
    """The description of a backup. `cell_id`: identity of the cell; `root`, `cell`: SGE_ROOT and SGE_CELL; `master_host`: on
    which the master was; `spool_version`: of the spool; `format`: version of the archive; `members`: its files by name. `made`:
    ISO 8601, UTC; `directories`: their permissions, also for empty directories."""

    cell_id: str
    root: str
    cell: str
    master_host: str
    spool_version: int
    made: str
    format: int = FORMAT
    directories: dict[str, int] = field(default_factory=dict)
    members: dict[str, Member] = field(default_factory=dict)


class _HashingReader:
    """A file that is read once, with the checksum of the data read so far."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file, self.sum = file, hashlib.sha256()

    def read(self, size: int) -> bytes:
        data = self._file.read(size)
        self.sum.update(data)
        return data


def write(path: Path, manifest: Manifest, files: Mapping[str, Path]) -> None:
    """Write an archive of these files (name in the archive -> path) to a new file that only its owner may read.

    Enters the checksums of the files in the manifest. The archive is synced at the return. Raises BackupError, OSError.
    """
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, _CLOSED)
    with os.fdopen(descriptor, "wb") as file:
        with gzip.GzipFile("", "wb", 1, file, 0) as packed, tarfile.open(fileobj=packed, mode="w|") as archive:
            for name, source in files.items():
                manifest.members[name] = _add_file(archive, name, source)
            text = msgspec.json.format(msgspec.json.encode(manifest))
            _add_text(archive, _MANIFEST, text)
            _add_text(archive, _SEAL, hashlib.sha256(text).hexdigest().encode())
        file.flush()
        os.fsync(descriptor)


def _add_file(archive: tarfile.TarFile, name: str, source: Path) -> Member:
    with source.open("rb") as file:
        member = archive.gettarinfo(arcname=name, fileobj=file)
        hashed = _HashingReader(file)
        try:
            archive.addfile(member, hashed)  # type: ignore[arg-type]  # `addfile` only reads it
        except OSError as error:
            if error.errno is None:  # raised by tarfile: the file has become shorter
                raise BackupError(f"{source} was truncated while it was read") from error
            raise
    return Member(member.size, hashed.sum.hexdigest(), member.mode & 0o777)


def _add_text(archive: tarfile.TarFile, name: str, text: bytes) -> None:
    member = tarfile.TarInfo(name)
    member.size, member.mode = len(text), _CLOSED
    archive.addfile(member, io.BytesIO(text))


def unpack(path: Path, directory: Path) -> Manifest:
    """Copy all members of an archive into an empty private directory, and check them against the manifest.

    Raises BackupError with the member that is damaged, missing or not allowed; also if the disk of `directory` is full.
    """
    sums: dict[str, Member] = {}
    try:
        with gzip.open(path, "rb") as packed:
            with tarfile.open(fileobj=packed, mode="r|") as archive:
                for member in archive:
                    _check_member(path, member, sums)
                    sums[member.name] = _copy_out(archive, member, directory)
            # only padding follows the end of the archive; reading it makes gzip check its checksum
            while rest := packed.read(_BLOCK):
                if rest.strip(b"\0"):
                    raise BackupError(f"{path}: data follows its end")
    except (tarfile.TarError, zlib.error, gzip.BadGzipFile, EOFError, UnicodeDecodeError) as error:
        last = f', after "{list(sums)[-1]}"' if sums else ""
        raise BackupError(f"{path} is damaged or no backup{last}: {error or type(error).__name__}") from error
    except OSError as error:
        raise BackupError(f"cannot read {path} into {directory}: {error.strerror or error}") from error
    manifest = _read_manifest(path, directory, sums)
    _check_members(path, manifest, sums)
    _make_directories(path, manifest, directory)
    return manifest


def _check_member(path: Path, member: tarfile.TarInfo, seen: Iterable[str]) -> None:
    """Refuse a member that is not a plain file with a valid and unique name. Raises BackupError."""
    if not member.isreg() or member.issparse():
        raise BackupError(f'{path}: the member "{member.name}" is not a plain file')
    if not _is_allowed(member.name) and member.name not in (SPOOL, _MANIFEST, _SEAL):
        raise BackupError(f'{path}: a backup has no member "{member.name}"')
    if member.name in seen:
        raise BackupError(f'{path}: the member "{member.name}" is there twice')


def _is_allowed(name: str) -> bool:
    """Whether a name is a path below one of the areas."""
    parts = PurePosixPath(name).parts
    return len(parts) > 1 and parts[0] in AREAS and ".." not in parts and "/".join(parts) == name


def _copy_out(archive: tarfile.TarFile, member: tarfile.TarInfo, directory: Path) -> Member:
    content = archive.extractfile(member)
    assert content is not None  # it is a plain file
    to = directory / member.name
    to.parent.mkdir(mode=_CLOSED_DIRECTORY, parents=True, exist_ok=True)
    total, left = hashlib.sha256(), member.size
    with os.fdopen(os.open(to, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, _CLOSED), "wb") as file:
        while block := content.read(min(_BLOCK, left)):
            total.update(block)
            file.write(block)
            left -= len(block)
    return Member(member.size, total.hexdigest(), 0)


def _read_manifest(path: Path, directory: Path, sums: dict[str, Member]) -> Manifest:
    """The manifest, if its seal matches. Raises BackupError."""
    for name in (_MANIFEST, _SEAL):
        if name not in sums:
            raise BackupError(f'{path} is not a backup, or is truncated: the member "{name}" is missing')
    text = directory / _MANIFEST
    if (directory / _SEAL).read_bytes().strip() != sums[_MANIFEST].sha256.encode() or text.stat().st_size > _MOST_MANIFEST:
        raise BackupError(f'{path}: the member "{_MANIFEST}" is damaged: its seal does not match')
    try:
        manifest = msgspec.json.decode(text.read_bytes(), type=Manifest)
    except (msgspec.DecodeError, ValueError) as error:
        raise BackupError(f'{path}: the member "{_MANIFEST}": {error}') from error
    if manifest.format > FORMAT:
        raise BackupError(f"{path} has format {manifest.format}, this program reads formats up to {FORMAT}: use the newer one")
    return manifest


def _check_members(path: Path, manifest: Manifest, sums: dict[str, Member]) -> None:
    there = sums.keys() - {_MANIFEST, _SEAL}
    for name, member in manifest.members.items():
        if name not in there:
            raise BackupError(f'{path}: the member "{name}" is missing')
        if (sums[name].size, sums[name].sha256) != (member.size, member.sha256):
            raise BackupError(f'{path}: the member "{name}" is damaged: its checksum does not match')
    if unknown := sorted(there - manifest.members.keys()):
        raise BackupError(f'{path}: the manifest does not know the member "{unknown[0]}"')


def _make_directories(path: Path, manifest: Manifest, directory: Path) -> None:
    """Create the directories of the manifest; an archive of files lacks empty directories. Raises BackupError."""
    for name in manifest.directories:
        if name not in AREAS and not _is_allowed(name):
            raise BackupError(f'{path}: a backup has no directory "{name}"')
        try:
            (directory / name).mkdir(mode=_CLOSED_DIRECTORY, parents=True, exist_ok=True)
        except OSError as error:
            raise BackupError(f"cannot make {directory / name}: {error.strerror}") from error
