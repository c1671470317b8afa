"""What the database keeps for how long.

Owns the rules and the order of deletion: children before their parents, each step a transaction of its own, so that a reader
never finds a child without its parent and a crash between two leaves a parent without children at worst. Called by the writer.
Source: DB-8, DB-13; ARCo's own rules.
Deviation: jobs, reservations and the share log are kept for ever unless the cell says how long (ARCo: a year), since a database
into which the accounting of ten years was imported must not lose nine of them by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from daemons.dbwriter.database import Database, transaction

DAY_S = 86_400
_MONTH, _YEAR = 31, 366


@dataclass(frozen=True, slots=True)
class Keep:
    """Rows of a table of values for so many days; `variables`: of these alone, all others for nobody."""

    table: str
    prefix: str
    days: int
    variables: tuple[str, ...] = ()


VALUES = (
    Keep("sge_host_values", "hv", 7, ("np_load_avg", "cpu", "mem_free", "virtual_free", "mem_used")),
    Keep("sge_host_values", "hv", 2 * _YEAR),
    Keep("sge_queue_values", "qv", _MONTH, ("slots", "state")),
    Keep("sge_queue_values", "qv", 2 * _YEAR),
    Keep("sge_user_values", "uv", 2 * _YEAR),
    Keep("sge_group_values", "gv", 2 * _YEAR),
    Keep("sge_project_values", "pv", 2 * _YEAR),
    Keep("sge_department_values", "dv", 2 * _YEAR),
    Keep("sge_statistic_values", "sv", 2, ("lines_per_second",)),
    Keep("sge_statistic_values", "sv", 7, ("row_count",)),
    Keep("sge_statistic_values", "sv", 2 * _YEAR),
)
JOB_LOG_DAYS = _MONTH

_OLD_JOBS = """
SELECT j_id FROM sge_job LEFT JOIN sge_job_usage ON ju_parent = j_id WHERE j_submission_time < to_timestamp($1::double precision)
GROUP BY j_id HAVING coalesce(max(ju_end_time), max(j_submission_time)) < to_timestamp($1::double precision)"""
_OLD_RESERVATIONS = """
SELECT ar_id FROM sge_ar JOIN sge_ar_attribute ON ara_parent = ar_id
GROUP BY ar_id HAVING max(ara_end_time) < to_timestamp($1::double precision)"""


_LIMIT = "to_timestamp($1::double precision)"
_OF_JOBS = ("sge_job_usage", "ju"), ("sge_job_request", "jr"), ("sge_job_log", "jl")
_OF_RESERVATIONS = ("sge_ar_attribute", "ara"), ("sge_ar_usage", "aru"), ("sge_ar_log", "arl"), ("sge_ar_resource_usage", "arru")


def forget(database: Database, now: float, keep_days: int) -> None:
    """Delete what is older than the rules keep. Raises DatabaseFault.

    now: epoch s; keep_days: of jobs, reservations and the share log, 0 for ever.
    """
    for keep in VALUES:
        limit = now - keep.days * DAY_S
        _delete(database, f"{keep.table} WHERE {keep.prefix}_time_end < {_LIMIT}", limit, keep.variables, keep.prefix)
    _delete(database, f"sge_job_log WHERE jl_time < {_LIMIT}", now - JOB_LOG_DAYS * DAY_S)
    if keep_days:
        limit = now - keep_days * DAY_S
        _delete(database, f"sge_share_log WHERE sl_curr_time < {_LIMIT}", limit)
        _family(database, "sge_job", "j", _OF_JOBS, _OLD_JOBS, limit)
        _family(database, "sge_ar", "ar", _OF_RESERVATIONS, _OLD_RESERVATIONS, limit)




def _delete(database: Database, what: str, limit: float, variables: tuple[str, ...] = (), prefix: str = "") -> None:
    only = f" AND {prefix}_variable = ANY($2::text[])" if variables else ""
    with transaction(database):
        database.run(f"DELETE FROM {what}{only}", [limit, list(variables)] if variables else [limit])


def _family(
    database: Database, table: str, prefix: str, children: Sequence[tuple[str, str]], old: str, limit: float
) -> None:
    """Delete the rows of a table that a question finds, after all that is theirs."""
    ids = [number for (number,) in database.rows(old, [limit])]
    if not ids:
        return
    theirs = [(child, f"{of}_parent") for child, of in children]
    for name, column in (*theirs, (table, f"{prefix}_id")):
        with transaction(database):
            database.run(f"DELETE FROM {name} WHERE {column} = ANY($1::integer[])", [ids])
