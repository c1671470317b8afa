"""Draining: a host becomes free of jobs, with a reason that all users see, or takes jobs again.

Owns the verb, its rights and texts. `gridengine.placement.obstacles` keeps jobs away from a drained host;
`gridengine.state.state_codes` has its state code. Deviation: 8.1.9 can only disable queue instances, each of them separately
and without a reason. Source: adr/0153.
"""

from __future__ import annotations

from collections.abc import Iterator

from daemons.qmaster.decision import Decision, World
from daemons.qmaster.permissions import no_right
from gridengine.protocols.gdi.requests import Caller, DrainHosts
from gridengine.state.bookings import GLOBAL
from gridengine.state.machines.host import HostDrained, HostDrainEnded
from gridengine.state.state import State
from gridengine.terminal.hints import did_you_mean


def drain_hosts(state: State, request: DrainHosts, caller: Caller, world: World) -> Decision:
    """Drain, or end the drain of, all hosts that are named, or none of them."""
    decision, operator = Decision(), f"{caller.user}@{caller.host}"
    if refusal := no_right(state, caller, world, operators=True):
        return decision.refuse(refusal)
    reason = " ".join(request.reason.split())
    if not (reason or request.end):
        return decision.refuse("denied: a reason for the drain is required")
    for name in dict.fromkeys(host for target in request.hosts for host in _select_hosts(state, target, world)):
        if name == GLOBAL or not state.has("exec_host", name):
            what = "host group" if name.startswith("@") else "execution host"
            hint = did_you_mean(name, (*state.kind("exec_host"), *state.groups.members))
            return decision.refuse(f'denied: {what} "{name}" does not exist', hint=hint)
        running = len(state.tasks_on.get(name, ()))
        jobs = f"{running} task{'' if running == 1 else 's'}" if running else "nothing"
        if not request.end:
            decision.events.append(HostDrained(name, reason, operator, world.now))
            decision.answer.info(f'{operator} drained host "{name}" ({jobs} {"run" if running > 1 else "runs"} there)')
        elif state.hosts[name].drained is None:
            decision.answer.info(f'host "{name}" is not drained')
        else:
            decision.events.append(HostDrainEnded(name))
            decision.answer.info(f'{operator} ended the drain of host "{name}"')
    return decision


def _select_hosts(state: State, target: str, world: World) -> Iterator[str]:
    """The hosts of a group, or a host by its unique name."""
    if target in state.groups.members:
        yield from state.groups.flatten([target])
    else:
        yield target if state.has("exec_host", target) or target.startswith("@") else world.resolve_host(target) or target
