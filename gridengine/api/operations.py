"""The operations on a cell: each function creates an operation, which `Cell` and `AsyncCell` carry out.

Owns the calls, their arguments, and their results from the qmaster's answer. The qmaster checks rights and values. Never sends
a request itself. Source: docs/gdi.md; DM-5.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from gridengine.api.answers import ListedJob, SubmittedJob
from gridengine.api.job_fields import JobFields, ReservationFields, Texts, options_in, request_fields, texts
from gridengine.api.origin import add_origin
from gridengine.job_rows import TASKS

if TYPE_CHECKING:
    from typing import Unpack

T = TypeVar("T")


class Operation(Generic[T]):
    """A request to send. `read(data)`: the result from the data of its answer; `changes`: whether the request has effects."""

    __slots__ = ("body", "changes", "read", "request")

    def __init__(self, request: str, body: Mapping[str, Any], read: Callable[[Any], T], changes: bool = False) -> None:
        self.request, self.body, self.read, self.changes = request, body, read, changes


def _no_result(data: Any) -> None:
    """The result of a change: None."""


def _change(request: str, **body: Any) -> Operation[None]:
    return Operation(request, body, _no_result, changes=True)


def request(name: str, body: Mapping[str, Any], changes: bool = True) -> Operation[Any]:
    """Any request of docs/gdi.md; its data. `changes`: whether the request has effects."""
    return Operation(name, body, lambda data: data, changes)


# --- jobs ----------------------------------------------------------------------------------------------------------------


def submit(
    command: str | os.PathLike[str] = "",
    *args: str,
    script: str | bytes = "",
    binary: bool = False,
    options: str | Sequence[str] = "",
    **fields: Unpack[JobFields],
) -> Operation[SubmittedJob]:
    """Submit a job. `command`: path of a script, which is sent with the request, or with `binary` a program of the exec hosts.

    `script`: the text of the script; `command` is then its name. `options`: further options as of qsub; they override the `#$`
    lines of a script, and `fields` overrides them. Request files are not read. Raises ValueError for invalid options, OSError
    for a script that cannot be read.
    """
    name = os.fspath(command)
    text = script.encode() if isinstance(script, str) else script
    if not (text or name):
        raise ValueError("a command or a script is expected")
    if not (text or binary):
        with open(name, "rb") as file:
            text = file.read()
    body = options_in(options, text, name or "script")
    exported = dict(body.get("environment", {}))
    own = request_fields(fields, JobFields)
    body |= own
    if "environment" in own:
        body["environment"] = exported | own["environment"]
        body["environment_names"] = list(body["environment"])
    body |= {"script_file": name or "STDIN", "args": list(args)}
    if binary:
        body["binary"] = True
    else:
        body |= _script(text)
    add_origin(body, os.getcwd())
    return Operation("submit", body, lambda data: SubmittedJob(data["job_id"], data["name"], data["tasks"]), changes=True)


def _script(text: bytes) -> dict[str, str]:
    try:
        return {"script": text.decode()}
    except UnicodeDecodeError:
        import binascii

        return {"script": binascii.b2a_base64(text, newline=False).decode(), "script_encoding": "base64"}


def submit_list(
    commands: Iterable[str],
    *,
    template: str = "",
    output: str = "merged",
    retries: int = 0,
    max_fails: int = 0,
    ordered: bool = False,
    options: str | Sequence[str] = "",
    **fields: Unpack[JobFields],
) -> Operation[SubmittedJob]:
    """Submit a job whose slots serve a list of commands, as qsub -tasks. `commands`: lines of the list, with their names and
    dependencies (docs/commands/qtasks.md).

    `template`, `output`, `retries`, `max_fails`, `ordered`: as -tasks-template, -tasks-output, -tasks-retries, -max-fails and
    -tasks-order. Raises ValueError for a line that is no command.
    """
    from gridengine.task_lists.list_script import ListOptions, script_of

    lines = [line.rstrip("\n") for line in commands]
    if broken := next((line for line in lines if "\n" in line), ""):
        raise ValueError(f"{broken!r} is more than a line")
    settings = ListOptions(template, output, retries, max_fails, ordered)
    text = script_of("".join(f"{line}\n" for line in lines), settings, "commands")
    return submit(script=text.encode("utf-8", "surrogateescape"), options=options, **fields)


def alter(jobs: Texts, **fields: Unpack[JobFields]) -> Operation[None]:
    """Change fields of jobs, as qalter."""
    return _change("alter_jobs", targets=texts(jobs), changes=request_fields(fields, JobFields))


def delete(jobs: Texts, force: bool = False) -> Operation[None]:
    """Delete jobs, or tasks of jobs ("12.1-10"), as qdel."""
    return _change("delete_jobs", targets=texts(jobs), force=force)


def hold(jobs: Texts, holds: str = "u") -> Operation[None]:
    """Place holds on jobs, as qhold."""
    return _change("hold_jobs", targets=texts(jobs), holds=holds)


def release(jobs: Texts, holds: str = "u") -> Operation[None]:
    """Release holds of jobs, as qrls."""
    return _change("hold_jobs", targets=texts(jobs), holds=holds, release=True)


def suspend(jobs: Texts) -> Operation[None]:
    """Suspend jobs, as qmod -sj."""
    return _change("change_states", action="suspend", what="job", targets=texts(jobs))


def resume(jobs: Texts) -> Operation[None]:
    """Resume suspended jobs, as qmod -usj."""
    return _change("change_states", action="unsuspend", what="job", targets=texts(jobs))


def reschedule(jobs: Texts) -> Operation[None]:
    """Restart jobs, as qmod -rj."""
    return _change("change_states", action="reschedule", what="job", targets=texts(jobs))


def clear_error(jobs: Texts) -> Operation[None]:
    """Clear the error state of jobs, as qmod -cj."""
    return _change("change_states", action="clear", what="job", targets=texts(jobs))


def jobs(users: Texts = "*", states: Texts = ("p", "r", "s")) -> Operation[list[ListedJob]]:
    """Running tasks and waiting jobs, as qstat. `users`: names and patterns; `states`: of p r s z hu ho hs hd hj ha."""
    body = {"jobs": {"users": texts(users), "states": texts(states)}}
    return Operation("status", body, lambda data: [_listed_job(row) for part in data["jobs"].values() for row in part])


def _listed_job(row: list[Any]) -> ListedJob:
    """See `gridengine.job_rows`."""
    job_id, priority, name, owner, state, time, grants, slots, tasks = row[: TASKS + 1]
    return ListedJob(job_id, priority, name, owner, state, time, tuple((each[0], each[1]) for each in grants), slots, tasks)


def job(job: int) -> Operation[dict[str, Any]]:
    """All details of a pending or running job, as qstat -j (`job_detail` of docs/gdi.md). Raises LookupError for no such job."""
    return Operation("status", {"job_detail": {"jobs": [str(job)]}}, lambda data: _only(data["job_detail"]["jobs"], f"job {job}"))


def explain(job: int) -> Operation[dict[str, Any]]:
    """The pending reasons of a job, and the smallest change that helps, as qexplain. Raises LookupError for no such job."""
    return Operation("explain_job", {"jobs": [str(job)]}, lambda data: _only(data["jobs"], f"job {job}"))


def _only(items: list[dict[str, Any]], what: str) -> dict[str, Any]:
    if not items:
        raise LookupError(f"there is no {what}")
    return items[0]


def accounting_page(job: int | str, after: int = 0) -> Operation[tuple[list[dict[str, str]], int]]:
    """A page of accounting records, by the names of accounting(5); the `after` of the next page, 0 after the last."""
    from gridengine.usage.accounting import FIELDS

    body = {"job": str(job)} | ({"after": after} if after else {})
    return Operation("accounting", body, lambda data: (_records(data["records"], FIELDS), data["next"] or 0))


def _records(rows: list[list[str]], names: Sequence[str]) -> list[dict[str, str]]:
    return [dict(zip(names, row, strict=False)) for row in rows]


# --- queues, hosts -------------------------------------------------------------------------------------------------------


def queues() -> Operation[list[dict[str, Any]]]:
    """Cluster queues with their slots, as qstat -g c."""
    return Operation("status", {"cluster_queues": {}}, lambda data: list(data["cluster_queues"]))


def instances(queues: Texts = ()) -> Operation[list[dict[str, Any]]]:
    """Queue instances with slots, load and states, as qstat -f. `queues`: expressions, all if none is given."""
    body = {"queues": {"select": {"queues": texts(queues)}}}
    return Operation("status", body, lambda data: list(data["queues"]))


def hosts() -> Operation[list[dict[str, Any]]]:
    """Execution hosts with their load values, as qhost."""
    return Operation("status", {"hosts": {"load_values": True}}, lambda data: list(data["hosts"]))


def enable(queues: Texts) -> Operation[None]:
    """Enable queues or queue instances, as qmod -e."""
    return _change("change_states", action="enable", what="queue", targets=texts(queues))


def disable(queues: Texts) -> Operation[None]:
    """Disable queues or queue instances, as qmod -d."""
    return _change("change_states", action="disable", what="queue", targets=texts(queues))


# --- reservations --------------------------------------------------------------------------------------------------------


def reserve(**fields: Unpack[ReservationFields]) -> Operation[int]:
    """Create an advance reservation, as qrsub; its number. Without `start_time` it begins now. Times and durations in s."""
    return Operation("reserve", request_fields(fields, ReservationFields), lambda data: int(data["id"]), changes=True)


def alter_reservation(reservations: Texts, **fields: Unpack[ReservationFields]) -> Operation[None]:
    """Change fields of advance reservations, as qralter."""
    changes = request_fields(fields, ReservationFields)
    return _change("alter_reservations", targets=texts(reservations), changes=changes)


def delete_reservation(reservations: Texts, series: bool = False, force: bool = False) -> Operation[None]:
    """Delete advance reservations, as qrdel. `series`: with all remaining reservations of their series."""
    return _change("delete_reservations", targets=texts(reservations), series=series, force=force)


def reservations(users: Texts = "*") -> Operation[list[dict[str, Any]]]:
    """Advance reservations, as qrstat."""
    body = {"reservations": {"users": texts(users)}}
    return Operation("status", body, lambda data: list(data["reservations"]["reservations"]))


# --- configuration -------------------------------------------------------------------------------------------------------


def names(kind: str) -> Operation[list[str]]:
    """Names of the objects of a kind (`cluster_queue`, `pe` …: docs/commands/qconf.md)."""
    return Operation("config_list", {"kind": kind}, list)


def show(kind: str, name: str = "") -> Operation[dict[str, str]]:
    """Attributes of an object of the configuration, as qconf shows it. Raises LookupError for no such object."""
    return Operation("config_show", {"kind": kind, "names": [name]}, lambda data: _attributes(data, kind, name))


def _attributes(data: list[dict[str, Any]], kind: str, name: str) -> dict[str, str]:
    return dict(_only(data or [], f"{kind} {name}".rstrip())["attributes"])


def configure(
    kind: str, name: str, before: Mapping[str, str] | None, after: Mapping[str, str] | None
) -> Operation[None]:
    """Add, change or remove an object of the configuration. `before`, `after`: all of its attributes, None for no object.

    The stored object must equal `before`, so of two programs that change the same object the second is refused.
    """
    return configure_all([(kind, name, before, after)])


def configure_all(
    changes: Iterable[tuple[str, str, Mapping[str, str] | None, Mapping[str, str] | None]],
) -> Operation[None]:
    """Changes as of `configure` to several objects in one transaction: all are made or none."""
    parts = ("kind", "name", "before", "after")
    rows = [dict(zip(parts, change, strict=True)) for change in changes]
    return _change("config_change", changes=[{**row, **_plain(row)} for row in rows])


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    return {part: None if row[part] is None else dict(row[part]) for part in ("before", "after")}
