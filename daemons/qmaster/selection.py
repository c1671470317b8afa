"""Selection: the jobs, tasks and queue instances that the arguments of a command name.

Owns the reading of job lists (`ID`, `ID.RANGE`, names, patterns) and queue expressions against the state (sge_types(5);
statements QN, QM-10, SO-46, DP-1). Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from msgspec import Struct, field

from gridengine.errors import InvalidValueError, RefusalError
from gridengine.protocols.gdi.requests import Caller
from gridengine.state.jobs import Job
from gridengine.state.state import State
from gridengine.syntax.queue_expression import QueueExpression
from gridengine.syntax.wildcard import compile_expression, is_pattern, matches
from gridengine.values.ranges import Ranges


class NoSuchQueueError(RefusalError):
    """An expression that matches no queue, domain or instance."""


class Selected(Struct):
    """One selected `job`, and its selected tasks (None for all)."""

    job: Job
    tasks: Ranges | None = None


class Unmatched(str):
    """A name or pattern that is known to match no job, so a further search is needless."""


class Selection(Struct):
    """The outcome for a list of targets, in the order given. `found`: each target with its matches, if any."""

    found: list[tuple[str, list[Selected]]] = field(default_factory=list)

    def __iter__(self):  # type: ignore[no-untyped-def]
        return iter(self.found)


def select_jobs(
    state: State, targets: Iterable[str], tasks: str = "", users: Iterable[str] = (), owner: str = ""
) -> Selection:
    """Jobs by target; without targets all jobs of the users. Raises InvalidValueError for a malformed task range.

    A number is a job id. Any other target is a name or pattern among the jobs of the users; without users, among the jobs of
    `owner`, "" for all owners.
    """
    requested_users = list(users)
    everyone = Ranges.parse(tasks) if tasks else None
    pattern_users = requested_users or ([owner] if owner else [])
    selection = Selection()
    targets = list(targets)
    if not targets:
        mine = [Selected(job, everyone) for job in state.jobs_of(lambda owner, group: user_matches(owner, requested_users))]
        selection.found.append(("", mine))
    for target in targets:
        if isinstance(target, Unmatched):
            selection.found.append((target, []))
            continue
        head, dot, rest = target.partition(".")
        if head.isdecimal() and (not dot or rest[:1].isdecimal()):
            job = state.jobs.get(int(head))
            chosen = Ranges.parse(rest) if dot else everyone
            jobs = [Selected(job, chosen)] if job and (not requested_users or user_matches(job.owner, requested_users)) else []
        elif target[:1].isdecimal():
            raise InvalidValueError(f'"{target}" is not a job list')
        else:
            jobs = [Selected(job, everyone) for job in match_jobs(state.jobs.values(), target, pattern_users)]
        selection.found.append((target, jobs))
    return selection


def match_jobs(jobs: Iterable[Job], target: str, users: list[str]) -> list[Job]:
    """The jobs of these users that match a name or pattern ("" for all). Raises InvalidValueError."""
    named = compile_expression(target or "*")
    return [job for job in jobs if user_matches(job.owner, users) and named(job.name)]


def missing(target: str, users: Iterable[str]) -> str:
    """The error of qalter, qhold and qrls for a target without matches."""
    if not target:
        return f"The job * of user(s) {','.join(users)} does not exist"
    return f'denied: job "{target}" does not exist'


def not_owner(job: Job, caller: Caller) -> str:
    """The refusal of qalter, qhold and qrls for a caller who is neither owner nor operator."""
    return f'denied: "{caller.user}" must be at least owner of job {job.id} to change job attributes'


def user_matches(owner: str, users: list[str]) -> bool:
    """Whether a user list matches an owner; an empty list or `*` matches every owner."""
    return not users or any(user == owner or (is_pattern(user) and matches(user, owner)) for user in users)


def on_unique_hosts(state: State, expression: str, resolve: Callable[[str], str | None]) -> str:
    """Queue expressions, separated by commas, with the unique name of each host that is named by an alias or its address.

    `resolve`: the unique name of a host, None for an unknown host. A part that names no exec host stays unchanged.
    """
    parts = []
    for part in expression.split(","):
        queue, at, host = part.partition("@")
        if host and not host.startswith("@") and not is_pattern(host) and not state.has("exec_host", host):
            unique = resolve(host)
            part = f"{queue}@{unique}" if unique and state.has("exec_host", unique) else part
        parts.append(part)
    return ",".join(parts)


def select_instances(state: State, expression: str) -> list[str]:
    """Names of the queue instances that an expression matches, sorted; a cluster queue stands for all of its instances."""
    compiled = QueueExpression(expression)
    return sorted(
        name
        for name, instance in state.instances.items()
        if compiled.matches(instance.queue, instance.host, state.groups.groups_of(instance.host))
    )


def check_queue_expressions(state: State, expressions: Iterable[str]) -> None:
    """Raise NoSuchQueueError for an expression that matches no cluster queue, domain or instance (CQ-40)."""
    for expression in expressions:
        try:
            compiled = QueueExpression(expression)
        except InvalidValueError:
            raise NoSuchQueueError(expression) from None
        if any(compiled.matches_queue(queue) for queue in state.queues) and (
            "@" not in expression or select_instances(state, expression)
        ):
            continue
        raise NoSuchQueueError(expression)


def predecessors(
    state: State, requested: Iterable[str], owner: str, looked_up: Mapping[str, list[int]] | None = None
) -> list[int]:
    """Ids of the jobs that a -hold_jid list selects now: ids of unfinished jobs, own jobs by name or pattern (DP-1, DP-3).

    `looked_up`: ids by name or pattern, of all owners, from an earlier search. Raises ValueError for an item that is neither an
    id nor a name: names do not begin with a digit.
    """
    job_ids: list[int] = []
    for item in requested:
        if item.isdecimal():
            candidates = [int(item)] if int(item) in state.jobs else []
        elif item[:1].isdecimal():
            raise ValueError(f'"{item}" is neither a job\'s number nor a name or pattern')
        elif looked_up and item in looked_up:
            known = (state.jobs.get(number) for number in looked_up[item])
            candidates = [job.id for job in known if job is not None and job.owner == owner]
        else:
            named = compile_expression(item)
            candidates = [job.id for job in state.jobs_of(lambda other, group: other == owner) if named(job.name)]
        job_ids.extend(candidate for candidate in candidates if candidate not in job_ids)
    return job_ids


def may_control(job: Job, caller: Caller, operator: bool) -> bool:
    """Whether the caller may delete, hold or suspend a job: owners their own jobs, operators all jobs (QM-7)."""
    return operator or job.owner == caller.user
