"""Facts of records become rows: each in its table, with its parent.

Owns ids and parents. The rows of a batch are written in the caller's transaction; what is remembered of a batch that was not
committed is forgotten by making a new loader. Called by the writer. Source: DB-2 … DB-8, DB-12.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

from daemons.dbwriter import records as of
from daemons.dbwriter.database import Database

#: parents whose ids are remembered; of others the database is asked
_KEPT = 100_000

_USAGE = (
    "qname hostname start_time end_time failed exit_status granted_pe slots ru_wallclock ru_utime ru_stime ru_maxrss ru_ixrss "
    "ru_ismrss ru_idrss ru_isrss ru_minflt ru_majflt ru_nswap ru_inblock ru_oublock ru_msgsnd ru_msgrcv ru_nsignals ru_nvcsw "
    "ru_nivcsw cpu mem io iow maxvmem ar_number"
).split()
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
"""In the order in which they are written: parents first."""

_JOB_IDS = """
SELECT w.k, max(j_id) FROM sge_job JOIN (
    SELECT unnest($1::integer[]) AS k, unnest($2::integer[]) AS job, unnest($3::integer[]) AS task, unnest($4::text[]) AS pe_task,
           unnest($5::bigint[]) AS submitted) w
ON j_job_number = w.job AND j_task_number = w.task AND j_pe_taskid = w.pe_task
   AND extract(epoch FROM j_submission_time) = w.submitted
GROUP BY w.k"""

_RESERVATION_ID = "SELECT max(ar_id) FROM sge_ar WHERE ar_number = $1 AND extract(epoch FROM ar_submission_time) = $2"


class Loader:
    """Writes facts into a database whose schema is ours."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._next = {table: self._last_id(table) + 1 for table in _TABLES}
        self._rows: dict[str, list[tuple[Any, ...]]] = {table: [] for table in _TABLES}
        self._jobs: dict[of.JobKey, int] = {}
        self._parents: dict[tuple[str, Hashable], int] = {}
        self._renewed: list[int] = []
        for table in ("sge_host", "sge_queue", "sge_user", "sge_group", "sge_project", "sge_department"):
            self._remember(table)

    def load(self, facts: Iterable[of.Fact]) -> None:
        """Write the rows of facts. Raises DatabaseFault."""
        facts = list(facts)
        self._find_jobs(facts)
        for fact in facts:
            self._take(fact)
        if self._renewed:
            self._database.run("DELETE FROM sge_ar_resource_usage WHERE arru_parent = ANY($1::integer[])", [self._renewed])
            self._renewed = []
        for table, rows in self._rows.items():
            if rows:
                prefix, columns = _TABLES[table]
                self._database.insert(table, [f"{prefix}_{column}" for column in ("id", *columns)], rows)
                self._rows[table] = []
        if len(self._jobs) > _KEPT:
            self._jobs.clear()

    def without_known(self, facts: list[of.TaskUsage]) -> list[of.TaskUsage]:
        """Those of the records of tasks that the database has not: none of the same start, end and host. Raises DatabaseFault."""
        self._find_jobs(facts)
        ids = sorted({self._jobs[fact.job.key] for fact in facts if fact.job.key in self._jobs})
        question = (
            "SELECT ju_parent, extract(epoch FROM ju_start_time)::bigint, extract(epoch FROM ju_end_time)::bigint, ju_hostname "
            "FROM sge_job_usage WHERE ju_parent = ANY($1::integer[])"
        )
        known = {(number, *times, host) for number, *times, host in self._database.rows(question, [ids])} if ids else set()
        new = []
        for fact in facts:
            times = fact.values["start_time"], fact.values["end_time"], fact.values["hostname"]
            # of a job that the database does not have, the key stands for the id that it will get
            mark: tuple[Any, ...] = (self._jobs.get(fact.job.key, fact.job.key), *times)
            if mark not in known:
                known.add(mark)
                new.append(fact)
        return new

    def _last_id(self, table: str) -> int:
        prefix, _ = _TABLES[table]
        return int(self._database.rows(f"SELECT coalesce(max({prefix}_id), 0) FROM {table}")[0][0])

    def _remember(self, table: str) -> None:
        prefix, columns = _TABLES[table]
        names = ", ".join(f"{prefix}_{column}" for column in ("id", *columns))
        for number, *key in self._database.rows(f"SELECT {names} FROM {table}"):
            self._parents[table, tuple(key)] = number

    def _add(self, table: str, *values: Any) -> int:
        number = self._next[table]
        self._next[table] += 1
        self._rows[table].append((number, *values))
        return number

    def _find_jobs(self, facts: Iterable[of.Fact]) -> None:
        """Look up the ids of all jobs that facts name and nobody remembers, at once."""
        jobs = [fact.job if isinstance(fact, (of.TaskUsage, of.JobEvent)) else fact for fact in facts]
        keys = list({job.key for job in jobs if isinstance(job, of.JobFacts) and job.key not in self._jobs})
        if keys:
            columns = [[*range(len(keys))], *([getattr(key, name) for key in keys] for name in of.JobKey._fields)]
            for place, number in self._database.rows(_JOB_IDS, columns):
                self._jobs[keys[place]] = number

    def _job(self, facts: of.JobFacts) -> int:
        key = facts.key
        number = self._jobs.get(key)
        if number is None:
            number = self._jobs[key] = self._add(
                "sge_job",
                *(key.job, key.task, key.pe_task, facts.name, facts.group, facts.owner, facts.account, facts.priority),
                *(key.submitted, facts.project, facts.department),
            )
            self._parent("sge_user", facts.owner)
            self._parent("sge_group", facts.group)
            self._parent("sge_department", facts.department)
            if facts.project != "NONE":
                self._parent("sge_project", facts.project)
        return number

    def _parent(self, table: str, *key: str) -> int:
        number = self._parents.get((table, key))
        if number is None:
            number = self._parents[table, key] = self._add(table, *key)
        return number

    def _reservation(self, key: of.ReservationKey, owner: str = "") -> int:
        number = self._parents.get(("sge_ar", key))
        if number is None:
            number = self._database.rows(_RESERVATION_ID, [key.number, key.submitted])[0][0]
            if number is None:
                number = self._add("sge_ar", key.number, owner, key.submitted)
            self._parents["sge_ar", key] = number
        return number

    def _take(self, fact: of.Fact) -> None:
        match fact:
            case of.JobFacts():
                self._job(fact)
            case of.TaskUsage():
                parent = self._job(fact.job)
                self._add("sge_job_usage", parent, fact.time, *(fact.values[name] for name in _USAGE))
                for request in fact.requests:
                    self._add("sge_job_request", parent, *request)
            case of.JobEvent():
                parent = self._job(fact.job)
                said = (fact.event, fact.state, fact.user, fact.host, fact.state_time, fact.message)
                self._add("sge_job_log", parent, fact.time, *said)
            case of.Values():
                table, key = ("sge_queue", (fact.queue, fact.host)) if fact.queue else ("sge_host", (fact.host,))
                parent = self._parent(table, *key)
                for value in fact.values:
                    self._add(f"{table}_values", parent, fact.time, fact.time, *value)
            case of.Share():
                self._add("sge_share_log", *fact.fields)
            case _:
                self._take_of_reservation(fact)

    def _take_of_reservation(self, fact: of.Fact) -> None:
        match fact:
            case of.NewReservation():
                self._reservation(fact.key, fact.owner)
            case of.ReservationAttributes():
                parent = self._reservation(fact.key)
                shown = (fact.name, fact.account, fact.start, fact.end, fact.granted_pe)
                self._add("sge_ar_attribute", parent, fact.time, *shown)
                self._renew_resources(parent, fact.resources)
            case of.ReservationEvent():
                self._add(
                    "sge_ar_log",
                    self._reservation(fact.key),
                    *(fact.time, fact.event, fact.state, fact.host, fact.message),
                )
            case of.ReservationUsage():
                self._add("sge_ar_usage", self._reservation(fact.key), fact.time, fact.queue, fact.host, fact.slots)

    def _renew_resources(self, parent: int, resources: Iterable[tuple[str, str]]) -> None:
        """What a reservation holds now, in place of what it held before."""
        self._renewed.append(parent)
        table = "sge_ar_resource_usage"
        self._rows[table] = [row for row in self._rows[table] if row[1] != parent]
        for name, value in resources:
            self._add(table, parent, name, value)
