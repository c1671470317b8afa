"""The search in the accounting index: complete pages, and the process that reads them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from daemons.qmaster.serve.requests import accounting_reading
from daemons.qmaster.serve.requests.accounting_reading import AccountingReading
from daemons.qmaster.spooling.accounting_table import AccountingTable
from gridengine.protocols.gdi.requests import Answer, Caller
from gridengine.usage.accounting import FIELDS, AccountingRecord, record_filter
from tests.harness import MASTER, Cell
from tests.unit.played_process import PlayedProcess

ROOT = Caller("root", 0, "root", 0, MASTER)
USUAL = dict.fromkeys(FIELDS, "0") | {"qname": "all.q", "pe_taskid": "NONE", "ru_wallclock": "2", "cpu": "0.5"}
OWNERS = ("alice", "bob", 'o"dd\\', "älice")


def record(number: int) -> AccountingRecord:
    fields = {"job_number": str(number // 3), "task_number": str(number), "owner": OWNERS[number % 4], "job_name": f"n{number}"}
    return AccountingRecord({**USUAL, **fields, "hostname": f"h{number % 2}", "end_time": str(1000 + number)}.values())


@pytest.fixture
def table(cell: Cell) -> AccountingTable:
    cell.master.spool.accounted.add((number // 3, number, record(number)) for number in range(100))
    return cell.master.spool.accounted


def pages(table: AccountingTable, body: dict[str, Any], **most: int) -> Iterator[dict[str, Any]]:
    after: int | None = 0
    while after is not None:
        page = table.search({**body, "after": after}, **most)
        yield page
        after = page["next"]


BODIES: list[dict[str, Any]] = [
    {}, {"owner": "alice"}, {"owner": 'o"dd\\'}, {"owner": "älice", "host": "H1"}, {"job": "n1*"}, {"job": "3,4,999"},
    {"begin": 1020, "end": 1040, "by_end": True}, {"job": "7", "tasks": "22-23"}, {"queue": "all.q@h1"}, {"owner": "alic"},
]
MOST: list[dict[str, int]] = [{"most_rows": 7}, {"most_records": 3}, {"most_rows": 2, "most_records": 2}, {"most_rows": 10}, {}]


@pytest.mark.statement("QA-7", "QA-8")
@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("most", MOST)
def test_all_pages_together_have_each_record_once(table: AccountingTable, body: dict[str, Any], most: dict[str, int]) -> None:
    selection = record_filter(body)
    found = [one for page in pages(table, body, **most) for one in page["records"]]
    assert found == [one for one in map(record, range(100)) if selection(one)]


@pytest.mark.parametrize("body", [{}, {"owner": "alice"}, {"begin": 1020, "end": 1040, "by_end": True}])
@pytest.mark.parametrize("most", MOST)
def test_a_search_may_begin_with_the_newest(table: AccountingTable, body: dict[str, Any], most: dict[str, int]) -> None:
    found = [one for page in pages(table, {**body, "newest": True}, **most) for one in page["records"]]
    assert found == [one for one in map(record, reversed(range(100))) if record_filter(body)(one)]
    assert table.holds_more_than(10, {"newest": True}) and not table.holds_more_than(10, {"newest": True, "after": 11})
    far = {**body, "newest": True, "after": 2**31}
    assert not table.holds_more_than(100, far)
    assert [one for page in pages(table, far, **most) for one in page["records"]] == found


def test_a_code_of_failure_or_an_exit_status_is_no_success(table: AccountingTable) -> None:
    table.add((1, task, record(task).replace(**end)) for task, end in ((201, {"exit_status": "3"}), (202, {"failed": "26"})))
    assert [one.task_number for one in table.search({"unsuccessful": True})["records"]] == ["201", "202"]


@pytest.mark.statement("QA-1")
def test_sums_of_pages_add_up(table: AccountingTable) -> None:
    body = {"group_by": ["owner"], "host": "h0"}
    parts = [page["sums"] for page in pages(table, body, most_rows=30)]
    assert len(parts) == 4
    assert sum(row[0] for part in parts for key, row in part if key == ("alice",)) == 25
    ((key, row),) = table.search({"group_by": [], "owner": "bob"})["sums"]
    assert (key, row) == ((), [25, 50.0, 0.0, 0.0, 12.5, 0.0, 0.0, 0.0])
    assert table.search({"group_by": ["owner"], "owner": "nobody"}) == {"sums": [], "next": None}


@pytest.mark.statement("QA-7")
def test_a_job_is_read_from_the_index(table: AccountingTable) -> None:
    assert [one.task_number for one in table.search({"job": "30"}, most_rows=3)["records"]] == ["90", "91", "92"]
    assert not table.holds_more_than(3, {"job": "30"})
    assert table.holds_more_than(3, {"job": "30,31"})
    assert table.holds_more_than(99, {}) and not table.holds_more_than(100, {})
    assert not table.holds_more_than(10, {"after": 90})


def test_only_records_with_the_text_are_decoded(table: AccountingTable, monkeypatch: pytest.MonkeyPatch) -> None:
    from daemons.qmaster.spooling import accounting_table

    decoded: list[bytes] = []
    monkeypatch.setattr(accounting_table, "_decode", lambda text: decoded.append(text) or msgspec.json.decode(text))
    table.search({"owner": "bob", "group_by": []})
    assert len(decoded) == 25


class Child(PlayedProcess):
    """A replacement of the process, which reads the same table."""

    def __init__(self, table: AccountingTable, returncode: int = 0) -> None:
        super().__init__()
        self.table, self.returncode = table, returncode

    async def communicate(self, body: bytes) -> tuple[bytes, bytes]:
        await asyncio.sleep(0)
        return msgspec.json.encode(self.table.search(msgspec.json.decode(body))), b"x\ncannot read spool\n"


@pytest.mark.parametrize(("body", "processes"), [({"job": "5"}, 0), ({"owner": "bob"}, 1), ({"owner": "bob", "after": 90}, 0)])
def test_a_large_search_runs_in_a_process(
    cell: Cell, table: AccountingTable, monkeypatch: pytest.MonkeyPatch, body: dict[str, Any], processes: int
) -> None:
    started: list[tuple[str, ...]] = []

    async def start(*command: str, **_: Any) -> Child:
        started.append(command)
        return Child(table)

    monkeypatch.setattr(accounting_reading, "AT_ONCE", 20)
    monkeypatch.setattr(asyncio, "create_subprocess_exec", start)
    answer = asyncio.run(AccountingReading().answer(cell.master, body, ROOT))
    assert len(started) == processes and (not started or started[0][-1] == str(cell.master.spool.path))
    assert [list(one) for one in answer.data["records"]] == [list(one) for one in table.search(body)["records"]]


def test_an_impossible_search_is_an_error(cell: Cell, table: AccountingTable, monkeypatch: pytest.MonkeyPatch) -> None:
    async def ends(*_: str, **__: Any) -> Child:
        return Child(table, returncode=1)

    async def refused(*_: str, **__: Any) -> Child:
        raise OSError(11, "Resource temporarily unavailable")

    async def ask() -> Answer:
        return await AccountingReading().answer(cell.master, {}, ROOT)

    monkeypatch.setattr(accounting_reading, "AT_ONCE", 20)
    for start, reason in ((ends, "cannot read spool"), (refused, "Resource temporarily unavailable")):
        monkeypatch.setattr(asyncio, "create_subprocess_exec", start)
        assert asyncio.run(ask()).answers == [("error", f"cannot search the accounting records: {reason}")]
