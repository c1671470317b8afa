"""The share tree as sge_share_mon shows it.

Owns the rows; the figures are `gridengine.placement.share_nodes`'. Pure. Called through `daemons.qmaster.queries`.
Source: sge_share_mon(1); PR-11.
"""

from __future__ import annotations

from typing import Any

from daemons.qmaster.queries.selection import Body, Listing
from gridengine.placement.share_nodes import AMOUNTS, Figures, ShareNode, share_nodes
from gridengine.protocols.gdi.requests import Caller


def share_tree(listing: Listing, body: Body, caller: Caller, now: float) -> list[dict[str, Any]] | None:
    """Body: empty.

    Data: null without a tree, else a row for each node, depth first: [{"node_name": path, "user_name", "project_name", "shares",
    "leaf", "usage_time": epoch s, 0 without usage, "job_count", "level%", "total%", "long_target_share",
    "short_target_share", "actual_share" (these five 0..1), "usage" (weighted), "cpu", "mem", "io" (decayed until now),
    "ltcpu", "ltmem", "ltio" (in all)}]. cpu in s, mem in GB s, io in GB.
    """
    nodes = share_nodes(listing.state, now)
    return None if nodes is None else [_row(*each) for each in nodes]


def _row(node: ShareNode, figures: Figures) -> dict[str, Any]:
    return {
        "node_name": node.name,
        "user_name": node.user,
        "project_name": node.project,
        "shares": node.shares,
        "leaf": node.is_leaf,
        "usage_time": int(figures.used.time),
        "job_count": figures.jobs,
        "level%": node.level,
        "total%": node.total,
        "long_target_share": figures.long_target,
        "short_target_share": figures.short_target,
        "actual_share": figures.actual,
        "usage": figures.usage,
        **{name: getattr(figures.used, name) for name in AMOUNTS},
    }
