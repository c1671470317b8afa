"""Takes the scripts and styles that the pages need, and that are not ours, from npm's packages: `tools/vendor.py`.

Each directory of `SHELVES` gets the files of its packages, their licences, and `manifest.json`, which has the package,
the version and the SHA-256 of every file. Nothing is built: files are copied as published.
Needs npm; run when a version below is changed.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]


class Package(NamedTuple):
    """`files`: path in the package, name here."""

    name: str
    version: str
    files: dict[str, str]


SHELVES = {
    # lets the search of the documentation work from files
    "docs/vendor": (
        Package("iframe-worker", "1.0.4", {"shim/index.js": "iframe-worker.js", "LICENSE": "iframe-worker-LICENSE.txt"}),
    ),
    "daemons/web/static/vendor": (
        Package("htmx.org", "4.0.1", {"dist/htmx.min.js": "htmx.min.js", "LICENSE": "htmx-LICENSE.txt"}),
        Package(
            "uplot",
            "1.6.32",
            {"dist/uPlot.iife.min.js": "uplot.min.js", "dist/uPlot.min.css": "uplot.min.css", "LICENSE": "uplot-LICENSE.txt"},
        ),
    ),
    "tests/integration/web/vendor": (
        Package(
            "axe-core",
            "4.14.1",
            {"axe.min.js": "axe.min.js", "LICENSE": "axe-LICENSE.txt", "LICENSE-3RD-PARTY.txt": "axe-LICENSE-3RD-PARTY.txt"},
        ),
    ),
}


def _fetch(package: Package, directory: Path) -> dict[str, bytes]:
    """The wanted files of a package by their names here."""
    command = ["npm", "pack", "--silent", "--pack-destination", str(directory), f"{package.name}@{package.version}"]
    name = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.split()[-1]
    found = {}
    with tarfile.open(directory / name) as archive:
        for path, here in package.files.items():
            member = archive.extractfile(f"package/{path}")
            assert member is not None, f"{package.name} has no file {path}"
            found[here] = member.read()
    return found


def refresh(shelf: Path, packages: tuple[Package, ...]) -> None:
    """Fill a directory anew: files of earlier packages go, the manifest is written."""
    with tempfile.TemporaryDirectory() as directory:
        fetched = [(package, _fetch(package, Path(directory))) for package in packages]
    shelf.mkdir(parents=True, exist_ok=True)
    for old in shelf.iterdir():
        old.unlink()
    rows = []
    for package, files in fetched:
        for name, body in files.items():
            (shelf / name).write_bytes(body)
            digest = hashlib.sha256(body).hexdigest()
            rows.append({"package": package.name, "version": package.version, "file": name, "sha256": digest})
    (shelf / "manifest.json").write_text(json.dumps(rows, indent=1) + "\n")


def main() -> int:
    for shelf, packages in SHELVES.items():
        refresh(ROOT / shelf, packages)
    return 0


if __name__ == "__main__":
    sys.exit(main())
