"""Where jobs stand, kept over cycles: a job to which nothing has happened is not looked at again.

Owns lines: the jobs that priorities cannot tell apart, of one category and with one -p, in the order in which they are served.
What a cycle costs then follows from what has changed, from the lines, and from what it starts, not from the jobs that wait. That
holds for a job of which its own record says all; the others, `restless`, are looked at in every cycle. Called by the view, which
is told what events write, and by `daemons.schedd.survey`. Why: docs/adr/0156.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Iterable, Iterator

from daemons.schedd.reserved import AnyCategory
from gridengine.state.jobs import Job, Task
from gridengine.state.state import State


class Turn:
    """The place of a job in its line. `waits`: it wants (another) task to run; else its tasks all have places."""

    __slots__ = ("time", "job_id", "line", "waits", "over")

    def __init__(self, job: Job, line: JobLine, waits: bool) -> None:
        self.time, self.job_id, self.line, self.waits, self.over = job.submit_time, job.id, line, waits, False

    @property
    def rank(self) -> tuple[float, int]:
        return self.time, self.job_id


class JobLine:
    """`sample`: one of its jobs, or one that was: to priorities they are all the same. `unsaid`: those of whom the qmaster may
    not know yet what priority they have, which is `said` of the others. `running`: those who want nothing more."""

    __slots__ = ("category", "sample", "unsaid", "said", "running", "_order", "_over")

    def __init__(self, category: AnyCategory, sample: Job) -> None:
        self.category, self.sample = category, sample
        self.unsaid: set[int] = set()
        self.said: object = None
        self.running: set[int] = set()
        self._order: list[Turn] = []
        self._over = 0

    def add(self, turn: Turn) -> None:
        self.unsaid.add(turn.job_id)
        if not turn.waits:
            self.running.add(turn.job_id)
            return
        if not self._order or self._order[-1].rank < turn.rank:
            self._order.append(turn)
        else:
            insort(self._order, turn, key=lambda each: each.rank)

    def drop(self, turn: Turn) -> None:
        """The turn is over. It is taken out with many others, so that the first of a long line costs what the last does."""
        self.unsaid.discard(turn.job_id)
        self.running.discard(turn.job_id)
        turn.over = True
        self._over += turn.waits

    def waiting(self) -> Iterator[Turn]:
        """The turns of those who want something, in order."""
        if self._over > 100 and self._over * 8 > len(self._order):
            self._order, self._over = [turn for turn in self._order if not turn.over], 0
        return (turn for turn in self._order if not turn.over)

    @property
    def waits(self) -> bool:
        """Whether anybody wants something."""
        return len(self._order) > self._over

    def members(self) -> Iterator[int]:
        """All who stand in it."""
        yield from self.running
        yield from (turn.job_id for turn in self._order if not turn.over)


class JobLines:
    """Of all jobs of a state. `idle_unsaid`: those of the jobs that do not take part whose priority the qmaster may not know."""

    def __init__(self, state: State, categorise: Callable[[Job], AnyCategory]) -> None:
        self._state, self._categorise = state, categorise
        self.restless: set[int] = set()
        self._placed: set[int] = set()
        self._recent: set[int] = set()
        self._corrected_at = 0.0
        self.idle_unsaid: set[int] = set()
        self._lines: dict[tuple[int, int], JobLine] = {}
        self._turns: dict[int, Turn] = {}
        self._written: set[int] | None = None  # all

    def note(self, jobs: Iterable[int]) -> None:
        """The records of these jobs are others now, or gone."""
        if self._written is not None:
            self._written.update(jobs)

    @property
    def lines(self) -> Iterable[JobLine]:
        """Those in which somebody stands."""
        return self._lines.values()

    def category(self, job_id: int) -> AnyCategory | None:
        """The category of a job that stands in a line."""
        turn = self._turns.get(job_id)
        return turn.line.category if turn is not None else None

    def started_lately(self, now: float, within_s: float) -> list[Task]:
        """Tasks with places that were started within so many seconds, or later than now."""
        if now < self._corrected_at:
            self._recent |= self._placed  # the clock was set back
        self._corrected_at = now
        found = []
        for number in sorted(self._recent):
            tasks = self._state.jobs[number].tasks.values()
            lately = [task for task in tasks if task.granted and now - task.start_time < within_s]
            found += lately
            if not lately:
                self._recent.discard(number)
        return found

    def settle(self) -> None:
        """Find the places of all whose records have changed."""
        jobs = self._state.jobs
        written = jobs if self._written is None else self._written
        for number in written:
            if (turn := self._turns.pop(number, None)) is not None:
                turn.line.drop(turn)
                if not (turn.line.waits or turn.line.running):
                    self._lines.pop((id(turn.line.category), turn.line.sample.priority), None)
            job = jobs.get(number)
            if job is not None:
                self._place(job)
            else:
                for each in (self.restless, self._placed, self._recent, self.idle_unsaid):
                    each.discard(number)
        self._written = set()

    def _place(self, job: Job) -> None:
        self.restless.discard(job.id)
        self.idle_unsaid.discard(job.id)
        runs = any(task.granted for task in job.tasks.values()) if job.tasks else False
        for each in (self._placed, self._recent):
            (each.add if runs else each.discard)(job.id)
        try:
            if _is_restless(job):
                self.restless.add(job.id)
            elif runs and not job.error or job.pending and not job.error and not _wholly_held(job):
                self._line_up(job, bool(job.pending) and not _wholly_held(job))
            else:
                self.idle_unsaid.add(job.id)
        except Exception:  # noqa: BLE001 - whoever looks at it in the cycle says what is wrong with it
            self.restless.add(job.id)

    def _line_up(self, job: Job, waits: bool) -> None:
        category = self._categorise(job)
        key = (id(category), job.priority)
        line = self._lines.get(key)
        if line is None:
            line = self._lines[key] = JobLine(category, job)
        turn = self._turns[job.id] = Turn(job, line, waits)
        line.add(turn)


def _is_restless(job: Job) -> bool:
    """Whether time, other jobs or a reservation may change what becomes of it, while its own record stays as it is."""
    if job.predecessors or job.array_predecessors or job.start_after or job.deadline:
        return True
    if job.ar or job.now or job.override_tickets:
        return True
    return any(not task.granted for task in job.tasks.values()) if job.tasks else False


def _wholly_held(job: Job) -> bool:
    """Whether holds keep all of its waiting tasks."""
    if not job.holds:
        return False
    ready = job.pending
    for held in job.holds.values():
        ready = ready - held
    return not ready
