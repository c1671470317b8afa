"""The request `shutdown`: which hosts are meant, and what is said of those that are none.

Owns the reading of the names; ending daemons is the actor's. Called by `endpoints`. Source: qconf(1) -ke, -km, -ks.
"""

from __future__ import annotations

from daemons.qmaster.master import Master
from daemons.qmaster.serve.outside import Outside
from gridengine.gdi.requests import Answer, Caller, Shutdown


async def shut_down(master: Master, outside: Outside, request: Shutdown, caller: Caller) -> Answer:
    """End the qmaster, the scheduler or exec hosts."""
    unknown = await _settle_hosts(master, outside, request, caller) if request.what == "execd" else []
    answer = await outside.shut_down(request)
    for host in unknown:
        answer.error(f'can\'t resolve hostname "{host}"')
    return answer


async def _settle_hosts(master: Master, outside: Outside, request: Shutdown, caller: Caller) -> list[str]:
    """Give the hosts of a request their unique names, `all` being those that are up; returns what is no host."""
    world = master.world()
    if "all" in request.hosts:
        request.hosts = tuple(sorted(name for name, host in master.state.hosts.items() if host.up))
        return []
    who = (caller.host, caller.uid)
    found = await outside.settled(lambda: {name: world.resolve_host(name) for name in request.hosts}, who)
    request.hosts = tuple(unique for unique in found.values() if unique)
    return [name for name, unique in found.items() if not unique]
