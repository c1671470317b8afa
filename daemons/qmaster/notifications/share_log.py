"""The log of the share tree in the reporting file: periodic records of the entitlement and usage of each node.

Owns the time of these records; the figures are the same as in sge_share_mon. Called by the master's tick. The first records
come one interval after the start of the qmaster, or after the interval was configured. Source: sge_reporting(5) sharelog,
sge_conf(5) sharelog; O for the order of the fields and the empty one at the end; RP-1, RP-2.
"""

from __future__ import annotations

from daemons.qmaster.decision import Record, World
from gridengine.placement.share_nodes import AMOUNTS, Figures, ShareNode, share_nodes
from gridengine.state.state import State


class ShareLog:
    """Keeps the time of the last records."""

    def __init__(self) -> None:
        self._last: float | None = None

    def due(self, state: State, world: World) -> list[Record]:
        """The records of all nodes, if their time has come."""
        reporting_params = state.configuration().reporting_params
        if not (reporting_params.reporting and reporting_params.sharelog_s):
            self._last = None
            return []
        if self._last is None:
            self._last = world.steady
        if world.steady - self._last < reporting_params.sharelog_s:
            return []
        self._last = world.steady
        return [_record(node, figures, int(world.now)) for node, figures in share_nodes(state, world.now) or ()]


def _record(node: ShareNode, figures: Figures, time: int) -> Record:
    named = [time, int(figures.used.time), node.name, node.user, node.project, node.shares, figures.jobs]
    parts = [node.level, node.total, figures.long_target, figures.short_target, figures.actual, figures.usage]
    amounts = [getattr(figures.used, name) for name in AMOUNTS]
    return "sharelog", [*named, *(f"{value:f}" for value in (*parts, *amounts)), ""]
