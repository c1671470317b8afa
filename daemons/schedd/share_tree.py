"""The share tree: tickets by what users and projects are entitled to in the long run, and by what they have used.

Owns which leaf a job belongs to and how tickets go down the tree. Usage is `gridengine.state.share_usage`'s. Called by
`daemons.schedd.tickets`. Source: sge_share_tree(5); sge_sched_conf(5) weight_tickets_share, usage_weight_list,
compensation_factor; PR-6, PR-14.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from gridengine.state.jobs import Job
from gridengine.state.queues import settings
from gridengine.state.share_usage import ShareUsage, share_usage
from gridengine.state.state import State
from gridengine.syntax.share_tree import DEFAULT_USER, PROJECT, USER, Node

Path = tuple[str, ...]
"""Names of the nodes from below the root to a leaf; `default` by the user that it stands for."""
UNLIMITED = 1e6
"""The most that a node may get over its share with a compensation_factor of 0."""


class _Place:
    """A node in use: its shares, what its jobs have used, the nodes in use below it."""

    __slots__ = ("shares", "used", "below")

    def __init__(self, shares: int) -> None:
        self.shares = shares
        self.used = 0.0
        self.below: dict[str, _Place] = {}


class ShareTree:
    """The tree for one cycle: the leaf of each user and project, and the tickets of the leaves that have jobs."""

    def __init__(self, state: State, jobs: Iterable[Job], now: float) -> None:
        """now: epoch seconds, until when usage decays. The tickets of all leaves make up weight_tickets_share."""
        self._root: Node | None = state.typed("share_tree", "")
        self._users = state.kind("user")
        self._leaves: dict[tuple[str, str], list[tuple[str, int]]] = {}
        self._factor = float(state.scheduler.get("compensation_factor", "5")) or UNLIMITED
        self.tickets: dict[Path, float] = {}
        top = _Place(1)
        for job in jobs:
            place = top
            for name, shares in self._steps(job.owner, job.project):
                place = place.below.setdefault(name, _Place(shares))
        self._charge(top, share_usage(state, now), settings(state.scheduler.get("usage_weight_list", "NONE")))
        self._divide(top, (), float(state.scheduler.get("weight_tickets_share", "0")))

    def leaf(self, job: Job) -> Path:
        """The leaf of a job, () if it has none."""
        return tuple(name for name, _ in self._steps(job.owner, job.project))

    def _steps(self, owner: str, project: str) -> list[tuple[str, int]]:
        """Name and shares of each node from below the root to the leaf of a user in a project, [] if there is none.

        A project that is in the tree decides alone: by itself if it is a leaf, else by the user below it. Users of jobs
        outside of these have a leaf outside of projects, their own before `default`. Only users that are configured have one.
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
        for wanted in (owner, DEFAULT_USER) if owner in self._users else ():
            found = _find(start[-1], lambda node: _is_user(node, wanted), inside)  # noqa: B023 - called at once
            if found:
                return [*((node.name, node.shares) for node in (*start[1:], *found[:-1])), (owner, found[-1].shares)]
        return []

    def _charge(self, top: _Place, usage: Mapping[tuple[str, str], ShareUsage], weights: Mapping[str, str]) -> None:
        """Note usage, weighted over its kinds, at all nodes on the way to a leaf in use."""
        for (owner, project), used in usage.items():
            amount = sum(float(weight) * getattr(used, kind) for kind, weight in weights.items())
            place: _Place | None = top
            for name, _ in self._steps(owner, project):
                place = place.below.get(name) if place is not None else None
                if place is not None:
                    place.used += amount

    def _divide(self, place: _Place, path: Path, tickets: float) -> None:
        """Down the tree by shares; who has used less than his share gets more of it, at most compensation_factor times."""
        if not place.below:
            self.tickets[path] = tickets
            return
        shares = sum(node.shares for node in place.below.values())
        used = sum(node.used for node in place.below.values())
        targets = {}
        for name, node in place.below.items():
            entitled = node.shares / shares if shares else 1 / len(place.below)
            ratio = entitled * used / node.used if node.used else self._factor
            targets[name] = entitled * (min(ratio, self._factor) if used else 1.0)
        total = sum(targets.values()) or 1.0
        for name, node in place.below.items():
            self._divide(node, (*path, name), tickets * targets[name] / total)


def _is_user(node: Node, name: str) -> bool:
    return node.type == USER and node.name == name and not node.children


def _find(node: Node, wanted: Callable[[Node], bool], projects: bool) -> list[Node]:
    """The nodes from below `node` to the first that is wanted, depth first; `projects`: look below projects, too."""
    for child in node.children:
        if wanted(child):
            return [child]
        if projects or child.type != PROJECT:
            found = _find(child, wanted, projects)
            if found:
                return [child, *found]
    return []
