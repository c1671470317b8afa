"""Access: the user sets of a user, and the access lists of users and projects.

Owns the rules of user_lists, xuser_lists, projects and xprojects, the same for queue, host, PE and cluster.
Called by match and by selections such as `qstat -U`.
"""

from __future__ import annotations

from gridengine.state.state import State


def user_sets_of(state: State, user: str, group: str) -> frozenset[str]:
    """The access lists that hold a user by name or `@group` (the primary group). Source: access_list(5), US-3."""
    names = {user, f"@{group}"}
    return frozenset(
        name for name in state.usersets if not names.isdisjoint(state.usersets[name].entries)
    )


def users_allowed(sets: frozenset[str], allowed: tuple[str, ...], denied: tuple[str, ...]) -> bool:
    """Whether a user in `sets` has access: in one of the allowed (if any) and in none of the denied lists. Source: QC-31."""
    if denied and not sets.isdisjoint(denied):
        return False
    return not allowed or not sets.isdisjoint(allowed)


def project_allowed(project: str, allowed: tuple[str, ...], denied: tuple[str, ...]) -> bool:
    """The same for a project; a job without a project ("") has no access if `allowed` names any. Source: QC-32."""
    if project and project in denied:
        return False
    return not allowed or project in allowed
