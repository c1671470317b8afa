"""`gridengine arco` against a writer: tables, exports, SQL, imports, and messages about errors. DB-22."""

from __future__ import annotations

import csv
import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from clients.admin.cell_directory import write_directory
from tests.integration.cells import COMMAND_S, eventually
from tests.integration.dbwriter.plays import Cell, Play
from tests.integration.dbwriter.reporting_lines import DAY, accounting_line, acct
from tests.unit.simulator.small_cell import configuration


@pytest.fixture(scope="module")
def cell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cell]:
    """A cell with a DuckDB file whose writer runs."""
    place = tmp_path_factory.mktemp("cell")
    cell = Cell(place, f"duckdb:{place / 'arco' / 'arco.duckdb'}")
    owners = ["alice", "alice", "bob", "bob"]
    jobs = (acct(job, DAY, DAY + 60 * job, owner=owner, cpu=1.5) for job, owner in enumerate(owners, start=1))
    Play(cell.common, "").append(jobs)
    (cell.common / "arco_queries").mkdir()
    (cell.common / "arco_queries" / "ours.toml").write_text(
        """
name = "Durations of a User"
category = "Ours"
description = "How long the jobs of a user took"
sql = "SELECT job_number, start_time, job_duration, cpu FROM view_accounting WHERE username = $owner AND cpu > $cpu ORDER BY 1"
[[fields]]
name = "owner"
[[fields]]
name = "cpu"
type = "number"
default = "0"
"""
    )
    writer = cell.writer()
    try:
        eventually("it has written", lambda: cell.socket.exists() and "4 lines read" in arco(cell, "status").stdout)
        yield cell
    finally:
        writer.terminate()
        writer.communicate()


def arco(cell: Cell, *arguments: str, typed: str = "") -> subprocess.CompletedProcess[str]:
    """The output of `gridengine arco`."""
    environment = {**os.environ, "SGE_ROOT": str(cell.place), "SGE_CELL": "c", "TZ": "UTC"}
    command = [sys.executable, "-m", "clients.admin", "arco", *arguments]
    return subprocess.run(command, env=environment, input=typed, capture_output=True, text=True, timeout=COMMAND_S)


def test_a_stored_query_is_a_table(cell: Cell) -> None:
    asked = arco(cell, "run", "durations of", "owner=alice")
    assert asked.stdout.splitlines() == [
        "job_number  start_time           job_duration  cpu",
        "----------  -------------------  ------------  ---",
        "         1  2026-11-22 00:00:00       0:01:00  1.5",
        "         2  2026-11-22 00:00:00       0:02:00  1.5",
    ]
    assert (asked.stderr, asked.returncode) == ("", 0)


@pytest.mark.statement("DB-22")
def test_a_query_with_pivot_is_pivoted_unless_flat_is_given(cell: Cell) -> None:
    turned = arco(cell, "run", "accounting per user").stdout.splitlines()
    assert turned[0].split() == ["username", "2026-11"]
    assert [line.split() for line in turned[2:5]] == [["alice", "cpu", "3"], ["alice", "mem", "0"], ["alice", "io", "0"]]
    flat = arco(cell, "run", "accounting per user", "--flat").stdout.splitlines()
    assert [line.split() for line in (flat[0], flat[2])] == [
        ["time", "username", "cpu", "mem", "io"],
        ["2026-11-01", "alice", "3", "0", "0"],
    ]


@pytest.mark.statement("DB-22")
def test_exports_are_csv_and_json(cell: Cell, tmp_path: Path) -> None:
    file = tmp_path / "jobs.csv"
    assert arco(cell, "export", "Durations of a User", "owner=bob", "--output", str(file)).stdout == f"{file}: 2 rows\n"
    rows = list(csv.DictReader(file.open()))
    assert [(row["job_number"], row["job_duration"]) for row in rows] == [("3", "180.0"), ("4", "240.0")]
    objects = json.loads(arco(cell, "export", "Durations of a User", "owner=bob", "--format", "json").stdout)
    assert objects[0] == {"job_number": 3, "start_time": "2026-11-22T00:00:00+00:00", "job_duration": 180.0, "cpu": 1.5}


@pytest.mark.statement("DB-22")
def test_the_list_shows_names_categories_and_fields(cell: Cell) -> None:
    lines = arco(cell, "list").stdout.splitlines()
    assert lines[0].split() == ["category", "name", "fields", "what", "it", "shows"]
    assert any(line.split()[:6] == ["Ours", "Durations", "of", "a", "User", "owner"] and "cpu=0" in line for line in lines)
    assert any("Accounting per Project" in line for line in lines)


def test_a_file_of_queries_that_is_wrong_is_named_and_hides_no_other(cell: Cell) -> None:
    wrong = cell.common / "arco_queries" / "wrong.toml"
    wrong.write_text('name = "x"\nsql = "SELECT $nothing"\ncategory = "x"\ndescription = "x"\n')
    listed = arco(cell, "list")
    wrong.unlink()
    assert listed.stderr == f"gridengine: {wrong}: the SQL has $nothing, which is no field\n"
    assert "Durations of a User" in listed.stdout


def test_the_prompt_takes_lines_until_a_semicolon(cell: Cell) -> None:
    typed = "select count(*)\n  as jobs from view_accounting;\n\\d sge_version\nselect nothing;\n\\z\n\\q\nselect 5;\n"
    asked = arco(cell, "sql", typed=typed)
    assert asked.stdout.splitlines()[:3] == ["jobs", "----", "   4"]
    assert "v_version    VARCHAR" in asked.stdout
    assert '"nothing" was not found' in asked.stdout
    assert "\\z is not known here" in asked.stdout
    assert "5" not in asked.stdout.splitlines()[-1]
    assert (asked.stderr, asked.returncode) == ("", 0)


def test_an_import_counts_and_shows_what_was_no_record(cell: Cell, tmp_path: Path) -> None:
    file = tmp_path / "accounting.old"
    lines = [accounting_line(job, DAY, DAY + 60 * job) for job in range(1, 8)]
    file.write_text("\n".join([*lines, "rubbish", *["more:rubbish"] * 30]) + "\n")
    asked = arco(cell, "import", str(file))
    assert asked.stdout == f"{file}: 3 records imported, 4 were there already, 31 lines are none\n"
    errors = asked.stderr.splitlines()
    assert errors[0] == f"{file}, line 8: an accounting record has 45 fields; this one has 1"
    assert len(errors) == 21
    assert errors[-1] == f"{file}: 11 lines more are no records (table sge_rejected_line has all)"


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["run", "no such"], 'there is no query "no such": gridengine arco list shows all'),
        (["run", "accounting per p", "x"], '"x": say FIELD=VALUE'),
        (["run", "durations"], '"Durations of a User" needs a value for owner: say owner=VALUE'),
        (["run", "durations", "owner=x", "cpu=many"], '"Durations of a User": cpu "many" is no number'),
        (["run", "durations", "owner=x", "size=1"], '"Durations of a User" has no field size; its fields: owner, cpu'),
        (["export", "durations", "owner=x", "-o", "/nothing/there"], "cannot write /nothing/there: No such file or directory"),
        (["import", "/nothing/there"], "sge_dbwriter cannot read /nothing/there: No such file or directory"),
        (["sql", "DROP TABLE sge_job"], "one SELECT or EXPLAIN can be asked here, and nothing else"),
    ],
)
def test_a_wrong_command_prints_its_fault_in_one_line(cell: Cell, arguments: list[str], reason: str) -> None:
    asked = arco(cell, *arguments)
    assert (asked.stdout, asked.stderr, asked.returncode) == ("", f"gridengine: {reason}\n", 1)


def test_a_writer_that_does_not_run_is_named_with_its_host(tmp_path: Path) -> None:
    asked = arco(Cell(tmp_path, "duckdb:/x"), "status")
    where = tmp_path / "run" / "dbwriter.sock"
    reason = "No such file or directory; it runs on the master host m, where gridengine start starts it"
    assert asked.stderr == f"gridengine: sge_dbwriter does not answer at {where}: {reason}\n"
    assert asked.returncode == 1


def test_a_cell_without_a_database_reports_it(tmp_path: Path) -> None:
    cell = Cell(tmp_path, "duckdb:/x")
    (cell.common / "arco").unlink()
    asked = arco(cell, "list")
    where = f"host {socket.gethostname()} has no {cell.common / 'arco'}"
    assert asked.stderr == f"gridengine: {where}: run gridengine arco on the master host m\n"


def test_a_simulation_of_the_database_is_that_of_the_accounting_file(address: str, tmp_path: Path) -> None:
    wide = {"category": "-pe mpi 2 -l h_rt=100", "granted_pe": "mpi", "slots": 2}
    lines = [
        *(accounting_line(1, DAY, DAY + 50, task_number=task, category="-q all.q") for task in (1, 2, 3)),
        accounting_line(2, DAY + 5, DAY + 60, owner="bob", exit_status=99, **wide),
        accounting_line(2, DAY + 65, DAY + 80, owner="bob", submission_time=DAY - 5, **wide),
        accounting_line(3, DAY + 6, DAY + 9, exit_status=1),
        accounting_line(4, 0, 0, submission_time=DAY),
    ]
    cell = Cell(tmp_path, address)
    Play(cell.common, "").append(f"{DAY}:acct:{line}" for line in lines)
    (cell.common / "accounting").write_text("".join(f"{line}\n" for line in lines))
    write_directory(tmp_path / "now", configuration(1, 2))
    writer = cell.writer()
    try:
        eventually("it has written", lambda: cell.socket.exists() and "7 lines read" in arco(cell, "status").stdout)
        of_file = simulate(cell, tmp_path / "now", str(cell.common / "accounting"))
        assert simulate(cell, tmp_path / "now", "--database") == of_file
        assert len(of_file[0].splitlines()) == 1 + 5 and "tasks that never ran" in of_file[1]
    finally:
        writer.terminate()
        writer.communicate()


def simulate(cell: Cell, configuration: Path, *source: str) -> tuple[str, str]:
    """The tasks as CSV, and the omissions behind their source."""
    environment = {**os.environ, "SGE_ROOT": str(cell.place), "SGE_CELL": "c", "TZ": "UTC"}
    command = [sys.executable, "-m", "clients.admin", "simulate", str(configuration), *source, "--csv", str(cell.place / "csv")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=COMMAND_S)
    assert done.returncode == 0, done.stderr
    return (cell.place / "csv").read_text(), done.stderr.partition(": ")[2]
