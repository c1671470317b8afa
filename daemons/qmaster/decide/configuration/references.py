"""The checks of a proposal: references in both directions, and objects in use by jobs.

Owns every check that looks beyond one object: named objects must exist (CQ-33, HG-4), removed objects must not be named or used
any longer (US-8, HG-9, QF-11, CX-16), and rules over several objects (HG-3, US-4, SU-18, CX-2, CX-17). Called by the handlers
of configuration requests. A refusal is a line for the user; nothing is changed here.
"""

from __future__ import annotations

from collections.abc import Iterator

from daemons.qmaster.decide.configuration.complexes import complex_refusals
from daemons.qmaster.decide.configuration.proposal import Proposal, Reference
from daemons.qmaster.decide.configuration.unit_settings import unit_refusals
from daemons.qmaster.decide.reservations.guards import reservation_refusals
from daemons.qmaster.decision import World
from gridengine.config import KINDS
from gridengine.config.access import Userset, check_departments
from gridengine.config.cluster_queue import check_slot_trees
from gridengine.config.host_groups import find_cycle
from gridengine.config.queue_resolution import ResolvableQueue
from gridengine.errors import ConfigError
from gridengine.jsv.conversation import verifier_path
from gridengine.kinds import KIND, title
from gridengine.state.configured.configuration import HostConfiguration
from gridengine.state.state import State
from gridengine.syntax.lists import split_names

PROTECTED = {"manager": "root", "operator": "root"}
#: nodes of the share tree have names alone (user(5), project(5); O)
_ONE_NAMESPACE = {"user": "project", "project": "user"}


def refusals(proposal: Proposal, world: World) -> Iterator[str]:
    """The reasons against the proposal, one line each; none if it may be carried out."""
    for kind, name, _ in proposal.sets():
        yield from _missing_references(proposal, kind, name, world)
        if kind == "host_group":
            yield from _cycle(proposal, name)
        if kind == "host_units":
            yield from unit_refusals(proposal, name)
        if kind == "configuration":
            yield from _verifier(proposal, name, world)
        if (other := _ONE_NAMESPACE.get(kind)) and proposal.has(other, name) and not proposal.state.has(kind, name):
            yield f"denied: users and projects share their names, there is {title(other, name)}"
        if kind in _ONE_NAMESPACE and name == "default" and not proposal.state.has(kind, name):
            yield f'denied: {title(kind, name)} would be what the share tree calls "default": all users without a node'
    kinds = {kind for kind, _ in proposal.changed}
    try:
        if "userset" in kinds:
            usersets = proposal.kind("userset")
            check_departments(Userset.from_attributes(t) for t in usersets.values() if "DEPT" in t["type"])
        if kinds & {"cluster_queue", "host_group"}:
            _check_slot_trees(proposal)
    except ConfigError as error:
        yield str(error)
    if "complex" in kinds:
        yield from complex_refusals(proposal)
    yield from reservation_refusals(proposal, world)
    yield from _removal_refusals(proposal, world)


def _verifier(proposal: Proposal, name: str, world: World) -> Iterator[str]:
    """A new job submission verifier that cannot be run on the master's host would refuse every job. Source: O; JV-1."""
    old = HostConfiguration.of(proposal.state.kind("configuration").get(name, {})).jsv_url
    url = HostConfiguration.of(proposal.kind("configuration")[name]).jsv_url
    if url and url != old and not world.is_program(path := verifier_path(url)[1]):
        yield str(ConfigError("configuration", name, "jsv_url", f'JSV "{path}" is either not a file or not executable'))


def _missing_references(proposal: Proposal, kind: str, name: str, world: World) -> Iterator[str]:
    """Objects that an object names and that would not exist, hosts that do not resolve."""
    for other, referenced in proposal.model(kind, name).requirements():
        if other == "exec_host":
            if not proposal.has(other, referenced) and world.resolve_host(referenced) is None:
                yield str(ConfigError(kind, name, "", f'unable to resolve host "{referenced}"'))
        elif not proposal.has(other, referenced):
            yield str(ConfigError(kind, name, "", f"{title(other, referenced)} does not exist"))


def _cycle(proposal: Proposal, name: str) -> Iterator[str]:
    """HG-3."""
    members = {group: split_names(text["hostlist"]) for group, text in proposal.kind("host_group").items()}
    if path := find_cycle(members, name):
        yield f'denied: host group "{name}" would contain itself: {" in ".join(reversed(path))}'


def _check_slot_trees(proposal: Proposal) -> None:
    """SU-18, for each host that has a queue with slot-wise subordinates. Raises ConfigError."""
    queues = proposal.kind("cluster_queue")
    if not any("slots=" in text["subordinate_list"] for text in queues.values()):
        return
    groups = proposal.host_groups()
    hosts = {name: groups.flatten(split_names(text["hostlist"])) for name, text in queues.items()}
    resolvable = {name: ResolvableQueue(text) for name, text in queues.items()}
    alike = {
        tuple(
            (name, resolvable[name].resolve(host, groups.groups_of(host))[0]["subordinate_list"])
            for name, listed in hosts.items()
            if host in listed
        )
        for host in {host for listed in hosts.values() for host in listed}
    }
    for lists in alike:
        check_slot_trees(dict(lists))


def _removal_refusals(proposal: Proposal, world: World) -> Iterator[str]:
    gone = list(proposal.removals())
    users = users_of(proposal, gone)
    for kind, name in gone:
        if refusal := _protection_refusal(kind, name, world) or _used_by_jobs(proposal.state, kind, name):
            yield refusal
        elif user := users.get((kind, name)):
            yield f"denied: {title(kind, name)} is still referenced in {title(*user)}"


def _protection_refusal(kind: str, name: str, world: World) -> str:
    """Objects that must never be removed (QF-24, QF-25)."""
    listing = KIND[kind].listing
    if kind == "admin_host" and name == world.master_host:
        return f'denied: can\'t delete master host "{name}" from admin host list'
    if kind in PROTECTED and name in (PROTECTED[kind], world.admin_user):
        return f'may not remove user "{name}" from {listing}'
    if kind in ("configuration", "exec_host") and name == "global":
        return f'can\'t delete {KIND[kind].noun} "{name}" from list'
    if kind == "scheduler":
        return "denied: the scheduler configuration cannot be removed"
    return ""


def _used_by_jobs(state: State, kind: str, name: str) -> str:
    """Queues and hosts with running jobs, and objects that jobs request by name."""
    if kind == "cluster_queue":
        for instance in sorted(state.instances_of.get(name, ())):
            if state.tasks_in.get(instance):
                return f'denied: cluster queue "{name}" still has jobs in "{instance}"'
    elif kind == "exec_host" and state.tasks_on.get(name):
        return f'denied: there are still jobs on host "{name}"'
    if field := KIND[kind].job_field:
        for job in state.jobs.values():
            if getattr(job, field) == name or (field == "pe" and any(t.pe == name for t in job.tasks.values())):
                return f"denied: {title(kind, name)} is still referenced in job {job.id}"
    return ""


def users_of(proposal: Proposal, referenced: list[Reference]) -> dict[Reference, Reference]:
    """For each of these removed objects the first object that would still name it, if any."""
    unresolved = set(referenced)
    users: dict[Reference, Reference] = {}
    for kind in KINDS if unresolved else ():
        if KIND[kind].bare:
            continue
        for name, attributes in proposal.kind(kind).items():
            text = "\n".join(attributes.values())
            named = [key for key in unresolved if key[1] in text]
            if not named:
                continue
            references = set(proposal.model(kind, name).references())
            for key in named:
                if key in references:
                    users[key] = (kind, name)
                    unresolved.discard(key)
    return users
