"""Reading requests: the shapes of bodies of requests that change nothing, checked when they arrive.

Owns the types of those bodies (docs/gdi.md explains them). All fields are optional; readers get plain tables with the given
fields. Unknown fields are refused. Called by the qmaster's service, and by its substitute in tests.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired, TypedDict

import msgspec

from gridengine.protocols.gdi.bounds import (
    KB,
    MB,
    Count,
    Environment,
    FewTargets,
    FieldsOf,
    Items,
    JobNumber,
    Lines,
    Name,
    Names,
    Number,
    Path,
    Pattern,
    Patterns,
    Port,
    Ports,
    Seconds,
    TailBytes,
    Targets,
    TaskNumber,
    Text,
    Users,
    check,
)
from gridengine.protocols.gdi.requests import REQUESTS, ObjectChange, Submit
from gridengine.usage.accounting import FIELDS

JobList = Annotated[str, Text(64 * KB)]
"""Job ids, or a name or pattern."""
Instances = Annotated[list[Name], Items(200_000, 8 * MB)]
RecordFields = Annotated[list[Literal[FIELDS]], Items(len(FIELDS), 1 * KB)]  # type: ignore[valid-type]
Revision = Annotated[int, Number(0, 2**62)]
Objects = Annotated[list[Name], Items(2000, 64 * KB)]
OptionText = Annotated[str, Text(16 * KB, printable=False)]
OptionTexts = Annotated[list[tuple[Path, OptionText]], Items(8, 64 * KB)]
"""Files with options: path and text."""


class Select(TypedDict, total=False):
    queues: Patterns
    requests: Lines
    pe: Patterns
    access: Names
    states: Name


class Jobs(TypedDict, total=False):
    users: Users
    states: Names
    select: Select
    single: bool
    details: Names


class Queues(TypedDict, total=False):
    select: Select
    load: Name
    resources: Names | None
    explain: Name


class ClusterQueues(TypedDict, total=False):
    select: Select


class QueueConfigurations(TypedDict):
    queues: Patterns


class Hosts(TypedDict, total=False):
    hosts: Names
    requests: Lines
    load: Name
    resources: Names | None
    load_values: bool


class Devices(TypedDict, total=False):
    hosts: Names


class JobDetail(TypedDict, total=False):
    jobs: FewTargets


class Explain(TypedDict):
    jobs: FewTargets


class Forecast(Explain):
    about: Literal["order", "start", "duration", "change", "calibration", "sample"]
    changes: NotRequired[Annotated[list[ObjectChange], Items(20_000, 4 * MB)]]
    starts: NotRequired[bool]
    #: whose job is asked about, and not submitted
    submission: NotRequired[Submit]


class JobHistories(TypedDict):
    jobs: Annotated[list[JobNumber], Items(100, 4 * KB)]


class JobEnds(TypedDict):
    jobs: Annotated[list[JobNumber], Items(100, 4 * KB)]


class OneJob(TypedDict):
    job: JobNumber


class JobOutput(OneJob):
    task: NotRequired[TaskNumber]
    stream: NotRequired[Literal["stdout", "stderr"]]
    bytes: NotRequired[TailBytes]


class Reservations(TypedDict, total=False):
    targets: Targets | None
    users: Users


class Planned(TypedDict, total=False):
    users: Users


class Quotas(TypedDict, total=False):
    users: Users
    hosts: Patterns
    queues: Patterns
    pes: Patterns
    projects: Patterns
    resources: Names


class Nothing(TypedDict, total=False):
    """A request without fields."""


class Status(TypedDict, total=False):
    jobs: Jobs
    queues: Queues
    cluster_queues: ClusterQueues
    queue_configurations: QueueConfigurations
    hosts: Hosts
    job_detail: JobDetail
    reservations: Reservations
    planned: Planned
    quotas: Quotas
    share_tree: Nothing
    totals: Nothing


class Accounting(TypedDict, total=False):
    job: JobList
    tasks: Pattern
    owner: Name
    account: Name
    project: Name
    department: Name
    pe: Name
    slots: Name
    ar: Name
    group: Name
    host: Name
    queue: JobList
    begin: Seconds
    end: Seconds
    by_end: bool
    master_only: bool
    unsuccessful: bool
    newest: bool
    instances: Instances
    fields: RecordFields
    group_by: RecordFields
    after: Count


class HeldSlots(TypedDict):
    ar: Count


class ConfigKind(TypedDict):
    kind: Name
    name: NotRequired[Name]


class ConfigShow(TypedDict):
    kind: Name
    names: NotRequired[Objects | None]


class ConfigSearch(TypedDict):
    object: Name
    attribute: Pattern
    value: Pattern


class ConfigShareTree(TypedDict, total=False):
    paths: Lines | None


class ConfigHistory(TypedDict, total=False):
    limit: Count
    revision: Revision
    kind: Name
    name: Name
    user: Name
    before: Revision


class Wait(TypedDict):
    job_id: JobNumber


class TaskEnds(TypedDict, total=False):
    session: Name
    jobs: Annotated[list[JobNumber], Items(100_000, 1 * MB)]


class TaskStates(TypedDict):
    tasks: Annotated[list[tuple[JobNumber, TaskNumber]], Items(1000, 0)]


class FoldOptions(TypedDict, total=False):
    request_files: OptionTexts
    category: Name
    category_files: OptionTexts
    native: OptionText
    option_files: Annotated[dict[Path, OptionText], Items(32, 64 * KB)]
    script: tuple[Path, Annotated[str, Text(64 * KB, printable=False)]]
    environment: Environment
    cwd: Path
    allow_cwd: bool  # of libraries of earlier releases; -cwd counts without it
    alias_files: OptionTexts
    paths: Annotated[list[Path], Items(2, 8 * KB)]
    host: Name


class Events(TypedDict, total=False):
    name: Name
    types: Names


class TryPorts(TypedDict):
    host: Name
    ports: Ports


class Ping(TypedDict):
    host: Name
    port: Port
    name: Name


DryRun = TypedDict(  # type: ignore[misc]
    "DryRun", {name: Annotated[dict[str, Any], FieldsOf(kind)] for name, kind in REQUESTS.items()}, total=False
)
"""Changing requests by their names."""

BODIES: dict[str, Any] = {
    "status": Status,
    "job_list": Status,
    "explain_job": Explain,
    "forecast": Forecast,
    "job_story": JobHistories,
    "job_ends": JobEnds,
    "job_request": OneJob,
    "job_output": JobOutput,
    "accounting": Accounting,
    "held_slots": HeldSlots,
    "config_show": ConfigShow,
    "config_list": ConfigKind,
    "config_template": ConfigKind,
    "may_configure": Nothing,
    "config_export": Nothing,
    "config_detached": Nothing,
    "config_search": ConfigSearch,
    "config_share_tree": ConfigShareTree,
    "config_history": ConfigHistory,
    "share_usage": Nothing,
    "strays": Nothing,
    "devices": Devices,
    "releases": Nothing,
    "event_clients": Nothing,
    "events": Events,
    "wait": Wait,
    "task_ends": TaskEnds,
    "task_states": TaskStates,
    "fold_options": FoldOptions,
    "mirror": Nothing,
    "dry_run": DryRun,
    "ping": Ping,
    "try_ports": TryPorts,
}


def decode_body(name: str, body: bytes) -> dict[str, Any]:
    """The body of a reading request, within its bounds; raises msgspec.DecodeError with the location of the fault."""
    kind = BODIES[name]
    try:
        given = msgspec.json.decode(body or b"{}")
    except (RecursionError, OverflowError, UnicodeError) as error:
        raise msgspec.DecodeError(str(error)) from None
    converted: dict[str, Any] = msgspec.convert(given, kind)
    check(given, kind)
    return converted
