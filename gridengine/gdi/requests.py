"""Requests that change the cluster: their shapes, checked when they arrive.

Owns the structs into which the qmaster decodes request bodies (docs/gdi.md lists all requests, the reading ones
too). Clients send plain JSON with the same field names and import nothing of this. Unknown fields are refused.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec
from msgspec import Struct, field

from gridengine.gdi import answers
from gridengine.state.hooks import decode_hook

PathOnHost = tuple[str, str]


class Request(Struct, forbid_unknown_fields=True):
    """Base of all request bodies."""


class Submit(Request):
    """`submit`: a job as its options say (qsub, qrsh …). Texts are as the user gave them, unless noted.

    `script`: text of the script, None for binaries; with `script_encoding` `base64` when it is no UTF-8.
    `script_file`: what qstat -j shows; `name` "" means: derived from `script_file`, or STDIN.
    `hard`, `soft`: lists of "name=value" (several -l add up). `tasks`: "1-10:2" or "". `holds`: "u", "o", "s" letters.
    `environment`: variables of -v/-V; the SGE_O_* ones are among them. `verify`: letter of -w, "" for what is usual.
    `path_aliases`: (source, exec host or *, replacement), for `cwd` and the program of a binary job.
    `rerun`, `pty`: None as default. `start_after`, `deadline`: epoch seconds or 0. `hold_jid_ok`, `hold_jid_fail`: jobs that must
    succeed, or fail, first.
    """

    name: str = ""
    script: str | None = None
    script_encoding: Literal["", "base64"] = ""
    script_file: str = ""
    binary: bool = False
    args: list[str] = field(default_factory=list)
    kind: Literal["batch", "qrsh", "qlogin", "qsh", "qrlogin"] = "batch"
    pty: bool | None = None
    cwd: str = ""
    path_aliases: list[tuple[str, str, str]] = field(default_factory=list)
    submit_cwd: str = ""
    home: str = ""
    login_shell: str = ""
    submit_path: str = ""
    account: str = "sge"
    project: str = ""
    stdout: list[PathOnHost] = field(default_factory=list)
    stderr: list[PathOnHost] = field(default_factory=list)
    stdin: list[PathOnHost] = field(default_factory=list)
    merge: bool = False
    shells: list[PathOnHost] = field(default_factory=list)
    no_shell: bool = False
    environment: dict[str, str] = field(default_factory=dict)
    environment_names: list[str] = field(default_factory=list)
    hard: list[str] = field(default_factory=list)
    soft: list[str] = field(default_factory=list)
    hard_queues: list[str] = field(default_factory=list)
    soft_queues: list[str] = field(default_factory=list)
    master_queues: list[str] = field(default_factory=list)
    pe: str = ""
    pe_range: str = ""
    allocation_rule: str = ""
    tasks: str = ""
    task_concurrency: int = 0
    hold_jid: list[str] = field(default_factory=list)
    hold_jid_ad: list[str] = field(default_factory=list)
    hold_jid_ok: list[str] = field(default_factory=list)
    hold_jid_fail: list[str] = field(default_factory=list)
    holds: str = ""
    start_after: float = 0.0
    deadline: float = 0.0
    priority: int = 0
    job_share: int = 0
    override_tickets: int = 0
    reserve: bool = False
    rerun: bool | None = None
    now: bool = False
    notify: bool = False
    mail_options: str = ""
    mail_list: list[str] = field(default_factory=list)
    checkpoint: str = ""
    checkpoint_when: str = ""
    context: dict[str, str] = field(default_factory=dict)
    binding: str = ""
    transfer_files: str = ""
    ar: int = 0
    verify: Literal["", "e", "w", "n", "p", "v"] = ""


class DeleteJobs(Request):
    """`delete_jobs` (qdel): targets are `ID`, `ID.RANGE`, names or patterns; `tasks` a range for all of them (-t).

    `users`: only jobs of these (`*` for all); without targets: all jobs of the users.
    """

    targets: list[str] = field(default_factory=list)
    tasks: str = ""
    users: list[str] = field(default_factory=list)
    force: bool = False


class ChangeStates(Request):
    """`change_states` (qmod). `what`: `job`, `queue`, or `any` for the mixed forms -c -r -s -us.

    `action`: disable, enable, suspend, unsuspend, clear, reschedule.
    """

    action: Literal["disable", "enable", "suspend", "unsuspend", "clear", "reschedule"]
    what: Literal["job", "queue", "any"]
    targets: list[str]
    tasks: str = ""
    force: bool = False


class HoldJobs(Request):
    """`hold_jobs` (qhold, qrls): `holds` letters u, o, s; `release` to take them off."""

    targets: list[str] = field(default_factory=list)
    users: list[str] = field(default_factory=list)
    tasks: str = ""
    holds: str = "u"
    release: bool = False


class Changes(Submit):
    """What qalter may say beyond the fields of `Submit`: `context_changes` are (verb, variable, value) in their order, the
    verbs are ac, dc, sc. `holds` may here be letters of usonUSO.
    """

    context_changes: list[tuple[Literal["ac", "dc", "sc"], str, str]] = field(default_factory=list)


class AlterJobs(Request):
    """`alter_jobs` (qalter): `changes` are fields of `Changes` with the new values."""

    targets: list[str]
    changes: dict[str, Any]
    users: list[str] = field(default_factory=list)
    tasks: str = ""
    verify: Literal["", "e", "w", "n", "p", "v"] = ""


class ResubmitJobs(Request):
    """`resubmit_jobs` (qresub): copies of jobs, by number; `holds` as in `Submit`, the holds of the originals do not count."""

    targets: list[str]
    holds: str = ""


class VerifiedCopy(Request):
    """A copy of a job of `owner` as the server's verifier has left it. Made by the qmaster, never taken from the wire."""

    wish: Submit
    owner: Caller


class Reserve(Request):
    """`reserve` (qrsub): an advance reservation as its options say. Times in epoch seconds, 0 where not given.

    `users`: users and `@lists`, those with `!` in front are denied. `verify` v: a report and no reservation.
    `latest`: the latest start that will do. `find`: how many windows to list instead of taking one. `rule`: an RFC 5545
    recurrence rule. `heal`: move lost shares to other hosts. `idle_limit`: seconds without a job that end it.
    """

    name: str = ""
    account: str = "sge"
    start_time: float = 0.0
    end_time: float = 0.0
    duration: float = 0.0
    hard: list[str] = field(default_factory=list)
    hard_queues: list[str] = field(default_factory=list)
    master_queues: list[str] = field(default_factory=list)
    pe: str = ""
    pe_range: str = ""
    checkpoint: str = ""
    now: bool = False
    hard_errors: bool = False
    users: list[str] = field(default_factory=list)
    mail_options: str = ""
    mail_list: list[str] = field(default_factory=list)
    verify: Literal["e", "v"] = "e"
    allocation_rule: str = ""
    latest: float = 0.0
    find: int = 0
    rule: str = ""
    heal: bool = False
    idle_limit: float = 0.0


class AlterReservations(Request):
    """`alter_reservations` (qralter): `changes` are fields of `Reserve` with the new values."""

    targets: list[str]
    changes: dict[str, Any]


class DeleteReservations(Request):
    """`delete_reservations` (qrdel): targets are ids, names or patterns; `users` as in `DeleteJobs`.

    `series`: with each of them all that are left of its series.
    """

    targets: list[str] = field(default_factory=list)
    users: list[str] = field(default_factory=list)
    force: bool = False
    series: bool = False


class ConfigureObject(Request):
    """`config_add`, `config_modify`, `config_delete`: one object of a kind (`gridengine.config.KINDS`).

    `attributes`: entries of the object's file as (attribute, value, line number), empty for deletion. `source`: file
    name for messages. For `config_modify` the attributes replace the whole object.
    """

    kind: str
    name: str
    attributes: list[tuple[str, str, int]] = field(default_factory=list)
    source: str = ""


class ConfigureAttributes(Request):
    """`config_attributes` (qconf -aattr, -dattr, -mattr, -rattr, their file forms, -purge): some attributes of one object,
    domain or instance, all or none.

    `changes`: (attribute, value) in their order. `name`: for a rule of a resource quota set `set/rule`. `purge` takes the
    tuples of a host or group out of a queue; then an attribute may be `*` and values are not looked at.
    """

    verb: Literal["add", "delete", "modify", "replace", "purge"]
    kind: str
    name: str
    changes: list[tuple[str, str]]


class ReplaceObjects(Request):
    """`config_replace` (qconf -Mrqs without a name): these objects instead of all of the kind; entries as in a file."""

    kind: Literal["resource_quota"]
    objects: list[list[tuple[str, str, int]]]


class ObjectChange(Request):
    """One object before and after; None where there is none. What is stored must be `before`."""

    kind: str
    name: str
    before: dict[str, str] | None
    after: dict[str, str] | None


class ChangeObjects(Request):
    """`config_change` (gridengine config plan, apply, undo): many objects in one transaction, all or nothing.

    `plan`: nothing changes; the answer says what would be refused and what would become of queue instances.
    """

    changes: list[ObjectChange]
    plan: bool = False


class ChangeUsers(Request):
    """`change_users` (qconf -au, -du): users and `@group`s into or out of access lists; missing lists are made."""

    verb: Literal["add", "delete"]
    users: list[str]
    lists: list[str]


class ChangeShareTree(Request):
    """`change_share_tree` (qconf -astnode, -mstnode, -dstnode): nodes as `path=shares`, or `path` for `delete`."""

    verb: Literal["add", "modify", "delete"]
    nodes: list[str]


class ClearUsage(Request):
    """`clear_usage` (qconf -clearusage): usage that the share tree counts, of these users; without any of all and projects."""

    users: list[str] = field(default_factory=list)


class MonitorScheduling(Request):
    """`monitor_scheduling` (qconf -tsm): the next scheduling run writes its reasons into common/schedd_runlog."""


class CleanQueues(Request):
    """`clean_queues` (qconf -cq): queue expressions; all jobs in these instances are removed."""

    queues: list[str]


class KillEventClients(Request):
    """`kill_event_clients` (qconf -kec): ids of event clients, or `all`."""

    clients: list[str]


class Shutdown(Request):
    """`shutdown` (qconf -km, -ke): `what` is `qmaster`, `scheduler` or `execd`; hosts for the last, `all` for each."""

    what: Literal["qmaster", "execd", "scheduler"]
    hosts: list[str] = field(default_factory=list)
    kill_jobs: bool = False


class OpenSession(Request):
    """`session`: where and with which ticket the owner of an interactive job connects to its streams.

    `slave`: those of a slave task of a parallel job, by its number.
    """

    job_id: int
    task_id: int = 1
    slave: int = 0


class StartSlave(Request):
    """`start_slave`: `qrsh -inherit HOST COMMAND` in a parallel job. `environment`: variables beyond those of the job;
    `command` "" for a login shell. Data: {"task": [job, task, attempt, number], "host": unique name}.
    """

    job_id: int
    host: str
    task_id: int = 1
    command: str = ""
    args: list[str] = field(default_factory=list)
    cwd: str = ""
    environment: dict[str, str] = field(default_factory=dict)
    no_shell: bool = False


class ExecdHello(Request):
    """`execd_hello`: a host's supervisor reports that its node is up; the daemons' key is needed.

    `session_port`: where clients of interactive jobs connect to, 0 for nowhere. `cell_id`: of the cell that it joined first,
    "" if it never joined one.
    """

    host: str
    incarnation: str = ""
    pid: int = 0
    node_id: str = ""
    session_port: int = 0
    cell_id: str = ""


REQUESTS: dict[str, type[Request]] = {
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
    "change_users": ChangeUsers,
    "change_share_tree": ChangeShareTree,
    "clear_usage": ClearUsage,
    "monitor_scheduling": MonitorScheduling,
    "clean_queues": CleanQueues,
    "kill_event_clients": KillEventClients,
    "shutdown": Shutdown,
    "session": OpenSession,
    "start_slave": StartSlave,
    "execd_hello": ExecdHello,
}


def decode_request(name: str, body: bytes) -> Request:
    """The request of a body; raises msgspec.ValidationError that names the place of what is wrong."""
    return msgspec.json.decode(body or b"{}", type=REQUESTS[name], dec_hook=decode_hook)


Caller = answers.Caller
Answer = answers.Answer
