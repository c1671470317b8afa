"""Derived values of hosts, queue instances, users, groups, projects and departments: by hour, day and month.

Owns the rules and their SQL, which is the same on both databases. An hour is computed when it is over, a day from its hours, a
month from its days. A repeated computation replaces earlier values. Called by the writer. Source: DB-13; ARCo's own rules.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from daemons.dbwriter.database import Database, transaction

#: the maximum length of an interval
_MAX_LENGTHS_S = {"hour": 3600, "day": 25 * 3600, "month": 31 * 86_400}
_OBJECTS = {"host": "h", "queue": "q", "user": "u", "group": "g", "project": "p", "department": "d", "statistic": "s"}
#: the objects that a job counts for: a column of sge_job, of sge_job_usage for the host
_JOB_CONDITIONS = {
    "host": "ju_hostname = h_hostname",
    "user": "j_owner = u_user",
    "group": "j_group = g_group",
    "project": "j_project = p_project",
    "department": "j_department = d_department",
}
#: values that are computed from the jobs that ended in an hour
_JOB_VALUES = {
    "jobs_finished": "count(*)",
    "cpu": "sum(ju_cpu)",
    "wallclock": "sum(extract(epoch FROM ju_end_time - ju_start_time))",
}


@dataclass(frozen=True, slots=True)
class Derivation:
    """`variable` of an `object` over an `interval`, computed by `select`, a SELECT of parent, start and value; $1 and $2 are the
    range."""

    object: str
    interval: str
    variable: str
    select: str


def _aggregate(name: str, interval: str, variable: str, of: str, function: str) -> Derivation:
    """A value that is a function of the object's other values within the interval."""
    prefix = f"{_OBJECTS[name]}v"
    select = (
        f"SELECT {prefix}_parent AS parent, date_trunc('{interval}', {prefix}_time_start) AS start, "
        f"{function}({prefix}_dvalue) AS value FROM sge_{name}_values "
        f"WHERE {prefix}_variable = '{of}' AND {prefix}_time_start >= {_BEGIN} AND {prefix}_time_start < {_END} GROUP BY 1, 2"
    )
    return Derivation(name, interval, variable, select)


_BEGIN, _END = "to_timestamp($1::double precision)", "to_timestamp($2::double precision)"
_UTILIZATION = f"""
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


def _job_derivation(name: str, variable: str, value: str) -> Derivation:
    prefix = _OBJECTS[name]
    select = (
        f"SELECT {prefix}_id AS parent, date_trunc('hour', ju_end_time) AS start, {value} AS value "
        f"FROM sge_job JOIN sge_job_usage ON j_id = ju_parent JOIN sge_{name} ON {_JOB_CONDITIONS[name]} "
        f"WHERE ju_end_time >= {_BEGIN} AND ju_end_time < {_END} AND ju_exit_status <> -1 AND j_pe_taskid = 'NONE' GROUP BY 1, 2"
    )
    return Derivation(name, "hour", f"h_{variable}", select)


def _hourly_rules() -> Iterator[Derivation]:
    yield _aggregate("host", "hour", "h_cpu", "cpu", "avg")
    yield _aggregate("host", "hour", "h_load", "np_load_avg", "avg")
    yield _aggregate("host", "hour", "h_mem_used", "mem_used", "avg")
    yield _job_derivation("host", "jobs_finished", "count(*)")
    yield Derivation("queue", "hour", "h_utilized", _UTILIZATION)
    for name in ("user", "group", "project", "department"):
        for variable, value in _JOB_VALUES.items():
            yield _job_derivation(name, variable, value)
    yield _aggregate("statistic", "hour", "h_lines_per_second", "lines_per_second", "avg")
    yield _aggregate("statistic", "hour", "h_row_count", "row_count", "max")
    yield _aggregate("statistic", "hour", "h_derived_value_time", "derived_value_time", "avg")
    yield _aggregate("statistic", "hour", "h_deletion_time", "deletion_time", "avg")


def _longer_interval(rule: Derivation, interval: str) -> Derivation:
    """A rule for a longer interval, computed from the values of the next shorter interval."""
    shorter = rule.variable if interval == "day" else f"d{rule.variable[1:]}"
    is_of_jobs = rule.object in _JOB_CONDITIONS and rule.variable in {f"h_{name}" for name in _JOB_VALUES}
    is_sum = is_of_jobs and (rule.object, rule.variable) != ("host", "h_cpu")
    function = "sum" if is_sum else "max" if rule.variable == "h_row_count" else "avg"
    return _aggregate(rule.object, interval, f"{interval[0]}{rule.variable[1:]}", shorter, function)


HOURLY = tuple(_hourly_rules())
RULES: dict[str, tuple[Derivation, ...]] = {
    "hour": HOURLY,
    "day": tuple(_longer_interval(rule, "day") for rule in HOURLY),
    "month": tuple(_longer_interval(rule, "month") for rule in HOURLY),
}


def interval_start(database: Database, interval: str, time: float) -> float:
    """The start of the interval that contains a time, by the database's calendar: epoch s."""
    query = f"SELECT extract(epoch FROM date_trunc('{interval}', to_timestamp($1::double precision)))"
    return float(database.rows(query, [time])[0][0])


def derive(database: Database, begin: float, end: float, now: float) -> None:
    """Compute all intervals that overlap a range and are over by now, one transaction each. Times: epoch s."""
    for interval, length in _MAX_LENGTHS_S.items():
        first = interval_start(database, interval, begin)
        last = interval_start(database, interval, min(end + length, now))
        if first >= last:
            continue
        with transaction(database):
            for rule in RULES[interval]:
                _compute(database, rule, first, last)


def _compute(database: Database, rule: Derivation, first: float, last: float) -> None:
    table, prefix = f"sge_{rule.object}_values", f"{_OBJECTS[rule.object]}v"
    # ids of replaced rows are not reused: DuckDB would refuse them in the same transaction
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
