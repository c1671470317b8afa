"""The usage of a user: figures of 7 and 30 days, failed tasks, and hints on requests."""

from __future__ import annotations

from typing import Any

import pytest

from gridengine.usage.user_usage import MIN_TASKS, UserUsage, round_size, user_usage
from tests.accounting_lines import accounting_line

DAY = 86_400.0
NOW = 1_795_200_000.0
MEGA, GIGA = 2**20, 2**30


def usage(*lines: bytes) -> UserUsage:
    return user_usage(lines, "alice", NOW)


def hints(*lines: bytes) -> list[tuple[str, str, str]]:
    return [(each.name, each.text, each.option) for each in usage(*lines).hints]


def test_figures_are_those_of_the_user_in_each_span() -> None:
    found = usage(
        accounting_line(NOW - DAY, 3600, cpu=1800),
        accounting_line(NOW - 8 * DAY, 7200, slots=2), accounting_line(NOW - 31 * DAY, 10),
        accounting_line(NOW - DAY, 10, owner="bob"), accounting_line(NOW - DAY, 10, owner="bob", account="alice"),
    )
    week, month = found.rows
    assert (week.tasks, week.slot_s, week.cpu_part) == (1, 3600, 0.5)
    assert (month.tasks, month.slot_s) == (2, 18_000)


def test_failed_tasks_are_listed_with_the_newest_first() -> None:
    failed = [accounting_line(NOW - day * DAY, 5, exit_status=day, job_number=day) for day in (3, 1, 2, 40)]
    assert [each.job for each in usage(*failed, accounting_line(NOW - 9, 5, failed=25)).failures] == [1, 2, 3]


def test_a_memory_request_that_is_far_too_large_has_a_hint() -> None:
    jobs = [
        accounting_line(NOW - DAY, 7200, job_name=f"align{each}", category="-l h_vmem=8G", maxvmem=each * MEGA, cpu=7200)
        for each in range(190, 202)
    ]
    assert hints(*jobs) == [
        ("align*", "asked for 8 G, used 201 M at most, in 12 of 12 tasks of the last 30 days", "-l h_vmem=410M"),
    ]


def test_memory_of_a_parallel_job_is_for_each_slot() -> None:
    job = accounting_line(
        NOW - DAY, 100, slots=4, granted_pe="smp", category="-l h_vmem=8G -pe smp 4", maxvmem=4 * GIGA, cpu=400
    )
    assert [(text, option) for _, text, option in hints(*[job] * MIN_TASKS)] == [
        ("asked for 8 G a slot, used 1 G at most, in 3 of 3 tasks of the last 30 days", "-l h_vmem=2G")
    ]


def test_idle_slots_and_a_long_limit_have_hints() -> None:
    job = accounting_line(NOW - DAY, 3600, slots=8, granted_pe="smp", category="-l h_rt=86400 -pe smp 8", cpu=3700)
    assert [(text.partition(", in ")[0], option) for _, text, option in hints(*[job] * 3)] == [
        ("asked for 8 slots, kept 1.0 of them busy on average", "-pe smp 2"),
        ("asked for 24:00:00 of run time, ran 01:00:00 at most", "-l h_rt=02:00:00"),
    ]


@pytest.mark.parametrize(
    "fields",
    [
        {"maxvmem": 3 * GIGA},  # a quarter of the request is spare
        {"maxvmem": 100 * MEGA, "exit_status": 1},  # a failed task may have ended early
        {"maxvmem": 0},  # unknown
        {"maxvmem": 100 * MEGA, "category": "-l h_vmem=INFINITY"},
        {"maxvmem": 100 * MEGA, "category": "-l h_vmem=many"},
    ],
)
def test_a_request_that_may_be_needed_has_no_hint(fields: Any) -> None:
    job = accounting_line(NOW - DAY, 100, **{"category": "-l h_vmem=8G", "cpu": 100, **fields})
    assert hints(*[job] * 5) == []


def test_few_tasks_have_no_hint() -> None:
    job = accounting_line(NOW - DAY, 100, category="-l h_vmem=8G", maxvmem=1 * MEGA, cpu=100)
    assert hints(*[job] * (MIN_TASKS - 1)) == []
    assert len(hints(*[job] * MIN_TASKS)) == 1


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (400 * MEGA, "400M"), (401 * MEGA, "410M"), (1.5 * GIGA, "1.5G"), (12.1 * GIGA, "13G"), (64 * MEGA, "64M"),
        (2 * GIGA, "2G"),
    ],
)
def test_sizes_are_rounded_up_to_two_digits(size: float, text: str) -> None:
    assert round_size(size) == text
