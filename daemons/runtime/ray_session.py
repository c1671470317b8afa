"""Joining the cell's Ray cluster as a driver: for the start-up of the qmaster (it creates the actors) and for tests.

Ray reads its settings when it is imported. So `connect` imports it, and nothing may have done so before, unless the
process was started with `ray_node.ray_environment`. Joining takes about 0.3 s, the import included.

A short-lived process makes an actor that outlives it, pinned to a node, and any process finds the actor again as follows
(`resources`: `qmaster` on the head, `host-NAME` on the worker node of an exec host):

    connect(cell, info.head)
    import ray
    from daemons.qmaster.serve.actor import QmasterActor        # a plain class with async methods
    actor = ray.remote(QmasterActor).options(
        **KEPT, name="qmaster", resources={"qmaster": 0.001}, max_concurrency=1000
    ).remote(*arguments)
    ray.get_actor("qmaster", namespace=NAMESPACE)
"""

from __future__ import annotations

import importlib
import logging
import os
from typing import Any

from daemons.runtime.cell import Cell
from daemons.runtime.lazy_modules import load_lazily
from daemons.runtime.ray_node import head_spec, ray_environment

NAMESPACE = "gridengine"
KEPT: dict[str, Any] = {
    "namespace": NAMESPACE, "lifetime": "detached", "get_if_exists": True, "num_cpus": 0, "max_restarts": -1,
    "max_task_retries": 0,
}
"""Options of every actor of a cell: Ray always restarts its process, and repeats no call to it. After a lost call the
caller checks whether the call was carried out, and repeats only the actions that the state still requires."""


def connect(cell: Cell, head: str) -> None:
    """Join the cluster whose head is at "ADDRESS:PORT", on the master host.

    Raises ConnectionError when the head does not answer, or refuses the token.
    """
    environment = ray_environment(cell, head_spec(cell, cell.master_host()))
    os.environ.update({name: value for name, value in environment.items() if name.startswith("RAY_")})
    load_lazily()
    import ray
    from ray._private import services

    # a cell on one machine lives on the loopback address, which ray.init would replace by the machine's own
    services.resolve_ip_for_localhost = lambda host: host
    ray.init(
        address=head, namespace=NAMESPACE, log_to_driver=False, logging_level=logging.ERROR, configure_logging=False
    )


def actor_class(name: str, *methods: str) -> Any:
    """Ray's actor class of a plain class named "MODULE:CLASS" with these async methods; the cluster must have been joined.

    The class is loaded where the actor runs, not here: the creator of an actor does not load its code.
    """
    import ray

    module, _, attribute = name.partition(":")

    def make(self: Any, *arguments: Any) -> None:
        self.actor = getattr(importlib.import_module(module), attribute)(*arguments)

    def call(method: str) -> Any:
        async def method_of_actor(self: Any, *arguments: Any) -> Any:
            return await getattr(self.actor, method)(*arguments)

        return method_of_actor

    # no importable module: so Ray sends the whole class to the process of the actor
    members = {"__init__": make, "__module__": "actors", **{method: call(method) for method in methods}}
    return ray.remote(type(attribute, (), members))
