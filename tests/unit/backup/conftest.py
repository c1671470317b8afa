"""A cell of files, as `gridengine init` and a running qmaster leave it, without daemons."""

from __future__ import annotations

import getpass
import socket
import stat
from pathlib import Path

import pytest

from daemons.qmaster.backup.saving import Saved, save
from daemons.qmaster.spooling.cell_identity import claim_spool
from daemons.qmaster.spooling.spool import Spool
from daemons.runtime.cell import Cell, read_cell
from tests.harness import Cell as RunningCell

NOW = 1_800_000_000.0
ID = "5f" * 16
MASTER = "master"


class CellOfFiles:
    """The cell `one` below a directory. `running`: its master, which writes its spool."""

    def __init__(self, root: Path, cell_id: str = ID) -> None:
        self.root, spool = root, root / "spool"
        common = root / "one" / "common"
        (common / "initial-config").mkdir(parents=True)
        for directory in ("secrets", "secrets/h1"):
            (common / directory).mkdir(mode=0o700)
        common.joinpath("bootstrap").write_text(
            f"admin_user {getpass.getuser()}\nqmaster_spool_dir {spool}\nexecd_spool_dir {root}/execd\nrun_dir {root}/run\n"
            "qmaster_port 6444\nray_port 6446\n"
        )
        for name, text in {
            "act_qmaster": f"{MASTER}\n",
            "cell_id": f"cell_id {cell_id}\n",
            "settings.sh": "SGE_ROOT=/x\n",
            "accounting": "a record\n",
            "arco": "driver duckdb\n",
            "initial-config/all.q": "qname all.q\n",
        }.items():
            common.joinpath(name).write_text(text)
        self._closed(common / "secrets" / "h1" / "gdi_key")
        self._closed(spool / "authority" / "tls.key")
        self._closed(spool / "keys" / "gdi_key")
        (spool / "authority" / "hosts").mkdir(mode=0o700)
        self.files = self.read()
        claim_spool(self.files, False, NOW)
        self.running = RunningCell(spool)

    @staticmethod
    def _closed(path: Path) -> None:
        path.parent.mkdir(parents=True, mode=0o700, exist_ok=True)
        path.write_text("secret")
        path.chmod(0o600)

    def read(self) -> Cell:
        return read_cell({"SGE_ROOT": str(self.root), "SGE_CELL": "one"})

    def save(self, path: Path, **options: bool) -> Saved:
        return save(self.files, path, NOW, **options)

    def stop(self) -> None:
        self.running.master.spool.close()

    def jobs(self) -> set[int]:
        """The jobs in the spool, as a starting qmaster loads them."""
        spool = Spool(self.files.spool, ID)
        try:
            return set(spool.load().jobs)
        finally:
            spool.close()


def contents(*tops: Path) -> dict[str, tuple[str, bytes]]:
    """Permissions and content of every file and directory, without locks and without side files of the spool."""
    found = {}
    for path in (each for top in tops for each in sorted(top.rglob("*"))):
        if not path.name.endswith((".pid", ".lock", "-wal", "-shm")):
            found[str(path)] = (stat.filemode(path.lstat().st_mode), path.read_bytes() if path.is_file() else b"")
    return found


@pytest.fixture
def cell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CellOfFiles:
    monkeypatch.setattr(socket, "gethostname", lambda: MASTER)
    return CellOfFiles(tmp_path / "cells")


@pytest.fixture
def backup(cell: CellOfFiles, tmp_path: Path) -> Path:
    """A backup of the running cell with one job; a second job is submitted after the backup."""
    cell.running.submit()
    saved = cell.save(tmp_path / "backup.tar.gz")
    cell.running.submit()
    return saved.path
