"""Traces from accounting records and from the Standard Workload Format, with lines that are no jobs."""

from __future__ import annotations

import pytest

from bench import traces
from daemons.simulator.accounting_trace import trace_of_records
from daemons.simulator.swf_trace import trace_of_swf
from gridengine.usage.accounting import FIELDS, AccountingRecord, is_valid_record, parse_line
from tests.unit.simulator.small_cell import configuration, replay

_PLAIN = dict.fromkeys(FIELDS, "0") | {
    "owner": "alice", "group": "users", "job_name": "sim", "job_number": "5", "project": "NONE", "granted_pe": "NONE",
    "slots": "1", "submission_time": "100", "start_time": "110", "end_time": "160", "category": "NONE", "pe_taskid": "NONE",
}  # fmt: skip


def record(**fields: object) -> AccountingRecord:
    texts = _PLAIN | {name: str(value) for name, value in fields.items()}
    return AccountingRecord([texts[name] for name in FIELDS])


def test_requests_come_from_the_category() -> None:
    category = "-q a.q,b.q -masterq a.q -l h_rt=100,m=2G -soft -l arch=x -pe mpi 4-8 -P p"
    (job,) = trace_of_records([record(category=category, project="p", granted_pe="mpi", slots=8)]).jobs
    assert (job.hard, job.soft, job.pe, job.pe_range) == (["h_rt=100", "m=2G"], ["arch=x"], "mpi", "4-8")
    assert (job.queues, job.master_queues, job.project) == (("a.q", "b.q"), ("a.q",), "p")
    assert [task.run_s for task in job.tasks] == [50]


def test_a_job_with_several_requests_is_replayed() -> None:
    made = trace_of_records([record(category="-l h_rt=100,arch=lx-amd64")])
    outcome = replay(configuration(1, 1), *made.jobs)
    assert (outcome.refused.sentences(), [run.run_s for run in outcome.runs]) == ([], [50])


def test_a_job_without_a_category_has_the_slots_that_it_got() -> None:
    (job,) = trace_of_records([record(granted_pe="smp", slots=3)]).jobs
    assert (job.pe, job.pe_range) == ("smp", "3")


def test_records_of_an_array_are_one_job_and_the_last_run_of_a_task_counts() -> None:
    made = trace_of_records(
        [record(task_number=2, end_time=120), record(task_number=1, end_time=130), record(task_number=2, end_time=200)]
    )
    (job,) = made.jobs
    assert job.is_array and [(task.id, task.run_s) for task in job.tasks] == [(1, 20), (2, 90)]


def test_slave_tasks_are_no_jobs() -> None:
    assert trace_of_records([record(pe_taskid="1.h2")]).jobs == []


def test_records_with_impossible_times_are_counted_and_named() -> None:
    made = trace_of_records([record(end_time=105, job_number=6), record(start_time=0, job_number=7), record(submission_time=-5)])
    assert made.jobs == []
    first, second = made.faults.sentences()
    assert first.startswith("records that end before they start") and first.endswith(": 2 (job 6, job 5)")
    assert second == "records of tasks that never ran, left out: 1 (job 7)"


def test_jobs_of_the_standard_workload_format() -> None:
    wide, failed = b"1 5 3 60 4 -1 -1 8 120 -1 1 7 2 -1 -1 -1 -1 -1", b"2 4 0 6 1 3 -1 -1 -1 -1 0 7 -1 1 1 1 -1 -1"
    made = trace_of_swf([b"; UnixStartTime: 1000", wide, b"", failed], "mpi")
    second, first = made.jobs
    assert (first.number, first.submit_time, first.owner, first.project) == (1, 1005, "user7", "group2")
    assert (first.pe, first.pe_range) == ("mpi", "8")
    assert (first.hard, first.tasks[0].run_s, first.tasks[0].failed) == (["h_rt=120"], 60, False)
    assert (second.submit_time, second.pe, second.hard, second.tasks[0].failed) == (1004, "", [], True)
    assert made.faults.sentences() == []


def test_lines_that_are_no_jobs_are_counted_and_named() -> None:
    good = b"1 5 3 60 4 -1 -1 8 120 -1 1 7 2 -1 -1 -1 -1 -1"
    negative = [good.replace(b"60", b"-60"), good.replace(b" 5 ", b" -5 ")]
    bad = [b"rubbish", b"1 2 3", good.replace(b"60", b"nan"), b"\xff\xfe"]
    made = trace_of_swf([*bad, *negative, b"; UnixStartTime: never", good], "mpi")
    assert len(made.jobs) == 1
    first, second = made.faults.sentences()
    assert first.startswith("lines that are no jobs") and first.endswith(": 4 (line 1, line 2, line 3, line 4)")
    assert second.startswith("jobs without a submission") and second.endswith(": 2 (line 5, line 6)")


@pytest.mark.parametrize("number", [b"1e300", b"1e15", b"99999999999"])
def test_jobs_of_a_far_future_are_counted_and_named(number: bytes) -> None:
    good = b"1 5 3 60 4 -1 -1 8 120 -1 1 7 2 -1 -1 -1 -1 -1"
    late, long = good.replace(b" 5 ", b" " + number + b" "), good.replace(b"60", number)
    made = trace_of_swf([good, late, b"2" + long[1:]], "mpi")
    (sentence,) = made.faults.sentences()
    assert len(made.jobs) == 1
    assert sentence.startswith("jobs that were submitted after") and sentence.endswith(": 2 (job 1, job 2)")
    of_records = trace_of_records([record(end_time=number.decode()), record(job_number=6)])
    assert [job.number for job in of_records.jobs] == [6] and of_records.faults.counts


@pytest.mark.parametrize(
    "fields",
    [{"category": text} for text in ("-l", "-l h_rt=x", "-l =", "-pe mpi x", "-pe none 2", "-pe mpi 0", "-q [", "-l h_rt=-5")]
    + [{name: text} for name in ("owner", "job_name", "group", "project") for text in ("", "a b", "x" * 5000, "\x00")],
)
def test_a_record_with_rubbish_is_replayed_or_refused_and_the_next_job_runs(fields: dict[str, str]) -> None:
    made = trace_of_records([record(**fields), record(job_number=6)])
    outcome = replay(configuration(1, 1), *made.jobs)
    refused = sum(outcome.refused.counts.values())
    assert len(outcome.runs) + refused == 2 and outcome.runs[-1].number == 6 and outcome.left == 0


def test_made_traces_are_read_without_faults_and_repeat_with_their_seed() -> None:
    made = traces.jobs(300, seed=3)
    assert made == traces.jobs(300, seed=3) != traces.jobs(300, seed=4)
    swf = trace_of_swf([line.encode() for line in traces.swf_lines(made)], "smp")
    records = [parse_line(line) for line in traces.accounting_lines(made)]
    assert all(each is not None and is_valid_record(each) for each in records)
    accounting = trace_of_records(each for each in records if each is not None)
    assert not swf.faults.counts and not accounting.faults.counts
    assert [(job.number, job.submit_time, job.tasks[0].run_s, job.pe_range) for job in swf.jobs] == [
        (job.number, job.submit_time, job.tasks[0].run_s, job.pe_range) for job in accounting.jobs
    ]


def test_made_jobs_have_estimates_above_their_run_times_and_come_by_day() -> None:
    made = traces.jobs(2000, seed=1)
    assert all(0 < job.run_s <= job.estimate_s for job in made)
    by_day = sum(9 <= job.submit_s // 3600 % 24 < 20 for job in made)
    assert by_day > len(made) / 2 and any(job.failed for job in made)
