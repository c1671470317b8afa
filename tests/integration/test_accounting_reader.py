"""The process that searches accounting records: beside the writer of the spool, and without a writer."""

from __future__ import annotations

import subprocess
from pathlib import Path

import msgspec
import pytest

from daemons.qmaster.spooling.spool import Spool
from daemons.runtime.daemon import module_command
from gridengine.usage.accounting import FIELDS, AccountingRecord


def run(spool: Path, body: dict[str, object]) -> subprocess.CompletedProcess[bytes]:
    command = [*module_command("daemons.qmaster.spooling.accounting_reader"), str(spool)]
    return subprocess.run(command, input=msgspec.json.encode(body), capture_output=True, timeout=60)


@pytest.mark.statement("QA-1", "QA-7")
def test_the_process_reads_while_the_spool_is_written(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "spool.db")
    usual = dict.fromkeys(FIELDS, "0") | {"owner": "alice"}
    spool.accounted.add((number, 0, AccountingRecord(usual.values())) for number in range(3))
    found = run(spool.path, {"owner": "alice", "group_by": ["owner"]})
    assert msgspec.json.decode(found.stdout) == {"sums": [[["alice"], [3.0, *[0.0] * 7]]], "next": None}
    spool.accounted.add([(9, 0, AccountingRecord(usual.values()))])
    assert len(msgspec.json.decode(run(spool.path, {}).stdout)["records"]) == 4
    spool.close()


def test_a_missing_spool_is_reported(tmp_path: Path) -> None:
    found = run(tmp_path / "spool.db", {})
    assert (found.returncode, found.stdout) == (1, b"")
    assert found.stderr.decode().startswith(f"cannot read spool {tmp_path}/spool.db: ")
    assert not (tmp_path / "spool.db").exists()
