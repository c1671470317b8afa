"""Forward run: the scheduler's cycles on a virtual clock, which jumps from one end of a task to the next.

Owns the clock, the ends of tasks and of advance reservations, and the bounds. `VirtualMaster` does the rest, as in the cell. Load
averages of a host count as 0 once a task has ended there, job_load_adjustments have no effect, and other load values keep their
present value. No jobs are submitted, deleted or altered. Called by `start`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime, time, tzinfo
from heapq import heappop, heappush

from daemons.qmaster.rules.reservation_states import reservation_changes
from daemons.qmaster.rules.subordination import follow_with_suspensions
from daemons.simulator.virtual_master import VirtualMaster
from gridengine.state.events import AnyEvent
from gridengine.state.jobs import Job, Task
from gridengine.state.machines.configuration import ObjectSet
from gridengine.state.machines.host import HostHeard
from gridengine.state.machines.task import TaskEnded
from gridengine.state.state import State
from gridengine.values.units import INFINITY

RunTime = Callable[[Job, Task], float]
"""The assumed run time of a task in seconds, from its start; INFINITY for no end."""

MOST_STEPS = 20_000
FARTHEST_S = 366 * 86_400.0
_CALENDARS_S = 8 * 86_400.0
"""Time in which calendars alone change anything, after which a run ends: their weeks repeat. A day more, for clock changes."""
_RESERVATION_STEP_S = 1.0


class ForwardRun:
    """A run from `now` (epoch s) on a state, which it changes. `starts`: job -> the first start of one of its tasks that waited.

    `endless`: number of tasks that do not end. `reached`: the time of the last cycle. `is_complete`: nothing more can happen, or
    all jobs of interest have started; else a bound ended the run.
    """

    def __init__(self, state: State, now: float, zone: tzinfo, run_time: RunTime) -> None:
        self.state, self.reached, self._run_time = state, now, run_time
        self._begin = now
        self.starts: dict[int, float] = {}
        self.is_complete = False
        self.steps = self.endless = 0
        self._ends: list[tuple[float, int, int, int]] = []
        self._idle_hosts: set[str] = set()
        self._due = self._last_event = now  # of all but calendars
        self._master = VirtualMaster(state, now, zone, (follow_with_suspensions,))
        settings = state.objects["scheduler"][""]
        self._master.record_events(ObjectSet("scheduler", "", {**settings, "job_load_adjustments": "NONE"}))
        for job in state.jobs.values():
            for task in job.tasks.values():
                if task.granted:
                    self._plan_end(job, task)

    def run(self, interest: Iterable[int] | None = None, may_go_on: Callable[[], bool] = lambda: True) -> None:
        """Run until all jobs of `interest` have started (None: until nothing more can happen) or a bound is reached.
        `may_go_on`: asked before each step."""
        missing = None if interest is None else set(interest)
        moment: float = self._begin
        while self.steps < MOST_STEPS and moment <= self._begin + FARTHEST_S and may_go_on():
            self.steps += 1
            self.reached = moment
            self._happen(moment)
            if missing is not None:
                missing -= self.starts.keys()
                if not missing:
                    self.is_complete = True
                    return
            moment = self._next_moment(moment)
            if moment == INFINITY:
                self.is_complete = True
                return

    def _happen(self, now: float) -> None:
        """Everything that happens at one moment, with a run of the scheduler."""
        self._master.now = now
        self._end_tasks(now)
        self._master.change_calendars()
        self._tend_reservations(now)
        if self._due <= now:
            self._last_event = now
        for job, task in self._master.cycle():
            self._last_event = now
            self.starts.setdefault(job.id, now)
            self._plan_end(job, task)

    def _next_moment(self, now: float) -> float:
        """The next time at which something happens; INFINITY if nothing does."""
        next_wake = self._master.next_time
        moments = [next_wake if next_wake > now else INFINITY]
        moments += [self._ends[0][0]] if self._ends else []
        for reservation in self.state.reservations.values():
            if reservation.ending:
                moments.append(now + _RESERVATION_STEP_S)
            moments += [each for each in (reservation.start_time, reservation.end_time) if each > now]
        self._due = min(moments)
        calendar_time = self._master.calendar_time
        if self._due == INFINITY and calendar_time > max(self._last_event, self._last_date()) + _CALENDARS_S:
            return INFINITY
        return min(self._due, calendar_time)

    def _last_date(self) -> float:
        """The last day that a calendar names by its date, epoch s; 0.0 if there is none."""
        entries = (entry for name in self.state.calendars for entry in self.state.calendars[name].year)
        last = max((day for entry in entries for _, day in entry.days or ()), default=None)
        return datetime.combine(last, time.min, UTC).timestamp() if last else 0.0

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
            hosts = {grant.host for grant in task.granted} - self._idle_hosts
            self._idle_hosts |= hosts
            unloaded = (self._unloaded(host, now) for host in sorted(hosts))
            self._master.record_events(TaskEnded(job_id, task_id, attempt, now), *(each for each in unloaded if each))

    def _unloaded(self, name: str, now: float) -> AnyEvent | None:
        """The report of a host without load averages; None for a host that is not up."""
        host = self.state.hosts.get(name)
        if host is None or not host.up:
            return None
        return HostHeard(name, now, {value: "0" for value in host.load if value.removeprefix("np_").startswith("load_")})

    def _tend_reservations(self, now: float) -> None:
        """Starts and ends of advance reservations; jobs that run in an ending reservation end with it."""
        if self.state.reservations:
            self._master.record_events(*reservation_changes(self.state, now, 0.0).events)
        for number in [number for number, each in self.state.reservations.items() if each.ending]:
            for job_id in list(self.state.reserved.jobs[number]):
                for task in self.state.jobs[job_id].placed:
                    heappush(self._ends, (now, job_id, task.id, task.attempt))
        if self._ends and self._ends[0][0] <= now:
            self._end_tasks(now)
