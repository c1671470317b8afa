"""The request `shutdown`: resolves its hosts, and reports unknown hosts.

Owns the names; the actor ends the daemons. Called by `endpoints`. Source: qconf(1) -ke, -km, -ks.
"""

from __future__ import annotations

from daemons.qmaster.master import Master
from daemons.qmaster.serve.service_callbacks import ServiceCallbacks
from gridengine.protocols.gdi.requests import Answer, Caller, Shutdown


async def shut_down(master: Master, service_callbacks: ServiceCallbacks, request: Shutdown, caller: Caller) -> Answer:
    """End the qmaster, the scheduler or exec hosts."""
    unknown = await _resolve_hosts(master, service_callbacks, request, caller) if request.what == "execd" else []
    answer = await service_callbacks.shut_down(request)
    for host in unknown:
        answer.error(f'can\'t resolve hostname "{host}"')
    return answer


async def _resolve_hosts(master: Master, service_callbacks: ServiceCallbacks, request: Shutdown, caller: Caller) -> list[str]:
    """Replace the hosts of a request by their unique names, `all` by the hosts that are up; returns the unknown names."""
    world = master.world()
    if "all" in request.hosts:
        request.hosts = tuple(sorted(name for name, host in master.state.hosts.items() if host.up))
        return []
    user = (caller.host, caller.uid)
    resolved = await service_callbacks.call_resolved(lambda: {name: world.resolve_host(name) for name in request.hosts}, user)
    request.hosts = tuple(unique for unique in resolved.values() if unique)
    return [name for name, unique in resolved.items() if not unique]
