"""Selection of queue instances and jobs by the options of a listing command.

Owns the common part of qstat, qhost and qselect: -q, -l, -pe, -U, -qs for instances, -u and the instances for jobs.
Pure. Called by the other views. Statements ST-3, ST-13, ST-21, ST-23, QS-2, QS-3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, tzinfo
from functools import cached_property
from typing import Any

from daemons.qmaster.selection import on_unique_hosts
from gridengine.errors import InvalidValueError
from gridengine.placement.access import user_sets_of, users_allowed
from gridengine.placement.config_snapshot import PlacementConfig
from gridengine.placement.demand import Demand
from gridengine.placement.ledger import Ledger
from gridengine.placement.match import static_refusal, suits
from gridengine.placement.obstacles import alarm, suspend_alarm
from gridengine.placement.placement_request import CategoryKey, Request, category_key
from gridengine.placement.resources import host_available
from gridengine.placement.values import request_text
from gridengine.protocols.gdi.requests import Caller
from gridengine.state.bookings import holders_at
from gridengine.state.configured.objects import ExecHost
from gridengine.state.jobs import Job
from gridengine.state.queues import InstanceConfig, QueueInstance
from gridengine.state.state import State
from gridengine.state.state_codes import instance_state_codes
from gridengine.syntax.queue_expression import QueueExpressions
from gridengine.syntax.request_list import parse_requests
from gridengine.syntax.wildcard import Matcher, compile_expression

Body = dict[str, Any]
"""Selection of instances, all optional: `queues` expressions, `requests` (-l), `pe`, `access` users, `states` codes."""
_EXPRESSION = frozenset("*?[|&!")
"""Characters that make a name an expression."""
_NUMBERS = frozenset(("INT", "DOUBLE", "TIME", "MEMORY", "RSMAP"))


class Listing:
    """Shared data of the views of one request: the state, typed configuration, load, and the state codes of instances.

    `zone`: time zone of texts. `resolve`: alias or address of a host -> its unique name, None for an unknown host.
    """

    def __init__(self, state: State, zone: tzinfo = UTC, resolve: Callable[[str], str | None] = lambda name: None) -> None:
        self.state, self.zone, self._resolve = state, zone, resolve
        self.config_snapshot = PlacementConfig.of(state)
        self.ledger = Ledger(state)
        self._state_codes: dict[str, str] = {}
        self._requests: dict[CategoryKey, Request] = {}
        #: rows of -r by slots and hard requests; thousands of jobs share a key
        self.hard_requests: dict[tuple[object, ...], list[list[object]]] = {}

    def request(self, job: Job) -> Request:
        """The request of a job, the same object for all jobs of its category."""
        key = category_key(self.state, user_sets_of(self.state, job.owner, job.group), job)
        if key not in self._requests:
            self._requests[key] = Request.of(self.config_snapshot, job)
        return self._requests[key]

    def request_text(self, name: str, text: str) -> str:
        """A request of -l as listings show it."""
        entry = self.config_snapshot.entries.get(name)
        try:
            return request_text(entry.type, text) if entry is not None else text
        except InvalidValueError:
            return text  # the attribute was of another type when it was requested

    def host(self, name: str) -> str:
        """The unique name of the exec host with this name or alias; an unknown name is returned unchanged."""
        return on_unique_hosts(self.state, f"@{name}", self._resolve)[1:]

    def architecture(self, host: str) -> str | None:
        """The architecture of a host: its configured value, else the reported value (CX-30)."""
        configured = self.config_snapshot.host(host).fixed.get("arch")
        return str(configured) if configured is not None else self.state.hosts[host].load.get("arch")

    @cached_property
    def all_tickets(self) -> tuple[float, float]:
        """The sums of the tickets of all waiting jobs and of all running jobs; 1 in place of 0. Source: O."""
        waiting = running = 0.0
        for number, tickets in self.state.tickets.items():
            if self.state.jobs[number].runs:
                running += sum(tickets)
            else:
                waiting += sum(tickets)
        return waiting or 1.0, running or 1.0

    def state_codes(self, instance: QueueInstance) -> str:
        """State codes of an instance, thresholds included."""
        name = instance.name
        known = self._state_codes.get(name)
        if known is None:
            config = self.state.configs.get(name)
            host = self.state.hosts.get(instance.host)
            over = stop = False
            if config is not None and host is not None and host.up:
                over = bool(config.load_thresholds and alarm(self.config_snapshot, self.ledger, name))
                stop = bool(config.suspend_thresholds and suspend_alarm(self.config_snapshot, self.ledger, name))
            known = self._state_codes[name] = instance_state_codes(self.state, instance, over, stop)
        return known

    def instances(self, body: Body) -> list[QueueInstance]:
        """The instances that all criteria select, by seq_no, queue and host (ST-34). Raises InvalidValueError."""
        found: Iterable[QueueInstance] = self.state.instances.values()
        if body.get("queues"):
            expressions = QueueExpressions.parse(on_unique_hosts(self.state, ",".join(body["queues"]), self._resolve))
            groups = self.state.groups.groups_of
            found = [i for i in found if expressions.matches(i.queue, i.host, groups(i.host))]
        if body.get("pe"):
            matchers = self._compile_pe_patterns(body["pe"])
            found = [i for i in found if any(match(pe) for match in matchers for pe in self._pes(i))]
        if body.get("access"):
            sets = [sets_of_user(self.state, user) for user in body["access"]]
            found = [i for i in found if all(self._admits(i, each) for each in sets)]
        if body.get("requests"):
            demands = self.demands(body["requests"])
            empty = Ledger(self.state, empty=True)
            found = [i for i in found if all(self._offers(empty, i, demand) for demand in demands)]
        if body.get("states"):
            found = [i for i in found if not set(body["states"]).isdisjoint(self.state_codes(i))]
        return sorted(found, key=lambda i: (self._seq_no(i), i.queue, i.host))

    def _compile_pe_patterns(self, patterns: list[str]) -> list[Matcher]:
        """The patterns of -pe, compiled; raises InvalidValueError for a pattern without a parallel environment."""
        matchers = [compile_expression(pattern) for pattern in patterns]
        for pattern, match in zip(patterns, matchers, strict=True):
            if not any(match(name) for name in self.state.kind("parallel_environment")):
                raise InvalidValueError(f'no parallel environment "{pattern}" (-pe)')
        return matchers

    def _pes(self, instance: QueueInstance) -> frozenset[str]:
        config = self.state.configs.get(instance.name)
        return config.pe_list if config is not None else frozenset()

    def _admits(self, instance: QueueInstance, sets: frozenset[str]) -> bool:
        """Whether a member of the access lists `sets` may use an instance, by its queue, its host, all hosts and the cluster.

        Source: O.
        """
        queue, *above = holders_at(instance.name)
        config = self.state.configs.get(instance.name)
        whole = self.state.configuration()
        capacities = [config, *(self.config_snapshot.capacities[holder].access for holder in above)]
        return (
            config is not None
            and users_allowed(sets, whole.user_lists, whole.xuser_lists)
            and all(self._admits_at_level(sets, level) for level in capacities if level is not None)
        )

    def _admits_at_level(self, sets: frozenset[str], access: InstanceConfig | ExecHost) -> bool:
        """Whether one level admits a member of `sets`: by its access lists, and by a project that the member may use."""
        if not users_allowed(sets, access.user_lists, access.xuser_lists):
            return False
        if any(self._has_project_access(sets, project) for project in access.xprojects):
            return False
        return not access.projects or any(self._has_project_access(sets, project) for project in access.projects)

    def _has_project_access(self, sets: frozenset[str], project: str) -> bool:
        known = self.state.projects.get(project)
        return users_allowed(sets, known.acl, known.xacl) if known is not None else users_allowed(sets, (), ())

    def _seq_no(self, instance: QueueInstance) -> int:
        config = self.state.configs.get(instance.name)
        return config.seq_no if config is not None else 0

    def demands(self, requests: list[str]) -> list[Demand]:
        """The requests of -l. A name without a value requests TRUE, or 1 of a numeric resource. Raises InvalidValueError for an
        unknown resource, and for a negative amount of a consumable. Source: QS-2, QS-5; O.
        """
        demands = []
        for name, text in parse_requests(",".join(requests)):
            entry = self.config_snapshot.entry(name)
            if entry is None:
                raise InvalidValueError(f'unknown resource "{name}"')
            text = self._requested_host(text) if entry.name == "hostname" else text
            demand = Demand(entry, "1" if text == "TRUE" and entry.type in _NUMBERS else text)
            if entry.is_consumable and demand.amount < 0:
                raise InvalidValueError(f'"{name}" is consumable, {text} is not an amount of it')
            demands.append(demand)
        return demands

    def _requested_host(self, text: str) -> str:
        """The unique name of a host, or an expression of names. Raises InvalidValueError for a host that nobody knows (O)."""
        name = self.host(text)
        if name not in self.state.exec_hosts and self._resolve(text) is None and _EXPRESSION.isdisjoint(text):
            raise InvalidValueError(f'unknown host "{text}"')
        return name

    def _offers(self, empty: Ledger, instance: QueueInstance, demand: Demand) -> bool:
        """Whether each level with the attribute satisfies the demand, as for a job that requests it."""
        return instance.name in self.state.configs and suits(self.config_snapshot, empty, demand, instance)

    def hosts_offering(self, hosts: Iterable[str], requests: list[str]) -> list[str]:
        """The hosts that satisfy all requests now, by name, load and free amounts (QH-4, O)."""
        demands = self.demands(requests)
        return [host for host in hosts if all(self._host_offers(host, demand) for demand in demands)]

    def _host_offers(self, host: str, demand: Demand) -> bool:
        if demand.name == "hostname":
            return demand.accepts(host)
        offer = host_available(self.config_snapshot, self.ledger, host, demand.name)
        return offer is not None and demand.accepts(offer.value)

    def could_run(self, jobs: Iterable[Job], instances: list[QueueInstance]) -> set[int]:
        """Ids of the jobs that might run in the instances as configured, regardless of present load and usage (ST-21)."""
        empty = Ledger(self.state, empty=True)
        outcome: dict[CategoryKey, bool] = {}
        found = set()
        for job in jobs:
            if job.error:
                continue
            key = category_key(self.state, user_sets_of(self.state, job.owner, job.group), job)
            if key not in outcome:
                outcome[key] = self._fits(empty, self.request(job), instances)
            if outcome[key]:
                found.add(job.id)
        return found

    def _fits(self, empty: Ledger, request: Request, instances: list[QueueInstance]) -> bool:
        """Whether an instance could hold a part of the request if it were free. The number of slots does not count (O)."""
        return any(static_refusal(self.config_snapshot, empty, request, i.name) is None for i in instances)


def sets_of_user(state: State, user: str) -> frozenset[str]:
    """Access lists of a user by name alone, or of each user whom a pattern matches; entries by group do not count."""
    if _EXPRESSION.isdisjoint(user):
        return user_sets_of(state, user, "")
    matches = compile_expression(user)
    return frozenset(name for name in state.usersets if any(map(matches, state.usersets[name].entries)))


def user_filter(state: State, body: Body, caller: Caller):  # type: ignore[no-untyped-def]
    """A function `owner, group -> bool` for -u: names, patterns, `$user`, `@group` (an access list or a unix group)."""
    users = [caller.user if user == "$user" else user for user in body.get("users") or (caller.user,)]
    if "*" in users:
        return lambda owner, group: True
    plain = frozenset(user for user in users if _EXPRESSION.isdisjoint(user) and "@" not in user)
    groups = [user[1:] for user in users if user.startswith("@")]
    patterns = [compile_expression(user) for user in users if user not in plain and not user.startswith("@")]
    entries = {name for g in groups if g in state.usersets for name in state.usersets[g].entries}

    def selects(owner: str, group: str) -> bool:
        if owner in plain or owner in entries or (groups and (group in groups or f"@{group}" in entries)):
            return True
        return any(match(owner) for match in patterns)

    return selects
