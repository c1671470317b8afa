"""Writes the manual pages of `man`, from the pages in `docs/commands`, `docs/formats` and `docs/daemons`.

Owns which directory is which section, and by which other names a page is found. Reads the pages as `make pages` has made them.
Called by `tools/install`.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from gridengine import __version__
from tools.roff import ManualPage

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
#: directory below `docs`, and its section
SECTIONS = {"commands": 1, "formats": 5, "daemons": 8}
#: other names, beside those with `sge_`, by which Grid Engine 8.1.9 knows a page
_OTHER_NAMES = {
    "qsub": (("submit", 1), ("sge_submit", 1)),
    "sge_types": (("sge_types", 1),),
    "sge_ckpt": (("sge_ckpt", 1),),
    "sge_jsv": (("sge_jsv", 1), ("jsv", 1)),
    "gridengine": (("gridengine", 8),),
}


def sources() -> Iterator[tuple[Path, int]]:
    """All pages of the manual, with their sections."""
    for directory, section in SECTIONS.items():
        for path in sorted((DOCS / directory).glob("*.md")):
            if path.name != "README.md":
                yield path, section


def names_of(name: str, section: int) -> list[tuple[str, int]]:
    """Names and sections under which a page is found besides its own."""
    found = list(_OTHER_NAMES.get(name, ()))
    if section == 5 and not name.startswith("sge_"):
        found.append((f"sge_{name}", 5))  # as distributions call them
    return found


def write_manual(directory: Path, version: str) -> list[str]:
    """Write every page below `directory`, as `man1/qsub.1`; their names. Raises ValueError: a page is not of the right form."""
    written = []
    for path, section in sources():
        try:
            page = ManualPage.read(path.read_text(), section, SECTIONS)
            text = page.roff(version, _today())
        except ValueError as fault:
            raise ValueError(f"{path.relative_to(ROOT)}: {fault}") from fault
        own = f"man{section}/{page.name}.{section}"
        _write(directory / own, text)
        written.append(own)
        for name, other in names_of(page.name, section):
            link = directory / f"man{other}" / f"{name}.{other}"
            link.parent.mkdir(parents=True, exist_ok=True)
            link.unlink(missing_ok=True)
            link.symlink_to(f"../{own}")
    return written


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def _today() -> str:
    """The date that the pages bear; SOURCE_DATE_EPOCH, where it is set, so that a build can be repeated."""
    moment = os.environ.get("SOURCE_DATE_EPOCH")
    return datetime.fromtimestamp(int(moment) if moment else time.time(), UTC).strftime("%Y-%m-%d")


def main() -> None:
    """`manual_pages.py DIRECTORY`: write the manual below it."""
    if len(sys.argv) != 2:
        sys.exit("usage: manual_pages.py DIRECTORY")
    print(f"{len(write_manual(Path(sys.argv[1]), __version__))} manual pages", file=sys.stderr)


if __name__ == "__main__":
    main()
