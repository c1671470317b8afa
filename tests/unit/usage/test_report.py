"""The figures of a report, computed by hand: arrays, parallel jobs, borders of the period, failures, invalid lines."""

from __future__ import annotations

from typing import Any

import pytest

from gridengine.usage.failed import ENFORCED, MIGRATING, RESCHEDULED
from gridengine.usage.periods import Period
from gridengine.usage.report import OTHERS, ReportRow, ReportTable, Tables, change, quantile
from gridengine.usage.report_form import Report, as_html, as_json, as_text, basis_of, change_text, csv_rows, lines, total_line
from tests.accounting_lines import accounting_line

DAY = 86_400.0
BEGIN = 1_795_200_000.0
PERIOD, BEFORE = Period("p", BEGIN, BEGIN + DAY), Period("", BEGIN - DAY, BEGIN)
GIGA = 2**30


def tables(*content: bytes, by: str = "user") -> tuple[ReportTable, ReportTable, int]:
    made = Tables(by, [PERIOD, BEFORE])
    made.add_lines(content)
    now, before = made.tables()
    return now, before, made.faults


def rows(*content: bytes, by: str = "user") -> dict[str, ReportRow]:
    return {row.name: row for row in tables(*content, by=by)[0].rows}


@pytest.mark.statement("AC-1")
def test_tasks_of_an_array_count_each() -> None:
    tasks = [accounting_line(BEGIN + 100 * task, 50, waited=10 * task, task_number=task, cpu=40) for task in range(1, 5)]
    row = rows(*tasks)["alice"]
    assert (row.tasks, row.wallclock, row.cpu, row.slot_s) == (4, 200, 160, 200)
    assert (row.wait_median, row.wait_p90) == (25, 37)
    assert row.cpu_part == 0.8


def test_slave_tasks_of_a_parallel_job_add_usage_but_no_slots_and_no_task() -> None:
    master = accounting_line(BEGIN, 100, slots=8, granted_pe="mpi", cpu=10)
    slaves = [
        accounting_line(BEGIN, 90, slots=8, granted_pe="mpi", pe_taskid=f"1.{host}", hostname=host, cpu=300)
        for host in ("h2", "h3")
    ]
    row = rows(master, *slaves)["alice"]
    assert (row.tasks, row.slot_s, row.work_s) == (1, 800, 800)
    assert (row.wallclock, row.cpu, row.cpu_part) == (280, 610, 610 / 800)
    by_host = rows(master, *slaves, by="host")
    assert {name: (each.slot_s, each.cpu) for name, each in by_host.items()} == {"h1": (800, 10), "h2": (0, 300), "h3": (0, 300)}


def test_a_job_across_the_border_counts_where_it_started_with_the_slot_hours_of_each_period() -> None:
    now, before, _ = tables(accounting_line(BEGIN - 100, 400, slots=2, cpu=7))
    assert (now.total.tasks, now.total.wallclock, now.total.slot_s) == (0, 0, 600)
    assert (before.total.tasks, before.total.wallclock, before.total.cpu, before.total.slot_s) == (1, 400, 7, 200)


def test_the_end_of_a_period_is_the_first_moment_after_it() -> None:
    now, before, _ = tables(accounting_line(BEGIN, 1), accounting_line(BEGIN + DAY, 1), accounting_line(BEGIN - DAY, 1))
    assert (now.total.tasks, before.total.tasks) == (1, 1)


def test_failures_have_a_count_and_lost_hours_and_an_attempt_that_runs_again_is_none() -> None:
    row = rows(
        accounting_line(BEGIN, 100, exit_status=1, slots=4),
        accounting_line(BEGIN, 50, failed=ENFORCED, exit_status=137),
        accounting_line(BEGIN, 30, failed=RESCHEDULED, exit_status=99),
        accounting_line(BEGIN, 30, failed=MIGRATING),
        accounting_line(BEGIN, 60),
    )["alice"]
    assert (row.tasks, row.failed, row.lost_s, row.failed_part) == (3, 2, 450, 2 / 3)
    assert row.wallclock == 270, "as qacct: also of attempts that run again"


def test_a_task_that_never_started_is_a_failure_without_a_waiting_time() -> None:
    line = accounting_line(BEGIN + 50, 0, failed=26, start_time=0)
    row = rows(line)["alice"]
    assert (row.tasks, row.failed, row.slot_s, row.wait_median) == (1, 1, 0, None)


def test_peak_memory_is_compared_with_the_request_of_all_slots() -> None:
    row = rows(
        accounting_line(BEGIN, 10, slots=2, category="-l h_vmem=4G -pe smp 2", maxvmem=2 * GIGA),
        accounting_line(BEGIN, 10, category="-l arch=lx-amd64", maxvmem=50 * GIGA),
        accounting_line(BEGIN, 10, category="-soft -l h_vmem=4G", maxvmem=50 * GIGA),
    )["alice"]
    assert row.memory_part == 0.25
    assert rows(accounting_line(BEGIN, 10))["alice"].memory_part is None


def test_gpu_hours_are_the_requests_of_all_slots_within_the_period() -> None:
    now, before, _ = tables(
        accounting_line(BEGIN, 100, slots=2, category="-l gpu=3,h_vmem=4G -pe smp 2"),
        accounting_line(BEGIN - 50, 100, category="-l gpu=1,gpu_type=h100", owner="bob"),
        accounting_line(BEGIN, 10, category="-soft -l gpu=1"),
        accounting_line(BEGIN, 10, category="-l gpu=many"),
    )
    assert {row.name: row.gpu_s for row in now.rows} == {"alice": 600, "bob": 50}
    assert (now.total.gpu_s, before.total.gpu_s) == (650, 50)


def test_gpu_hours_are_shown_where_tasks_had_gpus() -> None:
    def text(category: str) -> str:
        now, before, _ = tables(accounting_line(BEGIN, 7200, category=category))
        return as_text(Report("user", PERIOD, BEFORE, now, before, BEGIN, True, 0, basis_of((), None)), "c", None)

    shown = text("-l gpu=2").splitlines()
    assert any(line.split() == ["GPUs", "4.0", "hours", "held"] for line in shown), shown
    assert any("GPU hours" in line for line in shown)
    assert "GPU" not in text("-l gpu_type=h100")


@pytest.mark.parametrize(("by", "name"), [("user", "bob"), ("project", "physics"), ("queue", "long.q"), ("host", "h9")])
def test_each_group_is_named_by_its_field(by: str, name: str) -> None:
    line = accounting_line(BEGIN, 10, owner="bob", project="physics", qname="long.q", hostname="h9")
    assert list(rows(line, by=by)) == [name]


def test_lines_that_are_no_records_are_counted() -> None:
    good = accounting_line(BEGIN, 10)
    no_number = accounting_line(BEGIN, 10, cpu="nan")
    wrong = [b"rubbish\n", b"a:b:c\n", good.replace(b"alice", b"al:ice"), b"\xff\xfe" * 50 + b"\n", no_number]
    now, _, faults = tables(b"# a comment\n", b"\n", *wrong, good)
    assert (now.total.tasks, faults) == (1, 5)


def test_an_empty_period_has_no_rows_and_no_parts() -> None:
    now, before, faults = tables()
    assert now == before == ReportTable([], ReportRow("total"))
    assert (now.total.cpu_part, now.total.failed_part, faults) == (None, None, 0)


def test_rows_are_bounded_and_the_rest_is_added_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gridengine.usage.report.MOST_ROWS", 2)
    content = [accounting_line(BEGIN, 100 - each, waited=each, owner=f"u{each}") for each in range(5)]
    now, _, _ = tables(*content)
    assert [row.name for row in now.rows] == ["u0", "u1", OTHERS]
    assert (now.rows[2].tasks, now.rows[2].slot_s, now.rows[2].wait_median) == (3, 98 + 97 + 96, 3)
    assert now.total.tasks == 5


def test_quantiles_are_interpolated() -> None:
    assert [quantile([1.0, 2.0, 4.0, 8.0], part) for part in (0, 0.5, 0.9, 1)] == [1, 3, pytest.approx(6.8), 8]
    assert quantile([5.0], 0.9) == 5


@pytest.mark.parametrize(("now", "before", "percent"), [(3, 2, 50), (0, 2, -100), (3, 0, None), (None, 2, None), (3, None, None)])
def test_a_difference_needs_two_figures(now: Any, before: Any, percent: Any) -> None:
    assert change(now, before) == percent


@pytest.mark.parametrize(("percent", "text"), [(None, ""), (12.4, "+12 %"), (-0.4, "±0 %"), (-12_345.0, "-12,345 %")])
def test_a_difference_has_a_sign(percent: float | None, text: str) -> None:
    assert change_text(percent) == text


def report(*content: bytes, by: str = "user", share_tree: Any = None) -> Report:
    now, before, faults = tables(*content, by=by)
    basis = basis_of([("all.q@h1", 4), ("all.q@h2", 4), ("long.q@h1", 2)], share_tree)
    return Report(by, PERIOD, BEFORE, now, before, BEGIN, False, faults, basis)


def test_utilisation_is_of_the_slots_of_the_group() -> None:
    half = accounting_line(BEGIN, DAY / 2, slots=2)
    assert total_line(report(half)).utilisation == pytest.approx(0.1)
    assert lines(report(half, by="queue"))[0].utilisation == pytest.approx(1 / 8)
    assert lines(report(half, by="host"))[0].utilisation == pytest.approx(1 / 6)
    assert lines(report(half))[0].utilisation is None


def test_shares_stand_beside_the_targets_of_the_share_tree() -> None:
    nodes = {"/": 1.0, "/physics": 0.75, "/physics/alice": 0.5}
    tree = [{"node_name": name, "total%": part} for name, part in nodes.items()]
    content = [accounting_line(BEGIN, 30, project="physics"), accounting_line(BEGIN, 10, owner="bob")]
    by_project = {line.now.name: (line.part, line.target) for line in lines(report(*content, by="project", share_tree=tree))}
    assert by_project == {"physics": (0.75, 0.75), "NONE": (0.25, None)}
    by_user = {line.now.name: line.target for line in lines(report(*content, share_tree=tree))}
    assert by_user == {"alice": 0.5, "bob": None}


def test_all_forms_have_the_figures() -> None:
    made = report(
        accounting_line(BEGIN - 500, 100), accounting_line(BEGIN, 7200, waited=90, cpu=3600, owner="<b>eve"),
        accounting_line(BEGIN, 3600, exit_status=1),
    )
    text, html, data = as_text(made, "default", None), as_html(made, "default", None), as_json(made)
    assert "45.0 s" in text and "00:01:30" in text and "50 %" in text and "3.0 slot hours" in text
    assert "The records begin on" in text
    assert "&lt;b&gt;eve" in html and "<b>eve" not in html
    assert [(row["name"], row["slot_s"], row["failed"]) for row in data["rows"]] == [("<b>eve", 7200, 0), ("alice", 3600, 1)]
    assert data["rows"][1]["before"]["slot_s"] == 100
    assert [row[:3] for row in csv_rows(made)] == [["<b>eve", 1, 2.0], ["alice", 1, 1.0]]


def test_the_text_of_an_empty_period_has_a_sentence() -> None:
    assert "No task in this period." in as_text(report(), "default", None)
