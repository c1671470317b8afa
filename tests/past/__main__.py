"""`python -m tests.past NAME`: keep the spool that this program writes, as `tests/data/spool-NAME/spool.db.xz`.

For each version of the spool before it changes, and for each release. The facts beside it are written by hand.
"""

from __future__ import annotations

import sys

from tests.past.kept import keep

if __name__ == "__main__":
    print(keep(sys.argv[1]))
