"""A trace in the Standard Workload Format: a line of 18 numbers a job, -1 for unknown values, comments behind `;`.

Owns the reading of such lines. Source: Feitelson, "The Standard Workload Format", version 2.2.
"""

from __future__ import annotations

from collections.abc import Iterable

from daemons.simulator.trace import JobTrace, TracedJob, TracedTask, TraceFaults, in_order

FIELDS = 18
_NUMBER, _SUBMIT, _RUN, _PROCESSORS, _CPU = 0, 1, 3, 4, 5
_REQUESTED_PROCESSORS, _REQUESTED_TIME, _STATUS, _USER, _GROUP = 7, 8, 10, 11, 12
_COMPLETED = 1
_NO_LINE = "lines that are no jobs of the Standard Workload Format, left out"
_NEGATIVE = "jobs without a submission, a time or processors above zero, left out"
_START = "UnixStartTime:"


def trace_of_swf(lines: Iterable[bytes], pe: str) -> JobTrace:
    """The jobs of these lines. `pe`: the parallel environment of jobs with several processors. Groups count as projects."""
    faults, jobs, begin = TraceFaults(), list[TracedJob](), 0.0
    for number, raw in enumerate(lines, 1):
        line = raw.decode(errors="replace").strip()
        if line.startswith(";"):
            begin = _start_time(line, begin)
            continue
        if not line:
            continue
        try:
            values = [float(text) for text in line.split()]
        except ValueError:
            values = []
        if len(values) != FIELDS or any(value != value or abs(value) == float("inf") for value in values):
            faults.note(_NO_LINE, f"line {number}")
            continue
        processors = int(values[_REQUESTED_PROCESSORS] if values[_REQUESTED_PROCESSORS] > 0 else values[_PROCESSORS])
        if values[_SUBMIT] < 0 or values[_RUN] < 0 or processors < 1:
            faults.note(_NEGATIVE, f"line {number}")
            continue
        jobs.append(_job(values, begin, processors, pe))
    return in_order(jobs, faults)


def _start_time(line: str, before: float) -> float:
    """The epoch seconds at which the times of a file begin, if this comment says so."""
    _, found, text = line.partition(_START)
    try:
        return max(0.0, float(text.split()[0])) if found else before
    except (ValueError, IndexError):
        return before


def _job(values: list[float], begin: float, processors: int, pe: str) -> TracedJob:
    run_s, requested_s = values[_RUN], int(values[_REQUESTED_TIME])
    cpu = values[_CPU] if values[_CPU] > 0 else run_s
    return TracedJob(
        number=int(values[_NUMBER]),
        submit_time=begin + values[_SUBMIT],
        owner=_name("user", values[_USER]),
        group=_name("group", values[_GROUP]),
        project=_name("group", values[_GROUP]),
        hard=[f"h_rt={requested_s}"] if requested_s > 0 else [],
        pe=pe if processors > 1 else "",
        pe_range=str(processors) if processors > 1 else "",
        tasks=[TracedTask(0, run_s, cpu * processors, failed=values[_STATUS] not in (_COMPLETED, -1))],
    )


def _name(what: str, number: float) -> str:
    return f"{what}{int(number)}" if number >= 0 else "unknown"
