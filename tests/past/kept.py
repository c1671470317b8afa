"""Kept spools as files: made of the play, packed beside their facts, and unpacked for a reader.

Called by tests, and by `python -m tests.past NAME` which keeps the spool that the program of the day writes.
"""

from __future__ import annotations

import lzma
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

from daemons.qmaster.spooling.spool_file import merge_log
from tests.past.play import perform

DATA = Path(__file__).parents[1] / "data"
KEPT = sorted(DATA.glob("spool-*"))
_PACKED = "spool.db.xz"


def keep(name: str) -> Path:
    """Play, and keep the spool under a name; the file, which must not be there yet."""
    place = DATA / f"spool-{name}"
    place.mkdir(exist_ok=True)
    with TemporaryDirectory() as directory:
        spool = Path(directory) / "spool.db"
        perform(Path(directory)).master.spool.close()
        merge_log(spool)
        with (place / _PACKED).open("xb") as file:
            file.write(lzma.compress(spool.read_bytes()))
    return Path(file.name)


def unpack(kept: Path, directory: Path) -> Path:
    """A copy of a kept spool in a directory."""
    with lzma.open(kept / _PACKED) as packed, (directory / "spool.db").open("wb") as spool:
        shutil.copyfileobj(packed, spool)
    return directory / "spool.db"
