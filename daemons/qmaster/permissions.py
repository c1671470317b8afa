"""Rights of managers, operators and owners, and of admin and submit hosts.

Owns the rules (qconf(1) and sge_types(5) roles; statements QF-36, QM-5 … QM-7, US). Pure: reads the state only.
"""

from __future__ import annotations

from daemons.qmaster.decision import World
from gridengine.protocols.gdi.requests import Caller
from gridengine.state.state import State


def is_manager(state: State, caller: Caller, admin_user: str = "root") -> bool:
    """Managers may change everything; the cell's admin user and root's daemons are always managers."""
    return caller.user == admin_user or state.has("manager", caller.user)


def is_operator(state: State, caller: Caller, admin_user: str = "root") -> bool:
    """Operators may control the jobs and queues of all users; every manager is an operator."""
    return is_manager(state, caller, admin_user) or state.has("operator", caller.user)


def may_see_values(state: State, owner: str, caller: Caller, admin_user: str = "root") -> bool:
    """Whether the caller may see the values of a job's variables, which may hold passwords and keys."""
    return caller.user == owner or is_operator(state, caller, admin_user)


def is_admin_host(state: State, host: str) -> bool:
    return state.has("admin_host", host)


def is_submit_host(state: State, host: str) -> bool:
    """Hosts that may submit and control jobs; AR-26 lets admin hosts do so too."""
    return state.has("submit_host", host)


def not_admin_host(caller: Caller) -> str:
    return f'denied: host "{caller.host}" is not an admin host'


def not_submit_host(caller: Caller) -> str:
    return f'denied: host "{caller.host}" is neither submit nor admin host'


def not_manager(caller: Caller) -> str:
    return f'denied: "{caller.user}" must be manager for this operation'


def not_operator(caller: Caller) -> str:
    return f'denied: "{caller.user}" must be operator for this operation'


def owns_queue(state: State, caller: Caller, instance: str) -> bool:
    """Whether the caller is in the owner_list of a queue instance (QM-6)."""
    config = state.configs.get(instance)
    return config is not None and caller.user in config.owner_list


def no_right(state: State, caller: Caller, world: World, operators: bool = False) -> str:
    """The refusal for a caller that may not configure, or "". `operators`: operators may, too. Source: QF-36."""
    if not is_admin_host(state, caller.host) and caller.host != world.master_host:
        return not_admin_host(caller)
    if operators:
        return "" if is_operator(state, caller, world.admin_user) else not_operator(caller)
    return "" if is_manager(state, caller, world.admin_user) else not_manager(caller)
