"""Tickets explained: the owners of the shares and tickets of a job, by policy.

Owns the texts. The amounts are the scheduler's. Pure. Called by `order`. Source: sge_priority(5); PR-4 … PR-6, PR-8, PR-9.
"""

from __future__ import annotations

from collections.abc import Iterator

from daemons.schedd.survey import RankedJob
from gridengine.placement.share_nodes import share_nodes
from gridengine.placement.share_tree import ShareTree
from gridengine.state.state import State


def ticket_texts(state: State, ranked: RankedJob, all_of: list[RankedJob], now: float) -> list[str]:
    """A text for each source of the tickets of a job; empty without tickets. now: epoch seconds."""
    if not any(any(each.tickets) for each in all_of):
        return []
    return [*_override(state, ranked), *_functional(state, ranked), *_share(state, ranked, now)]


def _owners(state: State, ranked: RankedJob) -> Iterator[tuple[str, str, int, int]]:
    """Scope, name, override tickets and functional shares of user, project and department."""
    job = ranked.job
    named = (("user", state.users, job.owner), ("project", state.projects, job.project))
    for scope, objects, name in (*named, ("department", state.usersets, job.department)):
        found = objects.get(name)
        if found is not None:
            yield scope, name, found.oticket, found.fshare


def _override(state: State, ranked: RankedJob) -> Iterator[str]:
    sources = [f"{scope} {name} {tickets}" for scope, name, tickets, _ in _owners(state, ranked) if tickets]
    if ranked.job.override_tickets:
        sources.append(f"its own (-ot) {ranked.job.override_tickets}")
    if sources:
        shared = ", divided among the jobs of each (share_override_tickets)" if state.scheduler.share_override_tickets else ""
        yield f"override: {ranked.tickets.override:g} of {', '.join(sources)}{shared}"


def _functional(state: State, ranked: RankedJob) -> Iterator[str]:
    scheduler = state.scheduler
    if not scheduler.weight_tickets_functional:
        return
    weights = {
        "user": scheduler.weight_user,
        "project": scheduler.weight_project,
        "department": scheduler.weight_department,
    }
    owners = _owners(state, ranked)
    sources = [f"{scope} {name} {share} (weight_{scope} {weights[scope]:g})" for scope, name, _, share in owners]
    sources.append(f"its own (-js) {ranked.job.job_share} (weight_job {scheduler.weight_job:g})")
    total = scheduler.weight_tickets_functional
    yield f"functional: {ranked.tickets.functional:g} of {total} (weight_tickets_functional) by shares: {', '.join(sources)}"


def _share(state: State, ranked: RankedJob, now: float) -> Iterator[str]:
    """The nodes of the share tree from the root to the leaf of the job."""
    total = state.scheduler.weight_tickets_share
    nodes = share_nodes(state, now) if total else None
    if nodes is None:
        return
    path = ShareTree(state, (), now).leaf(ranked.job)
    if not path:
        yield "share tree: 0, since neither its project nor its owner has a leaf in the tree"
        return
    yield f"share tree: {ranked.tickets.share:g} of {total} (weight_tickets_share) at leaf /{'/'.join(path)}"
    for node, figures in nodes:
        if any(each and each == path[: len(each)] for each in node.paths):
            yield (
                f"  {node.name}: {node.shares} shares, {figures.long_target:.1%} of the tree; used {figures.actual:.1%}, "
                f"so {figures.short_target:.1%} now"
            )
