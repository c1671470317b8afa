"""Admission: the rights of a user to have jobs in the cluster, their number, and their project.

Owns the rules that look at the user rather than at the job: limits, known users, projects, departments (statements SB-7, EX-14,
US-1 … US-7, SO-26, PR-13). Called for submissions, and for changes if they affect the project.
"""

from __future__ import annotations

from daemons.qmaster.decide.errors import RefusedError
from gridengine.config import KINDS
from gridengine.config.access import DEFAULT_DEPARTMENT
from gridengine.placement.access import project_allowed, user_sets_of, users_allowed
from gridengine.protocols.gdi.requests import Caller
from gridengine.state.configured.configuration import HostConfiguration
from gridengine.state.events import AnyEvent
from gridengine.state.machines.configuration import ObjectSet
from gridengine.state.state import State
from gridengine.terminal.hints import did_you_mean

EXIT_LIMIT = 25
"""Exit code when max_jobs or max_u_jobs is reached (SB-7)."""


def check_user(state: State, configuration: HostConfiguration, caller: Caller) -> None:
    """Ids (EX-14), access to the cluster (US-6) and known users (US-5). Raises RefusedError."""
    for value, limit, least, what in (
        (caller.uid, "min_uid", configuration.min_uid, "user"),
        (caller.gid, "min_gid", configuration.min_gid, "group"),
    ):
        if value < least and caller.uid != 0:
            raise RefusedError(f'denied: {what} id {value} of "{caller.user}" is below {limit} {least}')
    if caller.uid == 0 and configuration.min_uid > 0 and not state.has("manager", "root"):
        raise RefusedError("denied: jobs of root are not accepted")
    allowed, denied = configuration.user_lists, configuration.xuser_lists
    if not users_allowed(user_sets_of(state, caller.user, caller.group), allowed, denied):
        raise RefusedError(f'job rejected: user "{caller.user}" has no access to the cluster (user_lists, xuser_lists)')
    if configuration.enforce_user and not state.has("user", caller.user):
        raise RefusedError(f'job rejected: user "{caller.user}" is not a known user of the cluster (enforce_user)')


def check_limits(state: State, configuration: HostConfiguration, caller: Caller) -> None:
    """max_jobs and max_u_jobs (US-7). Raises RefusedError."""
    most = configuration.max_jobs
    if most and len(state.jobs) >= most:
        text = f"job rejected: only {most} jobs are allowed in the cluster (max_jobs), there are {len(state.jobs)}"
        raise RefusedError(text, EXIT_LIMIT)
    most = configuration.max_u_jobs
    if most:
        mine = sum(len(numbers) for (owner, _), numbers in state.owned.items() if owner == caller.user)
        if mine >= most:
            text = f'job rejected: only {most} jobs are allowed per user (max_u_jobs), "{caller.user}" has {mine}'
            raise RefusedError(text, EXIT_LIMIT)


def default_project(state: State, configuration: HostConfiguration, user: str) -> str:
    """The project of a user's jobs that name none, "" for none: of the user object, else of the object to be created."""
    known = state.users.get(user)
    if known is not None:
        return known.default_project
    return configuration.default_project if configuration.auto_users else ""


def check_project(state: State, configuration: HostConfiguration, project: str, owner: Caller) -> None:
    """Whether the owner may submit for the project, or with no project (SO-26, US-2, US-5, US-6). Raises RefusedError."""
    if not project:
        if configuration.enforce_project:
            raise RefusedError("job rejected: no project was assigned to the job (-P, enforce_project)")
    else:
        known = state.projects.get(project)
        if known is None:
            hint = did_you_mean(project, state.projects)
            raise RefusedError(f'job rejected: the requested project "{project}" does not exist', hint=hint)
        if not users_allowed(user_sets_of(state, owner.user, owner.group), known.acl, known.xacl):
            raise RefusedError(f'job rejected: no access to project "{project}" for user "{owner.user}"')
    allowed, denied = configuration.projects, configuration.xprojects
    if not project_allowed(project, allowed, denied):
        what = f'project "{project}"' if project else "a job without a project"
        raise RefusedError(f"job rejected: {what} has no access to the cluster (projects, xprojects)")


def department_of(state: State, user: str, group: str) -> str:
    """The department of a user: the access list of type DEPT that contains them (US-4)."""
    for name in state.usersets:
        userset = state.usersets[name]
        if "DEPT" in userset.types and not userset.entries.isdisjoint((user, f"@{group}")):
            return name
    return DEFAULT_DEPARTMENT


def new_user(state: State, configuration: HostConfiguration, user: str, now: float) -> list[AnyEvent]:
    """The new object of an unknown user, with enforce_user auto. Source: sge_conf(5) auto_user_*; PR-13."""
    if not configuration.auto_users or state.has("user", user):
        return []
    seconds = configuration.auto_user_delete_time_s
    text = {
        **KINDS["user"].template(user).attributes(),
        "name": user,
        "oticket": str(configuration.auto_user_oticket),
        "fshare": str(configuration.auto_user_fshare),
        "delete_time": str(int(now) + seconds if seconds else 0),
        "default_project": default_project(state, configuration, user) or "NONE",
    }
    return [ObjectSet("user", user, text)]
