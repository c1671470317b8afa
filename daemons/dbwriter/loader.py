"""Conversion of facts into rows of tables, each with the id of its parent.

Owns ids and parents. The rows of a batch are written in the caller's transaction; after a failed transaction the caller must
create a new loader, since the ids in memory are invalid. Called by the writer. Source: DB-2 … DB-8, DB-12.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

from daemons.dbwriter import records
from daemons.dbwriter.database import Database

#: jobs whose ids are cached; ids of other jobs are read from the database
_MAX_REMEMBERED_JOBS = 100_000

_USAGE = (
    "qname hostname start_time end_time failed exit_status granted_pe slots ru_wallclock ru_utime ru_stime ru_maxrss ru_ixrss "
    "ru_ismrss ru_idrss ru_isrss ru_minflt ru_majflt ru_nswap ru_inblock ru_oublock ru_msgsnd ru_msgrcv ru_nsignals ru_nvcsw "
    "ru_nivcsw cpu mem io iow maxvmem ar_number"
).split()
_UNIT_USAGE = (
    "start_time end_time hostname resource unit identifier seconds measured utilisation memory energy shared".split()
)
_SHARE = (
    "curr_time usage_time node user project shares job_count level total long_target_share short_target_share actual_share "
    "usage cpu mem io ltcpu ltmem ltio"
).split()

#: table -> prefix of its columns, and the columns behind its id (and parent)
_TABLES: dict[str, tuple[str, list[str]]] = {
    "sge_job": (
        "j",
        "job_number task_number pe_taskid job_name group owner account priority submission_time project department".split(),
    ),
    "sge_job_usage": ("ju", ["parent", "curr_time", *_USAGE]),
    "sge_job_request": ("jr", ["parent", "variable", "value"]),
    "sge_unit_usage": ("uu", ["parent", *_UNIT_USAGE]),
    "sge_job_log": ("jl", "parent time event state user host state_time message".split()),
    "sge_share_log": ("sl", _SHARE),
    "sge_host": ("h", ["hostname"]),
    "sge_host_values": ("hv", "parent time_start time_end variable svalue dvalue dconfig".split()),
    "sge_queue": ("q", ["qname", "hostname"]),
    "sge_queue_values": ("qv", "parent time_start time_end variable svalue dvalue dconfig".split()),
    "sge_user": ("u", ["user"]),
    "sge_group": ("g", ["group"]),
    "sge_project": ("p", ["project"]),
    "sge_department": ("d", ["department"]),
    "sge_ar": ("ar", ["number", "owner", "submission_time"]),
    "sge_ar_attribute": ("ara", "parent curr_time name account start_time end_time granted_pe".split()),
    "sge_ar_usage": ("aru", "parent termination_time qname hostname slots".split()),
    "sge_ar_log": ("arl", "parent time event state host message".split()),
    "sge_ar_resource_usage": ("arru", "parent variable value".split()),
}
"""In the order of writing: parents first."""

_JOB_IDS = """
SELECT w.k, max(j_id) FROM sge_job JOIN (
    SELECT unnest($1::integer[]) AS k, unnest($2::integer[]) AS job, unnest($3::integer[]) AS task, unnest($4::text[]) AS pe_task,
           unnest($5::bigint[]) AS submitted) w
ON j_job_number = w.job AND j_task_number = w.task AND j_pe_taskid = w.pe_task
   AND extract(epoch FROM j_submission_time) = w.submitted
GROUP BY w.k"""

_OF_JOBS = (records.TaskUsage, records.UnitUse, records.JobEvent)
_RESERVATION_ID = "SELECT max(ar_id) FROM sge_ar WHERE ar_number = $1 AND extract(epoch FROM ar_submission_time) = $2"


class Loader:
    """Writes facts into a database with the schema of `schema.py`."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._next_ids = {table: self._last_id(table) + 1 for table in _TABLES}
        self._rows: dict[str, list[tuple[Any, ...]]] = {table: [] for table in _TABLES}
        self._job_ids: dict[records.JobKey, int] = {}
        self._parent_ids: dict[tuple[str, Hashable], int] = {}
        self._replaced_reservations: list[int] = []
        for table in ("sge_host", "sge_queue", "sge_user", "sge_group", "sge_project", "sge_department"):
            self._load_parent_ids(table)

    def load(self, facts: Iterable[records.Fact]) -> None:
        """Write the rows of facts. Raises DatabaseError."""
        facts = list(facts)
        self._find_jobs(facts)
        for fact in facts:
            self._add_fact(fact)
        if self._replaced_reservations:
            statement = "DELETE FROM sge_ar_resource_usage WHERE arru_parent = ANY($1::integer[])"
            self._database.run(statement, [self._replaced_reservations])
            self._replaced_reservations = []
        for table, rows in self._rows.items():
            if rows:
                prefix, columns = _TABLES[table]
                self._database.insert(table, [f"{prefix}_{column}" for column in ("id", *columns)], rows)
                self._rows[table] = []
        if len(self._job_ids) > _MAX_REMEMBERED_JOBS:
            self._job_ids.clear()

    def select_new(self, facts: list[records.TaskUsage]) -> list[records.TaskUsage]:
        """The task records without an equal record in the database: same start, end and host. Raises DatabaseError."""
        self._find_jobs(facts)
        ids = sorted({self._job_ids[fact.job.key] for fact in facts if fact.job.key in self._job_ids})
        query = (
            "SELECT ju_parent, extract(epoch FROM ju_start_time)::bigint, extract(epoch FROM ju_end_time)::bigint, ju_hostname "
            "FROM sge_job_usage WHERE ju_parent = ANY($1::integer[])"
        )
        known = {(number, *times, host) for number, *times, host in self._database.rows(query, [ids])} if ids else set()
        new = []
        for fact in facts:
            times = fact.values["start_time"], fact.values["end_time"], fact.values["hostname"]
            # a new job has no id yet: its key identifies it
            identity: tuple[Any, ...] = (self._job_ids.get(fact.job.key, fact.job.key), *times)
            if identity not in known:
                known.add(identity)
                new.append(fact)
        return new

    def _last_id(self, table: str) -> int:
        prefix, _ = _TABLES[table]
        return int(self._database.rows(f"SELECT coalesce(max({prefix}_id), 0) FROM {table}")[0][0])

    def _load_parent_ids(self, table: str) -> None:
        prefix, columns = _TABLES[table]
        names = ", ".join(f"{prefix}_{column}" for column in ("id", *columns))
        for number, *key in self._database.rows(f"SELECT {names} FROM {table}"):
            self._parent_ids[table, tuple(key)] = number

    def _add(self, table: str, *values: Any) -> int:
        number = self._next_ids[table]
        self._next_ids[table] += 1
        self._rows[table].append((number, *values))
        return number

    def _find_jobs(self, facts: Iterable[records.Fact]) -> None:
        """Look up the ids of all jobs in these facts that are not cached, in one query."""
        jobs = [fact.job if isinstance(fact, _OF_JOBS) else fact for fact in facts]
        keys = list({job.key for job in jobs if isinstance(job, records.JobFacts) and job.key not in self._job_ids})
        if keys:
            columns = [[*range(len(keys))], *([getattr(key, name) for key in keys] for name in records.JobKey._fields)]
            for index, number in self._database.rows(_JOB_IDS, columns):
                self._job_ids[keys[index]] = number

    def _job_id(self, facts: records.JobFacts) -> int:
        key = facts.key
        number = self._job_ids.get(key)
        if number is None:
            number = self._job_ids[key] = self._add(
                "sge_job",
                key.job, key.task, key.pe_task, facts.name, facts.group, facts.owner, facts.account, facts.priority,
                key.submitted, facts.project, facts.department,
            )
            self._parent_id("sge_user", facts.owner)
            self._parent_id("sge_group", facts.group)
            self._parent_id("sge_department", facts.department)
            if facts.project != "NONE":
                self._parent_id("sge_project", facts.project)
        return number

    def _parent_id(self, table: str, *key: str) -> int:
        number = self._parent_ids.get((table, key))
        if number is None:
            number = self._parent_ids[table, key] = self._add(table, *key)
        return number

    def _reservation_id(self, key: records.ReservationKey, owner: str = "") -> int:
        number = self._parent_ids.get(("sge_ar", key))
        if number is None:
            number = self._database.rows(_RESERVATION_ID, [key.number, key.submitted])[0][0]
            if number is None:
                number = self._add("sge_ar", key.number, owner, key.submitted)
            self._parent_ids["sge_ar", key] = number
        return number

    def _add_fact(self, fact: records.Fact) -> None:
        match fact:
            case records.JobFacts():
                self._job_id(fact)
            case records.TaskUsage():
                parent = self._job_id(fact.job)
                self._add("sge_job_usage", parent, fact.time, *(fact.values[name] for name in _USAGE))
                for request in fact.requests:
                    self._add("sge_job_request", parent, *request)
            case records.UnitUse():
                self._add("sge_unit_usage", self._job_id(fact.job), *fact.values)
            case records.JobEvent():
                parent = self._job_id(fact.job)
                event_values = (fact.event, fact.state, fact.user, fact.host, fact.state_time, fact.message)
                self._add("sge_job_log", parent, fact.time, *event_values)
            case records.Values():
                table, key = ("sge_queue", (fact.queue, fact.host)) if fact.queue else ("sge_host", (fact.host,))
                parent = self._parent_id(table, *key)
                for value in fact.values:
                    self._add(f"{table}_values", parent, fact.time, fact.time, *value)
            case records.Share():
                self._add("sge_share_log", *fact.fields)
            case _:
                self._add_reservation_fact(fact)

    def _add_reservation_fact(self, fact: records.Fact) -> None:
        match fact:
            case records.NewReservation():
                self._reservation_id(fact.key, fact.owner)
            case records.ReservationAttributes():
                parent = self._reservation_id(fact.key)
                attributes = (fact.name, fact.account, fact.start, fact.end, fact.granted_pe)
                self._add("sge_ar_attribute", parent, fact.time, *attributes)
                self._replace_resources(parent, fact.resources)
            case records.ReservationEvent():
                self._add(
                    "sge_ar_log", self._reservation_id(fact.key),
                    fact.time, fact.event, fact.state, fact.host, fact.message,
                )
            case records.ReservationUsage():
                self._add("sge_ar_usage", self._reservation_id(fact.key), fact.time, fact.queue, fact.host, fact.slots)

    def _replace_resources(self, parent: int, resources: Iterable[tuple[str, str]]) -> None:
        """Replace the resources of a reservation by its present resources."""
        self._replaced_reservations.append(parent)
        table = "sge_ar_resource_usage"
        self._rows[table] = [row for row in self._rows[table] if row[1] != parent]
        for name, value in resources:
            self._add(table, parent, name, value)
