"""The actors of the nodes of racks, and a host behind a node as the qmaster calls it.

Owns the Ray side of racks alone. A name of its own for each node: Ray restarts an actor by itself, and must not restart the actor
of an earlier node. Called by the actor. Source: adr/0270.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

import ray

from daemons.runtime.call_faults import describe_call_fault
from daemons.runtime.cell import Cell
from daemons.runtime.ray_session import KEPT, NAMESPACE, actor_class
from gridengine.protocols.racks import Place

_log = logging.getLogger(__name__)
RACK_ACTOR = "daemons.execd.rack_actor:RackActor", "ping", "deliver", "read_output", "shut_down"
"""The class and its methods. Named, not imported: the qmaster places the actor, its code is the execd's."""


def _name_of(place: Place) -> str:
    return f"rack-{place.rack}-{place.token[:8]}"


def ensure_rack_actor(place: Place, cell: Cell) -> None:
    """Make the actor of a rack's node if there is none; its node has joined. Raises the exceptions of Ray."""
    try:
        ray.get_actor(_name_of(place), namespace=NAMESPACE)
    except ValueError:
        actor_class(*RACK_ACTOR).options(
            **KEPT, name=_name_of(place), max_concurrency=1000, resources={f"host-{place.node}": 0.001}
        ).remote(place.rack, place.node, place.token, str(cell.root), cell.name)


def rack_actor(place: Place | None) -> Any:
    """The actor of a node. Raises LookupError: the host is not connected; ValueError: there is no such actor."""
    if place is None:
        raise LookupError("it is not connected to the node of its rack")
    return ray.get_actor(_name_of(place), namespace=NAMESPACE)


def end_rack_actors(seats: Iterable[Place]) -> None:
    """End the actors of hosts that are the node no more."""
    for place in seats:
        end_actor(_name_of(place))


def end_actor(name: str) -> None:
    """End an actor, if there is one of this name, for good: else Ray would restart it as soon as its host has a node again."""
    with suppress(ValueError):
        try:
            ray.kill(ray.get_actor(name, namespace=NAMESPACE), no_restart=True)
        except ray.exceptions.RayError as error:
            _log.warning("cannot end the actor %s: %s", name, describe_call_fault(error))


class HostInRack:
    """The execd of a host behind the node of its rack, with the methods of a host's own actor."""

    def __init__(self, actor: Any, host: str) -> None:
        self.deliver = _OfHost(actor.deliver, host)
        self.read_output = _OfHost(actor.read_output, host)
        self.shut_down = _OfHost(actor.shut_down, host)


class _OfHost:
    def __init__(self, method: Any, host: str) -> None:
        self._method, self._host = method, host

    def remote(self, *arguments: Any) -> Any:
        return self._method.remote(self._host, *arguments)
