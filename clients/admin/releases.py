"""The releases that stand beside each other below one PREFIX, and the link that says which is used.

    PREFIX/releases/NAME/       lib, bin, share, release.json, lock: held by daemons and shepherds of this release
    PREFIX/libraries/KEY/       a virtual environment, for all releases with the same libraries
    PREFIX/current              link to a release; it is swapped by a rename, so there is always one
    PREFIX/slurm                link to current/slurm: commands with Slurm's names (docs/slurm.md)
    PREFIX/bin/PROGRAM          link into current/bin: paths that cells, users and systemd know stay as they are;
                                the same are lib/ARCH (the DRMAA library) and include/drmaa.h

Owns these files. Standard library alone: `tools/install` runs it before any library is there (`python3 -m
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

from clients.admin.refusal import Refusal
from gridengine.errors import plain_fault
from gridengine.release_lock import lock_release_exclusively

FACTS, LOCK = "release.json", "lock"
UNDATED = -1
_OF_BEFORE = "-before"
"""End of the name of an installation that was there before there were releases: its libraries and code are PREFIX/venv."""


@dataclass(frozen=True, slots=True)
class Release:
    """What `release.json` says. `protocol`: `gridengine.protocol`; `spool`: which version it writes; `libraries`: their KEY.

    `date`: when its source was committed, epoch s; 0 where nobody knows; `UNDATED` of a release from before there were dates.
    """

    name: str
    protocol: int
    spool: int
    libraries: str = ""
    date: int = 0

    def __str__(self) -> str:
        return f"{self.name} of {datetime.fromtimestamp(self.date, UTC):%Y-%m-%d %H:%M} UTC" if self.date > 0 else self.name

    def is_older_than(self, other: Release) -> bool:
        """Whether its source is the earlier one, as far as both dates are known."""
        return self.date != 0 and self.date < other.date


class Releases:
    """Of one PREFIX."""

    def __init__(self, prefix: Path) -> None:
        self.prefix = prefix
        self._place = prefix / "releases"
        self._link = prefix / "current"

    def current(self) -> Release:
        """The release in use. Refusal: there is none."""
        return self.read(self._link.resolve().name)

    def read(self, name: str) -> Release:
        """The facts of a release. Refusal: it is not there, or not whole."""
        path = self._place / name / FACTS
        try:
            facts = json.loads(path.read_text())
            date = int(facts.get("date", UNDATED))
            return Release(name, int(facts["protocol"]), int(facts["spool"]), str(facts["libraries"]), date)
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise Refusal(f"no release here: cannot read {path}: {plain_fault(error)} (make install makes one)") from None

    def names(self) -> list[str]:
        """All that are whole: the one in use, then those that were used last."""
        kept = [path.parent for path in self._place.glob(f"*/{FACTS}")]
        kept.sort(key=lambda place: (place == self._link.resolve(), (place / LOCK).stat().st_mtime_ns), reverse=True)
        return [place.name for place in kept]

    def make_current(self, name: str) -> None:
        """Have all that starts from now on start from this release. Refusal: it is not there. Raises OSError."""
        self.read(name)
        _swap_link(self._link, f"releases/{name}")
        os.utime(self._place / name / LOCK)
        self._link_programs()

    def adopt(self) -> str:
        """Make a release of an installation that stands the old way, which goes on; its name, "" where there is none.

        Its environment stays where it is: daemons run from it, and what they start.
        """
        old_share = self.prefix / "share" / "gridengine"
        if old_share.is_symlink() or not (old_share / "pyproject.toml").exists():
            return ""
        version = re.search(r'^version = "([\w.]+)"$', (old_share / "pyproject.toml").read_text(), re.MULTILINE)
        name = f"{version[1] if version else '0'}{_OF_BEFORE}"
        place = self._place / name
        shutil.rmtree(place, ignore_errors=True)
        (place / "share").mkdir(parents=True)
        (place / "bin").mkdir()
        (place / LOCK).touch()
        ours = f"{self.prefix}/venv/bin/python3 "
        for path in (self.prefix / "bin").iterdir():
            if not path.is_symlink() and path.is_file() and path.read_bytes().startswith(f"#!{ours}".encode()):
                shutil.copy2(path, place / "bin")
        spools = self.prefix.glob("venv/lib/python3.*/site-packages/daemons/qmaster/spooling/spool_versions.py")
        versions = [re.search(r"^VERSION = (\d+)$", path.read_text(), re.MULTILINE) for path in spools]
        facts = {"protocol": 0, "spool": int(versions[0][1]) if versions and versions[0] else 0, "libraries": ""}
        (place / FACTS).write_text(json.dumps(facts) + "\n")
        _swap_link(self._link, f"releases/{name}")
        self._link_programs()
        old_share.rename(place / "share" / "gridengine")
        return name

    def prune(self, keep: int) -> list[str]:
        """Remove releases but the one in use and the `keep` that were used last, and libraries of none; return what was removed.

        One that something still runs from stays: the lock is held on all hosts that share the directory. Raises OSError.
        """
        removed = [name for name in self.names()[1 + keep :] if self._remove(self._place / name)]
        wanted = {self.read(name).libraries for name in self.names()}
        for path in (self.prefix / "libraries").glob("*"):
            if path.name not in wanted:
                shutil.rmtree(path, ignore_errors=True)
        return removed

    def _remove(self, place: Path) -> bool:
        with (place / LOCK).open("r+b") as lock:  # NFS wants the right to write for this kind of lock
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # how releases before this kind of lock hold it
                if not lock_release_exclusively(lock.fileno()):
                    return False
            except OSError:
                return False
            (place / FACTS).unlink()  # what is not whole is no release, however far the rest comes
            shutil.rmtree(place, ignore_errors=True)
            return True

    def _link_programs(self) -> None:
        """Links to all programs of the release in use, and to no other; files of others in these directories stay."""
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
        for path in (each for place, names in parts for each in (self._link / place).glob(names)):
            link = self.prefix / path.parent.name / path.name
            link.parent.mkdir(exist_ok=True)
            _swap_link(link, f"../current/{path.parent.name}/{path.name}")


def _swap_link(link: Path, target: str) -> None:
    """Let a link lead elsewhere, or be in the place of a file, without a moment at which there is nothing."""
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
    except Refusal:
        return None


def main() -> int:
    """`releases PREFIX NAME KEEP`: put a release that was just built into use, and remove what is not needed any more."""
    releases, name, keep = Releases(Path(sys.argv[1])), sys.argv[2], int(sys.argv[3])
    try:
        if before := releases.adopt():
            print(f"what was installed before is release {before}; {releases.prefix}/venv belongs to it, and stays")
        before_it = _in_use(releases)
        releases.make_current(name)
        if before_it is not None and (now := releases.read(name)).is_older_than(before_it):
            print(f"note: release {now} is older than {before_it}, which was in use: gridengine upgrade --older goes on as it")
        for gone in releases.prune(keep):
            print(f"removed release {gone}, which nothing runs from")
    except Refusal as refusal:
        print(f"install: {refusal}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
