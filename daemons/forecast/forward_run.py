"""Forward run: the scheduler's cycles on a virtual clock, which jumps from one end of a task to the next.

Owns the clock, the events of time (ends, calendars, advance reservations) and the bounds. `schedule`, `admit` and `apply` do the
rest, as in the cell. Load averages of a host count as 0 once a task has ended there, job_load_adjustments have no effect, and
other load values keep their present value. No jobs are submitted, deleted or altered. Called by `start`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime, tzinfo
from heapq import heappop, heappush

from daemons.qmaster.admit import admit
from daemons.qmaster.rules.calendars import calendar_changes
from daemons.qmaster.rules.reservation_states import reservation_changes
from daemons.qmaster.rules.subordination import concerned_hosts, subordination_changes
from daemons.schedd.cycle import schedule
from daemons.schedd.view import View
from gridengine.state.affected import Affected
from gridengine.state.apply import apply
from gridengine.state.events import AnyEvent
from gridengine.state.jobs import Job, Task
from gridengine.state.machines.configuration import ObjectSet
from gridengine.state.machines.host import HostHeard
from gridengine.state.machines.task import TaskDispatched, TaskEnded, TaskStarted
from gridengine.state.state import State
from gridengine.syntax.calendar import next_change
from gridengine.values.units import INFINITY

RunTime = Callable[[Job, Task], float]
"""The assumed run time of a task in seconds, from its start; INFINITY for no end."""

MOST_STEPS = 20_000
FARTHEST_S = 366 * 86_400.0
_RESERVATION_STEP_S = 1.0


class ForwardRun:
    """A run from `now` (epoch s) on a state, which it changes. `starts`: job -> the first start of one of its tasks that waited.

    `endless`: number of tasks that do not end. `reached`: the time of the last cycle. `is_complete`: nothing more can happen, or
    all jobs of interest have started; else a bound ended the run.
    """

    def __init__(self, state: State, now: float, zone: tzinfo, run_time: RunTime) -> None:
        self.state, self.reached, self._zone, self._run_time = state, now, zone, run_time
        self._begin = now
        self.starts: dict[int, float] = {}
        self.is_complete = False
        self.steps = self.endless = 0
        self._ends: list[tuple[float, int, int, int]] = []
        self._idle_hosts: set[str] = set()
        self._calendar_change = now
        self._view: View | None = None
        settings = state.objects["scheduler"][""]
        self._apply(ObjectSet("scheduler", "", {**settings, "job_load_adjustments": "NONE"}))
        self._view = View(state)
        for job in state.jobs.values():
            for task in job.tasks.values():
                if task.granted:
                    self._plan_end(job, task)

    def run(self, interest: Iterable[int] | None = None, may_go_on: Callable[[], bool] = lambda: True) -> None:
        """Run until all jobs of `interest` have started (None: until nothing more can happen) or a bound is reached.
        `may_go_on`: asked before each step."""
        missing = None if interest is None else set(interest)
        time: float = self._begin
        while self.steps < MOST_STEPS and time <= self._begin + FARTHEST_S and may_go_on():
            self.steps += 1
            self.reached = time
            next_wake = self._cycle(time)
            if missing is not None:
                missing -= self.starts.keys()
                if not missing:
                    self.is_complete = True
                    return
            time = self._next_moment(time, next_wake)
            if time == INFINITY:
                self.is_complete = True
                return

    def _cycle(self, now: float) -> float:
        """Everything that happens at one moment; returns the time at which the scheduler wants to run again."""
        assert self._view is not None
        self._end_tasks(now)
        self._change_calendars(now)
        self._tend_reservations(now)
        orders = schedule(self._view, now, self._zone)
        for event in admit(self.state, orders, now):
            self._apply(event)
            if isinstance(event, TaskDispatched):
                self._apply(TaskStarted(event.job_id, event.task_id, event.attempt, now))
                self.starts.setdefault(event.job_id, now)
                job = self.state.jobs[event.job_id]
                self._plan_end(job, job.tasks[event.task_id])
        return orders.next_time or INFINITY

    def _next_moment(self, now: float, next_wake: float) -> float:
        """The next time at which something happens; INFINITY if nothing does."""
        moments = [self._calendar_change, next_wake if next_wake > now else INFINITY]
        moments += [self._ends[0][0]] if self._ends else []
        for reservation in self.state.reservations.values():
            if reservation.ending:
                moments.append(now + _RESERVATION_STEP_S)
            moments += [time for time in (reservation.start_time, reservation.end_time) if time > now]
        return min(moments)

    # --- events of time ------------------------------------------------------------------------------------

    def _plan_end(self, job: Job, task: Task) -> None:
        seconds = 0.0 if task.is_being_ended else self._run_time(job, task)
        if seconds < INFINITY:
            end = max(task.start_time + seconds, self.reached + 1.0)
            heappush(self._ends, (end, job.id, task.id, task.attempt))
        else:
            self.endless += 1

    def _end_tasks(self, now: float) -> None:
        while self._ends and self._ends[0][0] <= now:
            _, job_id, task_id, attempt = heappop(self._ends)
            task = self.state.task(job_id, task_id, attempt)
            if task is None or not task.granted:
                continue
            hosts = {grant.host for grant in task.granted}
            self._apply(TaskEnded(job_id, task_id, attempt, now))
            for host in hosts - self._idle_hosts:
                self._forget_load(host, now)

    def _forget_load(self, name: str, now: float) -> None:
        self._idle_hosts.add(name)
        host = self.state.hosts.get(name)
        if host is not None and host.up:
            averages = {value: "0" for value in host.load if value.removeprefix("np_").startswith("load_")}
            self._apply(HostHeard(name, now, averages))

    def _change_calendars(self, now: float) -> None:
        if now < self._calendar_change:
            return
        for event in calendar_changes(self.state, now, self._zone):
            self._apply(event)
        local = datetime.fromtimestamp(now, self._zone).replace(tzinfo=None)
        in_use = {config.calendar for config in self.state.configs.values() if config.calendar in self.state.calendars}
        changes = [next_change(self.state.calendars[name], local) for name in in_use]
        moments = [change[0].replace(tzinfo=self._zone).timestamp() for change in changes if change is not None]
        self._calendar_change = min((moment for moment in moments if moment > now), default=INFINITY)

    def _tend_reservations(self, now: float) -> None:
        """Starts and ends of advance reservations; jobs that run in an ending reservation end with it."""
        for event in reservation_changes(self.state, now, 0.0).events if self.state.reservations else ():
            self._apply(event)
        for number in [number for number, each in self.state.reservations.items() if each.ending]:
            for job_id in list(self.state.reserved.jobs[number]):
                for task in self.state.jobs[job_id].placed:
                    heappush(self._ends, (now, job_id, task.id, task.attempt))
        if self._ends and self._ends[0][0] <= now:
            self._end_tasks(now)

    def _apply(self, event: AnyEvent) -> None:
        """Apply an event, and the changes by subordination that follow on its hosts."""
        affected = Affected.by(self.state, event)
        if self._view is not None:
            self._view.observe(affected)
        apply(self.state, event)
        self.state.revision += 1
        if self._view is not None and self.state.superiors and (hosts := concerned_hosts(self.state, affected)):
            for change in subordination_changes(self.state, hosts):
                self._apply(change)
