"""From the fields of a request to the fields of a job: names resolved, values checked.

Owns the checks of single options (statements SB-9, SO, CQ-40, CX-42 … CX-45, GD-12). The same code serves a submission, where
all fields count, and a change, where only the given fields count. Rights belong to `admission`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import msgspec

from daemons.qmaster.decide.errors import RefusedError
from daemons.qmaster.decide.jobs.dependencies import FIELDS as DEPENDENCIES
from daemons.qmaster.decide.jobs.dependencies import dependency_fields
from daemons.qmaster.decide.reservations.jobs import check_reservation
from daemons.qmaster.decision import World
from daemons.qmaster.selection import NoSuchQueueError, check_queue_expressions, on_unique_hosts
from gridengine.config.parallel import check_allocation_rule
from gridengine.errors import InvalidValueError
from gridengine.placement.parallel import matching_pes
from gridengine.placement.placement_request import request_fault
from gridengine.protocols.gdi.job_request import REQUEST_FIELDS
from gridengine.protocols.gdi.requests import Caller, Submit
from gridengine.state import checkpointing
from gridengine.state.jobs import Job, PathOnHost
from gridengine.state.state import State
from gridengine.syntax.mail_address import check_mail_address
from gridengine.syntax.wildcard import is_pattern
from gridengine.terminal.hints import did_you_mean, unknown_resource_hint
from gridengine.values.ranges import Ranges, format_slot_ranges, parse_slot_ranges
from gridengine.values.units import INFINITY, parse_time

ALL = frozenset(field.name for field in msgspec.structs.fields(Submit))
PATHS = ("stdout", "stderr", "stdin", "shells")
"""Fields whose paths may each name a host."""
_OF_RESERVATION = frozenset(("ar", "hard"))
_CHECKPOINTING = frozenset(("checkpoint", "checkpoint_when"))
_KEYWORDS = frozenset(("NONE", "ALL", "TEMPLATE"))
_QUEUES = ("hard_queues", "soft_queues", "master_queues")
LOWEST_PRIORITY, HIGHEST_PRIORITY = -1023, 1024


def job_fields(
    state: State, request: Submit, owner: Caller, given: Collection[str], world: World, job: Job | None = None
) -> dict[str, Any]:
    """Fields of `Job` for the `given` fields of the request; the other fields of the request are only read. `job`: the job to
    change. Name, tasks, holds and environment are not included. Raises RefusedError."""
    fields = {name: getattr(request, name) for name in REQUEST_FIELDS if name in given}
    for name in PATHS:
        if name in given:
            fields[name] = _on_known_hosts(getattr(request, name), world)
    for name in ("hard", "soft"):
        if name in given:
            fields[name] = requested_resources(state, getattr(request, name), name == "soft", world)
    if "account" in given:
        check_object_name(request.account)
    check_mail_list(request.mail_list)
    if "pe_range" in given and request.pe_range:
        fields["pe_range"] = _slot_ranges(request.pe_range)
    _check_kind(request, given, job)
    for name in _QUEUES:
        if name in given:
            fields[name] = tuple(on_unique_hosts(state, text, world.resolve_host) for text in getattr(request, name))
            check_queues(state, fields[name])
    if "allocation_rule" in given and request.allocation_rule:
        fields["allocation_rule"] = _rule(request)
    if request.master_queues and not (request.pe or request.allocation_rule):
        raise RefusedError("job rejected: a master queue (-masterq) is for parallel jobs (-pe) only")
    if "pe" in given and request.pe:
        check_pe(state, request.pe)
    if not _CHECKPOINTING.isdisjoint(given):
        _check_checkpointing(state, request, given, job)
    if not LOWEST_PRIORITY <= request.priority <= HIGHEST_PRIORITY:
        raise RefusedError(f"denied: priority {request.priority} is outside {LOWEST_PRIORITY}..{HIGHEST_PRIORITY}")
    if "ar" in given:
        fields["ar_time"] = 0.0
    if request.ar and not _OF_RESERVATION.isdisjoint(given):
        hard = fields["hard"] if "hard" in fields else job.hard if job is not None else {}
        fields["ar_time"] = check_reservation(state, request.ar, hard, owner, world.now).submit_time
    if not DEPENDENCIES.isdisjoint(given):
        fields |= dependency_fields(state, request, owner.user, given, world, job)
    return fields


def _on_known_hosts(paths: Iterable[PathOnHost], world: World) -> tuple[PathOnHost, ...]:
    """The values of -o, -e, -i or -S with the unique names of their hosts (SO-12). Raises RefusedError."""
    resolved = []
    for name, path in paths:
        unique = world.resolve_host(name) if name else ""
        if unique is None:
            raise RefusedError(f'can\'t resolve hostname "{name}"')
        resolved.append((unique, path))
    return tuple(resolved)


def check_mail_list(addresses: Iterable[str]) -> None:
    """The values of -M (SO-19). Raises RefusedError."""
    for address in addresses:
        try:
            check_mail_address(address)
        except InvalidValueError as fault:
            raise RefusedError(f"job rejected: -M: {fault}") from None


def _check_checkpointing(state: State, request: Submit, given: Collection[str], job: Job | None) -> None:
    """The environment exists; -c needs an environment, but `-c n` excludes it (SO-7, O). Raises RefusedError."""
    name = request.checkpoint if "checkpoint" in given or job is None else job.checkpoint
    when = request.checkpoint_when if "checkpoint_when" in given or job is None else job.checkpoint_when
    check_ckpt(state, name)
    if name and when == "n":
        raise RefusedError('job rejected: a job with a checkpointing environment (-ckpt) cannot be submitted with "-c n"')
    if not checkpointing.is_occasion(when):
        raise RefusedError(f'job rejected: -c: "{when}" is neither letters of nsmxr nor an interval')
    if when and when != "n" and not name:
        raise RefusedError("job rejected: -c is for jobs with a checkpointing environment (-ckpt) only")


def _rule(request: Submit) -> str:
    """The rule of -alloc (AR-126). Raises RefusedError."""
    try:
        rule = check_allocation_rule(request.allocation_rule)
        parse_slot_ranges(request.pe_range)
    except InvalidValueError as fault:
        raise RefusedError(f"job rejected: the allocation rule (-alloc) is wrong: {fault}") from None
    return rule


def _slot_ranges(text: str) -> str:
    """A slot range as it is kept and shown: open ends filled in, in ascending order. Raises RefusedError."""
    try:
        return format_slot_ranges(parse_slot_ranges(text))
    except InvalidValueError as fault:
        raise RefusedError(f"job rejected: the slot range is wrong: {fault}") from None


def _check_kind(request: Submit, given: Collection[str], job: Job | None) -> None:
    """Options that are valid for some jobs only. Raises RefusedError."""
    if "task_concurrency" in given and request.task_concurrency and not (request.tasks if job is None else job.is_array):
        raise RefusedError("job rejected: a limit of running tasks (-tc) is for array jobs (-t) only")


def requested_resources(state: State, requests: list[str], soft: bool, world: World) -> dict[str, str]:
    """The requests of -l with times in seconds, as they are shown and accounted. Raises RefusedError."""
    resources = named_resources(state, requests, soft)
    if "slots" in resources:
        raise RefusedError("job rejected: slots cannot be requested by -l, use a parallel environment (-pe)")
    for name, value in resources.items():
        if state.complexes[name].type == "TIME":
            seconds = parse_time(value)
            resources[name] = str(round(seconds)) if seconds < INFINITY else value
    if "hostname" in resources and not is_pattern(resources["hostname"]):
        resources["hostname"] = known_host(state, world, resources["hostname"])
    return resources


def known_host(state: State, world: World, name: str) -> str:
    """The unique name of a host, "" for any. Raises RefusedError for an unknown host."""
    if not name or state.has("exec_host", name):
        return name
    unique = world.resolve_host(name)
    if unique is None:
        raise RefusedError(f'can\'t resolve hostname "{name}"')
    return unique if state.has("exec_host", unique) else name


def check_job_name(name: str) -> None:
    """SB-9: as `check_object_name`, and no leading digit. Raises RefusedError."""
    if name[:1].isdecimal():
        raise RefusedError(f'denied: "{name}" is not a valid object name (cannot start with a digit)')
    check_object_name(name)


def check_object_name(name: str) -> None:
    """None of / : @ \\ * ?, nothing that cannot be printed, no keyword, not empty. Source: SB-9; O. Raises RefusedError."""
    if not name or name.isspace():
        raise RefusedError('denied: "" is not a valid object name (must not be empty)')
    if name.upper() in _KEYWORDS:
        raise RefusedError(f'denied: "{name}" is not a valid object name (it is a keyword)')
    for char in name:
        if char in "/:@\\*?" or not char.isprintable():
            shown = "".join(each if each.isprintable() else repr(each)[1:-1] for each in name)
            shown_character = char if char.isprintable() else repr(char)[1:-1]
            raise RefusedError(f'denied: "{shown}" is not a valid object name (must not contain {shown_character})')


def task_range(text: str, most: int) -> tuple[Ranges, tuple[int, int, int]]:
    """The tasks of -t, and first, last and step as they were given. `most`: max_aj_tasks, 0 for no limit. Raises RefusedError.

    A list such as 2,4,6 is taken if it is one progression. Source: SO-36, AJ-2; O.
    """
    try:
        tasks = Ranges.parse(text)
    except InvalidValueError as fault:
        raise RefusedError(f'job rejected: task range "{text}": {fault}') from None
    if len(tasks.runs) != 1:
        raise RefusedError(f'job rejected: task range "{text}" must be of the form first-last:step')
    if most and len(tasks) > most:
        raise RefusedError(f"job rejected: you tried to submit a job with more than {most} tasks (max_aj_tasks)")
    first, _, rest = text.replace(" ", "").partition("-")
    last, _, step = rest.partition(":")
    if first.isdecimal() and last.isdecimal():
        return tasks, (int(first), int(last), int(step or 1))
    return tasks, (tasks.first, tasks.last, tasks.step)


def named_resources(state: State, requests: list[str], soft: bool) -> dict[str, str]:
    """`name=value` requests by full name; a BOOL without a value is TRUE, an empty request is skipped. Raises RefusedError."""
    resources: dict[str, str] = {}
    if not requests:
        return resources
    shortcuts = {text["shortcut"]: name for name, text in state.kind("complex").items()}
    for item in filter(str.strip, requests):
        given, _, value = item.partition("=")
        name = given if state.has("complex", given) else shortcuts.get(given, "")
        if not name:
            hint = unknown_resource_hint(given, (*state.kind("complex"), *shortcuts))
            raise RefusedError(f'unknown resource "{given}"', hint=hint)
        entry = state.complexes[name]
        if not value and entry.type == "BOOL":
            value = "TRUE"
        if name == "qname" and "@" in value:
            raise RefusedError(f'denied: "-l {item}" names a queue instance or a host group, which -q takes')
        if fault := request_fault(entry, value, soft):
            raise RefusedError(f"denied: {fault}")
        resources[name] = value
    return resources


def check_queues(state: State, expressions: Iterable[str]) -> None:
    """The values of -q and -masterq. Raises RefusedError."""
    try:
        check_queue_expressions(state, expressions)
    except NoSuchQueueError as error:
        queue, _, domain = str(error).partition("@")
        domains = state.kind("host_group" if domain[:1] == "@" else "exec_host")
        hint = did_you_mean(domain, domains) if queue in state.queues else did_you_mean(queue, state.queues)
        raise RefusedError(f'Job was rejected because job requests unknown queue "{error}"', hint=hint) from None


def check_pe(state: State, name: str) -> None:
    """The name of -pe, which may be a pattern. Raises RefusedError."""
    if not matching_pes(state, name):
        hint = did_you_mean(name, state.kind("parallel_environment"))
        raise RefusedError(f'job rejected: the requested parallel environment "{name}" does not exist', hint=hint)


def check_ckpt(state: State, name: str) -> None:
    """The name of -ckpt, "" for none. Raises RefusedError."""
    if name and not state.has("checkpoint", name):
        hint = did_you_mean(name, state.kind("checkpoint"))
        raise RefusedError(f'job rejected: the requested checkpointing environment "{name}" does not exist', hint=hint)
