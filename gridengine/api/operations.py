"""What a program can ask of a cell: each function makes an operation, which `Cell` and `AsyncCell` carry out.

Owns the calls, their arguments and what of the qmaster's answer they return. Who may do what, and what it means, is the
qmaster's. Never sends anything itself. Source: docs/gdi.md; DM-5.
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
    """A request that is to be sent. `read(data)`: what of its answer is returned; `changes`: it changes something."""

    __slots__ = ("body", "changes", "read", "request")

    def __init__(self, request: str, body: Mapping[str, Any], read: Callable[[Any], T], changes: bool = False) -> None:
        self.request, self.body, self.read, self.changes = request, body, read, changes


def _nothing(data: Any) -> None:
    """What only changes something returns nothing."""


def _change(request: str, **body: Any) -> Operation[None]:
    return Operation(request, body, _nothing, changes=True)


def request(name: str, body: Mapping[str, Any], changes: bool = True) -> Operation[Any]:
    """Any request of docs/gdi.md as it is; its data. `changes`: whether it changes something."""
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
    """Submit a job. `command`: path of a script, which is sent along, or with `binary` a program of the exec hosts.

    `script`: the script itself, then `command` is what it is called. `options`: further options as of qsub; the `#$` lines of a
    script come before them, `fields` after them. Request files are not read. Raises ValueError for options that are none, OSError
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


def alter(jobs: Texts, **fields: Unpack[JobFields]) -> Operation[None]:
    """Change jobs, as qalter: these fields get these values."""
    return _change("alter_jobs", targets=texts(jobs), changes=request_fields(fields, JobFields))


def delete(jobs: Texts, force: bool = False) -> Operation[None]:
    """Delete jobs, or tasks of them ("12.1-10"), as qdel."""
    return _change("delete_jobs", targets=texts(jobs), force=force)


def hold(jobs: Texts, holds: str = "u") -> Operation[None]:
    """Put holds on jobs, as qhold."""
    return _change("hold_jobs", targets=texts(jobs), holds=holds)


def release(jobs: Texts, holds: str = "u") -> Operation[None]:
    """Take holds off jobs, as qrls."""
    return _change("hold_jobs", targets=texts(jobs), holds=holds, release=True)


def suspend(jobs: Texts) -> Operation[None]:
    """Suspend jobs, as qmod -sj."""
    return _change("change_states", action="suspend", what="job", targets=texts(jobs))


def resume(jobs: Texts) -> Operation[None]:
    """Let suspended jobs go on, as qmod -usj."""
    return _change("change_states", action="unsuspend", what="job", targets=texts(jobs))


def reschedule(jobs: Texts) -> Operation[None]:
    """Have jobs begin anew, as qmod -rj."""
    return _change("change_states", action="reschedule", what="job", targets=texts(jobs))


def clear_error(jobs: Texts) -> Operation[None]:
    """Take the error state off jobs, as qmod -cj."""
    return _change("change_states", action="clear", what="job", targets=texts(jobs))


def jobs(users: Texts = "*", states: Texts = ("p", "r", "s")) -> Operation[list[ListedJob]]:
    """Running tasks and waiting jobs, as qstat. `users`: names and patterns; `states`: of p r s z hu ho hs hd hj ha."""
    body = {"jobs": {"users": texts(users), "states": texts(states)}}
    return Operation("status", body, lambda data: [_listed(row) for part in data["jobs"].values() for row in part])


def _listed(row: list[Any]) -> ListedJob:
    """See `gridengine.job_rows`."""
    job_id, priority, name, owner, state, time, grants, slots, tasks = row[: TASKS + 1]
    return ListedJob(job_id, priority, name, owner, state, time, tuple((each[0], each[1]) for each in grants), slots, tasks)


def job(job: int) -> Operation[dict[str, Any]]:
    """All about a job that is not over, as qstat -j (`job_detail` of docs/gdi.md). Raises LookupError for none."""
    return Operation("status", {"job_detail": {"jobs": [str(job)]}}, lambda data: _only(data["job_detail"]["jobs"], f"job {job}"))


def explain(job: int) -> Operation[dict[str, Any]]:
    """Why a job waits, and the smallest change that helps, as qexplain. Raises LookupError for none."""
    return Operation("explain_job", {"jobs": [str(job)]}, lambda data: _only(data["jobs"], f"job {job}"))


def _only(items: list[dict[str, Any]], what: str) -> dict[str, Any]:
    if not items:
        raise LookupError(f"there is no {what}")
    return items[0]


def accounting_page(job: int | str, after: int = 0) -> Operation[tuple[list[dict[str, str]], int]]:
    """Some accounting records of jobs that ended, by the names of accounting(5); where the next ones begin, 0 for none."""
    from gridengine.accounting import FIELDS

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
    """Execution hosts with what they report, as qhost."""
    return Operation("status", {"hosts": {"load_values": True}}, lambda data: list(data["hosts"]))


def enable(queues: Texts) -> Operation[None]:
    """Enable queues or instances of them, as qmod -e."""
    return _change("change_states", action="enable", what="queue", targets=texts(queues))


def disable(queues: Texts) -> Operation[None]:
    """Disable queues or instances of them, as qmod -d."""
    return _change("change_states", action="disable", what="queue", targets=texts(queues))


# --- reservations --------------------------------------------------------------------------------------------------------


def reserve(**fields: Unpack[ReservationFields]) -> Operation[int]:
    """Make an advance reservation, as qrsub; its number. Without `start_time` it begins now. Times and durations in s."""
    return Operation("reserve", request_fields(fields, ReservationFields), lambda data: int(data["id"]), changes=True)


def alter_reservation(reservations: Texts, **fields: Unpack[ReservationFields]) -> Operation[None]:
    """Change advance reservations, as qralter: these fields get these values."""
    changes = request_fields(fields, ReservationFields)
    return _change("alter_reservations", targets=texts(reservations), changes=changes)


def delete_reservation(reservations: Texts, series: bool = False, force: bool = False) -> Operation[None]:
    """Delete advance reservations, as qrdel. `series`: with all that are left of their series."""
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
    """Attributes of an object of the configuration, as qconf shows it. Raises LookupError for none."""
    return Operation("config_show", {"kind": kind, "names": [name]}, lambda data: _attributes(data, kind, name))


def _attributes(data: list[dict[str, Any]], kind: str, name: str) -> dict[str, str]:
    return dict(_only(data or [], f"{kind} {name}".rstrip())["attributes"])


def configure(
    kind: str, name: str, before: Mapping[str, str] | None, after: Mapping[str, str] | None
) -> Operation[None]:
    """Add, change or remove an object of the configuration. `before`, `after`: all of its attributes, None for no object.

    What is stored must be `before`: two programs that change the same never undo each other's work, the second is refused.
    """
    return configure_all([(kind, name, before, after)])


def configure_all(
    changes: Iterable[tuple[str, str, Mapping[str, str] | None, Mapping[str, str] | None]],
) -> Operation[None]:
    """Changes as those of `configure`, of many objects at once: all of them or none."""
    parts = ("kind", "name", "before", "after")
    rows = [dict(zip(parts, change, strict=True)) for change in changes]
    return _change("config_change", changes=[{**row, **_plain(row)} for row in rows])


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    return {part: None if row[part] is None else dict(row[part]) for part in ("before", "after")}
