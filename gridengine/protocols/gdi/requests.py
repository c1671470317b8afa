"""Requests that change the cluster: their shapes, checked when they arrive.

Owns the structs into which the qmaster decodes request bodies (docs/gdi.md lists all requests, including reading requests).
Clients send plain JSON with the same field names and do not import this module. Unknown fields are refused.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Struct, field

from gridengine.protocols.gdi import answers
from gridengine.protocols.gdi.accounting_import import AccountingImport
from gridengine.protocols.gdi.bounds import (
    KB,
    MB,
    Arguments,
    Attribute,
    Attributes,
    Count,
    Digests,
    Environment,
    FewestTargets,
    FewTargets,
    FieldsOf,
    Items,
    JobNumber,
    Lines,
    Name,
    Names,
    Note,
    Path,
    Pattern,
    Patterns,
    Port,
    Predecessors,
    Script,
    Seconds,
    Targets,
    TaskNumber,
    TaskNumbers,
    Users,
    Value,
    check,
)
from gridengine.protocols.gdi.job_request import JobRequest
from gridengine.protocols.gdi.reservation_request import ReservationRequest


class RequestBody(Struct, forbid_unknown_fields=True):
    """Base of all request bodies."""


class Submit(RequestBody, JobRequest):
    """`submit`: a job as its options say (qsub, qrsh …). Texts are as the user gave them, unless noted.

    `script`: text of the script, None for binaries; with `script_encoding` `base64` when it is no UTF-8. `name` "" means:
    derived from `script_file`, or STDIN. `hard`, `soft`: lists of "name=value" (several -l add up). `tasks`: "1-10:2" or "".
    `holds`: characters u, o, s. `environment`: variables of -v and -V, and SGE_O_*. `verify`: the value of -w, "": the default.
    """

    name: Name = ""
    script: Script | None = None
    script_encoding: Literal["", "base64"] = ""
    environment: Environment = field(default_factory=dict)
    hard: Lines = field(default_factory=list)
    soft: Lines = field(default_factory=list)
    tasks: Pattern = ""
    hold_jid: Predecessors = ()
    hold_jid_ad: Predecessors = ()
    holds: Name = ""
    verify: Literal["", "e", "w", "n", "p", "v"] = ""


class DeleteJobs(RequestBody):
    """`delete_jobs` (qdel): `targets` are `ID`, `ID.RANGE`, names or patterns; `tasks` a range for all of them (-t).

    `users`: only jobs of these users (`*` for all); without targets: all jobs of the users. `force`: an operator deletes the
    tasks at once, without the hosts; another user those on hosts that do not answer.
    """

    targets: Targets = field(default_factory=list)
    tasks: Pattern = ""
    users: Users = field(default_factory=list)
    force: bool = False


class ChangeStates(RequestBody):
    """`change_states` (qmod): `action` on `targets`, jobs or queues by `what`; `any`: of the mixed forms -c -r -s -us. `force`:
    -f, even where nothing changes, or the host does not answer."""

    action: Literal["disable", "enable", "suspend", "unsuspend", "clear", "reschedule"]
    what: Literal["job", "queue", "any"]
    targets: FewTargets
    tasks: Pattern = ""
    force: bool = False


class HoldJobs(RequestBody):
    """`hold_jobs` (qhold, qrls): `targets` as in `DeleteJobs`; `holds` characters u, o, s; `release` to remove the holds."""

    targets: FewTargets = field(default_factory=list)
    users: Users = field(default_factory=list)
    tasks: Pattern = ""
    holds: Name = "u"
    release: bool = False


ContextChanges = Annotated[list[tuple[Literal["ac", "dc", "sc"], Name, Note]], Items(256, 64 * KB)]


class Changes(Submit):
    """The fields that qalter may change, beyond the fields of `Submit`: `context_changes` are (verb, variable, value) in their
    order, the verbs are ac, dc, sc. `holds` may here contain the characters usonUSO."""

    context_changes: ContextChanges = field(default_factory=list)


class AlterJobs(RequestBody):
    """`alter_jobs` (qalter): `targets` as in `DeleteJobs`; `changes` are fields of `Changes` with the new values."""

    targets: FewestTargets
    changes: Annotated[dict[str, Any], FieldsOf(Changes)]
    users: Users = field(default_factory=list)
    tasks: Pattern = ""
    verify: Literal["", "e", "w", "n", "p", "v"] = ""


class ResubmitJobs(RequestBody):
    """`resubmit_jobs` (qresub): copies of the jobs `targets`; `ended`: also of recently ended jobs. `holds`: as in `Submit`.

    `tasks`: ranges of tasks for the copy of an array, under their numbers; "" for all tasks.
    """

    targets: FewestTargets
    holds: Name = ""
    ended: bool = False
    tasks: TaskNumbers = ""


class Reserve(RequestBody, ReservationRequest):
    """`reserve` (qrsub): an advance reservation as its options say. Times: epoch s; `duration`: s; 0 if not given.

    `users`: users and `@lists`; a name with `!` in front is denied. `verify` v: a report and no reservation. `latest`: the latest
    acceptable start. `find`: the number of windows to list, without reserving. `rule`: an RFC 5545 recurrence rule.
    """

    start_time: Seconds = 0.0
    end_time: Seconds = 0.0
    duration: Seconds = 0.0
    hard: Lines = field(default_factory=list)
    now: bool = False
    users: Names = ()
    verify: Literal["e", "v"] = "e"
    latest: Seconds = 0.0
    find: Count = 0
    rule: Name = ""


class AlterReservations(RequestBody):
    """`alter_reservations` (qralter): `targets` as in `DeleteReservations`; `changes` are fields of `Reserve`."""

    targets: FewestTargets
    changes: Annotated[dict[str, Any], FieldsOf(Reserve)]


class DeleteReservations(RequestBody):
    """`delete_reservations` (qrdel): `targets` are ids, names or patterns; `users` as in `DeleteJobs`.

    `series`: with each of them all that are left of its series. `force`: remove them even if hosts do not answer.
    """

    targets: Targets = field(default_factory=list)
    users: Users = field(default_factory=list)
    force: bool = False
    series: bool = False


Entries = Annotated[list[tuple[Name, Attribute, Count]], Items(10_000, 4 * MB)]
"""Entries of an object's file: attribute, value, line number."""


class ConfigureObject(RequestBody):
    """`config_add`, `config_modify`, `config_delete`: one object of a kind (`gridengine.config.KINDS`).

    `attributes`: entries of the object's file as (attribute, value, line number), empty for deletion. `source`: file
    name for messages. For `config_modify` the attributes replace the whole object.
    """

    kind: Name
    name: Name
    attributes: Entries = field(default_factory=list)
    source: Path = ""


class ConfigureAttributes(RequestBody):
    """`config_attributes` (qconf -aattr, -dattr, -mattr, -rattr, their file forms, -purge): some attributes of one object, domain
    or instance, all or none.

    `verb`: what to do with the attributes. `changes`: (attribute, value) in their order. `name`: for a rule of a resource quota
    set `set/rule`. `purge` takes the tuples of a host or group out of a queue; then an attribute may be `*` and values are
    ignored.
    """

    verb: Literal["add", "delete", "modify", "replace", "purge"]
    kind: Name
    name: Name
    changes: Annotated[list[tuple[Name, Attribute]], Items(10_000, 4 * MB)]


class ReplaceObjects(RequestBody):
    """`config_replace` (qconf -Mrqs without a name): `objects` instead of all of the kind; entries as in a file."""

    kind: Literal["resource_quota"]
    objects: Annotated[list[Entries], Items(1000, 4 * MB)]


class ObjectChange(RequestBody):
    """Attributes of one object `before` and `after`; None if there is none. The stored object must equal `before`."""

    kind: Name
    name: Name
    before: Attributes | None
    after: Attributes | None


class ChangeObjects(RequestBody):
    """`config_change` (gridengine config plan, apply, undo): `changes` of many objects in one transaction, all or nothing.

    `plan`: nothing changes; the answer lists refusals and the effects on queue instances.
    """

    changes: Annotated[list[ObjectChange], Items(20_000, 4 * MB)]
    plan: bool = False


class ImportAccounting(RequestBody, AccountingImport):
    """`accounting_import` (gridengine import-sge): records of another cell."""


class ChangeUsers(RequestBody):
    """`change_users` (qconf -au, -du): `verb` takes `users` and `@group`s into or out of `lists`; missing lists are made."""

    verb: Literal["add", "delete"]
    users: Names
    lists: Names


class ChangeShareTree(RequestBody):
    """`change_share_tree` (qconf -astnode, -mstnode, -dstnode): `verb` for nodes `path=shares`, or `path` for `delete`."""

    verb: Literal["add", "modify", "delete"]
    nodes: Lines


class ClearUsage(RequestBody):
    """`clear_usage` (qconf -clearusage): usage that the share tree counts, of these users; without users, of all users and
    projects."""

    users: Names = ()


class MonitorScheduling(RequestBody):
    """`monitor_scheduling` (qconf -tsm): the next scheduling run writes its reasons into common/schedd_runlog."""


class CleanQueues(RequestBody):
    """`clean_queues` (qconf -cq): `queues` are queue expressions; all jobs in these instances are removed."""

    queues: Patterns


class DrainHosts(RequestBody):
    """`drain_hosts` (gridengine host drain, resume): hosts and `@groups` that take no jobs from now on; `end` ends the drain."""

    hosts: Names
    reason: Note = ""
    end: bool = False


class KillEventClients(RequestBody):
    """`kill_event_clients` (qconf -kec): `clients`: ids of event clients, or `all`."""

    clients: Names


class Shutdown(RequestBody):
    """`shutdown` (qconf -km, -ke): `what` ends; hosts only for `execd`, `all` for each; `kill_jobs`: with their jobs (-kej)."""

    what: Literal["qmaster", "execd", "scheduler"]
    hosts: Names = ()
    kill_jobs: bool = False


class OpenSession(RequestBody):
    """`session`: asks for address and ticket with which the owner of an interactive job connects to its streams; `slave`: the
    number of a slave task of a parallel job whose streams are requested."""

    job_id: JobNumber
    task_id: TaskNumber = 1
    slave: Count = 0


class StartSlave(RequestBody):
    """`start_slave`: `qrsh -inherit HOST COMMAND` in a parallel job. `environment`: further variables besides the variables of
    the job; `command` "" for a login shell. Data: {"task": [job, task, attempt, number], "host": unique name}."""

    job_id: JobNumber
    host: Name
    task_id: TaskNumber = 1
    command: Value = ""
    args: Arguments = ()
    cwd: Path = ""
    environment: Environment = field(default_factory=dict)
    no_shell: bool = False


class RestartHosts(RequestBody):
    """`restart_hosts` (gridengine upgrade): exec hosts that are to restart with `release`, which they have installed."""

    hosts: Names = ()
    release: Name = ""


class ExecdHello(RequestBody, forbid_unknown_fields=False):
    """`execd_hello`: a host's supervisor reports that its node is up; the daemons' key is needed.

    `incarnation`, `pid`: of its supervisor. `node_id`: of its Ray node. `session_port`: of interactive jobs. `cell_id`: of the
    cell that the host joined first. `protocol`, `ray`: see protocols.protocol. `release`: the running release; `installed`: the
    release of the next start; `refusal`: why the host did not switch to it (adr/0149). `files`, `files_mark`: of the host's copy
    of the cell's files (adr/0173). `ending`: an end in order. `rack`: APART or CONNECTED (adr/0270). 0, "": none, or not known.
    """

    host: Name
    files: Digests = {}
    files_mark: Name = ""
    incarnation: Name = ""
    pid: Count = 0
    node_id: Name = ""
    session_port: Port = 0
    cell_id: Name = ""
    protocol: Count = 0
    ray: Name = ""
    release: Name = ""
    installed: Name = ""
    refusal: Note = ""
    ending: bool = False
    rack: Name = ""


REQUESTS: dict[str, type[RequestBody]] = {
    "submit": Submit,
    "delete_jobs": DeleteJobs,
    "change_states": ChangeStates,
    "hold_jobs": HoldJobs,
    "alter_jobs": AlterJobs,
    "resubmit_jobs": ResubmitJobs,
    "reserve": Reserve,
    "alter_reservations": AlterReservations,
    "delete_reservations": DeleteReservations,
    "config_add": ConfigureObject,
    "config_modify": ConfigureObject,
    "config_delete": ConfigureObject,
    "config_attributes": ConfigureAttributes,
    "config_replace": ReplaceObjects,
    "config_change": ChangeObjects,
    "accounting_import": ImportAccounting,
    "change_users": ChangeUsers,
    "change_share_tree": ChangeShareTree,
    "clear_usage": ClearUsage,
    "monitor_scheduling": MonitorScheduling,
    "clean_queues": CleanQueues,
    "drain_hosts": DrainHosts,
    "kill_event_clients": KillEventClients,
    "shutdown": Shutdown,
    "session": OpenSession,
    "start_slave": StartSlave,
    "restart_hosts": RestartHosts,
    "execd_hello": ExecdHello,
}


def decode_request(name: str, body: bytes) -> RequestBody:
    """The request of a body, within its bounds; raises msgspec.DecodeError with the location of the fault."""
    kind = REQUESTS[name]
    try:
        request = msgspec.json.decode(body or b"{}", type=kind)
    except (RecursionError, OverflowError, UnicodeError) as error:
        raise msgspec.DecodeError(str(error)) from None
    check(request, kind)
    return request


Caller = answers.Caller
Answer = answers.Answer
malformed = answers.malformed
