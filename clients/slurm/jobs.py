"""Jobs in Slurm's form: a row for each running task, and a row for all pending tasks of a job.

Owns the translation of states and reasons, and the selection of jobs. Called by squeue and scancel. Source: squeue(1) of 22.05
JOB STATE CODES, JOB REASON CODES; docs/gdi.md `status`.
"""

import os
import pwd
from copy import copy

from clients import program
from clients.slurm.arguments import SlurmError
from gridengine.protocols.slurm import array_offset, node_list, number_list
from gridengine.values.ranges import Ranges
from gridengine.values.units import parse_time

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from typing import Any

STATES = {
    "PD": "PENDING",
    "R": "RUNNING",
    "S": "SUSPENDED",
    "CF": "CONFIGURING",
    "CG": "COMPLETING",
    "CD": "COMPLETED",
    "F": "FAILED",
    "CA": "CANCELLED",
    "TO": "TIMEOUT",
}


class SlurmJob:
    """A row. `number`: of the job; `tasks`: Slurm's numbers of its tasks, empty if the job is no array; `offset`: the difference
    to the numbers of this system; `at_a_time`: limit of running tasks, 0 for all. `start`: epoch s, 0 while pending; `limit`: s,
    None for none.
    """

    def __init__(self, row: "list[Any]", pending: bool, offset: int, at_a_time: int = 0) -> None:
        self.number, self.priority, self.name, self.user, state_codes, when, grants, self.slots, tasks, details = row
        self.offset = offset
        self.at_a_time = at_a_time if pending else 0
        self.tasks = [number - offset for number in Ranges.parse(str(tasks))] if tasks else []
        self.start = 0.0 if pending else when
        hosts = list(dict.fromkeys(grant[0].rpartition("@")[2] for grant in grants))
        self.hosts, self.node_count = node_list(hosts), len(hosts)
        self.queue = grants[0][0].partition("@")[0] if grants else ",".join(details["hard_queues"]) or "(any)"
        self.state = "PD" if pending else _state(state_codes)
        self.reason = _reason(state_codes, details) if pending else "None"
        limits = [text for name, text, *_ in details["hard"] if name == "h_rt"]
        self.limit = parse_time(limits[-1]) if limits else None

    @property
    def label(self) -> str:
        """`12`, `12_3`, `12_[0-9]`."""
        if not self.tasks:
            return str(self.number)
        return f"{self.number}_{self.task_list}" if len(self.tasks) == 1 else f"{self.number}_[{self.task_list}]"

    @property
    def task_list(self) -> str:
        """`3`, `0-9%2`; N/A if it is no array."""
        if not self.tasks:
            return "N/A"
        limit = f"%{self.at_a_time}" if self.at_a_time and len(self.tasks) > 1 else ""
        return number_list(self.tasks) + limit

    def parts(self) -> "list[SlurmJob]":
        """A row for each task."""
        found = []
        for number in self.tasks:
            part = copy(self)
            part.tasks = [number]
            found.append(part)
        return found or [self]


def _state(state_codes: str) -> str:
    if "d" in state_codes:
        return "CG"
    if not {"s", "S", "T", "N", "P"}.isdisjoint(state_codes):
        return "S"
    return "CF" if "t" in state_codes else "R"


def _reason(state_codes: str, details: "dict[str, Any]") -> str:
    if "E" in state_codes:
        return "JobHeldAdmin"
    if "h" in state_codes:
        return "Dependency" if details["predecessors"] or details["array_predecessors"] else "JobHeldUser"
    return "Resources"


class JobChoice:
    """The selection of jobs; an empty list selects all. `jobs`: `12`, `12_3`, `12_[0-3]`; `states`: codes."""

    def __init__(self) -> None:
        self.users: list[str] = []
        self.jobs: list[str] = []
        self.names: list[str] = []
        self.partitions: list[str] = []
        self.states: list[str] = []

    def selects(self, job: SlurmJob) -> bool:
        return all(
            not selected or value in selected
            for selected, value in (
                (self.users, job.user),
                (self.names, job.name),
                (self.partitions, job.queue),
                (self.states, job.state),
            )
        )


def add_me(selection: JobChoice, value: str) -> None:
    """--me: jobs of the caller."""
    selection.users.append(pwd.getpwuid(os.geteuid()).pw_name)


def add_states(selection: JobChoice, value: str) -> None:
    """-t: codes or names, `all` for every state."""
    for state in value.upper().split(","):
        codes = list(STATES) if state == "ALL" else [code for code, name in STATES.items() if state in (code, name)]
        if not codes:
            raise SlurmError(f"Invalid job state specified: {state}")
        selection.states += codes


def parse_target(target: str) -> "tuple[int, set[int]]":
    """Number and tasks of `12`, `12_3`, `12_[0-3,7]`. Raises SlurmError."""
    number, sign, tasks = target.partition("_")
    selected: set[int] = set()
    for part in filter(None, tasks.strip("[]").split(",")):
        first, _, last = part.partition("-")
        if not first.isdecimal() or not (last or first).isdecimal():
            raise SlurmError(f"Invalid job id {target}")
        selected.update(range(int(first), int(last or first) + 1))
    if not number.isdecimal() or (sign and not selected):
        raise SlurmError(f"Invalid job id {target}")
    return int(number), selected


def read_jobs() -> list[SlurmJob]:
    """All pending and running jobs, running jobs last."""
    data = program.read("status", {"jobs": {"users": ["*"], "details": ["requests"]}})["jobs"]
    arrays = sorted({row[0] for rows in (data["running"], data["pending"]) for row in rows if row[8]})
    details: dict[int, dict[str, Any]] = {}
    if arrays:
        detail = program.read("status", {"job_detail": {"jobs": [str(number) for number in arrays]}})["job_detail"]
        details = {each["id"]: each for each in detail["jobs"]}
    found = []
    for part in ("pending", "running"):
        for row in data[part]:
            about = details.get(row[0], {})
            offset = array_offset(about.get("context", {})) or 0
            found.append(SlurmJob(row, part == "pending", offset, about.get("task_concurrency", 0)))
    return found
