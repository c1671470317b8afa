"""The share tree: tickets by long-term entitlement and past usage of users and projects.

Owns the leaf of a job and the distribution of tickets down the tree. `gridengine.state.share_usage` owns usage. Called by the
scheduler's ticket policies and by the query for sge_share_mon. Source: sge_share_tree(5); sge_sched_conf(5)
weight_tickets_share, usage_weight_list, compensation_factor; PR-6, PR-14.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from gridengine.state.jobs import Job
from gridengine.state.running_usage import share_usage
from gridengine.state.share_usage import ShareUsage
from gridengine.state.state import State
from gridengine.syntax.share_tree import DEFAULT_USER, PROJECT, USER, Node

Path = tuple[str, ...]
"""Names of the nodes from below the root to a leaf; `default` is replaced by the user whom it represents."""
UNLIMITED = 1e6
"""The greatest multiple of its share that a node may get with a compensation_factor of 0."""


class ActiveNode:
    """A node with jobs: its shares, its number of jobs, their usage, the active nodes below it.

    `long_target`, `short_target`: its fraction of the whole (0..1) by shares alone, and with compensation for past usage.
    """

    __slots__ = ("shares", "jobs", "used", "below", "long_target", "short_target")

    def __init__(self, shares: int) -> None:
        self.shares = shares
        self.jobs = 0
        self.used = 0.0
        self.below: dict[str, ActiveNode] = {}
        self.long_target = self.short_target = 0.0


class ShareTree:
    """The tree for one cycle: the leaf of each user and project, and the tickets of the leaves that have jobs."""

    def __init__(self, state: State, jobs: Iterable[Job], now: float) -> None:
        """now: epoch seconds, until when usage decays. The tickets of all leaves sum up to weight_tickets_share."""
        self._root: Node | None = state.share_trees.get("")
        self._users = state.kind("user")
        self._leaves: dict[tuple[str, str], list[tuple[str, int]]] = {}
        self._factor = state.scheduler.compensation_factor or UNLIMITED
        self.tickets: dict[Path, float] = {}
        self.top = ActiveNode(1)
        self._weights = state.scheduler.usage_weights
        for job in jobs:
            steps = self._steps(job.owner, job.project)
            active_node = self.top
            active_node.jobs += bool(steps)
            for name, shares in steps:
                active_node = active_node.below.setdefault(name, ActiveNode(shares))
                active_node.jobs += 1
        self._charge(share_usage(state, now))
        self._divide(self.top, (), 1.0, 1.0, state.scheduler.weight_tickets_share)

    def leaf(self, job: Job) -> Path:
        """The leaf of a job, () if it has none."""
        return self.leaf_of(job.owner, job.project)

    def leaf_of(self, owner: str, project: str) -> Path:
        """The leaf of a user in a project ("" for none), () if there is none."""
        return tuple(name for name, _ in self._steps(owner, project))

    def _steps(self, owner: str, project: str) -> list[tuple[str, int]]:
        """Name and shares of each node from below the root to the leaf of a user in a project, [] if there is none.

        A project in the tree takes precedence: by itself if it is a leaf, else by the user below it. Other jobs belong to a
        user's leaf outside of projects, its own before `default`. Only configured users have a leaf.
        """
        key = (owner, project)
        if key not in self._leaves:
            self._leaves[key] = self._find_steps(owner, project) if self._root is not None else []
        return self._leaves[key]

    def _find_steps(self, owner: str, project: str) -> list[tuple[str, int]]:
        assert self._root is not None
        start: list[Node] = [self._root]
        if project and (trunk := _find(self._root, lambda node: node.type == PROJECT and node.name == project, True)):
            start += trunk
            if not trunk[-1].children:
                return [(node.name, node.shares) for node in trunk]
        inside = len(start) > 1
        for name in (owner, DEFAULT_USER) if owner in self._users else ():
            found = _find(start[-1], lambda node: _is_user(node, name), inside)  # noqa: B023 - called at once
            if found:
                return [*((node.name, node.shares) for node in (*start[1:], *found[:-1])), (owner, found[-1].shares)]
        return []

    def _charge(self, usage: Mapping[tuple[str, str], ShareUsage]) -> None:
        """Add usage, weighted over its kinds, to all nodes on the path to an active leaf."""
        for (owner, project), used in usage.items():
            amount = weighted(used, self._weights)
            active_node: ActiveNode | None = self.top
            for name, _ in self._steps(owner, project):
                active_node = active_node.below.get(name) if active_node is not None else None
                if active_node is not None:
                    active_node.used += amount

    def _divide(self, active_node: ActiveNode, path: Path, long_target: float, short_target: float, tickets: float) -> None:
        """Distribute down the tree by shares; a node with little usage gets more, at most compensation_factor times its share."""
        active_node.long_target, active_node.short_target = long_target, short_target
        if not active_node.below:
            self.tickets[path] = short_target * tickets
            return
        shares = sum(node.shares for node in active_node.below.values())
        used = sum(node.used for node in active_node.below.values())
        parts: dict[str, tuple[float, float]] = {}
        for name, node in active_node.below.items():
            entitled = node.shares / shares if shares else 1 / len(active_node.below)
            ratio = entitled * used / node.used if node.used else self._factor
            parts[name] = entitled, entitled * (min(ratio, self._factor) if used else 1.0)
        total = sum(target for _, target in parts.values())
        for name, node in active_node.below.items():
            entitled, target = parts[name]
            self._divide(node, (*path, name), long_target * entitled, short_target * target / total, tickets)


def weighted(used: ShareUsage, weights: Mapping[str, float]) -> float:
    """All kinds of usage as one amount."""
    return sum((weight * float(getattr(used, kind)) for kind, weight in weights.items()), 0.0)


def _is_user(node: Node, name: str) -> bool:
    return node.type == USER and node.name == name and not node.children


def _find(node: Node, matches: Callable[[Node], bool], projects: bool) -> list[Node]:
    """The nodes from below `node` to the first that matches, depth first; `projects`: search below projects, too."""
    for child in node.children:
        if matches(child):
            return [child]
        if projects or child.type != PROJECT:
            found = _find(child, matches, projects)
            if found:
                return [child, *found]
    return []
