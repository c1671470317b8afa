"""Old accounting files get the columns that they lack."""

from __future__ import annotations

from pathlib import Path

import pytest

from clients.admin.accounting_upgrade import upgrade_accounting
from clients.admin.errors import AdminError
from gridengine.usage.accounting import FIELDS, parse_line

WHOLE = ":".join(FIELDS)


@pytest.mark.statement("QA-5", "QA-6")
def test_records_get_the_columns_that_they_lack_and_all_else_stays(tmp_path: Path) -> None:
    old, new = tmp_path / "accounting", tmp_path / "new"
    shorter = [":".join(FIELDS[:count]) for count in (40, 42, 43)]
    kept = ["# Version: 6.1", "", WHOLE, "no record", WHOLE + ":and:more"]
    old.write_bytes("\n".join([*kept, *shorter]).encode() + b":\xff\n")
    before = old.read_bytes()
    assert upgrade_accounting(old, new) == (3, 2)
    assert old.read_bytes() == before
    lines = new.read_bytes().decode(errors="surrogateescape").splitlines()
    assert lines[:5] == kept
    records = [parse_line(line) for line in lines[5:]]
    assert [len(line.split(":")) for line in lines[5:]] == [45, 45, 45]
    assert [record and record[41:43] for record in records] == [("NONE", "0"), ("pe_taskid", "0"), ("pe_taskid", "maxvmem")]
    assert [record and record.ar_sub_time for record in records] == ["0", "0", "0"]


@pytest.mark.statement("QA-6")
def test_nothing_is_overwritten_or_left_half_done(tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    with pytest.raises(AdminError, match="cannot copy"):
        upgrade_accounting(old, new)
    assert not new.exists()
    old.write_text(WHOLE + "\n")
    new.write_text("mine")
    with pytest.raises(AdminError, match="exists already"):
        upgrade_accounting(old, new)
    assert new.read_text() == "mine"
    with pytest.raises(AdminError, match="exists already"):
        upgrade_accounting(old, old)
    assert old.read_text() == WHOLE + "\n"
