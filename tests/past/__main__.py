"""`python -m tests.past NAME`: keep the spool that this program writes, as `tests/data/spool-NAME/spool.db.xz`.

To be called for each release that changes what is spooled, before the change after it. Facts are written by hand.
"""

from __future__ import annotations

import lzma
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from daemons.qmaster.spool_file import make_whole
from tests.past.play import perform

DATA = Path(__file__).parents[1] / "data"


def keep(name: str) -> Path:
    """Play, and keep the spool; the file, which must not be there yet."""
    place = DATA / f"spool-{name}"
    place.mkdir(exist_ok=True)
    with TemporaryDirectory() as directory:
        spool = Path(directory) / "spool.db"
        perform(Path(directory)).master.spool.close()
        make_whole(spool)
        with (place / "spool.db.xz").open("xb") as file:
            file.write(lzma.compress(spool.read_bytes()))
    return Path(file.name)


if __name__ == "__main__":
    print(keep(sys.argv[1]))
