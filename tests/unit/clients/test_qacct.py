"""qacct: files of all ages and states, pages of the index, CSV, each filter by itself."""

from __future__ import annotations

import csv
import gzip
import io
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from clients import accounting_source
from daemons.qmaster.notifications.accounting import line
from daemons.qmaster.spooling import accounting_table
from gridengine.usage.accounting import FIELDS, AccountingRecord
from tests.harness import Cell
from tests.unit.clients.shell import Shell

BEGIN = 1_795_200_000
USUAL = {
    **dict.fromkeys(FIELDS, "0"),
    "qname": "all.q", "hostname": "h1", "group": "users", "owner": "alice", "job_name": "job", "job_number": "7",
    "account": "sge", "project": "NONE", "department": "defaultdepartment", "granted_pe": "NONE", "slots": "1",
    "submission_time": str(BEGIN), "start_time": str(BEGIN + 100), "end_time": str(BEGIN + 200), "ru_wallclock": "1",
    "category": "NONE", "pe_taskid": "NONE",
}


def record(**fields: str) -> AccountingRecord:
    return AccountingRecord({**USUAL, **fields}.values())


def text(*records: AccountingRecord) -> str:
    return "# a comment\n" + "".join(f"{line(each)}\n" for each in records)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "accounting.0"


def local(seconds: int) -> str:
    """A moment after BEGIN as -b and -e take it, in UTC."""
    return time.strftime("%Y%m%d%H%M.%S", time.gmtime(BEGIN + seconds))


def count(lines: list[str]) -> int:
    """The number of records of one second that a table sums up."""
    return sum(int(row.split("0.000")[0].split()[-1]) for row in lines if "0.000" in row)


#: (options, fields of a record that they mean, of one that they do not, which differs in nothing else)
FILTERS: list[tuple[str, dict[str, str], dict[str, str]]] = [
    ("-A red", {"account": "red"}, {"account": "redder"}),
    (f"-b {local(100)}", {"start_time": str(BEGIN + 100)}, {"start_time": str(BEGIN + 99)}),
    (f"-e {local(100)}", {"start_time": str(BEGIN + 100)}, {"start_time": str(BEGIN + 101)}),
    (f"-E -b {local(200)}", {"end_time": str(BEGIN + 200)}, {"end_time": str(BEGIN + 199)}),
    (f"-E -e {local(200)}", {"end_time": str(BEGIN + 200)}, {"end_time": str(BEGIN + 201)}),
    (f"-b {local(100)} -d 1", {"start_time": str(BEGIN + 86500)}, {"start_time": str(BEGIN + 86501)}),
    (f"-e {local(100)} -d 1", {"start_time": str(BEGIN + 100 - 86400)}, {"start_time": str(BEGIN + 99 - 86400)}),
    (f"-E -e {local(100)} -d 1", {"end_time": str(BEGIN + 100 - 86400)}, {"end_time": str(BEGIN + 99 - 86400)}),
    ("-D physics", {"department": "physics"}, {"department": "Physics"}),
    ("-g users", {"group": "users"}, {"group": "user"}),
    ("-h h1", {"hostname": "H1"}, {"hostname": "h11"}),
    ("-m", {"pe_taskid": "NONE"}, {"pe_taskid": "1.h1"}),
    ("-o bob", {"owner": "bob"}, {"owner": "bo"}),
    ("-u bob", {"owner": "bob"}, {"owner": "bob1"}),
    ("-P blue", {"project": "blue"}, {"project": "NONE"}),
    ("-pe mpi", {"granted_pe": "mpi"}, {"granted_pe": "NONE"}),
    ("-slots 4", {"slots": "4"}, {"slots": "14"}),
    ("-ar 3", {"arid": "3"}, {"arid": "33"}),
    ("-q all.q", {"qname": "all.q"}, {"qname": "all.q2"}),
    ("-q all.q@h1", {"hostname": "h1"}, {"hostname": "h2"}),
    ("-q 'a*'", {"qname": "all.q"}, {"qname": "b.q"}),
    ("-l arch=lx-amd64", {"hostname": "h1"}, {"hostname": "gone"}),
    ("-q '*@@allhosts'", {"hostname": "h1"}, {"hostname": "gone"}),
]


@pytest.mark.statement("QA-8", "QA-2", "QA-4")
@pytest.mark.parametrize(("options", "selected", "other"), FILTERS)
def test_a_filter_selects_records_by_its_field_alone(
    shell: Shell, cell: Cell, file: Path, options: str, selected: dict[str, str], other: dict[str, str]
) -> None:
    pair = [record(**selected), record(**other)]
    assert sum(a != b for a, b in zip(*pair, strict=True)) == 1
    file.write_text(text(*pair))
    cell.master.spool.accounted.add((7, 1, each) for each in pair)
    for source in ("", f"-f {file}"):
        assert count(shell(f"qacct {source}").lines[2:]) == 2
        outcome = shell(f"qacct {options} {source}")
        assert (count(outcome.lines[2:]), outcome.status) == (1, 0)
        (found,) = json.loads(shell(f"qacct {options} {source} -j -json").out)["records"]
        assert all(found[name] == value for name, value in selected.items() if name in ("owner", "hostname", "qname", "account"))


@pytest.mark.statement("QA-7")
@pytest.mark.parametrize(
    ("options", "selected", "other"),
    [
        ("-j 7", {"job_number": "7"}, {"job_number": "77"}),
        ("-j blue", {"job_name": "blue"}, {"job_name": "blue1"}),
        ("-j 'b*e'", {"job_name": "blue"}, {"job_name": "black"}),
        ("-j 7 -t 2-4:2", {"task_number": "4"}, {"task_number": "3"}),
    ],
)
def test_records_of_a_job(shell: Shell, file: Path, options: str, selected: dict[str, str], other: dict[str, str]) -> None:
    file.write_text(text(record(**other), record(**selected)))
    found = [entry.split() for entry in shell(f"qacct {options} -f {file}").lines]
    assert [entry[1] for entry in found if entry[0] == "jobname"] == [selected.get("job_name", "job")]
    assert [entry[1] for entry in found if entry[0] == "jobnumber"] == ["7"]


@pytest.mark.statement("QA-8")
@pytest.mark.parametrize("option", "-A -D -g -h -o -P -pe -q -slots -ar".split())
def test_without_a_value_an_option_groups(shell: Shell, file: Path, option: str) -> None:
    field = dict(zip("-A -D -g -h -o -P -pe -q -slots -ar".split(), _GROUPED, strict=True))[option]
    file.write_text(text(record(**{field: "11"}), record(**{field: "12"}), record(**{field: "12"})))
    rows = [row.split() for row in shell(f"qacct {option} -f {file}").lines[2:]]
    assert [row[:2] for row in rows] == [["11", "1"], ["12", "2"]]


_GROUPED = "account department group hostname owner project granted_pe qname slots arid".split()


@pytest.mark.statement("QA-7", "QA-8")
@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ("-b 1", '"1" is not a date'),
        ("-e 209913010000", '"209913010000"'),
        ("-b", "-b"),
        ("-d x", '"x" is not a number'),
        ("-d -1", '"-1" is not a number'),
        ("-slots 1-4", '"1-4" is not a number'),
        ("-ar x", '"x" is not a number'),
        ("-t 1", "-t is for the tasks of a job that -j names"),
        ("-j 1 -t 0", "0"),
        ("-j 1 -t 3-1", "3-1"),
        ("-q '(('", "(("),
        ("-j '(('", "(("),
        ("-f", "-f"),
        ("-nosuch", "-nosuch"),
        ("-csv -json", "-csv and -json"),
    ],
)
def test_a_wrong_value_is_named(shell: Shell, options: str, reason: str) -> None:
    outcome = shell(f"qacct {options}")
    assert (outcome.out, outcome.status) == ("", 1)
    assert reason in outcome.err and "internal error" not in outcome.err


@pytest.mark.statement("QA-5", "QA-8")
def test_rotated_packed_and_older_files(shell: Shell, file: Path, tmp_path: Path) -> None:
    older = ":".join(record(owner="bob")[:43])
    written = text(record(), record(owner="carol")) + f"{older}\n"
    file.write_text(written)
    packed = tmp_path / "accounting.1.gz"
    packed.write_bytes(gzip.compress(written.encode()))
    for options in ("", "-o", "-j bob", "-j", "-j -json"):
        shown = shell(f"qacct {options} -f {file}")
        assert shell(f"qacct {options} -f {packed}").out == shown.out
        assert shell(f"qacct {options} -f -", stdin=written).out == shown.out
    assert [row.split()[0] for row in shell(f"qacct -o -f {packed}").lines[2:]] == ["alice", "bob", "carol"]


@pytest.mark.statement("QA-8", "AC-6")
def test_lines_that_are_no_records_are_skipped_and_reported(shell: Shell, file: Path) -> None:
    wrong = [
        "too:short",
        line(record(ru_wallclock="long")),
        line(record(end_time="nan")),
        line(record(cpu="inf")),
        line(record(job_number="x")),
        line(record(start_time="1e99")),
        line(record(slots="-1")),
        line(record())[:60],
    ]
    good = line(record(job_name="caf\udce9".encode(errors="surrogateescape").decode(errors="replace")))
    lines = ["# 8.1.9", "", good, *wrong, good]
    file.write_bytes("\n".join(lines).encode())
    outcome = shell(f"qacct -o -f {file}")
    assert [row.split()[:2] for row in outcome.lines[2:]] == [["alice", "2"]]
    warning = f"{file}: 8 lines are no accounting records and were left out: line 4, 5, 6, 7, 8, …\n"
    assert (outcome.err, outcome.status) == (warning, 0)
    assert shell(f"qacct -j 7 -f {file}").err == warning
    file.write_bytes(bytes(range(256)) * 40)
    assert shell(f"qacct -j -f {file}").lines[0] == "Total System Usage"
    assert "no accounting records" in shell(f"qacct -f {file}").err


@pytest.mark.statement("QA-8")
@pytest.mark.parametrize("spoil", [lambda data: data[:-20], lambda data: data[:40] + b"waste" + data[45:], lambda data: data[:5]])
def test_a_packed_file_that_is_spoilt_ends_in_a_sentence(shell: Shell, file: Path, spoil: Any) -> None:
    file.write_bytes(spoil(gzip.compress(text(*(record(job_name=f"n{number}") for number in range(50))).encode())))
    outcome = shell(f"qacct -f {file}")
    assert outcome.status == 1 and len(outcome.err.splitlines()) == 1
    assert outcome.err.startswith(f"{file}: cannot be read behind line ")


@pytest.mark.statement("QA-8")
def test_totals_hold_no_records(shell: Shell, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    alive = most = 0

    class Counted(AccountingRecord):
        def __new__(cls, values: Any) -> Counted:
            nonlocal alive, most
            alive += 1
            most = max(most, alive)
            return super().__new__(cls, values)

        def __del__(self) -> None:
            nonlocal alive
            alive -= 1

    parse = accounting_source.parse_line

    def counted(text: str) -> AccountingRecord | None:
        found = parse(text)
        return found and Counted(found)

    monkeypatch.setattr(accounting_source, "parse_line", counted)
    file.write_text(text(*(record(owner=f"u{number % 7}") for number in range(500))))
    assert count(shell(f"qacct -o -f {file}").lines[2:]) == 500
    assert 0 < most < 5


@pytest.mark.statement("QA-7", "AC-2")
def test_a_job_is_found_when_the_file_was_rotated_away(shell: Shell, cell: Cell) -> None:
    shell("qsub -b y true")
    cell.cycle()
    cell.end(1)
    known = shell("qacct -j 1").out
    (cell.directory / "accounting").rename(cell.directory / "accounting.0")
    assert shell("qacct -j 1").out == known != ""
    assert shell(f"qacct -j 1 -f {cell.directory / 'accounting.0'}").out == known


@pytest.mark.statement("QA-7", "QA-1")
def test_pages_are_asked_for_until_the_last(shell: Shell, cell: Cell, monkeypatch: pytest.MonkeyPatch) -> None:
    cell.master.spool.accounted.add((number, 1, record(job_number=str(number), owner=f"u{number % 3}")) for number in range(20))
    whole = [shell(f"qacct {options}").out for options in ("", "-o", "-j", "-j job -csv")]
    search = accounting_table.AccountingTable.search
    monkeypatch.setattr(accounting_table.AccountingTable, "search", lambda table, body: search(table, body, 6, 4))
    shell.asked.clear()
    assert [shell(f"qacct {options}").out for options in ("", "-o", "-j", "-j job -csv")] == whole
    assert [body.get("after", 0) for _, body in shell.asked[:4]] == [0, 6, 12, 18]
    assert all("group_by" in body for _, body in shell.asked[:8]), "of totals only sums are sent"


@pytest.mark.statement("QA-1", "QA-7")
def test_csv(shell: Shell, file: Path) -> None:
    file.write_text(text(record(job_name='a,"b', account="\x1b[2J"), record(owner="bob", slots="4", arid="9")))

    def rows(options: str) -> Iterator[dict[str, str]]:
        return csv.DictReader(io.StringIO(shell(f"qacct {options} -csv -f {file}").out))

    (total,) = rows("")
    assert list(total) == ["wallclock_s", "utime_s", "stime_s", "cpu_s", "mem_gb_s", "io_gb", "iow_s"]
    assert total["wallclock_s"] == "2"
    assert [(row["owner"], row["slots"], row["wallclock_s"]) for row in rows("-o -slots")] == [
        ("alice", "1", "1"),
        ("bob", "4", "1"),
    ]
    assert list(rows("-o nosuch")) == [] and shell(f"qacct -o nosuch -csv -f {file}").out.startswith("owner,wallclock_s,")
    [sums] = json.loads(shell(f"qacct -json -f {file}").out)["totals"]
    assert not any(isinstance(value, float) and value.is_integer() for value in sums.values()), "2.0 is 2"
    first, second = rows("-j")
    plain = json.loads(shell(f"qacct -j -json -f {file}").out)["records"]
    assert list(first) == [name for name in plain[0] if name not in ("notes", "unit_usage")]
    assert (first["job_name"], first["account"], first["ar_id"]) == ('a,"b', "\\x1b[2J", "")
    assert (second["owner"], second["ar_id"], second["job_id"]) == ("bob", "9", "7")


@pytest.mark.statement("AC-5", "QA-7")
def test_each_try_of_a_job_has_its_record(shell: Shell, cell: Cell) -> None:
    shell("qsub -b y -r y true")
    cell.cycle()
    cell.admin("change_states", action="reschedule", what="job", targets=["1"])
    cell.end(1, failed=25)
    cell.cycle()
    cell.end(1, exit_status=3)
    for source in ("", f"-f {cell.directory / 'accounting'}"):
        tries = json.loads(shell(f"qacct -j 1 -json {source}").out)["records"]
        assert [(each["failed"], each["exit_status"]) for each in tries] == [(25, 0), (0, 3)]
    assert count(shell("qacct -o alice").lines[2:]) == 2


@pytest.mark.statement("AC-6", "AC-1")
def test_no_text_of_a_user_breaks_a_record(shell: Shell, cell: Cell) -> None:
    cell.master.spool.accounted.add([(7, 1, record(job_name="o:d\nd", account="x:y"))])
    cell.master.accounting.follow()
    file = cell.directory / "accounting"
    (kept,) = [text for text in file.read_text().splitlines() if text[:1] != "#"]
    assert kept.count(":") == len(FIELDS) - 1
    for source, name, account in (("", "o:d\nd", "x:y"), (f"-f {file}", "o d d", "x y")):
        outcome = shell(f"qacct -j 7 -json {source}")
        (one,) = json.loads(outcome.out)["records"]
        assert (one["job_name"], one["account"], one["job_id"], outcome.err) == (name, account, 7, "")


@pytest.mark.statement("AC-1")
def test_bytes_are_bytes(shell: Shell, file: Path) -> None:
    file.write_text(text(record(ru_maxrss="2048")))
    (found,) = json.loads(shell(f"qacct -f {file} -j -json").out)["records"]
    assert found["ru_maxrss_bytes"] == 2048 * 1024


@pytest.mark.statement("QA-5", "QA-7")
@pytest.mark.parametrize("odd", ["\r", "\t", "\v", "\f", "\xa0"])
def test_white_space_beside_a_number_ends_nothing(shell: Shell, file: Path, odd: str) -> None:
    file.write_bytes((line(record(cpu=f"1.5{odd}")) + "\r\n" + line(record()) + f"{odd}\n").encode())
    outcome = shell(f"qacct -f {file} -j")
    assert outcome.status == 0 and outcome.out.count("jobnumber") == 2
    assert "1.500s" in outcome.out and "ar_sub_time  undefined\n" in outcome.out


@pytest.mark.statement("QA-7")
def test_counts_are_whole_numbers_and_bare_j_ends_with_totals(shell: Shell, file: Path) -> None:
    file.write_text(line(record(ru_inblock="0.000000", ru_minflt="478.000000")) + "\n")
    outcome = shell(f"qacct -f {file} -j")
    assert f"ru_inblock   {0:<20}\n" in outcome.out and f"ru_minflt    {478:<20}\n" in outcome.out
    assert outcome.lines[-4] == "Total System Usage"
    assert "Total System" not in shell(f"qacct -f {file} -j '*'").out


@pytest.mark.statement("QA-1", "QA-7")
def test_the_totals_after_records_have_the_groups_of_the_options(shell: Shell, file: Path) -> None:
    file.write_text(line(record(owner="alice", granted_pe="mpi")) + "\n")
    outcome = shell(f"qacct -f {file} -o -A -pe mpi -j")
    assert outcome.lines[-3].split()[:3] == ["OWNER", "PE", "ACCOUNT"], "the account comes last"
    assert outcome.lines[-1].split()[:2] == ["alice", "mpi"]


@pytest.mark.statement("QA-5")
@pytest.mark.parametrize("arguments", ["", "-j", "-j 7", "-o", "-j -csv", "-o -json"])
def test_without_the_qmaster_the_file_of_the_cell_is_read(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: str
) -> None:
    from clients import gdi

    def unreachable(name: str, body: object, answer_s: float) -> None:
        raise gdi.Unreachable("nobody answers")

    (tmp_path / "accounting").write_text(line(record(job_number="7")) + "\n")
    expected = shell(f"qacct {arguments} -f {tmp_path}/accounting")
    monkeypatch.setattr(gdi, "call", unreachable)
    monkeypatch.setattr(gdi, "common_directory", lambda: str(tmp_path))
    outcome = shell(f"qacct {arguments}")
    assert (outcome.status, outcome.out) == (0, expected.out)
    assert outcome.err == f"nobody answers\nthe records are those of {tmp_path}/accounting\n"
    (tmp_path / "accounting").unlink()
    assert shell(f"qacct {arguments}").status == 1
