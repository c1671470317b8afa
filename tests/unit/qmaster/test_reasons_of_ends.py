"""Reasons of failed and killed tasks: in its record, event log, mail and the hint of commands, for people without the log."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from clients.render.accounting import full_record
from daemons.qmaster.notifications.accounting import category
from daemons.qmaster.queries.job_ends import outcome
from gridengine.mail import Mail
from gridengine.usage.accounting import FIELDS, WIDTH, AccountingRecord
from tests.harness import Cell

STAMP = "11/26/2026 22:51:04 [0:812]: "


@pytest.fixture
def mails(cell: Cell) -> Iterator[list[Mail]]:
    posted: list[Mail] = []
    cell.master.post = posted.extend
    yield posted


def host_of(cell: Cell, job: int) -> str:
    return cell.placed(job)[0][0].partition("@")[2]


def ended(cell: Cell, **end: Any) -> tuple[int, str]:
    """A job that has ended as reported, and its host."""
    job = cell.submit(mail_options="ae", mail_list=["ann@x"])
    cell.cycle()
    host = host_of(cell, job)
    cell.end(job, **end)
    return job, host


@pytest.mark.statement("RL-2", "AC-2", "MA-1")
@pytest.mark.parametrize("limit", ["h_rt of 60 s", "h_vmem of 100M", "h_cpu of 9 s"])
def test_a_limit_that_killed_a_job_is_named_with_its_value_and_the_host(cell: Cell, mails: list[Mail], limit: str) -> None:
    job, host = ended(cell, failed=37, exit_status=137, reason=f"{STAMP}limit {limit} exceeded")
    why = f"killed on {host} after 1 s: limit {limit} exceeded"
    [record] = cell.records(job)
    assert record.reason == why and record.notes == {"reason": why}
    assert full_record(record).splitlines()[-1] == f"reason       {why}"
    assert cell.master.job_history(job, 1)[-1].cause == f"exit status 137, failed 37, {why}"
    assert f" {why}\n" in mails[-1].body
    assert outcome(record) == why


@pytest.mark.statement("AC-1")
def test_the_lines_of_8_1_9_are_as_they_were(cell: Cell) -> None:
    """Parsers of `qacct -j` read labels: the reason is a line behind them, and the file has no place for it."""
    job, _ = ended(cell, failed=37, exit_status=137, reason="limit h_rt of 1 s exceeded")
    [record] = cell.records(job)
    text = full_record(record).splitlines()
    assert [line.split()[0] for line in text[-3:]] == ["ar_sub_time", "category", "reason"]
    assert "failed       37  : qmaster enforced h_rt, h_cpu, or h_vmem limit" in text
    assert len(record) == WIDTH + 1


@pytest.mark.statement("AC-1", "AC-2")
@pytest.mark.parametrize(
    ("number", "shown"),
    [("0", "0"), ("999", "999 : invalid execution state"), ("-1", "-1  : invalid execution state"), ("24", "24  : migrating")],
)
def test_a_code_that_no_step_has_is_named_as_such(cell: Cell, number: str, shown: str) -> None:
    job, _ = ended(cell, exit_status=3)
    [record] = cell.records(job)
    fields = [number if name == "failed" else text for name, text in zip(FIELDS, record, strict=False)]
    text = full_record(AccountingRecord(fields))
    assert f"failed       {shown}" in [line.rstrip() for line in text.splitlines()]


@pytest.mark.statement("AC-3", "CX-61")
@pytest.mark.parametrize(
    ("fields", "shown"),
    [
        ({}, "NONE"),
        ({"now": True, "project": "p", "hard": ["h_vmem=16G"]}, "-l h_vmem=16G -I y -P p"),
        ({"checkpoint": "ck", "hard_queues": ["all.q"]}, "-q all.q -ckpt ck"),
        ({"pe": "smp", "pe_range": "1", "checkpoint": "ck", "now": True}, "-pe smp 1 -ckpt ck -I y"),
    ],
)
def test_the_category_has_the_options_in_the_order_of_8_1_9(cell: Cell, fields: dict[str, Any], shown: str) -> None:
    cell.add("checkpoint", "ck")
    cell.add("project", "p")
    cell.add("parallel_environment", "smp", slots="9")
    cell.configure("cluster_queue", "all.q", ckpt_list="ck", pe_list="smp")
    assert category(cell.state.jobs[cell.submit(**fields)]) == shown


@pytest.mark.statement("AC-2")
@pytest.mark.parametrize("status", [0, 3, 137])
def test_a_job_that_ended_by_itself_has_no_reason(cell: Cell, status: int) -> None:
    job, _ = ended(cell, exit_status=status)
    [record] = cell.records(job)
    assert record.reason == "" and len(record) == WIDTH
    assert cell.master.job_history(job, 1)[-1].cause == f"exit status {status}"


@pytest.mark.statement("MA-1")
def test_the_record_and_the_mail_of_a_deleted_job_name_the_user(cell: Cell, mails: list[Mail]) -> None:
    job = cell.submit(mail_options="a", mail_list=["ann@x"])
    cell.cycle()
    cell.ask("delete_jobs", targets=[str(job)])
    cell.end(job, failed=100, exit_status=137, reason="the job was to be deleted")
    assert cell.records(job)[-1].reason == "deleted by alice"
    assert mails[-1].body.count("deleted by alice") == 1


def test_a_signal_a_method_and_a_forced_deletion_are_reported(cell: Cell) -> None:
    job, host = ended(cell, failed=100, exit_status=139, reason="job died through signal 11")
    assert cell.records(job)[-1].reason == f"on {host}: job died through signal 11"
    job, host = ended(cell, failed=14, reason=f"{STAMP}can't execute epilog /no: No such file or directory")
    assert cell.records(job)[-1].reason == f"on {host}: can't execute epilog /no: No such file or directory"
    job = cell.submit()
    cell.cycle()
    host = host_of(cell, job)
    cell.admin("delete_jobs", targets=[str(job)], force=True)
    assert cell.records(job)[-1].reason.startswith(f"killed on {host} after ")
    assert cell.records(job)[-1].reason.endswith(": qdel -f")


def test_a_job_whose_predecessor_failed_names_it(cell: Cell) -> None:
    first = cell.submit()
    second = cell.submit(hold_jid_ok=[str(first)])
    cell.cycle()
    cell.end(first, exit_status=1)
    cell.master.tick()
    cell.master.flush()
    assert str(first) in cell.records(second)[-1].reason
