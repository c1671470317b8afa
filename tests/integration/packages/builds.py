"""Copies of this checkout to build packages in, and roots of Debian releases to install them in."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from tests.integration.cells import ROOT, TESTBED, Done, run

BUILD_S = 1800.0
"""Libraries are downloaded and the interpreter is compiled, on a machine that others load."""
BUILDERS = "rpm minisign mmdebstrap dpkg-dev make gcc libc6-dev perl autoconf automake libtool libltdl-dev".split()
KEPT = ("package-wheels", "interpreter", "compiler")
"""What builds keep in the directory build, and share: what was downloaded, and the interpreter, which takes minutes."""


def must(command: list[str], **options: object) -> str:
    done = run(command, **{"timeout": BUILD_S, **options})
    assert done.returncode == 0, f"{command}: {done.stdout[-3000:]}{done.stderr[-3000:]}"
    return done.stdout


class Root:
    """A root file system of a Debian release, in which commands run without a network."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def on(self, command: str) -> Done:
        inside = [str(TESTBED / "fresh"), "run", str(self.path), command]
        return run(["unshare", "--net", "sh", "-c", 'ip link set lo up; exec "$@"', "sh", *inside], timeout=BUILD_S)

    def must(self, command: str) -> str:
        done = self.on(command)
        assert done.returncode == 0, f"{command}: {done.stdout[-3000:]}{done.stderr[-3000:]}"
        return done.stdout


def debian_root(path: Path, suite: str) -> Root:
    """Make the minimal root of a Debian release, with procps and without Python."""
    must([str(TESTBED / "fresh"), "make", str(path), "procps"], env={**os.environ, "SUITE": suite})
    return Root(path)


def put(release: Path, pattern: str, root: Root) -> str:
    """Copy a package into the home of a root's root; return its name."""
    (package,) = release.glob(pattern)
    shutil.copy(package, root.path / "root")
    return package.name


def checkout(place: Path) -> Path:
    """A copy of what is in the version control, so that the checkout stays as it is; it shares what builds keep."""
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout.split(b"\0")
    for name in filter(None, names):
        path = ROOT / os.fsdecode(name)
        if path.is_file() and path.parts[len(ROOT.parts)] != "tests":
            target = place / path.relative_to(ROOT)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, target, follow_symlinks=False)
    commit = ["git", "-c", "safe.directory=*", "log", "-1", "--format=%ct"]
    (place / "commit_date").write_text(subprocess.run(commit, cwd=ROOT, capture_output=True, check=True, text=True).stdout)
    (place / "build").mkdir()
    for name in KEPT:
        (ROOT / "build" / name).mkdir(parents=True, exist_ok=True)
        (place / "build" / name).symlink_to(ROOT / "build" / name)
    return place
