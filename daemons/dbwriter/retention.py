"""Retention: the deletion of old rows.

Owns the rules and the order of deletion: children before their parents, each step in its own transaction. So a reader never finds
a child without its parent, and a crash leaves at worst a parent without children. Called by the writer.
Source: DB-8, DB-13; ARCo's own rules.
Deviation: jobs, reservations and the share log are kept forever unless the cell limits them (ARCo: a year), since a database
with ten years of imported accounting must not lose nine of them by default.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from daemons.dbwriter.database import Database, transaction

DAY_S = 86_400
_MONTH, _YEAR = 31, 366


@dataclass(frozen=True, slots=True)
class RetentionRule:
    """The `days` for which a `table` of values keeps its rows. `prefix`: of its columns. `variables`: the rule applies to these
    only; empty: to all."""

    table: str
    prefix: str
    days: int
    variables: tuple[str, ...] = ()


VALUE_RULES = (
    RetentionRule("sge_host_values", "hv", 7, ("np_load_avg", "cpu", "mem_free", "virtual_free", "mem_used")),
    RetentionRule("sge_host_values", "hv", 2 * _YEAR),
    RetentionRule("sge_queue_values", "qv", _MONTH, ("slots", "state")),
    RetentionRule("sge_queue_values", "qv", 2 * _YEAR),
    RetentionRule("sge_user_values", "uv", 2 * _YEAR),
    RetentionRule("sge_group_values", "gv", 2 * _YEAR),
    RetentionRule("sge_project_values", "pv", 2 * _YEAR),
    RetentionRule("sge_department_values", "dv", 2 * _YEAR),
    RetentionRule("sge_statistic_values", "sv", 2, ("lines_per_second",)),
    RetentionRule("sge_statistic_values", "sv", 7, ("row_count",)),
    RetentionRule("sge_statistic_values", "sv", 2 * _YEAR),
)
JOB_LOG_DAYS = _MONTH

_OLD_JOBS = """
SELECT j_id FROM sge_job LEFT JOIN sge_job_usage ON ju_parent = j_id WHERE j_submission_time < to_timestamp($1::double precision)
GROUP BY j_id HAVING coalesce(max(ju_end_time), max(j_submission_time)) < to_timestamp($1::double precision)"""
_OLD_RESERVATIONS = """
SELECT ar_id FROM sge_ar JOIN sge_ar_attribute ON ara_parent = ar_id
GROUP BY ar_id HAVING max(ara_end_time) < to_timestamp($1::double precision)"""


_LIMIT = "to_timestamp($1::double precision)"
_JOB_CHILDREN = ("sge_job_usage", "ju"), ("sge_job_request", "jr"), ("sge_job_log", "jl"), ("sge_unit_usage", "uu")
_RESERVATION_CHILDREN = (
    ("sge_ar_attribute", "ara"),
    ("sge_ar_usage", "aru"),
    ("sge_ar_log", "arl"),
    ("sge_ar_resource_usage", "arru"),
)


def delete_expired(database: Database, now: float, keep_days: int) -> None:
    """Delete all rows that the rules no longer keep. Raises DatabaseError.

    now: epoch s; keep_days: for jobs, reservations and the share log, 0 for no limit.
    """
    for rule in VALUE_RULES:
        limit = now - rule.days * DAY_S
        _delete(database, f"{rule.table} WHERE {rule.prefix}_time_end < {_LIMIT}", limit, rule.variables, rule.prefix)
    _delete(database, f"sge_job_log WHERE jl_time < {_LIMIT}", now - JOB_LOG_DAYS * DAY_S)
    if keep_days:
        limit = now - keep_days * DAY_S
        _delete(database, f"sge_share_log WHERE sl_curr_time < {_LIMIT}", limit)
        _delete_with_children(database, "sge_job", "j", _JOB_CHILDREN, _OLD_JOBS, limit)
        _delete_with_children(database, "sge_ar", "ar", _RESERVATION_CHILDREN, _OLD_RESERVATIONS, limit)




def _delete(database: Database, selection: str, limit: float, variables: tuple[str, ...] = (), prefix: str = "") -> None:
    only = f" AND {prefix}_variable = ANY($2::text[])" if variables else ""
    with transaction(database):
        database.run(f"DELETE FROM {selection}{only}", [limit, list(variables)] if variables else [limit])


def _delete_with_children(
    database: Database, table: str, prefix: str, children: Sequence[tuple[str, str]], old: str, limit: float
) -> None:
    """Delete the rows of a table that the query `old` finds, after all their children."""
    ids = [number for (number,) in database.rows(old, [limit])]
    if not ids:
        return
    child_columns = [(child, f"{of}_parent") for child, of in children]
    for name, column in (*child_columns, (table, f"{prefix}_id")):
        with transaction(database):
            database.run(f"DELETE FROM {name} WHERE {column} = ANY($1::integer[])", [ids])
