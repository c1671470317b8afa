"""Load alarms of queue instances: the load thresholds that are reached, for the alarm rules.

Owns the search over all queue instances; cheap enough for twice a minute with 10,000 hosts. Called by `watch`. Source: QI-1.
"""

from __future__ import annotations

from daemons.web.alarms.view import LoadAlarm
from gridengine.placement.config_snapshot import PlacementConfig
from gridengine.placement.ledger import Ledger
from gridengine.placement.obstacles import alarm
from gridengine.state.state import State


def load_alarms(state: State) -> list[LoadAlarm]:
    """The queue instances of reachable hosts in state a."""
    config_snapshot, ledger = PlacementConfig.of(state), Ledger(state)
    found = []
    for name, instance in state.instances.items():
        config, host = state.configs.get(name), state.hosts.get(instance.host)
        if config is None or not config.load_thresholds or host is None or not host.up:
            continue
        for reached in alarm(config_snapshot, ledger, name)[:1]:
            found.append(LoadAlarm(name, reached.name, reached.value.strip(), reached.threshold))
    return found
