"""Subordination: the queue instances and tasks that are suspended because jobs in other queues of the host run.

Owns the rules of subordinate_list: queue-wise, where an instance is suspended as a whole, and slot-wise, where the queues of a
host form trees in which single tasks are suspended. Called by the master after every transaction with the affected hosts; its
events follow in the same commit. Pure. Source: queue_conf(5) subordinate_list; SU-1 … SU-16, QI-8, QI-9.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from daemons.qmaster.decision import Decision, World
from gridengine.kinds import kinds_affecting
from gridengine.state.affected import Affected
from gridengine.state.desired_command import suspending_instances
from gridengine.state.events import AnyEvent
from gridengine.state.jobs import Task
from gridengine.state.machines.instance import InstanceFlagsChanged
from gridengine.state.machines.task import TaskSuspensionChanged
from gridengine.state.state import State
from gridengine.syntax.subordinate import Subordinate
from gridengine.values.instance_name import host_of, queue_of

_CONFIGURATION = kinds_affecting("suspension")
TaskId = tuple[int, int]


def follow_with_suspensions(state: State, affected: Affected, world: World) -> Iterator[Decision]:
    """The rule, for the list of automatic rules."""
    if hosts := concerned_hosts(state, affected):
        yield Decision(events=subordination_changes(state, hosts))


def concerned_hosts(state: State, affected: Affected) -> set[str]:
    """Hosts on which an applied transaction may change suspensions (SU-13, SU-15). After a change of the configuration: all
    hosts that have subordinates, or had."""
    if not affected.members and affected.kinds.isdisjoint(_CONFIGURATION):
        # an instance that went with its last task may have been the last superior of its host
        gone = {host_of(name) for name in affected.instances if name not in state.instances}
        return affected.hosts & state.superiors.keys() | gone
    hosts = set(state.superiors)
    hosts.update(instance.host for instance in state.instances.values() if instance.subordinated or instance.preempted)
    hosts.update(task.host for job in state.jobs.values() for task in job.tasks.values() if "subordinated" in task.conditions)
    return hosts


def subordination_changes(state: State, hosts: Iterable[str]) -> list[AnyEvent]:
    """Suspensions and releases on these hosts.

    If the flags of whole instances change, the tasks in trees follow after that change is applied, since they depend on it.
    """
    events: list[AnyEvent] = []
    trees = _Trees(state)
    for host in sorted(hosts):
        changes = _queue_wise(state, host)
        events += changes or trees.decide_host(host)
    return events + trees.events()


def _queue_wise(state: State, host: str) -> list[AnyEvent]:
    """Instances that become S or cease to be S: enough slots of a superordinate instance are used, or all (SU-1, SU-2)."""
    to_suspend: set[str] = set()
    for superior in state.superiors.get(host, ()):
        config = state.configs[superior]
        if config.subordinates.slots:
            continue
        used = _slots_used(state, superior)
        for entry in config.subordinates.queues:
            if used and used >= (entry.threshold or config.slots):
                to_suspend.add(f"{entry.queue}@{host}")
    here = [name for queue in state.instances_of if (name := f"{queue}@{host}") in state.instances]
    changed: dict[bool, list[str]] = {True: [], False: []}
    for name in sorted(here):
        if state.instances[name].subordinated != (name in to_suspend):
            changed[name in to_suspend].append(name)
    return [InstanceFlagsChanged(names, {"subordinated": on}) for on, names in changed.items() if names]


def _slots_used(state: State, instance: str) -> int:
    """Slots of an instance that tasks hold, in reservations or not."""
    return sum(
        grant.slots
        for job_id, task_id in state.tasks_in.get(instance, ())
        for grant in state.jobs[job_id].tasks[task_id].granted
        if grant.instance == instance
    )


# --- slot-wise ---------------------------------------------------------------------------------------------


class _Run(NamedTuple):
    """The slots that a running task holds in a queue. A parallel task is decided on the host of its master task."""

    start: float
    task: TaskId
    slots: int
    here: bool


class _Node:
    """A queue of a tree on one host. `threshold`: of its own subordinate_list, 0 if it has none."""

    def __init__(self, queue: str, host: str) -> None:
        self.queue, self.host = queue, host
        self.threshold = 0
        self.subordinate = Subordinate(queue)
        self.parent: _Node | None = None
        self.children: list[_Node] = []
        self.running: list[_Run] = []

    @property
    def rank(self) -> tuple[int, int]:
        """The highest rank is suspended first: the deepest queue, then the highest seq_no (SU-8, SU-11)."""
        return (self.parent.rank[0] + 1 if self.parent else 0, self.subordinate.seq_no)

    def subtree(self) -> Iterator[_Node]:
        yield self
        for child in self.children:
            yield from child.subtree()

    def bottom_up(self) -> Iterator[_Node]:
        for child in self.children:
            yield from child.bottom_up()
        yield self

    def path(self) -> Iterator[_Node]:
        """The node and all nodes above it."""
        node: _Node | None = self
        while node is not None:
            yield node
            node = node.parent

    def thresholds(self) -> Iterator[_Node]:
        """The nodes of the path that limit the slots used in their subtree."""
        return (node for node in self.path() if node.threshold)

    def slots(self) -> int:
        """Slots of all runs in the subtree."""
        return sum(run.slots for node in self.subtree() for run in node.running)

    def victim(self) -> _Run | None:
        """The run to suspend: in the queues below, a run of the highest rank, by the action of its queue (SU-9)."""
        last = [run for node in self._last_below() for run in node.running if run.here and node.subordinate.action == "sr"]
        if last:
            return max(last)
        return min((run for node in self._last_below() for run in node.running if run.here), default=None)

    def _last_below(self) -> list[_Node]:
        below = [node for node in self.subtree() if node is not self and any(run.here for run in node.running)]
        highest = max((node.rank for node in below), default=None)
        return [node for node in below if node.rank == highest]

    def preempted(self) -> bool:
        """Whether queues of a better rank leave none of its tasks a slot (SU-16).

        Deviation: 8.1.9 starts jobs there all the same and suspends them at once.
        """
        for limit in self.thresholds():
            above = [node for node in limit.subtree() if node is limit or node.rank < self.rank]
            if self not in above and sum(run.slots for node in above for run in node.running) >= limit.threshold:
                return True
        return False


class _Trees:
    """The trees of all examined hosts, and the decisions on tasks: True suspend, False release."""

    def __init__(self, state: State) -> None:
        self.state = state
        self.decided: dict[TaskId, bool] = {}
        self._hosts: dict[str, dict[str, _Node]] = {}

    def decide_host(self, host: str) -> list[AnyEvent]:
        """Decide on the tasks of a host. Returns the events of its instances that become P or cease to be P."""
        nodes = self._nodes(host)
        for root in [node for node in nodes.values() if node.parent is None]:
            for node in root.bottom_up():
                while node.threshold and node.slots() > node.threshold and (run := node.victim()) is not None:
                    self._suspend(run.task)
        for task_id in self._suspended(host):
            self._release_if_it_fits(task_id)
        changed: dict[bool, list[str]] = {True: [], False: []}
        for queue in sorted(self.state.instances_of):
            instance = self.state.instances.get(f"{queue}@{host}")
            if instance is not None:
                preempted = queue in nodes and nodes[queue].preempted()
                if instance.preempted != preempted:
                    changed[preempted].append(instance.name)
        return [InstanceFlagsChanged(names, {"preempted": on}) for on, names in changed.items() if names]

    def events(self) -> list[AnyEvent]:
        """The events of the tasks whose decided state differs from their present state."""
        collected: list[AnyEvent] = []
        for (job_id, task_id), suspended in sorted(self.decided.items()):
            if ("subordinated" in self._task((job_id, task_id)).conditions) != suspended:
                collected.append(TaskSuspensionChanged(job_id, task_id, "subordinate", suspended))
        return collected

    def _nodes(self, host: str) -> dict[str, _Node]:
        """The trees of a host, by queue."""
        nodes = self._hosts.get(host)
        if nodes is None:
            nodes = self._hosts[host] = _forest(self.state, host)
            for queue, node in nodes.items():
                for task_id in self.state.tasks_in.get(f"{queue}@{host}", ()):
                    if not self._stopped(task_id):
                        self._add_run(node, task_id)
        return nodes

    def _add_run(self, node: _Node, task_id: TaskId) -> None:
        task = self._task(task_id)
        here = task.host == node.host and not task.is_being_ended
        slots = sum(grant.slots for grant in task.granted if grant.instance == f"{node.queue}@{node.host}")
        node.running.append(_Run(task.start_time, task_id, slots, here))

    def _task(self, task_id: TaskId) -> Task:
        return self.state.jobs[task_id[0]].tasks[task_id[1]]

    def _stopped(self, task_id: TaskId) -> bool:
        return self.decided.get(task_id, "subordinated" in self._task(task_id).conditions) or self._stopped_otherwise(task_id)

    def _stopped_otherwise(self, task_id: TaskId) -> bool:
        task = self._task(task_id)
        return bool(task.suspensions - {"subordinated"} or suspending_instances(self.state, task))

    def _suspend(self, task_id: TaskId) -> None:
        self.decided[task_id] = True
        for nodes in self._hosts.values():
            for node in nodes.values():
                node.running = [run for run in node.running if run.task != task_id]

    def _suspended(self, host: str) -> list[TaskId]:
        """The suspended tasks of a host in the order of their release: the reverse of the order of suspension (SU-14)."""
        nodes = self._nodes(host)
        collected: list[tuple[tuple[int, int], float, TaskId]] = []
        for task_id in self.state.tasks_on.get(host, ()):
            task = self._task(task_id)
            if self.decided.get(task_id, "subordinated" in task.conditions):
                node = next((nodes[grant.queue] for grant in task.granted if grant.host == host and grant.queue in nodes), None)
                rank = node.rank if node is not None else (0, 0)
                late_first = node is not None and node.subordinate.action == "lr"
                collected.append((rank, -task.start_time if late_first else task.start_time, task_id))
        return [task_id for *_, task_id in sorted(collected)]

    def _release_if_it_fits(self, task_id: TaskId) -> None:
        """Release a task if its slots fit. A task that is also stopped for another reason stays suspended, and leaves its slots
        to other tasks (SU-15)."""
        nodes = [self._nodes(grant.host).get(grant.queue) for grant in self._task(task_id).granted]
        limits = {id(limit): limit for node in nodes if node is not None for limit in node.thresholds()}
        if limits and self._stopped_otherwise(task_id):
            return
        for limit in limits.values():
            below = {f"{node.queue}@{node.host}" for node in limit.subtree()}
            own = sum(grant.slots for grant in self._task(task_id).granted if grant.instance in below)
            if limit.slots() + own > limit.threshold:
                return
        self.decided[task_id] = False
        for grant in self._task(task_id).granted:
            node = self._hosts[grant.host].get(grant.queue)
            if node is not None and not any(run.task == task_id for run in node.running):
                self._add_run(node, task_id)


def _forest(state: State, host: str) -> dict[str, _Node]:
    """The trees that the slot-wise lists of a host form, of queues that have an instance there (SU-2)."""
    nodes: dict[str, _Node] = {}
    for superior in sorted(state.superiors.get(host, ())):
        subordinates = state.configs[superior].subordinates
        present = [entry for entry in subordinates.queues if f"{entry.queue}@{host}" in state.instances]
        if not subordinates.slots or not present:
            continue
        queue = queue_of(superior)
        node = nodes.setdefault(queue, _Node(queue, host))
        node.threshold = subordinates.slots
        for entry in present:
            child = nodes.setdefault(entry.queue, _Node(entry.queue, host))
            # lists that result from host groups by rule are not checked when the groups change (SU-18)
            if child.parent is None and child not in node.path():
                child.subordinate, child.parent = entry, node
                node.children.append(child)
    return nodes
