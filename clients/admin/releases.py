"""The releases installed below one PREFIX, and the link to the release in use.

    PREFIX/releases/NAME/       lib, bin, share, release.json, lock: held by daemons and shepherds of this release
    PREFIX/libraries/KEY/       a virtual environment, for all releases with the same libraries
    PREFIX/current              link to a release; replaced by a rename, so that the link always exists
    PREFIX/slurm                link to current/slurm: commands with Slurm's names (docs/slurm.md)
    PREFIX/bin/PROGRAM          link into current/bin: the paths for cells, users and systemd are stable;
                                likewise lib/ARCH (the DRMAA library) and include/drmaa.h

Owns these files. Standard library alone: `tools/install` runs this module before any library is installed (`python3 -m
clients.admin.releases PREFIX NAME`), and `upgrade` uses it. Source: docs/adr/0149.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import sys
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

from clients.admin.errors import AdminError
from gridengine.errors import plain_fault
from gridengine.files.release_lock import lock_release_exclusively

FACTS, LOCK = "release.json", "lock"
UNDATED = -1
_UNVERSIONED_SUFFIX = "-before"
"""Suffix of the name of an installation from before versioned releases: its libraries and code are in PREFIX/venv."""


@dataclass(frozen=True, slots=True)
class Release:
    """The content of `release.json`. `protocol`: `protocols.protocol`; `spool`: the version it writes; `libraries`: their KEY.

    `date`: commit time of its source, epoch s; 0 if unknown; `UNDATED` for a release from before dates were recorded.
    """

    name: str
    protocol: int
    spool: int
    libraries: str = ""
    date: int = 0

    def __str__(self) -> str:
        return f"{self.name} of {datetime.fromtimestamp(self.date, UTC):%Y-%m-%d %H:%M} UTC" if self.date > 0 else self.name

    def is_older_than(self, other: Release) -> bool:
        """Whether its source is older than the other's, if both dates are known."""
        return self.date != 0 and self.date < other.date


class Releases:
    """The releases of one PREFIX."""

    def __init__(self, prefix: Path) -> None:
        self.prefix = prefix
        self._directory = prefix / "releases"
        self._link = prefix / "current"

    def current(self) -> Release:
        """The release in use. AdminError: there is none."""
        return self.read(self._link.resolve().name)

    def read(self, name: str) -> Release:
        """The facts of a release. AdminError: the release is missing or incomplete."""
        path = self._directory / name / FACTS
        try:
            facts = json.loads(path.read_text())
            date = int(facts.get("date", UNDATED))
            return Release(name, int(facts["protocol"]), int(facts["spool"]), str(facts["libraries"]), date)
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise AdminError(f"no release here: cannot read {path}: {plain_fault(error)} (make install makes one)") from None

    def names(self) -> list[str]:
        """All complete releases: the release in use, then by last use."""
        kept = [path.parent for path in self._directory.glob(f"*/{FACTS}")]
        kept.sort(key=lambda directory: (directory == self._link.resolve(), (directory / LOCK).stat().st_mtime_ns), reverse=True)
        return [directory.name for directory in kept]

    def make_current(self, name: str) -> None:
        """Put a release into use for all later starts. AdminError: the release is missing. Raises OSError."""
        self.read(name)
        _swap_link(self._link, f"releases/{name}")
        os.utime(self._directory / name / LOCK)
        self._link_programs()

    def adopt(self) -> str:
        """Turn an installation from before versioned releases into a release; return its name, "" if there is none.

        Its environment stays in place: daemons and their child processes run from it.
        """
        old_share = self.prefix / "share" / "gridengine"
        if old_share.is_symlink() or not (old_share / "pyproject.toml").exists():
            return ""
        version = re.search(r'^version = "([\w.]+)"$', (old_share / "pyproject.toml").read_text(), re.MULTILINE)
        name = f"{version[1] if version else '0'}{_UNVERSIONED_SUFFIX}"
        directory = self._directory / name
        shutil.rmtree(directory, ignore_errors=True)
        (directory / "share").mkdir(parents=True)
        (directory / "bin").mkdir()
        (directory / LOCK).touch()
        ours = f"{self.prefix}/venv/bin/python3 "
        for path in (self.prefix / "bin").iterdir():
            if not path.is_symlink() and path.is_file() and path.read_bytes().startswith(f"#!{ours}".encode()):
                shutil.copy2(path, directory / "bin")
        spools = self.prefix.glob("venv/lib/python3.*/site-packages/daemons/qmaster/spooling/spool_versions.py")
        versions = [re.search(r"^VERSION = (\d+)$", path.read_text(), re.MULTILINE) for path in spools]
        facts = {"protocol": 0, "spool": int(versions[0][1]) if versions and versions[0] else 0, "libraries": ""}
        (directory / FACTS).write_text(json.dumps(facts) + "\n")
        _swap_link(self._link, f"releases/{name}")
        self._link_programs()
        old_share.rename(directory / "share" / "gridengine")
        return name

    def prune(self, keep: int) -> list[str]:
        """Remove all releases except the release in use and the `keep` last used, and unused libraries; return the removed names.

        A release with running processes stays: they hold its lock, also on other hosts that share the directory. Raises OSError.
        """
        removed = [name for name in self.names()[1 + keep :] if self._remove(self._directory / name)]
        needed = {self.read(name).libraries for name in self.names()}
        for path in (self.prefix / "libraries").glob("*"):
            if path.name not in needed:
                shutil.rmtree(path, ignore_errors=True)
        return removed

    def running(self) -> list[str]:
        """The releases that programs run from, also on other hosts that share the directory. Raises OSError."""
        found: list[str] = []
        for path in sorted(self._directory.glob(f"*/{LOCK}")):
            with path.open("r+b") as lock:
                if not _lock_alone(lock):
                    found.append(path.parent.name)
        return found

    def _remove(self, directory: Path) -> bool:
        with (directory / LOCK).open("r+b") as lock:
            if not _lock_alone(lock):
                return False
            (directory / FACTS).unlink()  # without its facts it is no release, even if the removal is interrupted
            shutil.rmtree(directory, ignore_errors=True)
            return True

    def _link_programs(self) -> None:
        """Link all programs of the release in use, and remove stale links; foreign files in these directories stay."""
        (self.prefix / "bin").mkdir(exist_ok=True)
        (self.prefix / "share").mkdir(exist_ok=True)
        for program in sorted((self._link / "bin").iterdir()):
            _swap_link(self.prefix / "bin" / program.name, f"../current/bin/{program.name}")
        for path in (self.prefix / "bin").iterdir():
            if path.is_symlink() and os.readlink(path) == f"../current/bin/{path.name}" and not path.exists():
                path.unlink(missing_ok=True)
        for name in ("share/gridengine", "share/man", "share/doc/gridengine", "slurm"):
            link = self.prefix / name
            link.parent.mkdir(parents=True, exist_ok=True)
            if link.is_symlink() or not link.exists():
                _swap_link(link, f"{'../' * name.count('/')}current/{name}")
        parts = (("lib", "lx-*"), ("utilbin", "lx-*"), ("include", "*"))
        for path in (each for directory, names in parts for each in (self._link / directory).glob(names)):
            link = self.prefix / path.parent.name / path.name
            link.parent.mkdir(exist_ok=True)
            _swap_link(link, f"../current/{path.parent.name}/{path.name}")


def _lock_alone(lock: BinaryIO) -> bool:
    """Take a release's lock until it is closed; False: a program has it. `lock`: open for writing, which NFS requires."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # the kind of lock that older releases hold
        return lock_release_exclusively(lock.fileno())
    except OSError:
        return False


def _swap_link(link: Path, target: str) -> None:
    """Replace a link or a file by a link to `target`, atomically."""
    with suppress(OSError):
        if os.readlink(link) == target:
            return
    draft = link.with_name(f".{link.name}.new")
    draft.unlink(missing_ok=True)
    draft.symlink_to(target)
    draft.replace(link)


def _in_use(releases: Releases) -> Release | None:
    try:
        return releases.current()
    except AdminError:
        return None


def main() -> int:
    """`releases PREFIX NAME KEEP`: put a newly built release into use, and remove releases that are no longer needed.
    `releases PREFIX`: print the releases that programs run from.
    """
    releases = Releases(Path(sys.argv[1]))
    if len(sys.argv) == 2:  # before a package is removed
        print(*releases.running())
        return 0
    name, keep = sys.argv[2], int(sys.argv[3])
    try:
        if before := releases.adopt():
            print(f"the previous installation is release {before}; {releases.prefix}/venv belongs to it, and stays")
        before_it = _in_use(releases)
        releases.make_current(name)
        if before_it is not None and (now := releases.read(name)).is_older_than(before_it):
            print(f"note: release {now} is older than {before_it}, which was in use: gridengine upgrade --older restarts on it")
        for gone in releases.prune(keep):
            print(f"removed release {gone}, which was not in use")
    except AdminError as refusal:
        print(f"install: {refusal}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
