"""A cell in this process whose commits are recorded, and replicas of its spool."""

from __future__ import annotations

from pathlib import Path

import apsw

from daemons.qmaster.shadow.replica import Replica
from daemons.qmaster.spooling import spool_file
from daemons.qmaster.spooling.patches import RecentPatches
from daemons.qmaster.spooling.spool import Spool
from tests.harness import Cell

CELL_ID = "5f"


class ReplicatedCell(Cell):
    """A cell with `patches`, whose spool has the id of the cell."""

    patches: RecentPatches

    def _spool(self) -> Spool:
        path = self.directory / "spool.db"
        if not path.exists():
            spool_file.mark(path, CELL_ID)
        spool = Spool(path, CELL_ID)
        self.patches = RecentPatches(spool.position)
        spool.follow(self.patches.add)
        return spool

    def bring_up(self, replica: Replica) -> None:
        """Apply to a replica all patches that follow its position."""
        position = replica.position()
        while (found := self.patches.after(position, 1)) and found[1]:
            replica.apply(position.incarnation, found[1])
            position = found[0]
            assert replica.position() == position

    def whole(self, replica: Replica) -> None:
        """Transfer the whole spool to a replica."""
        draft = replica.draft()
        spool_file.copy(self.master.spool.path, draft)
        replica.install(draft)


def tables(path: Path) -> dict[str, list[tuple[object, ...]]]:
    """The contents of a spool, by table, in the order of the rows."""
    db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        names = [str(row[0]) for row in db.execute("select name from sqlite_master where type='table' order by name")]
        return {name: db.execute(f"select * from {name} order by 1, 2").fetchall() for name in names}  # type: ignore[misc]
    finally:
        db.close()
