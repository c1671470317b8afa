"""Derived values: what an hour, a day and a month were, of hosts, queue instances, users, groups, projects and departments.

Owns the rules and their SQL, which is the same on both databases. An hour is computed when it is over, a day of its hours, a
month of its days; what is computed again replaces what was there. Called by the writer. Source: DB-13; ARCo's own rules.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from daemons.dbwriter.database import Database, transaction

#: the longest that an interval can be
_LENGTHS_S = {"hour": 3600, "day": 25 * 3600, "month": 31 * 86_400}
_OBJECTS = {"host": "h", "queue": "q", "user": "u", "group": "g", "project": "p", "department": "d", "statistic": "s"}
#: who a job counts for: the column of sge_job, sge_job_usage for the host
_COUNTED = {
    "host": "ju_hostname = h_hostname",
    "user": "j_owner = u_user",
    "group": "j_group = g_group",
    "project": "j_project = p_project",
    "department": "j_department = d_department",
}
#: what is computed of the jobs that ended in an hour
_OF_JOBS = {
    "jobs_finished": "count(*)",
    "cpu": "sum(ju_cpu)",
    "wallclock": "sum(extract(epoch FROM ju_end_time - ju_start_time))",
}


@dataclass(frozen=True, slots=True)
class Derivation:
    """`variable` of an object over an interval, computed by a SELECT of parent, start and value; $1 and $2 are the range."""

    object: str
    interval: str
    variable: str
    select: str


def _averaged(name: str, interval: str, variable: str, of: str, function: str) -> Derivation:
    """A value that is a function of other values of the object within the interval."""
    prefix = f"{_OBJECTS[name]}v"
    select = (
        f"SELECT {prefix}_parent AS parent, date_trunc('{interval}', {prefix}_time_start) AS start, "
        f"{function}({prefix}_dvalue) AS value FROM sge_{name}_values "
        f"WHERE {prefix}_variable = '{of}' AND {prefix}_time_start >= {_BEGIN} AND {prefix}_time_start < {_END} GROUP BY 1, 2"
    )
    return Derivation(name, interval, variable, select)


_BEGIN, _END = "to_timestamp($1::double precision)", "to_timestamp($2::double precision)"
_UTILIZED = f"""
SELECT parent, start, sum(100 * used * seconds) / sum(capacity * seconds) AS value FROM (
    SELECT parent, start, used, capacity,
           extract(epoch FROM least(until, start + interval '1 hour') - greatest(since, start)) AS seconds
    FROM (SELECT to_timestamp(unnest($3::double precision[])) AS start) hours JOIN (
        SELECT qv_parent AS parent, qv_time_start AS since, qv_dvalue AS used, qv_dconfig AS capacity,
               coalesce(lead(qv_time_start) OVER (PARTITION BY qv_parent ORDER BY qv_time_start, qv_id), {_END}) AS until
        FROM sge_queue_values WHERE qv_variable = 'slots' AND qv_time_start < {_END}) held
    ON since < start + interval '1 hour' AND until > start
    WHERE until > {_BEGIN}) parts
WHERE seconds > 0 AND capacity > 0 GROUP BY parent, start"""
"""Slots in use, weighted by time: a value holds until the next."""


def _of_jobs(name: str, variable: str, value: str) -> Derivation:
    prefix = _OBJECTS[name]
    select = (
        f"SELECT {prefix}_id AS parent, date_trunc('hour', ju_end_time) AS start, {value} AS value "
        f"FROM sge_job JOIN sge_job_usage ON j_id = ju_parent JOIN sge_{name} ON {_COUNTED[name]} "
        f"WHERE ju_end_time >= {_BEGIN} AND ju_end_time < {_END} AND ju_exit_status <> -1 AND j_pe_taskid = 'NONE' GROUP BY 1, 2"
    )
    return Derivation(name, "hour", f"h_{variable}", select)


def _rules() -> Iterator[Derivation]:
    yield _averaged("host", "hour", "h_cpu", "cpu", "avg")
    yield _averaged("host", "hour", "h_load", "np_load_avg", "avg")
    yield _averaged("host", "hour", "h_mem_used", "mem_used", "avg")
    yield _of_jobs("host", "jobs_finished", "count(*)")
    yield Derivation("queue", "hour", "h_utilized", _UTILIZED)
    for name in ("user", "group", "project", "department"):
        for variable, value in _OF_JOBS.items():
            yield _of_jobs(name, variable, value)
    yield _averaged("statistic", "hour", "h_lines_per_second", "lines_per_second", "avg")
    yield _averaged("statistic", "hour", "h_row_count", "row_count", "max")
    yield _averaged("statistic", "hour", "h_derived_value_time", "derived_value_time", "avg")
    yield _averaged("statistic", "hour", "h_deletion_time", "deletion_time", "avg")


def _longer(rule: Derivation, interval: str) -> Derivation:
    """A rule for a longer interval, of the values of the next shorter one."""
    shorter = rule.variable if interval == "day" else f"d{rule.variable[1:]}"
    sums = rule.object in _COUNTED and rule.variable in {f"h_{name}" for name in _OF_JOBS} and (rule.object, rule.variable) != (
        "host",
        "h_cpu",
    )
    function = "sum" if sums else "max" if rule.variable == "h_row_count" else "avg"
    return _averaged(rule.object, interval, f"{interval[0]}{rule.variable[1:]}", shorter, function)


HOURLY = tuple(_rules())
RULES: dict[str, tuple[Derivation, ...]] = {
    "hour": HOURLY,
    "day": tuple(_longer(rule, "day") for rule in HOURLY),
    "month": tuple(_longer(rule, "month") for rule in HOURLY),
}


def start_of(database: Database, interval: str, time: float) -> float:
    """When the interval of a time began, as the database counts days: epoch s."""
    question = f"SELECT extract(epoch FROM date_trunc('{interval}', to_timestamp($1::double precision)))"
    return float(database.rows(question, [time])[0][0])


def derive(database: Database, begin: float, end: float, now: float) -> None:
    """Compute the intervals that lie between two times, or touch them, and are over by now; a transaction each. All epoch s."""
    for interval, length in _LENGTHS_S.items():
        first = start_of(database, interval, begin)
        last = start_of(database, interval, min(end + length, now))
        if first >= last:
            continue
        with transaction(database):
            for rule in RULES[interval]:
                _compute(database, rule, first, last)


def _compute(database: Database, rule: Derivation, first: float, last: float) -> None:
    table, prefix = f"sge_{rule.object}_values", f"{_OBJECTS[rule.object]}v"
    # ids of what is replaced are not given again: DuckDB would refuse them in the same transaction
    newest = database.rows(f"SELECT coalesce(max({prefix}_id), 0) FROM {table}")[0][0]
    database.run(
        f"DELETE FROM {table} WHERE {prefix}_variable = $1 AND {prefix}_time_start >= to_timestamp($2::double precision) "
        f"AND {prefix}_time_start < to_timestamp($3::double precision)",
        [rule.variable, first, last],
    )
    names = ", ".join(f"{prefix}_{column}" for column in ("id", "parent", "time_start", "time_end", "variable", "dvalue"))
    hours = [[first + 3600 * number for number in range(int((last - first) // 3600))]] if "$3" in rule.select else []
    database.run(
        f"INSERT INTO {table} ({names}) SELECT {newest} + row_number() OVER (), parent, start, "
        f"start + interval '1 {rule.interval}', '{rule.variable}', value FROM ({rule.select}) found",
        [first, last, *hours],
    )
