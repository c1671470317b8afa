"""`gridengine report` and qacct over the same file: equal totals of each group; the forms of the output, and refused periods."""

from __future__ import annotations

import csv
import io
import json
import random
import time
from pathlib import Path
from typing import Any

import pytest

from clients import gdi
from clients.admin import report as command
from clients.admin.cell import CellFiles, InstalledCell
from clients.admin.errors import AdminError
from tests.accounting_lines import accounting_line
from tests.unit.clients.shell import Shell

BEGIN = 1_795_132_800
"""2026-11-20 00:00 UTC."""
DAY = 86_400


@pytest.fixture
def accounting(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file of some hundred tasks of three days, arrays, parallel jobs, failures and invalid lines among them."""
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    chance = random.Random(7)
    path = shell.common / "accounting"
    content = [b"rubbish\n"]
    for number in range(400):
        start = BEGIN - DAY + chance.randrange(3 * DAY)
        slots, project = chance.choice((1, 1, 4)), chance.choice(("physics", "climate", "NONE"))
        owner, failed = chance.choice(("alice", "bob")), chance.choice((0, 0, 0, 25, 100))
        queue = chance.choice(("all.q", "long.q"))
        same: Any = {"job_number": number, "project": project, "owner": owner, "slots": slots, "qname": queue}
        seconds = chance.randrange(1, DAY)
        content.append(accounting_line(start, seconds, chance.randrange(999), cpu=chance.randrange(999), failed=failed, **same))
        if slots > 1:
            content.append(accounting_line(start, seconds // 2, pe_taskid="1.h2", hostname="h2", cpu=50, **same))
    path.write_bytes(b"".join(content))
    return path


def run(shell: Shell, capsys: pytest.CaptureFixture[str], **options: Any) -> str:
    """The output of the command for a cell with these files."""
    command.report(root=shell.root, cell="default", **options)
    return capsys.readouterr().out


@pytest.fixture(autouse=True)
def cell_of_shell(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    cell = InstalledCell(CellFiles(shell.root, "default"), {}, "master")
    monkeypatch.setattr(command, "read_cell", lambda named: cell)
    monkeypatch.setattr(InstalledCell, "environment", lambda cell: {})


@pytest.mark.statement("QA-8")
@pytest.mark.parametrize(("by", "option"), [("project", "-P"), ("user", "-o"), ("queue", "-q"), ("host", "-h")])
def test_the_totals_of_each_group_are_those_of_qacct(
    shell: Shell, accounting: Path, capsys: pytest.CaptureFixture[str], by: str, option: str
) -> None:
    moments = [time.strftime("%Y%m%d%H%M.%S", time.gmtime(each)) for each in (BEGIN, BEGIN + DAY - 1)]
    printed = json.loads(shell(f"qacct {option} -b {moments[0]} -e {moments[1]} -f {accounting} -json").out)["totals"]
    expected = {next(iter(row.values())): (row["wallclock_s"], row["cpu_s"]) for row in printed}
    assert len(expected) > 1
    data = json.loads(run(shell, capsys, by=by, period="2026-11-20", form="json"))
    assert {row["name"]: (row["wallclock"], row["cpu"]) for row in data["rows"] if row["wallclock"]} == expected
    assert data["total"]["wallclock"] == sum(wallclock for wallclock, _ in expected.values())
    assert data["invalid_lines"] == 1


def test_the_forms_have_the_same_rows(shell: Shell, accounting: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options: Any = {"by": "user", "period": "2026-11-20"}
    rows = list(csv.DictReader(io.StringIO(run(shell, capsys, form="csv", **options))))
    assert {row["name"] for row in rows} == {"alice", "bob"}
    text, html = run(shell, capsys, form="text", **options), run(shell, capsys, form="html", **options)
    assert text.startswith("Grid Engine cell default: report by user, 2026-11-20\ncompared with 2026-11-19\n")
    assert "\nalice " in text and "<td>alice</td>" in html
    assert "% 12 slots, " in text


@pytest.mark.parametrize(("period", "reason"), [("tomorrow", 'period: "tomorrow" is no period: '), ("30d", "cannot read ")])
def test_a_wrong_period_and_a_missing_file_end_in_a_sentence(
    shell: Shell, capsys: pytest.CaptureFixture[str], period: str, reason: str
) -> None:
    with pytest.raises(AdminError, match=reason):
        run(shell, capsys, by="user", period=period, form="text")


def test_without_the_qmaster_the_report_has_no_utilisation(
    shell: Shell, accounting: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*request: object) -> None:
        raise gdi.Unreachable("no qmaster")

    monkeypatch.setattr(gdi, "call", fail)
    data = json.loads(run(shell, capsys, by="user", period="2026-11-20", form="json"))
    assert (data["slots"], data["total"]["utilisation"]) == (0, None)
